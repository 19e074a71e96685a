import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Mistakes in files, and refusals of the daemon, each with its line.
extension WidgetFileTests {
  @Test func `a folder is no file of apply`() {
    #expect(
      ApplyCommand.refusal(toRead: "/")?.message == "/ is a folder; name its files, each with -f")
    #expect(ApplyCommand.refusal(toRead: "/dev/null") == nil)
  }

  /// A mistake in both forms, and its message.
  static let mistakes: [(short: String, long: String, words: String)] = [
    ("dispalyName: K", "dispalyName: K", "unknown key \"dispalyName\""),
    ("displayName: [K]", "displayName: [K]", "expected text, not a list"),
    ("families: [smal]", "families: [smal]", "\"smal\" is not a family"),
    ("persistence: durabel", "persistence: durabel", "\"durabel\" is not a valid persistence"),
    ("open: 1", "open: 1", "expected true or false, not \"1\""),
    ("refreshesPerHour: 0", "refreshesPerHour: 0", "expected a whole number from 1 to 1000000"),
    ("transition: jump", "transition: jump", "\"jump\""),
    ("data: {n: {type: integer}}", "data: [{name: n, type: integer}]", "\"integer\" is not a type"),
    (
      "data: {n: {type: int, default: x}}", "data: [{name: n, type: int, default: x}]",
      "expected a value of type int, not string"
    ),
    ("events: {a b: }", "events: [{name: a b}]", "\"a b\" cannot be an event's name"),
    ("events: {a: {payloda: {}}}", "events: [{name: a, payloda: []}]", "unknown key \"payloda\""),
    ("reducers: [{set: {}}]", "reducers: [{set: {}}]", "the event is missing"),
    (
      "reducers: [{event: press, when: x}]", "reducers: [{event: press, when: x}]",
      "unknown key \"when\""
    ),
    (
      "reducers: [{event: press, condition: [x]}]", "reducers: [{event: press, condition: [x]}]",
      "expected an expression, not a list"
    ),
    ("schedule: {every: soon}", "schedule: {every: soon}", "\"soon\" is not a duration"),
    (
      "recommendations: {r: {params: 1}}", "recommendations: [{name: r, params: 1}]",
      "unknown key \"params\""
    ),
    (
      "content: {type: buton, id: b}", "content: [{root: {type: buton, id: b}}]",
      "\"buton\" is not a valid type of node"
    ),
    (
      "content: {label: x, rows: {lits: data.l}}",
      "content: [{root: {type: label, id: l, rows: {lits: data.l}}}]", "unknown key \"lits\""
    ),
  ]

  @Test(arguments: mistakes)
  func `a mistake has the same message in both forms`(
    short: String, long: String, words: String
  ) throws {
    for (text, mistake) in [
      ("kinds:\n  k:\n    \(short)\n", short), ("kinds:\n- name: k\n  \(long)\n", long),
    ] {
      let message = try #require(throws: CommandFailure.self) { try Self.read(text) }.message
      let lines = message.split(separator: "\n").map(String.init)
      #expect(lines.contains { $0.hasPrefix("f.yaml:3:") && $0.contains(words) }, "\(message)")
      #expect(lines.contains { $0.hasSuffix(mistake) }, "\(message)")
      #expect(lines.contains { $0.hasSuffix("^") }, "\(message)")
    }
  }

  @Test(arguments: [
    ("kinds: {k: {dta: 1}}", "kinds: [{name: k, dta: 1}]", "hint: did you mean \"data\"?"),
    (
      "kinds: {k: {content: {type: buton}}}",
      "kinds: [{name: k, content: [{root: {type: buton, id: b}}]}]",
      "hint: did you mean \"button\"?"
    ),
    (
      "widgets: {w: {kind: k, family: smal}}", "widgets: [{id: w, kind: k, family: smal}]",
      "hint: did you mean \"small\"?"
    ),
    ("widgets: {w: {family: small}}", "widgets: [{id: w, family: small}]", "hint: add kind: NAME"),
  ])
  func `a mistake has the same hint in both forms`(short: String, long: String, hint: String) throws
  {
    for text in [short, long] {
      let message = try #require(throws: CommandFailure.self) { try Self.read(text) }.message
      #expect(message.contains("  \(hint)"), "\(message)")
    }
  }

  @Test func `the long form reports all mistakes`() throws {
    let failure = try #require(throws: CommandFailure.self) {
      try Self.read("widgets:\n- {id: a, knid: k}\n- {id: b, kind: k, visible: 5}\n- 7\n")
    }
    let places = failure.message.split(separator: "\n").filter { $0.hasPrefix("f.yaml:") }
      .map { $0.split(separator: " ")[0] }
    #expect(places == ["f.yaml:2:3:", "f.yaml:2:11:", "f.yaml:3:29:", "f.yaml:4:3:"])
  }

  @Test func `the mistakes of all documents are reported`() throws {
    let text = """
      set: s
      widgets: [{id: a, knid: k}]
      ---
      kinds: {k: {dta: 1}}
      ---
      set: t
      widgets: [{id: b, kind: k}, {id: b, kind: k}, {id: b, kind: k}]
      ---
      set: u
      widgets: []
      """
    let failure = try #require(throws: CommandFailure.self) { try Self.read(text) }
    #expect(failure.exit == .invalidArgument)
    let places = failure.message.split(separator: "\n").filter { $0.hasPrefix("f.yaml:") }
      .map { $0.split(separator: " ")[0] }
    #expect(
      places == [
        "f.yaml:2:11:", "f.yaml:2:19:", "f.yaml:4:13:", "f.yaml:7:30:", "f.yaml:7:48:",
        "f.yaml:9:1:",
      ])
  }

  @Test func `a mistake in JSON with tabs and escapes is named`() throws {
    let text =
      "{\"widgets\":\n\t[\n\t\t{\"id\": \"a\", \"kind\": \"k\", \"data\": {\"a\\u0000b\": {\"$bytes\": 1}}}]}"
    let failure = try #require(throws: CommandFailure.self) { try Self.read(text, name: "f.json") }
    #expect(failure.message.contains("$bytes needs base64 text"), "\(failure.message)")
  }

  @Test(arguments: [
    ["a": .string("=x")] as ValueMap, ["a": .string("==x")], ["a": .map(["$x": .int(1)])],
    ["a": .map(["$bytes": .string("no")])], ["a": .bytes([1, 2])], ["a": .double(.infinity)],
    ["a": .timestamp(.epoch)], ["a": .list([.duration(.seconds(3)), .string("5")])],
    ["a": .string("null"), "b": .null, "c": .double(1e20)],
  ])
  func `a printed value is read back as the same value`(values: ValueMap) throws {
    let name = try #require(KindName("k"))
    var widget = Widget(id: try #require(WidgetID("w")), kind: name)
    (widget.data, widget.parameters) = (values, values)
    var kind = Kind(name: name, sample: values)
    kind.data = values.entries.map { Field(name: $0.key, type: .any, defaultValue: $0.value) }
    kind.recommendations = [Recommendation(name: "r", parameters: values)]
    let document: Value = .map([
      "widgets": .list([widget.document()]),
      "kinds": .list([RegisteredKind(kind: kind, provider: "p").document]),
    ])
    for text in [YAMLWriter.document(document), JSONWriter.pretty(document)] {
      let file = try Self.read(text)
      #expect(file.widgets.map(\.data) == [values] && file.widgets.map(\.parameters) == [values])
      #expect(file.kinds == [kind])
    }
  }

  @Test(arguments: [
    ("widgets:\n- {id: a, kind: k}\n- {id: b}", "f.yaml:3:3: widget \"b\" has no kind"),
    ("- id: a\n  kind: k\n  labels:\n    x.y: 5", "f.yaml:4:10: expected text, not \"5\""),
    ("id: a\nkind: k\nvisible: maybe", "f.yaml:3:10: expected true or false, not \"maybe\""),
    ("id: a\nkind: k\n---\nid: b\nkind: k\nknid: k", "f.yaml:6:1: unknown key \"knid\""),
    ("kinds:\n- name: k\n  dispalyName: K", "f.yaml:3:3: unknown key \"dispalyName\""),
  ])
  func `a mistake is shown with its line`(_ text: String, _ message: String) throws {
    let error = #expect(throws: CommandFailure.self) { try Self.read(text) }
    let lines = error?.message.split(separator: "\n") ?? []
    #expect(lines.first?.hasPrefix(message) == true, "\(lines)")
    #expect(lines.count >= 3 && lines[2].hasSuffix("^"), "\(lines)")
  }

  @Test(arguments: [
    ("widgets[1].data.n", "f.yaml:7:14: data.n: wrong"), ("widgets[1]", "f.yaml:5:1: wrong"),
    ("kinds[0].content[0].root.properties[text]", "f.yaml:3:42: kinds[0]"),
    ("kinds[0].display_name", "f.yaml:2:13: kinds[0].display_name: wrong"),
    ("widgets[0].id", "f.yaml:1:13: widgets[0].id: wrong"),
  ])
  func `a refusal of the daemon is shown with its line`(field: String, message: String) throws {
    let file = try Self.read(
      """
      {widgets: [{id: a, kind: k}], kinds: [
        {name: k, displayName: K,
         content: [{root: {id: r, type: label, text: "=x"}}]}]}
      ---
      id: b
      kind: k
      data: {m: 1, n: 2}
      """)
    var failure = CommandFailure(.invalidArgument, "refused")
    failure.violations = [FieldViolation(field: field, description: "wrong")]
    #expect(file.located(failure).message.hasPrefix(message), "\(file.located(failure).message)")
    failure.violations.append(FieldViolation(field: "apply_set", description: "wrong"))
    #expect(file.located(failure).message == "refused")
  }

  @Test func `a request that is too large names its largest field, with its line`() throws {
    let text = """
      - {id: a, kind: k, data: {n: 1}}
      - id: b
        kind: k
        timeline:
          entries: [{date: 2026-01-01T08:00:00Z}, {date: 2026-01-01T09:00:00Z}]
      - {id: c, kind: k}
      """
    let failure = CommandFailure(.invalidArgument, "a message of 5 bytes is longer than 4")
    let message = try Self.read(text).located(tooLarge: failure).message
    #expect(
      message.hasPrefix("f.yaml:5:5: widgets[1].timeline.entries: 2 entries are too many for one"),
      "\(message)")
    #expect(message.contains("timeline_entries_max"))
    let value = try Self.read("{id: a, kind: k, data: {notes: text}}").located(tooLarge: failure)
    #expect(value.message.hasPrefix("f.yaml:1:25: data[notes]: this value is too large"))
    let plain = try Self.read("{id: a, kind: k}").located(tooLarge: failure)
    #expect(plain.message == failure.message)
  }

  @Test func `a line of several JSON values is shown`() throws {
    let text = """
      {"id":"a","kind":"k","data":{"n":"}{"}}

        {"id":"b","kind":"k","data":{"n":"x"}}
      """
    let file = try Self.read(text)
    var failure = CommandFailure(.invalidArgument, "refused")
    failure.violations = [FieldViolation(field: "widgets[1].data[n]", description: "wrong")]
    let message = file.located(failure).message
    #expect(message.hasPrefix("f.yaml:3:32: data[n]: wrong\n"), "\(message)")
    #expect(message.contains(#"{"id":"b""#), "\(message)")
  }

  @Test(arguments: [
    (["kind": "k"], "f.yaml:3:3: kinds.k: refused"),
    (["widget_id": "w"], "f.yaml:5:3: widgets.w: refused"),
    (["kind": "other"], "refused"), (["widget_id": "v"], "refused"), ([:], "refused"),
  ])
  func `a refusal that names a widget or a kind shows its line`(
    metadata: [String: String], message: String
  ) throws {
    let file = try Self.read("set: s\nkinds:\n  k: {data: {n: 0}}\nwidgets:\n  w: {kind: k}\n")
    var failure = CommandFailure(.refused, "refused")
    failure.metadata = metadata
    #expect(file.located(failure).message.hasPrefix(message), "\(file.located(failure).message)")
  }

  @Test func `a wrong name of a set shows its line, unless the command line names the set`() throws
  {
    for file in [
      try Self.read("widgets: []\nset: a b"), try Self.read("widgets: {}\nset: a b"),
    ] {
      var failure = CommandFailure(.invalidArgument, "refused")
      failure.violations = [FieldViolation(field: "apply_set", description: "wrong")]
      #expect(file.located(failure).message.hasPrefix("f.yaml:2:1: set: wrong"))
      #expect(file.located(failure, isSetNamed: true).message == "refused")
    }
  }

  @Test(arguments: [
    ("{id: a}", "f.yaml:1:1: widget \"a\" has no kind"),
    ("{kind: k}", "f.yaml:1:1: the id is missing"),
    ("- {id: a, kind: ''}", "f.yaml:1:17: \"\" cannot be a kind's name"),
    (
      "- {id: a, kind: k}\n- {id: a, kind: k}",
      "f.yaml:2:4: widgets[1].id: \"a\" is declared twice, first in f.yaml: widgets[0]"
    ),
    ("- {id: '-', kind: k}", "f.yaml:1:8: \"-\" cannot be a widget's id"),
    ("- {id: a, kind: k, colour: red}", "f.yaml:1:20: unknown key \"colour\""),
    ("- {id: a, kind: k, family: huge}", "f.yaml:1:28: \"huge\" is not a family"),
    ("- {id: a, kind: k, labels: {n: 1}}", "f.yaml:1:32: expected text, not \"1\""),
    ("- {id: a, kind: k, visible: 1}", "f.yaml:1:29: expected true or false"),
    ("- {id: a, kind: k, data: [1]}", "f.yaml:1:26: expected an object of data"),
    ("- {id: a, kind: k, data: {b: {$bytes: '!'}}}", "f.yaml:1:30: $bytes needs base64 text"),
    ("- 5", "f.yaml:1:3: expected an object, not \"5\""),
    ("widgets: 5", "f.yaml:1:10: expected widgets by id, or a list of widgets"),
    ("things: []", "f.yaml:1:1: unknown key \"things\""),
    ("text", "f.yaml:1:1: expected a set, a list of widgets or a widget"),
    ("a: [1", "f.yaml:1:4: \"[\" is not closed"),
    ("a: 1\na: 2", "f.yaml:"),
    ("- {id: a, kind: k, data: {n: 99999999999999999999}}", "f.yaml:1:30: 99999999999999999999"),
  ])
  func `a failure names the file and the place`(_ text: String, message: String) {
    let failure = #expect(throws: CommandFailure.self) { try Self.read(text) }
    #expect(failure?.exit == .invalidArgument)
    #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
  }

  @Test(arguments: [
    ("kind:\n  a: {data: {n: 0}}", "\"kind\" is the name of a kind, not an object", "kinds"),
    ("kind: [{name: a}]", "\"kind\" is the name of a kind, not a list", "kinds"),
    ("widget: {w: {kind: a}}", "unknown key \"widget\"", "widgets"),
    ("kindss: []", "unknown key \"kindss\"", "kinds"),
  ])
  func `a misspelt first key of a file is one mistake`(
    _ text: String, message: String, meant: String
  ) {
    let failure = #expect(throws: CommandFailure.self) { try Self.read(text) }
    let words = failure?.message ?? ""
    #expect(words.hasPrefix("f.yaml:1:1: \(message)\n"), "\(words)")
    #expect(words.contains("  hint: did you mean \"\(meant)\"?"), "\(words)")
    for other in ["the id is missing", "there is nothing in it"] {
      #expect(!words.contains(other), "\(words)")
    }
  }

  @Test(arguments: [
    ("- a", "write {id: ID, kind: NAME}, or begin the file with kinds: or widgets:"),
    ("widgets: [a]", "write {id: ID, kind: NAME}"),
  ])
  func `an element that is no widget has the form of a widget as its hint`(
    _ text: String, hint: String
  ) {
    let failure = #expect(throws: CommandFailure.self) { try Self.read(text) }
    let lines = failure?.message.split(separator: "\n").map(String.init) ?? []
    #expect(lines.contains("  hint: \(hint)"), "\(lines)")
  }
}
