import ArgumentParser
import Testing
import WidgetClient
import WidgetExpression
import WidgetModel

@testable import widgetctl

struct CommandLineTests {
  @Test(
    arguments: [
      ([], 10), (["--timeout", "0"], 10), (["--timeout", "60s"], 10), (["--timeout", "1s"], 1),
    ] as [([String], Int)])
  func `a call that a command can do without has the smaller of --timeout and 10 s`(
    words: [String], seconds: Int
  ) throws {
    let options = try GlobalOptions.parse(words)
    #expect(options.optionalTimeout == .seconds(seconds))
    #expect(options.optionalCall.timeout == .seconds(seconds))
  }

  @Test(arguments: [
    ["ls"], ["ls", "--field", "data.n"],
    ["list", "-l", "a=b,c!=d", "--kind", "clock", "--family", "extra-large"],
    ["get", "a", "--field", "data.n", "--field", "createTime"],
    ["add", "k", "--id", "a", "-l", "x=y", "--param", "p=1", "--data", "d==2", "--hidden"],
    ["set", "a", "n=1", "t=hi", "--unset", "x", "--etag", "e", "--replace", "--no-stale"],
    ["set", "a", "--clear-error"], ["rm", "a", "b", "--allow-missing", "--force"],
    ["ls", "-lpanel"], ["ls", "-l=panel=top"], ["ls", "-l", "panel=top"], ["get", "a", "-ojson"],
    ["ls", "-o=json"], ["apply", "-f-"],
    ["render", "a", "-opicture.svg"],
    ["move", "a", "--before", "b"], ["apply", "-f", "-", "--prune", "--dry-run", "--set", "s"],
    ["apply", "-f", "-", "--force"],
    ["send", "a", "click", "n=1", "--node", "x", "--force"], ["show", "a", "b"],
    ["toggle", "--all", "--transition", "spring:1s"], ["hide", "-l", "x"],
    ["watch", "a", "--until", "a.data.n==1", "--timeout", "5s", "--min-interval", "100ms"],
    ["watch", "--min-interval", "60s"], ["watch", "--min-interval", "1m"],
    ["watch", "--once", "-o", "json"], ["events", "--name", "click", "--after-sequence", "0"],
    ["log-level", "debug"], ["completion", "zsh"], ["version", "--client"], ["stats"], ["health"],
    ["view"], ["view", "a", "b"], ["view", "-l", "x", "--watch", "--wait"],
    ["view", "a", "--nodes"], ["view", "-o", "json"], ["view", "--nodes", "--defaults"],
    ["view", "--once"], ["view", "a", "--once", "--width", "1", "--height", "10000"],
    ["view", "-l", "x", "--once", "--format", "html", "--appearance", "high-contrast"],
    ["view", "a", "--nodes"], ["view", "-o", "json"],
    ["theme", "get"], ["theme", "get", "color.primary", "-o", "json"],
    ["theme", "set", "color.primary=#00ff00", "font.title.size=20", "--dry-run"],
    ["theme", "unset", "color.primary"], ["theme", "unset", "--all"], ["theme", "import", "-"],
    ["theme", "preview"],
    ["kinds"], ["kinds", "-o", "yaml"], ["describe", "clock"],
    ["rm-kind", "clock", "--allow-missing"],
    ["refresh", "a", "b"], ["refresh", "--kind", "clock"], ["refresh", "--all", "-o", "json"],
    ["reload"], ["status"], ["status", "-o", "yaml", "--timeout", "1s"], ["doctor", "-o", "json"],
    ["doctor", "--store"], ["doctor", "--store", "/var/lib/widgetd", "-o", "json"],
    ["backup", "f"], ["restore", "f", "--state-directory", "/tmp/s"],
  ])
  func `valid command lines are parsed`(_ arguments: [String]) {
    #expect(throws: Never.self) { try Widgetctl.parseAsRoot(arguments) }
  }

  @Test(arguments: [
    ["nonsense"], ["doctor", "/var/lib/widgetd"], ["backup"], ["restore"], ["get"],
    ["get", "-bad-"], ["get", "a b"], ["get", "a", "--field", "nope"],
    ["add"], ["add", "k", "--family", "huge"], ["add", "k", "--data", "novalue"], ["set", "a"],
    ["set", "a", "--error", "x:y", "--clear-error"], ["rm"], ["rm", "a", "b", "--etag", "e"],
    ["move", "a"], ["move", "a", "--first", "--last"], ["show"], ["show", "a", "--all"],
    ["show", "-l", "x", "--all"], ["show", "a", "--kind", "k"], ["apply"],
    ["watch", "--min-interval", "61s"], ["watch", "--min-interval", "2m"],
    ["watch", "--once", "--events"], ["watch", "--resume", "AQ==", "--until", "a:removed"],
    ["watch", "--resume", "!"], ["watch", "a", "--until", "b:removed"], ["watch", "--until", "x"],
    ["events", "--count", "0"], ["events", "--count", "-1"],
    ["refresh"], ["refresh", "a", "--all"], ["refresh", "--all", "--transition", "none"],
    ["view", "a", "-l", "x"], ["view", "--watch", "-o", "json"], ["view", "--wait"],
    ["view", "--watch", "--nodes"], ["view", "--defaults"], ["view", "--once", "--watch"],
    ["view", "--once", "--nodes"], ["view", "--once", "-o", "yaml"],
    ["view", "--watch", "--width", "9"],
    ["view", "--live", "--format", "text"], ["view", "--once", "--width", "0"],
    ["view", "--once", "--height", "10001"], ["view", "--once", "--format", "svg"],
    ["view", "--watch", "--nodes"],
    ["theme", "set"], ["theme", "set", "color.primary"], ["theme", "set", "primary=#000000"],
    ["theme", "set", "color.primary.drak=#000000"], ["theme", "set", "offset.basic.dark=1"],
    ["theme", "unset"], ["theme", "unset", "--all", "color.x"], ["theme", "import"],
    ["describe"], ["describe", "a b"], ["rm-kind"], ["kinds", "x"],
    ["log-level", "loud"], ["completion", "tcsh"],
    ["ls", "--timeout", "5"], ["ls", "-o", "xml"], ["ls", "-l", "a in x"],
    ["hide", "--where", ""], ["ls", "--where", " "], ["watch", "--where", "\t"],
    ["hide", "-l", ""], ["hide", "--kind", ""], ["hide", "--family", ""],
  ])
  func `invalid command lines exit with the status of wrong usage`(_ arguments: [String]) {
    let error = #expect(throws: (any Error).self) { try Widgetctl.parseAsRoot(arguments) }
    if let error { #expect(Widgetctl.exitCode(for: error) == .validationFailure) }
  }

  @Test func `files and data values need no option`() throws {
    let apply = try #require(
      try Widgetctl.parseAsRoot(["apply", "a.yaml", "-f", "b.yaml"]) as? ApplyCommand)
    #expect(apply.files == ["a.yaml"] && apply.namedFiles == ["b.yaml"])
    let add = try #require(
      try Widgetctl.parseAsRoot(["add", "note", "n=1", "--data", "m=2"]) as? AddCommand)
    #expect(add.data.map(\.key) == ["n"] && add.namedData.map(\.key) == ["m"])
    let list = try #require(try Widgetctl.parseAsRoot(["ls", "a", "b"]) as? ListCommand)
    #expect(list.ids.map(\.rawValue) == ["a", "b"])
  }

  @Test func `a guessed value is text where the field is text`() throws {
    let assignments = try [Assignment("zip=01"), Assignment("n=1"), Assignment("on:=true")]
    let fields = [
      Field(name: "zip", type: .string), Field(name: "n", type: .int),
      Field(name: "on", type: .string),
    ]
    let values = try assignments.values().typed(assignments, in: fields)
    #expect(values == ["zip": .string("01"), "n": .int(1), "on": .bool(true)])
    let twice = try [Assignment("zip=01"), Assignment("zip==2")]
    #expect(try twice.values().typed(twice, in: fields) == ["zip": .string("2")])
  }

  @Test(
    arguments: [
      ("bundle/hello", "default", false, ["to bundle hello", "the bundle's file", "--force"]),
      ("bundle/hello", "mine", true, ["belongs to bundle hello", "--force"]),
      ("mine", "default", false, ["set \"mine\"", "--set mine", "--set default"]),
      ("mine", "default", true, nil), ("mine", "mine", false, nil), ("", "default", false, nil),
      ("bundle/hello", "bundle/hello", false, nil),
    ] as [(String, String, Bool, [String]?)])
  func `apply takes a widget from a bundle or another set only on request`(
    from: String, to: String, isNamed: Bool, words: [String]?
  ) {
    var widget = Samples.widget
    widget.applySet = from
    let spec = WidgetSpec(id: widget.id, kind: widget.kind)
    let refusals = ApplyCommand.refusals(
      toMove: [spec, spec], from: [widget], to: to, isNamed: isNamed)
    #expect(refusals.count == (words == nil ? 0 : 2))
    let refusal = refusals.first
    #expect(refusal.map { $0.exit == .refused } ?? true)
    for word in words ?? [] { #expect(refusal?.message.contains(word) == true) }
    #expect(refusal == nil || refusal?.metadata["widget_id"] == widget.id.rawValue)
  }

  @Test func `the set of a bundle is not pruned`() {
    #expect(ApplyCommand.refusal(toPrune: "panel") == nil)
    let refusal = ApplyCommand.refusal(toPrune: "bundle/desk")
    #expect(refusal?.exit == .refused)
    #expect(refusal?.message.contains("`widgetctl bundle rm desk`") == true)
  }

  @Test(
    arguments: [
      ("photo", nil),
      ("title", "the input \"title\" takes no file; inputs that take a file: photo"),
      ("foto", "widget \"clock\" has no input \"foto\"; inputs that take a file: photo"),
    ] as [(String, String?)])
  func `a file is not uploaded for an input that takes none`(name: String, message: String?) {
    var widget = Samples.widget
    #expect(SendCommand.refusal(ofUploads: [name], to: widget) == nil)
    widget.content = Content(
      rootID: "form",
      nodes: [
        Node(id: "form", type: .form, childIDs: ["a", "b"]),
        Node(id: "a", type: .input, properties: ["name": .string("title")]),
        Node(
          id: "b", type: .input, properties: ["name": .string("photo"), "mode": .string("file")]),
      ])
    #expect(SendCommand.refusal(ofUploads: [name], to: widget)?.message == message)
  }

  @Test func `a widget that the selection excludes is not reported as missing`() {
    func text(_ id: String, waits: Bool = true) -> String {
      FollowOptions.missingText(
        of: Samples.id(id), among: ["cpu", "clock", "bundle/shop"], waits: waits)
    }
    #expect(text("cpus", waits: false) == "there is no widget \"cpus\"; did you mean \"cpu\"?")
    #expect(
      text("memory", waits: false) == "there is no widget \"memory\"; `widgetctl ls` lists them")
    #expect(text("shop", waits: false).hasPrefix("there is no widget \"shop\", but a bundle"))
    #expect(
      text("cpu") == "widget \"cpu\" does not match the selection (-l, --kind, --family, --where) "
        + "yet; waiting for it")
    #expect(text("cpus") == "no widget \"cpus\" yet; waiting for it; did you mean \"cpu\"?")
    #expect(text("memory") == "no widget \"memory\" yet; waiting for it")
    // The bundle of the widget may have failed to load.
    #expect(text("shop").contains("there is a bundle with this id: `widgetctl bundle ls`"))
    #expect(NearestName.bundleText("shop", among: ["bundle/shop"])?.contains("bundle ls") == true)
    #expect(NearestName.bundleText("cpu", among: ["bundle/shop", "cpu"]) == nil)
    #expect(NearestName.bundleText("", among: ["bundle/"]) == nil)
  }

  @Test func `a widget of a bundle is not removed, and the message says what to do`() throws {
    let id = try #require(WidgetID("face"))
    let failure = try #require(RemoveCommand.refusal(of: id, in: "bundle/clock"))
    #expect(failure.exit == .refused)
    for words in [
      "widget \"face\"", "bundle clock", "widgetctl bundle rm clock", "the bundle's file",
      "--force",
    ] { #expect(failure.message.contains(words)) }
  }

  @Test(arguments: ["", "desk", "bundle", "bundle/"])
  func `a widget of no bundle is removed`(set: String) throws {
    #expect(RemoveCommand.refusal(of: try #require(WidgetID("face")), in: set) == nil)
  }

  @Test(
    arguments: [
      (1, 0, "asked for new data of 1 widget; it comes when their programs send it\n"),
      (
        2, 3,
        "asked for new data of 2 widgets; it comes when their programs send it\n"
          + "not refreshed: 3 widgets without a running provider\n"
      ),
      (0, 0, "nothing was refreshed\n"),
    ] as [(UInt64, UInt64, String)])
  func `refresh prints how many widgets were asked about, and how many have no provider`(
    asked: UInt64, unprovided: UInt64, words: String
  ) {
    #expect(
      RefreshCommand.words(
        RefreshWidgetsResponse(askedCount: asked, unprovidedCount: unprovided)) == words)
  }

  @Test(
    arguments: [
      (["hall"], "hall: no program provides its kind now\n"),
      (["a", "b", "c", "d", "e", "f"], "a, b, c, d, e, …: no program provides their kind now\n"),
    ] as [([String], String)])
  func `refresh names the first widgets without a provider`(ids: [String], words: String) {
    let answer = RefreshWidgetsResponse(askedCount: 1, unprovidedCount: UInt64(ids.count))
    #expect(
      RefreshCommand.words(answer, unprovided: ids)
        .hasSuffix("when their programs send it\nnot refreshed: " + words))
  }

  @Test func `a refresh that no provider gets is refused`() throws {
    func refusal(_ asked: UInt64, _ unprovided: UInt64, _ limited: UInt64 = 0) -> CommandFailure? {
      RefreshCommand.refusal(
        RefreshWidgetsResponse(
          askedCount: asked, unprovidedCount: unprovided, limitedCount: limited))
    }
    let failure = try #require(refusal(0, 2))
    #expect(failure.exit == .refused)
    #expect(
      failure.message.hasPrefix(
        "nothing was refreshed: no provider runs for 2 widgets; start the program"))
    #expect(refusal(1, 2) == nil && refusal(0, 0) == nil && refusal(0, 2, 1) == nil)
  }

  @Test func `the example of a form is an event with values`() throws {
    #expect(
      SendCommand.configuration.discussion.contains(
        "send todo submit --node new \\\n    --value title=='Buy milk' --value urgent=true"))
    let expected: ValueMap = [
      "values": .map(["title": .string("Buy milk"), "urgent": .bool(true)])
    ]
    for words in [
      ["--value", "title==Buy milk", "--value", "urgent=true"],
      ["values:={\"title\": \"Buy milk\", \"urgent\": true}"],
    ] {
      let arguments = ["send", "todo", "submit", "--node", "new"] + words
      let command = try #require(try Widgetctl.parseAsRoot(arguments) as? SendCommand)
      #expect(try command.allOfPayload() == expected)
    }
  }

  @Test func `a file that is uploaded is not read as text`() throws {
    let arguments = ["send", "w", "submit", "--value", "photo=@/nowhere", "--value", "title=Cat"]
    let command = try #require(try Widgetctl.parseAsRoot(arguments) as? SendCommand)
    let files = [SendCommand.File(name: "photo", path: "/nowhere")]
    #expect(try command.allOfPayload(without: files) == ["values": .map(["title": .string("Cat")])])
  }

  @Test(arguments: Widgetctl.configuration.groupedSubcommands.flatMap(\.subcommands).map(Kind.init))
  func `every command has an abstract and an example`(_ kind: Kind) {
    let configuration = kind.command.configuration
    #expect(!configuration.abstract.isEmpty)
    #expect(configuration.discussion.contains("widgetctl \(configuration.commandName ?? "?")"))
  }

  /// A command's type as a test argument.
  struct Kind: CustomTestStringConvertible, Sendable {
    let command: any ParsableCommand.Type
    var testDescription: String { command.configuration.commandName ?? "\(command)" }
  }

  @Test(arguments: [
    (["--socket", "/s", "-v", "ls", "-l", "a"], ["ls", "--socket", "/s", "-v", "-l", "a"]),
    (["-o", "json", "--timeout=1s", "get", "a"], ["get", "-o", "json", "--timeout=1s", "a"]),
    (["ls", "-o", "json"], ["ls", "-o", "json"]),
    (["--help"], ["--help"]), (["-v", "--version"], ["-v", "--version"]), ([], []),
    (["--socket"], ["--socket"]), (["-ojson", "ls"], ["ls", "-ojson"]),
    (["ls", "-lpanel=top"], ["ls", "-l=panel=top"]), (["ls", "-l=a=b"], ["ls", "-l=a=b"]),
    (["ls", "-la in (x)"], ["ls", "-la in (x)"]),
    (["set", "a", "--", "-lx=1"], ["set", "a", "--", "-lx=1"]),
  ])
  func `global options may come first`(_ arguments: [String], wanted: [String]) {
    #expect(ArgumentOrder.normalized(arguments) == wanted)
  }

  @Test(arguments: [
    (["timeline", "c", "--limit", "-1"], ["timeline", "c", "--limit=-1"]),
    (
      ["clock", "advance", "-1m", "--timeout", "1s"],
      ["clock", "advance", "--timeout", "1s", "--", "-1m"]
    ),
    (["set", "w", "n=-1", "-v"], ["set", "w", "n=-1", "-v"]),
    (["eval", "--", "-1"], ["eval", "--", "-1"]),
    (["clock", "-o", "json"], ["clock", "-o", "json"]),
  ])
  func `a negative number is a value`(arguments: [String], wanted: [String]) {
    #expect(ArgumentOrder.normalized(arguments) == wanted)
  }

  @Test(arguments: [
    (["bundle", "new", "He llo"], "\"He llo\" cannot be a bundle's id; use 1 to 64"),
    (["bundle", "trace", "He llo"], "\"He llo\" cannot be a bundle's id; use 1 to 64"),
    (["bundle", "install", "f", "--sha256", "DIGEST"], "--sha256 takes 64 hexadecimal digits"),
    (
      ["timeline", "c", "--limit", "x"],
      "'x' is invalid for '--limit <n>': write a whole number, 1 to"
    ),
    (
      ["events", "--after-sequence", "x"], "'--after-sequence <n>': write a whole number, 0 or more"
    ),
    (["watch", "--upcoming", "x"], "'--upcoming <count>': write a whole number, 0 to 60"),
    (
      ["view", "--width", "1.5"],
      "'1.5' is invalid for '--width <columns>': write a whole number, 1"
    ),
    (
      ["render", "c", "--scale", "x"],
      "'x' is invalid for '--scale <factor>': write a number, 0.5 to 8"
    ),
    (["bar", "--max-length", "x"], "'--max-length <columns>': write a whole number, 1 to 1000"),
  ])
  func `a refused value is in the message`(arguments: [String], words: String) {
    let error = #expect(throws: (any Error).self) { try Widgetctl.parseAsRoot(arguments) }
    let message = error.map { Widgetctl.message(for: $0) } ?? ""
    #expect(message.contains(words), "\(message)")
  }

  @Test(arguments: [
    (["timeline", "c", "--limit", "-1"], "--limit is 1 to 1000"),
    (["clock", "advance", "-1m"], "widgetctl clock set TIME"),
  ])
  func `a negative number out of range is refused with the range or the right command`(
    arguments: [String], words: String
  ) {
    do {
      _ = try Widgetctl.parseAsRoot(ArgumentOrder.normalized(arguments))
      Issue.record("not refused")
    } catch {
      #expect(
        Widgetctl.fullMessage(for: error).contains(words), "\(Widgetctl.fullMessage(for: error))")
    }
  }

  @Test func `eval reads the current entry`() throws {
    var widget = LiveSamples.widget("w")
    widget.timeline = TimelineStatus(
      current: TimelineEntry(date: .epoch, values: ["n": .int(2)], score: 3))
    let value = try EvalCommand.evaluate(
      "string(entry.date.getFullYear()) + ':' + string(entry.n) + ':' + string(entry.score)",
      SlotBindings(EvalCommand.bindings(of: widget)))
    #expect(value == .string("1970:2:3"))
    widget.timeline = nil
    #expect(
      try EvalCommand.evaluate(
        "entry.date == null", SlotBindings(EvalCommand.bindings(of: widget))) == .bool(true))
  }

  @Test func `eval knows the fields of the widget`() throws {
    let bindings = SlotBindings(EvalCommand.bindings(of: LiveSamples.widget("w")))
    #expect(try EvalCommand.evaluate("widget.id + widget.error", bindings) == .string("w"))
    #expect(try EvalCommand.evaluate("widget.stale || !widget.visible", bindings) == .bool(false))
    for (source, words) in [
      ("kind == 'gauge'", "did you mean 'widget.kind'?"),
      ("widget.knid == ''", "did you mean 'kind'?"),
      ("widget.state == 'visible'", "did you mean 'visible' or 'enabled'?"),
      ("widget.hidden", "did you mean 'visible'?"),
    ] {
      let failure = #expect(throws: CommandFailure.self) {
        try EvalCommand.evaluate(source, bindings)
      }
      #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
    }
  }

  @Test(arguments: [
    ("status.load.failed", "1:1: the variable 'status' has no value; give --widget ID\n"),
    ("widget.stale", "give --widget ID\n"), ("entry.date == null", "give --widget ID\n"),
    ("data.n > 1", "give --data FILE or --widget ID\n"),
    ("parameters.n > 1", "give --parameters FILE or --widget ID\n"),
    ("event.payload.n", "'event' has no value; give --event FILE"),
    ("nodes.title.value", "'nodes' has no value; give --event FILE"),
  ])
  func `eval says which option gives a value to a variable`(source: String, words: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try EvalCommand.evaluate(source, SlotBindings([]))
    }
    #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
    #expect(failure?.message.hasSuffix("  | ^") == true, "\(failure?.message ?? "")")
  }

  @Test(arguments: [
    ("event.paylod", "unknown field 'paylod'; did you mean 'payload'?"),
    ("event.rwo == ''", "unknown field 'rwo'; did you mean 'row'?"),
  ])
  func `eval knows the fields of an event`(source: String, words: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try EvalCommand.evaluate(source, SlotBindings([]))
    }
    #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
  }

  @Test func `eval reads the values of a form by their names`() throws {
    let event: ValueMap = ["payload": .map(["values": .map(["title": .string("Tea")])])]
    let none: [ExpressionValue?] = Array(repeating: nil, count: 7)
    let bindings = none + [EvalCommand.nodes(of: event)]
    #expect(
      try EvalCommand.evaluate("nodes.title.value", SlotBindings(bindings)) == .string("Tea"))
    #expect(EvalCommand.nodes(of: ["payload": .map([:])]) == .null)
  }

  @Test func `the time of an event in a file is a timestamp`() throws {
    let none: [ExpressionValue?] = Array(repeating: nil, count: 7)
    func year(_ time: Value) throws -> Value {
      var bindings = none
      bindings[2] = ExpressionValue(EvalCommand.event(["time": time]))
      return try EvalCommand.evaluate("event.time.getFullYear()", SlotBindings(bindings))
    }
    #expect(try year(.string("2026-01-31T12:00:00Z")) == .int(2026))
    #expect(try year(.timestamp(.epoch)) == .int(1970))
    #expect(EvalCommand.event(["time": .string("noon")]) == ["time": .string("noon")])
  }

  @Test func `an unknown command is found among the arguments`() {
    #expect(ArgumentOrder.unknownCommand(["frob", "ls"]) == "frob")
    #expect(ArgumentOrder.unknownCommand(["help", "frob"]) == "frob")
    #expect(ArgumentOrder.helpCommand(for: "frob") == "widgetctl --help")
    #expect(ArgumentOrder.helpCommand(for: "theme show") == "widgetctl theme --help")
    for arguments in [
      ["ls"], ["list"], ["help", "ls"], ["help"], ["help", "help"], ["--version"], ["log-level"],
      ["activity", "ls"], ["help", "activity", "ls"],
      [],
    ] {
      #expect(ArgumentOrder.unknownCommand(arguments) == nil)
    }
  }

  @Test(
    arguments: [
      (["set", "cpu", "--bogus"], "there is no option \"--bogus\""),
      (
        ["send", "cpu", "press", "--nod", "click"],
        "there is no option \"--nod\"; did you mean \"--node\"?"
      ),
      (
        ["send", "album", "submit", "--file", "photo=cat.png"],
        "there is no option \"--file\"; did you mean \"--upload\"?"
      ),
      (["ls", "--json"], "there is no option \"--json\"; did you mean \"--output\"?"),
      (
        ["bundle", "ls", "--bundles", "b"],
        "there is no option \"--bundles\"; did you mean \"--dir\"?"
      ),
      (
        ["bundle", "install", "a", "--dri=x"],
        "there is no option \"--dri\"; did you mean \"--dir\"?"
      ),
      (["send", "cpu", "press", "--node", "click", "-ojson"], nil), (["ls", "-l", "a=b"], nil),
      (["set", "cpu", "--", "--bogus"], nil), (["frob", "--x"], nil),
    ] as [([String], String?)])
  func `an unknown option is found among the arguments`(
    _ arguments: [String], message: String?
  ) {
    #expect(ArgumentOrder.unknownOption(arguments) == message)
  }

  @Test(arguments: [
    (["ls", "--nope"], "widgetctl ls --help"), (["list"], "widgetctl list --help"),
    (["--nope"], "widgetctl --help"), ([], "widgetctl --help"),
  ])
  func `wrong usage names the help of its command`(_ arguments: [String], help: String) {
    #expect(ArgumentOrder.help(arguments) == help)
  }

  @Test func `a negative count is reported as out of range`() {
    let error = #expect(throws: (any Error).self) {
      try Widgetctl.parseAsRoot(["events", "--count", "-1"])
    }
    if let error { #expect(Widgetctl.message(for: error) == "--count must be 1 or more") }
  }

  @Test func `errors are JSON exactly if the output is`() {
    #expect(ArgumentOrder.wantsJSON(["get", "x", "-o", "json"]))
    #expect(ArgumentOrder.wantsJSON(["get", "--output=jsonl"]))
    #expect(!ArgumentOrder.wantsJSON(["get", "-o", "yaml"]))
    #expect(!ArgumentOrder.wantsJSON(["set", "a", "--", "-o", "json"]))
    #expect(!ArgumentOrder.wantsJSON([]))
  }
}
