import ArgumentParser
import Testing
import WidgetModel

@testable import widgetctl

struct CompletionTests {
  private static func line(_ words: String, at index: Int? = nil) -> CompletionLine {
    let words = words.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    return CompletionLine(words, at: index ?? words.count - 1)
  }

  @Test(
    arguments: [
      ("widgetctl send note ", "note"), ("widgetctl send --node save note ", "note"),
      ("widgetctl send --force -v note ", "note"), ("widgetctl set -ojson note pe", "note"),
      ("widgetctl set --socket /tmp/s -l a=b note ", "note"),
      ("widgetctl set --label = a note ", "note"), ("widgetctl send ", nil),
      ("widgetctl ls --field ", nil), ("widgetctl ls --kind note --field ", nil),
    ] as [(String, String?)])
  func `the widget of a line is the first word that belongs to no option`(
    words: String, widget: String?
  ) {
    #expect(Self.line(words).widget?.rawValue == widget)
  }

  @Test func `words after the completed one count, too`() {
    let line = Self.line("widgetctl send --node  note click", at: 3)
    #expect(line.arguments == ["send", "note", "click"])
    #expect(line.value(of: "--node") == nil)
  }

  @Test func `a line has the values of its options, also in the parts that bash makes`() {
    #expect(Self.line("widgetctl ls --kind gauge --field ").value(of: "--kind") == "gauge")
    #expect(Self.line("widgetctl ls --kind = gauge --field ").value(of: "--kind") == "gauge")
    #expect(Self.line("widgetctl ls --socket /tmp/s ").socket == "/tmp/s")
    #expect(Self.line("widgetctl ls --socket = /tmp/s ").socket == "/tmp/s")
    #expect(
      Self.line("widgetctl set bundle : a n = 1 m == 2 ").arguments
        == ["set", "bundle:a", "n=1", "m==2"])
  }

  @Test(
    arguments: [
      ("widgetctl set note text =", true), ("widgetctl set note text = a", true),
      ("widgetctl set note text := a", true), ("widgetctl set note text", false),
      ("widgetctl set bundle : a", false), ("widgetctl set note text=a", false),
    ])
  func `bash's parts of a value are known`(words: String, isValue: Bool) {
    #expect(Self.line(words).isValue == isValue)
  }

  private static let kind = Kind(
    name: Samples.kind("clock"), parameters: [Field(name: "zone"), Field(name: "style")],
    data: [Field(name: "text"), Field(name: "percent")],
    events: [EventType(name: "alarm", payload: [Field(name: "above"), Field(name: "who")])],
    reducers: [Reducer(event: "reset"), Reducer(event: "press", nodeID: "save")])

  private static let nodes = [
    Node(id: "new", type: .form, childIDs: ["title", "urgent"], events: ["submit"]),
    Node(id: "title", type: .input, properties: ["name": .string("title")]),
    Node(id: "urgent", type: .toggle, properties: ["name": .string("urgent")]),
    Node(id: "power", type: .toggle, events: ["toggle"]),
  ]

  @Test func `events are those of the kind, its reducers and a form`() {
    #expect(
      CompletionNames.events(of: Self.kind, Self.nodes, node: nil) == ["alarm", "reset", "submit"])
    #expect(CompletionNames.events(of: Self.kind, [], node: nil) == ["alarm", "reset"])
    #expect(CompletionNames.events(of: nil, Self.nodes, node: "power") == ["toggle"])
    #expect(CompletionNames.events(of: nil, Self.nodes, node: "gone") == [])
  }

  @Test func `fields of an event and inputs of a form are assignments`() {
    #expect(CompletionNames.payload(of: "alarm", Self.kind) == ["above=", "who="])
    #expect(CompletionNames.payload(of: "reset", Self.kind) == [])
    #expect(CompletionNames.inputs(Self.nodes) == ["title=", "urgent="])
  }

  @Test func `data keys are those of the kind and of the widget, each once`() {
    #expect(
      CompletionNames.assignments(of: Samples.widget, Self.kind) == ["text=", "percent=", "n="])
    #expect(CompletionNames.assignments(of: nil, Self.kind) == ["text=", "percent="])
    #expect(CompletionNames.assignments(of: Samples.widget, nil) == ["n=", "text="])
  }

  @Test func `fields are data keys, parameters, labels and the fixed names`() {
    let names = CompletionNames.fields(of: Samples.widget, [Self.kind])
    #expect(
      names.prefix(6) == [
        "data.text", "data.percent", "data.n", "parameters.zone", "parameters.style",
        "labels.panel",
      ])
    #expect(Array(names.dropFirst(6)) == FieldOptions.names)
    #expect(FieldOptions.names.contains("create_time") && FieldOptions.names.contains("state"))
    #expect(Set(FieldOptions.names).count == FieldOptions.names.count)
    let declared = CompletionNames.fields(of: nil, [Self.kind, Self.kind])
    #expect(
      declared.prefix(5) == [
        "data.text", "data.percent", "parameters.zone", "parameters.style", "family",
      ])
  }

  @Test func `every completed field can be read`() async throws {
    for name in FieldOptions.names {
      await #expect(throws: Never.self) { try await FieldOptions.parsed(["--field", name]) }
    }
  }

  @Test func `bundles are those that the host shows`() {
    func widget(_ id: String, set: String) -> Widget {
      var widget = Samples.widget
      widget.id = Samples.id(id)
      widget.applySet = set
      return widget
    }
    let widgets = [
      widget("bundle/cpu", set: BundleHost.widget), widget("bundle/mine", set: "default"),
      widget("cpu", set: BundleHost.widget),
    ]
    #expect(CompletionNames.bundles(widgets) == ["cpu"])
  }
}

/// The scripts call the program for the names of these arguments, and know all commands.
struct CompletionScriptTests {
  private static let bash = CompletionScript.text(for: .bash)
  private static let zsh = CompletionScript.text(for: .zsh)
  private static let fish = CompletionScript.text(for: .fish)

  @Test(arguments: [
    "ls -- --kind", "watch -- --kind", "add -- positional@0", "add -- positional@1",
    "placeholder -- positional@0", "snapshot -- positional@0", "activity start -- --kind",
    "send -- positional@1", "send -- positional@2", "send -- --value", "set -- positional@1",
    "get -- --field", "ls -- --field", "watch -- --field", "bundle rm -- positional@0",
    "bundle rollback -- positional@0", "bundle trace -- positional@0",
    "bundle set -- positional@0",
  ])
  func `a script asks for the names of an argument`(argument: String) {
    for script in [Self.bash, Self.zsh, Self.fish] {
      #expect(script.contains("---completion \(argument) "))
    }
  }

  @Test func `other names of commands complete as the command does`() {
    for script in [Self.bash, Self.zsh] {
      #expect(script.contains("|version|help|list|remove|delete)\n"))
      #expect(script.contains("_widgetctl_list() {\n    _widgetctl_ls\n}\n"))
      #expect(script.contains("_widgetctl_delete() {\n    _widgetctl_rm\n}\n"))
      #expect(script.contains(" start|update|end|list|ls)\n"))
      #expect(script.contains("_widgetctl_activity_ls() {\n    _widgetctl_activity_list\n}\n"))
    }
    #expect(
      Self.fish.contains(
        #"test "$unparsed_tokens[2]" = 'list'; and set unparsed_tokens[2] ls"# + "\n"))
    #expect(
      Self.fish.contains(
        #"test "$unparsed_tokens[2] $unparsed_tokens[3]" = 'activity ls'; "#
          + "and set unparsed_tokens[3] list\n"))
  }

  @Test func `help completes the names of commands`() {
    #expect(Self.bash.contains(#"    1\ *) names='ls get watch "#))
    #expect(Self.bash.contains("    '2 activity') names='start update end list' ;;\n"))
    #expect(Self.zsh.contains(#"    2\ *) names=(ls get watch "#))
    #expect(Self.zsh.contains("    '3 activity') names=(start update end list) ;;\n"))
    #expect(Self.fish.contains(#""widgetctl help" -eq 1' -fka 'ls get watch "#))
    #expect(Self.fish.contains("-fka 'start update end list'"))
  }

  @Test func `bash lists commands before options, in their order`() {
    #expect(
      Self.bash.contains(
        #"COMPREPLY=($(compgen -W 'start update end list' -- "${cur}") "${COMPREPLY[@]}")"#))
    #expect(Self.bash.contains("compopt -o nosort 2>/dev/null"))
  }

  @Test func `no space follows the = of a key`() {
    #expect(Self.bash.contains("compopt -o nospace +o filenames"))
    #expect(Self.zsh.contains("-- assignments -S '' --"))
    #expect(Self.zsh.contains(#"non_empty_completions=("${@:#(|:*|*=)}")"#))
  }
}
