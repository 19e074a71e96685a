import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The values that a form takes, and its errors.
struct FormTests {
  private static let form = """
    data: {n: 0}
    content:
      form:
        - {input: title, text: Title, required: true, minLength: 2, maxLength: 5}
        - {input: note, text: Note}
      id: editor
      submit: Save
      action: save
      on: {submit: save}
    actions:
      save: {do: [{http: {method: post, url: "http://a.example/", json: =event.payload.values}}]}
    """

  @Test(arguments: [
    ("", "needed"), ("  \n ", "needed"), ("a", "at least 2"), ("abcdef", "at most 5"),
  ])
  func `a form with a wrong field sends nothing, and reports the mistake`(
    text: String, words: String
  ) throws {
    let body = FormTests.form.split(separator: "\n").filter { !$0.contains("action: save") }
      .joined(separator: "\n")
    var scene = try Scene(body, permissions: ActionTests.hosts)
    try scene.event("submit", node: "editor", ["values": .map(["title": .string(text)])])
    #expect(scene.webRequest() == nil)
    #expect(scene.status("save", "code") == .string("INVALID_ARGUMENT"))
    #expect(scene.status("save", "failed") == .bool(true))
    guard case .map(let fields)? = scene.status("save", "fields"),
      case .string(let message)? = fields["title"]
    else {
      Issue.record("no word about the field")
      return
    }
    #expect(fields.count == 1)
    #expect(message.contains("Title") && message.contains(words))
    try scene.event("submit", node: "editor", ["values": .map(["title": .string("abc")])])
    #expect(scene.webRequest()?.request.text == #"{"note":"","title":"abc"}"#)
    #expect(scene.status("save", "fields") == .map([:]))
  }

  struct WrongForm: Sendable {
    let values: ValueMap
    let wrong: [String: String]
  }

  private static let wrongForms: [WrongForm] = [
    WrongForm(
      values: ["title": Value.list([Value.string("a")])],
      wrong: ["title": "not a value of type list"]),
    WrongForm(
      values: ["title": Value.string("abc"), "extra": Value.int(1)],
      wrong: ["extra": "no field \"extra\""]),
    WrongForm(values: ["title": Value.int(5)], wrong: ["title": "not a value of type int"]),
    WrongForm(
      values: ["title": Value.map([:]), "more": Value.null],
      wrong: ["title": "type map", "more": "no field"]),
  ]

  @Test(arguments: wrongForms)
  func `a form takes the values of its fields, and no others`(form: WrongForm) throws {
    let (values, wrong) = (form.values, form.wrong)
    let body = FormTests.form.split(separator: "\n").filter { !$0.contains("action: save") }
      .joined(separator: "\n")
    var scene = try Scene(body, permissions: ActionTests.hosts)
    try scene.event("submit", node: "editor", ["values": .map(values)])
    #expect(scene.webRequest() == nil)
    guard case .map(let fields)? = scene.status("save", "fields") else {
      Issue.record("no words about fields")
      return
    }
    #expect(Set(fields.keys) == Set(wrong.keys))
    for (name, words) in wrong {
      guard case .string(let message)? = fields[name] else { continue }
      #expect(message.contains(words), "\(message)")
    }
  }

  @Test(arguments: [(3, "ab", false), (2, "ab", true)] as [(Int64, String, Bool)])
  func `the limits of a field may be expressions`(
    least: Int64, text: String, isTaken: Bool
  ) throws {
    var scene = try Scene(
      """
      data: {least: 1}
      content: {form: [{input: t, minLength: =data.least}], id: f, on: {submit: save}}
      actions: {save: {do: [{http: "http://a.example/"}]}}
      """, permissions: ActionTests.hosts)
    let nodes = [
      Node(id: "f", type: .form, childIDs: ["input-1"]),
      Node(id: "input-1", type: .input, properties: ["minLength": .int(least)]),
    ]
    try scene.change { $0.content = Content(rootID: "f", nodes: nodes) }
    try scene.event("submit", node: "f", ["values": .map(["t": .string(text)])])
    #expect((scene.webRequest() != nil) == isTaken)
  }

  private static let numbers: [Value] = [
    .string("12"), .string("-1.5"), .int(3), .double(0.5), .string(""), .string(" 5\n"),
    .string("+1.5e3"),
  ]
  private static let noNumbers: [Value] = [
    .string("twelve"), .string("nan"), .bool(true), .list([.int(1)]), .string("1 2"),
    .string("1 000"), .string("0x10"), .string("0x1p3"), .string("inf"), .string("1e999"),
    .string("1,5"), .string("-"), .string("٣"),
  ]

  @Test(arguments: numbers + noNumbers)
  func `a field for a number takes numbers`(value: Value) throws {
    let isTaken = FormTests.numbers.contains(value)
    var scene = try Scene(
      """
      content: {form: [{input: n, mode: number}], id: f, on: {submit: save}}
      actions: {save: {do: [{http: "http://a.example/"}]}}
      """, permissions: ActionTests.hosts)
    try scene.event("submit", node: "f", ["values": .map(["n": value])])
    #expect((scene.webRequest() != nil) == isTaken)
  }

  @Test(
    arguments: [
      (.string("12"), "\"12\""), (.string(" 5 \n"), "\"5\""), (.string(""), "null"),
      (.string("  "), "null"), (.null, "null"), (.int(3), "3"),
    ] as [(Value, String)])
  func `an action gets the number that was checked`(value: Value, sent: String) throws {
    var scene = try Scene(
      """
      content: {form: [{input: n, mode: number}], id: f, on: {submit: save}}
      actions:
        save: {do: [{http: {method: post, url: "http://a.example/", json: =nodes.n.value}}]}
      """, permissions: ActionTests.hosts)
    try scene.event("submit", node: "f", ["values": .map(["n": value])])
    #expect(scene.webRequest()?.request.text == sent)
  }

  @Test(
    arguments: [
      (["t": Value.bool(true)], "true"), (["t": Value.bool(false)], "false"), ([:], "false"),
      (["t": Value.string("true")], nil), (["t": Value.int(1)], nil),
    ] as [(ValueMap, String?)])
  func `a toggle with a name is a field of its form`(values: ValueMap, sent: String?) throws {
    var scene = try Scene(
      """
      content: {form: [{toggle: Urgent, name: t}], id: f, on: {submit: save}}
      actions:
        save: {do: [{http: {method: post, url: "http://a.example/", json: =nodes.t.value}}]}
      """, permissions: ActionTests.hosts)
    try scene.event("submit", node: "f", ["values": .map(values)])
    #expect(scene.webRequest()?.request.text == sent)
    guard sent == nil else { return }
    guard case .string(let message)? = scene.status("save", "message") else {
      Issue.record("no word about the toggle")
      return
    }
    #expect(message.contains("Urgent takes true or false"), "\(message)")
  }
}
