import Testing
import WidgetModel

@testable import WidgetCore

/// The values that the daemon takes from a form with a reducer, and its errors.
struct FormTests {
  @Test(
    arguments: [
      ([:], "Title is needed."), (["title": .string("  ")], "Title is needed."),
      (["title": .string("x"), "n": .string("many")], "n takes a number, not \"many\"."),
      (["title": .string("x"), "n": .bool(true)], "n takes a number, not a value of type bool."),
      (["title": .list([.string("a")])], "Title takes a text, not a value of type list."),
      (
        ["title": .string("x"), "titel": .int(1)],
        "The form has no field \"titel\"; did you mean \"title\"?"
      ),
      (["title": .string("x"), "n": .string("1 000")], "n takes a number, not \"1 000\"."),
      (["title": .string("x"), "n": .string("0x10")], "n takes a number, not \"0x10\"."),
      (["title": .string("x"), "n": .string("inf")], "n takes a number, not \"inf\"."),
      (["title": .string("x"), "n": .string("-1.5e3\n")], nil),
      (["title": .string("x")], nil), (["title": .string("x"), "n": .string(" 1.5 ")], nil),
      (["title": .string("x"), "n": .int(3)], nil),
      (["title": .int(5), "n": .null], "Title takes a text, not a value of type int."),
      (["title": .string("x"), "t": .bool(false)], nil),
      (
        ["title": .string("x"), "t": .string("on")],
        "t takes true or false, not a value of type string."
      ),
      (["title": .string("x"), "note": .string("a")], "Note needs at least 2 characters."),
      (
        ["title": .string("x"), "note": .string("🙂bcdef")],
        "Note has 6 characters, and may have at most 5."
      ),
      (["title": .string("x"), "note": .string("🙂bcde")], nil),
      (["title": .string("x"), "note": .string("")], nil),
      (
        ["title": .string("x"), "n": .string("12345678901")],
        "n has 11 characters, and may have at most 10."
      ),
      (["title": .string("x"), "n": .string(" 1234567890 ")], nil),
    ] as [(ValueMap, String?)])
  func `a form that a reducer answers is checked before`(values: ValueMap, words: String?) throws {
    let form = NodeTemplate(
      id: "form", type: .form,
      children: [
        NodeTemplate(
          id: "title", type: .input,
          properties: [
            "name": Binding(value: .string("title")), "text": Binding(value: .string("Title")),
            "required": Binding(value: .bool(true)),
          ]),
        NodeTemplate(
          id: "box", type: .stack,
          children: [
            NodeTemplate(
              id: "n", type: .input,
              properties: [
                "name": Binding(value: .string("n")),
                "mode": Binding(value: .string("number")), "maxLength": Binding(value: .int(10)),
              ]),
            NodeTemplate(
              id: "note", type: .input,
              properties: [
                "name": Binding(value: .string("note")), "text": Binding(value: .string("Note")),
                "minLength": Binding(value: .int(2)), "maxLength": Binding(value: .int(5)),
              ]),
            NodeTemplate(
              id: "t", type: .toggle, properties: ["name": Binding(value: .string("t"))]),
          ]),
      ])
    let content = [ContentTemplate(root: form)]
    let submit = Command.sendEvent(
      EventDraft(
        widgetID: "a", nodeID: "form", name: "submit", payload: ["values": .map(values)]))
    var kind = Kind(name: "k", isOpen: true, content: content)
    var store = Store()
    try store.register([kind])
    try store.create("a", kind: "k")
    // The provider that answers the form checks it.
    try store.run(submit)
    kind.reducers = [Reducer(event: "submit", nodeID: "form", assignments: ["n": "1"])]
    try store.register([kind])
    guard let words else {
      try store.run(submit)
      #expect(store.widget("a")?.data["n"] == .int(1))
      return
    }
    let names = ["The form": "titel", "Title": "title", "Note": "note"]
    let name = names.first { words.hasPrefix($0.key) }?.value ?? String(words.prefix(1))
    guard case .invalidForm(let problems)? = store.refusal(of: submit) else {
      Issue.record("not refused")
      return
    }
    #expect(problems.map(\.name) == [name] && problems.map(\.words) == [words])
    #expect(store.widget("a")?.data["n"] == nil)
  }

  /// A kind with a form `f`: `title`, with computed limits, the number `n`, and the toggle `on`.
  private static let form = Kind(
    name: "k",
    data: [
      Field(name: "least", type: .int, defaultValue: .int(2)),
      Field(name: "needed", type: .bool, defaultValue: .bool(false)),
      Field(name: "seen", type: .any),
    ],
    reducers: [
      Reducer(
        event: "submit", nodeID: "f",
        assignments: [
          "seen": "[nodes.title.value, nodes.n.value, event.payload.values.on]"
        ])
    ],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "f", type: .form,
          children: [
            NodeTemplate(
              id: "title", type: .input,
              properties: [
                "name": Binding(value: .string("title")), "minLength": Binding("data.least"),
                "required": Binding("data.needed"),
              ]),
            NodeTemplate(
              id: "n", type: .input,
              properties: [
                "name": Binding(value: .string("n")), "mode": Binding(value: .string("number")),
              ]),
            NodeTemplate(
              id: "on", type: .toggle, properties: ["name": Binding(value: .string("on"))]),
          ]))
    ])

  private static func submit(_ values: ValueMap) -> Command {
    .sendEvent(
      EventDraft(
        widgetID: "a", nodeID: "f", name: "submit", payload: ["values": .map(values)]))
  }

  @Test(
    arguments: [
      (["title": Value.string("x")], 2, false, ["title: needs at least 2 characters."]),
      (["title": Value.string("x")], 1, true, []), ([:], 2, false, []),
      ([:], 2, true, ["title: is needed."]),
      (
        ["title": Value.int(5), "n": Value.string("many"), "extra": Value.null], 2, false,
        [
          "title: takes a text, not a value of type int.", "n: takes a number, not \"many\".",
          "extra: form has no field \"extra\"; there is: title, n, on.",
        ]
      ),
    ] as [(ValueMap, Int64, Bool, [String])])
  func `limits of a form may be expressions, and every mistake is named`(
    values: ValueMap, least: Int64, needed: Bool, words: [String]
  ) throws {
    var store = Store()
    try store.register([Self.form])
    try store.create("a", kind: "k", data: ["least": .int(least), "needed": .bool(needed)])
    let submit = Self.submit(values)
    guard !words.isEmpty else {
      try store.run(submit)
      return
    }
    guard case .invalidForm(let problems)? = store.refusal(of: submit) else {
      Issue.record("not refused: \(String(describing: store.refusal(of: submit)))")
      return
    }
    #expect(
      problems.map { "\($0.name): \($0.words.drop { $0 != " " }.dropFirst())" } == words)
  }

  @Test func `a value that a submission leaves out has the default of its input`() throws {
    var store = Store()
    try store.register([Self.form])
    try store.create("a", kind: "k")
    try store.run(Self.submit([:]))
    #expect(store.widget("a")?.data["seen"] == .list([.string(""), .null, .bool(false)]))
    try store.run(Self.submit(["n": .string(" 5 ")]))
    #expect(store.widget("a")?.data["seen"] == .list([.string(""), .string("5"), .bool(false)]))
  }
}
