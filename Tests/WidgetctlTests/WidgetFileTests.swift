import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

struct WidgetFileTests {
  /// The file that `apply` reads.
  static func read(_ text: String, name: String = "f.yaml") throws -> WidgetFile {
    var file = WidgetFile()
    let documents = try DocumentReader.documents(text, name: name)
    let failures = file.add(documents, of: text, name: name) { _ in }
    if let failure = CommandFailure(joining: failures) { throw failure }
    return file
  }

  @Test(arguments: [
    ("{kinds: {k: {}}}", true), ("{set: s, widgets: {w: {kind: k}}}", true),
    ("{kinds: [{name: k, content: {label: x}}]}", true),
    ("{kinds: [{name: k, on: {click: {set: {n: '1'}}}}]}", true),
    ("{kinds: [{name: k, sources: {}}]}", true),
    ("{kinds: [{name: k, content: [{root: {type: label}}]}]}", false),
    ("{kinds: [{name: k, reducers: []}], widgets: [{id: w, kind: k}]}", false),
    ("{id: w, kind: k, data: {kinds: {}}}", false), ("[{id: w, kind: k}]", false),
    ("{bundle: b, kinds: {k: {}}}", false), ("{kinds: [{name: k, data: {n: 0}}]}", true),
    ("{kinds: [{name: k, recommendations: {r: {}}}]}", true),
  ])
  func `a document in the short form is recognised`(text: String, isShort: Bool) throws {
    let document = try #require(DocumentReader.documents(text, name: "f.yaml").first)
    #expect(WidgetFile.isShort(document) == isShort)
  }

  static let timeline = """
    timeline:
      policy: after
      refreshTime: 2026-01-01T09:00:00Z
      staleTime: "2026-01-02T00:00:00Z"
      entries:
      - {date: 2026-01-01T08:00:00Z, values: {n: 3}, score: 2, duration: 90s}
      - {date: "2026-01-01T07:00:00+01:00"}
    """

  @Test func `both forms read a timeline`() throws {
    let indented = { (spaces: String) in
      Self.timeline.split(separator: "\n").map { spaces + $0 }.joined(separator: "\n")
    }
    let long = try Self.read("id: w\nkind: k\n" + Self.timeline)
    let short = try Self.read("widgets:\n  w:\n    kind: k\n" + indented("    "))
    let time = { (text: String) in RFC3339.timestamp(text) ?? .epoch }
    let expected = Timeline(
      entries: [
        TimelineEntry(
          date: time("2026-01-01T08:00:00Z"), values: ["n": .int(3)], score: 2,
          duration: .seconds(90)),
        TimelineEntry(date: time("2026-01-01T06:00:00Z")),
      ], policy: .after, refreshTime: time("2026-01-01T09:00:00Z"),
      staleTime: time("2026-01-02T00:00:00Z"))
    #expect(long.widgets.map(\.timeline) == [expected])
    #expect(short.widgets.map(\.timeline) == [expected])
  }

  @Test func `a timeline that get prints can be applied`() throws {
    var widget = Widget(id: try #require(WidgetID("w")), kind: try #require(KindName("k")))
    let entry = TimelineEntry(
      date: .epoch, values: ["at": .timestamp(.epoch)], score: 0.5, duration: .milliseconds(1_500))
    widget.timeline = TimelineStatus(current: entry, nextTime: .epoch, refreshTime: .epoch)
    for policy in Timeline.Policy.allCases {
      let timeline = Timeline(
        entries: [entry], policy: policy, refreshTime: policy == .after ? .epoch : nil)
      let printed = JSONWriter.compact(widget.document(stored: timeline))
      #expect(try Self.read(printed).widgets.map(\.timeline) == [timeline])
    }
    // A stack can have an empty timeline status, which is not printed.
    widget.timeline = TimelineStatus()
    let empty = JSONWriter.compact(widget.document())
    #expect(!empty.contains("timeline"))
    #expect(try Self.read(empty).widgets.map(\.timeline) == [nil])
    widget.timeline = TimelineStatus(current: entry)
    // The current entry of a schedule is not part of the declaration.
    let printed = JSONWriter.compact(widget.document())
    #expect(try Self.read(printed).widgets.map(\.timeline) == [nil])
  }

  @Test(arguments: [
    ("{}", "1:28: the entries are missing"), ("{policy: never}", "the entries are missing"),
    ("{entries: [{values: {}}]}", "the entry has no date"),
    ("{entries: [{date: soon}]}", "1:46: entries[0].date: \"soon\" is not a time"),
    ("{entries: [], policy: later}", "there is: at-end, after, never"),
    ("{entries: [], policy: after}", "the policy \"after\" needs a refreshTime"),
    ("{entries: [], stale: 1}", "1:42: unknown key \"stale\""),
    (
      "{entries: [{date: 2026-01-01T08:00:00Z, duration: x}]}",
      "entries[0].duration: \"x\" is not a duration"
    ),
    ("3", "expected an object, not \"3\""),
  ])
  func `a mistake in a timeline is named`(timeline: String, words: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try Self.read("{id: w, kind: k, timeline: \(timeline)}")
    }
    #expect(failure?.message.contains(words) == true, "\(String(describing: failure?.message))")
  }

  @Test(arguments: [
    ("{}", "the entries are missing"), ("{entries: 3}", "expected a list of entries"),
    ("{entries: [{values: {}}]}", "the entry has no date"),
    ("{entries: [{date: soon}]}", "is not a time"),
    ("{entries: [], policy: nver}", "did you mean \"never\"?"),
    ("{entries: [], policy: after}", "the policy \"after\" needs a refreshTime"),
    (
      "{entries: [], refreshTime: 2026-01-01T08:00:00Z}",
      "only the policy \"after\" has a refreshTime"
    ),
    (
      "{entries: [{date: 2026-01-01T08:00:00Z, score: -1}]}",
      "entries[0].score: the score is not a number from 0"
    ),
    (
      "{entries: [{date: 2026-01-01T08:00:00Z, values: {n: x}}]}",
      "entries[0].values.n: expected a value of type int, not string"
    ),
    ("{entries: [{date: 2026-01-01T08:00:00Z, values: {n: x}}]}", "hint: write a whole number"),
    ("{entries: [{date: 2026-01-01T08:00:00Z, n: 1}]}", "entries[0]: unknown key \"n\""),
    (
      "{entries: [{date: 2026-01-01T08:00:00Z, values: {m: 1}}]}",
      "entries[0].values.m: the kind has no entry \"m\""
    ),
  ])
  func `a mistake in a timeline of the short form is named`(timeline: String, words: String) {
    let failure = #expect(throws: CommandFailure.self) {
      try Self.read(
        "kinds: {k: {entry: {n: 0}}}\nwidgets: {w: {kind: k, timeline: \(timeline)}}")
    }
    #expect(failure?.message.contains(words) == true, "\(String(describing: failure?.message))")
  }

  @Test func `both forms give the same kinds and widgets`() throws {
    let long = try Self.read(
      """
      set: s
      kinds:
      - name: k
        data: [{name: n, type: int, default: 0}]
        reducers: [{event: press, nodeId: go, set: {n: data.n + 1}}]
        content: [{families: [small], root: {type: button, id: go, text: =string(data.n)}}]
      widgets: [{id: w, kind: k, labels: {a: b}, data: {n: 3}, visible: false}]
      """)
    let short = try Self.read(
      """
      set: s
      kinds:
        k:
          data: {n: 0}
          content: {small: {button: =string(data.n), id: go, on: {press: {set: {n: data.n + 1}}}}}
      widgets: {w: {kind: k, labels: {a: b}, data: {n: 3}, visible: false}}
      """)
    #expect(short.set == long.set && short.kinds == long.kinds && short.widgets == long.widgets)
    #expect(short.shortKinds.map(\.rawValue) == ["k"] && long.shortKinds.isEmpty)
  }

  @Test(arguments: [
    ("kinds: {a: {}}\n---\nkinds: [{name: a}]", "\"a\" is declared twice"),
    (
      "kinds: [{name: a}]\n---\nkinds: {a: {}}", "f.yaml:3:9: kinds.a.name: \"a\" is declared twice"
    ),
    (
      "widgets: [{id: w, kind: a}]\n---\nwidgets: {w: {kind: a}}",
      "f.yaml:3:11: widgets.w.id: \"w\" is declared twice, first in f.yaml: document 1: widgets[0]"
    ),
    ("{set: a, kinds: {}}\n---\n{set: b, kinds: {}}", "must name one set"),
    ("kinds: {a: {dta: 1}}", "f.yaml:1:13: unknown key \"dta\""),
  ])
  func `mistakes across several documents are reported`(text: String, words: String) throws {
    let failure = try #require(throws: CommandFailure.self) { try Self.read(text) }
    #expect(failure.message.contains(words), "\(failure.message)")
  }

  /// The daemon counts kinds and widgets of the request.
  @Test func `a refusal shows the line of a kind in the short form`() throws {
    let file = try Self.read(
      "kinds:\n  a: {}\n  b: {data: {n: 0}}\nwidgets:\n  w: {kind: a}\n  v: {kind: b, data: {n: 1}}\n"
    )
    var failure = CommandFailure(.refused, "no")
    failure.violations = [
      FieldViolation(field: "kinds[1].data[n]", description: "is wrong"),
      FieldViolation(field: "widgets[1].data[n]", description: "is too"),
    ]
    let message = file.located(failure).message
    #expect(message.contains("f.yaml:3:14: kinds.b.data[n]: is wrong"), "\(message)")
    #expect(message.contains("f.yaml:6:23: widgets.v.data[n]: is too"), "\(message)")
  }

  static let yaml = """
    set: panel
    widgets:
    - id: clock
      kind: clock
      family: extra-large
      labels: {panel: top, n: "1"}
      visible: false
      parameters: {zone: UTC}
      data:
        n: 1
        x: 1.0
        on: yes
        b: {$bytes: aGk=}
    - {id: cpu, kind: gauge, enabled: false}
    """

  @Test func `each field of a file of widgets is read`() throws {
    let file = try Self.read(Self.yaml)
    #expect(file.set == "panel")
    #expect(file.widgets.map(\.id?.rawValue) == ["clock", "cpu"])
    #expect(
      file.widgets.first
        == WidgetSpec(
          id: WidgetID("clock"), kind: try #require(KindName("clock")), family: .extraLarge,
          labels: ["panel": "top", "n": "1"], isVisible: false,
          parameters: ["zone": .string("UTC")],
          data: [
            "n": .int(1), "x": .double(1), "on": .string("yes"), "b": .bytes([104, 105]),
          ]))
    #expect(file.widgets.last?.isEnabled == false)
  }

  @Test(arguments: [
    ("{type: button, id: go}", "", ["go"]), ("{type: button, id: go, events: [press]}", "", []),
    ("{type: button, id: go, events: []}", "", []), ("{type: label, id: go}", "", []),
    ("{type: button, id: go}", "reducers: [{event: press, nodeId: go, set: {n: '1'}}]", []),
    ("{type: button, id: go}", "reducers: [{event: press, nodeId: no, set: {n: '1'}}]", ["go"]),
    ("{type: button, id: go}", "reducers: [{event: press, set: {n: '1'}}]", []),
    ("{type: button, id: go}", "events: [{name: press}]", []),
    (
      "{type: stack, id: s, children: [{type: button, id: a}, {type: button, id: b}]}", "",
      ["a", "b"]
    ),
  ])
  func `a declared button without a handler for its press causes a warning`(
    node: String, rest: String, idle: [String]
  ) throws {
    let file = try Self.read(
      "kinds:\n- name: k\n  data: [{name: n, type: int}]\n  content: [{root: \(node)}]\n  \(rest)\n"
    )
    let warnings = IdleButtons.warnings(try #require(file.kinds))
    #expect(warnings.map { $0.metadata["node"] } == idle)
    #expect(warnings.allSatisfy { $0.message.contains("of the kind \"k\"; add a reducer") })
  }

  @Test(arguments: [
    #"[{"id":"a","kind":"k"},{"id":"b","kind":"k"}]"#,
    #"{"widgets":[{"id":"a","kind":"k"},{"id":"b","kind":"k"}]}"#,
    "{id: a, kind: k}\n---\n{id: b, kind: k}",
    "{\"id\":\"a\",\"kind\":\"k\"}\n{\"id\":\"b\",\"kind\":\"k\"}\n",
    "- id: a\n  kind: k\n- &x\n  id: b\n  kind: k",
    "[{id: a, kind: k}, {id: b, kind: k}]",
  ])
  func `a list, a set, single widgets and several documents are accepted`(_ text: String) throws {
    #expect(try Self.read(text).widgets.map(\.id?.rawValue) == ["a", "b"])
  }

  @Test func `expressions in lists and maps of a property are expressions`() throws {
    let file = try Self.read(
      """
      kinds:
      - name: k
        content:
        - root:
            {type: stack, id: r, margin: {top: =data.n, left: 2}, children: [
              {type: label, id: a, runs: [{text: =data.name, weight: bold}, ["==x", 1], =data.n]},
              {type: label, id: b, runs: {value: [=data.n], placeholder: ["==y"]}},
              {type: label, id: c, runs: [{text: "==z"}]}]}
      """)
    let kind = try #require(file.kinds?.first)
    let root = try #require(kind.content.first?.root)
    #expect(root.properties["margin"]?.expression == #"{"left": 2, "top": (data.n)}"#)
    let runs = root.children.map { $0.properties["runs"] }
    #expect(
      runs[0]?.expression == #"[{"text": (data.name), "weight": "bold"}, ["=x", 1], (data.n)]"#)
    #expect(runs[1] == Binding("[(data.n)]", placeholder: .list([.string("=y")])))
    #expect(runs[2] == Binding(value: .list([.map(["text": .string("=z")])])))
    let printed = RegisteredKind(kind: kind, provider: "p", revision: 1).document
    let again = try Self.read(YAMLWriter.document(.map(["kinds": .list([printed])])))
    #expect(again.kinds == [kind])
  }

  @Test func `printed widgets can be applied`() throws {
    let widget = Samples.widget
    let printed = YAMLWriter.document(
      .map(["revision": .int(9), "widgets": .list([widget.document(etag: "x")])]))
    let spec = try #require(try Self.read(printed).widgets.first)
    #expect(spec.id == widget.id)
    #expect(spec.data == widget.data)
    #expect(spec.labels == widget.labels)
    #expect(spec.isEnabled == widget.presence.isEnabled)
  }

  @Test(arguments: [
    ("- {id: a, kind: k}", "default"), ("set: s\nwidgets: [{id: a, kind: k}]", "s"),
    ("- {id: a, kind: k, applySet: s}\n- {id: b, kind: k}", "s"),
    ("set: s\nwidgets: [{id: a, kind: k, applySet: s}]", "s"),
  ])
  func `widgets are applied as the set they belong to`(_ text: String, target: String) throws {
    #expect(try Self.read(text).target(explicit: nil) == target)
    #expect(try Self.read(text).target(explicit: "other") == "other")
  }

  @Test(arguments: [
    (
      "- {id: a, kind: k, applySet: s}\n- {id: b, kind: k, applySet: t}",
      "f.yaml: widgets[1]: belongs to set \"t\", others to \"s\";"
    ),
    (
      "set: s\nwidgets: [{id: a, kind: k, applySet: t}]",
      "f.yaml: widgets[0]: belongs to set \"t\", others to \"s\";"
    ),
  ])
  func `no widget changes its set unless the set is named`(_ text: String, message: String) throws {
    let file = try Self.read(text)
    let failure = #expect(throws: CommandFailure.self) { try file.target(explicit: nil) }
    #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
    #expect(failure?.message.contains("--set s") == true)
    #expect(try file.target(explicit: "s") == "s")
  }

  @Test func `JSON is read by JSON's rules`() {
    let failure = #expect(throws: CommandFailure.self) {
      try Self.read("[\n{\"id\": a}]", name: "f.json")
    }
    #expect(
      failure?.message
        == "f.json:2:8: this is not a value; put text in double quotes\n"
        + "  2 | {\"id\": a}]\n    |        ^")
  }

  @Test func `the growth by aliases is limited`() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in 1...8 {
      let alias = "*a\(level - 1)"
      text += "a\(level): &a\(level) [" + Array(repeating: alias, count: 10).joined(separator: ", ")
      text += "]\n"
    }
    let failure = #expect(throws: CommandFailure.self) { try Self.read(text) }
    #expect(failure?.message.contains("aliases") == true)
  }

  @Test func `a mistake in one of many lines has its line`() throws {
    var lines = (1...3_000).map { "{\"id\": \"w\($0)\", \"kind\": \"k\"}" }
    #expect(try Self.read(lines.joined(separator: "\n"), name: "f.jsonl").widgets.count == 3_000)
    lines[2_899] = "{\"id\": \"w\", \"kidn\": \"k\"}"
    let failure = #expect(throws: CommandFailure.self) {
      try Self.read(lines.joined(separator: "\n"), name: "f.jsonl")
    }
    #expect(failure?.message.contains("f.jsonl:2900:") == true)
  }

  @Test func `after many mistakes, the rest of a file is not read`() {
    let text = String(repeating: "{\"id\": 1}\n", count: 500)
    let failure = #expect(throws: CommandFailure.self) { try Self.read(text, name: "f.jsonl") }
    #expect(
      failure?.message.hasSuffix(
        "documents from number \(WidgetFile.failuresMax + 1) on were not checked; correct the other mistakes first"
      ) == true)
  }

  @Test func `a dry run reports the changes`() throws {
    let before = Samples.widget
    var spec = WidgetSpec(id: before.id, kind: before.kind, labels: ["panel": "left"])
    spec.data = ["n": .int(2)]
    spec.isEnabled = true
    let result = ApplyResult(id: before.id, action: .updated)
    #expect(
      ApplyCommand.text([result], before: [before], specs: [spec], set: "s") == """
        clock updated (dry run)
          state: disabled -> visible
          n: 1 -> 2
          parameters.zone: "UTC" -> nothing
          labels.panel: "top" -> "left"
          set: "" -> "s"

        """)
    #expect(ApplyCommand.text([], before: [], specs: nil, set: "") == "nothing to do\n")
  }

  @Test(arguments: [
    ("", ", moved to set \"s\""), ("t", ", moved from \"t\" to set \"s\""), ("s", ""),
  ])
  func `a widget that changes its set is reported`(_ before: String, words: String) {
    var widget = Samples.widget
    widget.applySet = before
    let result = ApplyResult(id: widget.id, action: .updated)
    #expect(
      ApplyCommand.text([result], before: [widget], specs: nil, set: "s")
        == "clock updated\(words)\n")
  }

  // MARK: - Kinds

  static let kinds = """
    set: desk
    kinds:
    - name: clock
      displayName: Clock
      description: Shows the time.
      families: [small, inline]
      parameters:
      - {name: zone, type: string, default: UTC, description: IANA.}
      - {name: title, type: string, required: true}
      data:
      - {name: drift, type: double, default: 0}
      - {name: any}
      events:
      - {name: click, description: Shows the date., payload: [{name: n, type: int}]}
      open: true
      transition: spring:400ms
    """

  @Test func `a printed kind is read back as the same kind`() throws {
    let file = try Self.read(Self.kinds)
    let name = try #require(KindName("clock"))
    let kind = Kind(
      name: name, displayName: "Clock", summary: "Shows the time.", families: [.small, .inline],
      parameters: [
        Field(name: "zone", type: .string, defaultValue: .string("UTC"), summary: "IANA."),
        Field(name: "title", type: .string, isRequired: true),
      ],
      data: [Field(name: "drift", type: .double, defaultValue: .double(0)), Field(name: "any")],
      isOpen: true,
      events: [
        EventType(
          name: "click", summary: "Shows the date.", payload: [Field(name: "n", type: .int)])
      ],
      transition: Transition(curve: .spring, duration: .milliseconds(400)))
    #expect(file.kinds == [kind])
    #expect(!file.declaresWidgets)
    #expect(try file.target(explicit: nil) == "desk")

    let printed: [RegisteredKind] = [
      RegisteredKind(kind: kind, provider: "desk", ownerUID: 5, revision: 7, updateTime: .epoch),
      RegisteredKind(kind: Kind(name: .help), provider: "widgetd"),
    ]
    let text = JSONWriter.pretty(
      .map(["kinds": .list(printed.map(\.document)), "revision": .int(7)]))
    let again = try Self.read(text, name: "f.json")
    #expect(again.kinds == [kind])
    #expect(try again.target(explicit: nil) == "desk")
  }

  @Test func `kinds of two providers are not registered together`() throws {
    let file = try Self.read("kinds: [{name: a, provider: p}, {name: b, provider: q}]")
    let failure = #expect(throws: CommandFailure.self) { try file.target(explicit: nil) }
    #expect(failure?.message.contains("kinds[1]") == true)
    #expect(try file.target(explicit: "r") == "r")
  }

  @Test(arguments: [
    ("kinds: 1", "1:8: expected kinds by name, or a list of kinds"),
    ("kinds: [1]", "1:9: expected an object, not \"1\""),
    ("kinds: [{}]", "1:9: the name is missing"),
    ("kinds: [{name: a b}]", "1:16: \"a b\" cannot be a kind's name"),
    ("kinds: [{name: a, datas: []}]", "1:19: unknown key \"datas\""),
    ("kinds: [{name: a, data: [{name: x, type: integer}]}]", "1:42: \"integer\" is not a type"),
    ("kinds: [{name: a, data: 3}]", "1:25: expected an object of data"),
    ("kinds: [{name: a, families: [huge]}]", "1:30: \"huge\" is not a family"),
    ("kinds: [{name: a, transition: jump}]", "1:31: \"jump\""),
    ("kinds: [{name: a, events: [{}]}]", "1:28: the name is missing"),
    ("kinds: [{name: a}, {name: a}]", "1:27: kind \"a\" appears twice"),
  ])
  func `a mistake in a kind is reported with its place`(text: String, message: String) {
    let failure = #expect(throws: CommandFailure.self) { try Self.read(text) }
    #expect(failure?.message.contains("f.yaml:\(message)") == true, "\(failure as Any)")
  }

  @Test func `the fields that --own changed and kept are printed line by line`() throws {
    let id = try #require(WidgetID("w"))
    let result = ApplyResult(id: id, action: .updated, changedFields: ["data.a", "data.b"])
    #expect(
      ApplyCommand.text(fieldsOf: [result], dryRun: false)
        == "  w: data.a changed\n  w: data.b changed\n")
  }
}
