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

  // MARK: - Refusals as failures

  private static let refusing = """
    actions: {save: {do: [{http: "http://a.example/"}], title: Not saved}}
    content: {form: [{input: title, required: true}], id: f, on: {submit: save}}
    """

  private func submit(_ values: ValueMap, _ scene: inout Scene) throws {
    scene.pass(.seconds(1))
    try scene.event("submit", node: "f", ["values": .map(values)], wantsOutcome: true)
  }

  private func reports(_ scene: inout Scene) -> [String] {
    scene.taken().compactMap {
      switch $0 {
      case .report(let text), .note(let text): text
      default: nil
      }
    }
  }

  @Test func `a refused form is a failure until the form takes the values`() throws {
    var scene = try Scene(FormTests.refusing, permissions: ActionTests.hosts)
    try submit([:], &scene)
    try submit(["extra": .int(1)], &scene)
    let since = scene.time.wall
    let words = "title is needed. The form has no field \"extra\"."
    #expect(
      scene.widget?.error
        == WidgetError(reason: "ACTION_FAILED", message: "Not saved: \(words)", since: since))
    #expect(scene.instance.failures.map(\.message) == [words])
    #expect(scene.status("save", "since") == .timestamp(since))
    #expect(
      reports(&scene) == [
        "bundle b: widget w: action save: title is needed.",
        "bundle b: widget w: action save: \(words)",
      ])
    try submit(["title": .string("x")], &scene)
    // The action has not ended yet.
    let request = try need(scene.webRequest())
    #expect(scene.widget?.error == nil && scene.instance.failures == [])
    #expect(
      reports(&scene) == ["bundle b: widget w: action save takes the values of its form now"])
    try scene.answer(request.id, 500)
    #expect(scene.widget?.error?.reason == "ACTION_FAILED")
    #expect(scene.instance.failures.count == 1)
  }

  /// The refusal of any form counted.
  @Test func `only the newest refusal of the same action is in the log as again`() throws {
    var scene = try Scene(
      """
      actions:
        save: {do: [{http: "http://a.example/"}]}
        send: {do: [{http: "http://a.example/"}]}
      content:
        stack:
          - {form: [{input: title, required: true}], id: f, on: {submit: save}}
          - {form: [{input: title, required: true}], id: g, on: {submit: send}}
          - {form: [{input: title, required: true}], id: h, on: {submit: save}}
      """, permissions: ActionTests.hosts)
    let submissions: [(node: String, values: ValueMap)] = [
      ("f", [:]), ("g", [:]), ("h", ["extra": .int(1)]), ("f", [:]), ("h", [:]),
    ]
    var lines: [String] = []
    for (node, values) in submissions {
      scene.pass(.seconds(5))
      try scene.event("submit", node: node, ["values": .map(values)], wantsOutcome: true)
      lines += reports(&scene)
    }
    let start = "bundle b: widget w: action"
    #expect(
      lines == [
        "\(start) save: title is needed.", "\(start) send: title is needed.",
        "\(start) save: title is needed. The form has no field \"extra\".",
        "\(start) save: title is needed.", "\(start) save: title is needed. (again)",
      ])
  }

  @Test func `an accepted form ends the refusal, also if the action does nothing`() throws {
    var scene = try Scene(
      """
      data: {on: false}
      actions: {save: {if: data.on, do: [{http: "http://a.example/"}]}}
      content: {form: [{input: title, required: true}], id: f, on: {submit: save}}
      """, permissions: ActionTests.hosts)
    try submit([:], &scene)
    #expect(scene.widget?.error?.message == "Save failed: title is needed.")
    try submit(["title": .string("x")], &scene)
    #expect(scene.widget?.error == nil && scene.instance.failures == [])
    #expect(scene.status("save", "failed") == .bool(false))
  }

  @Test(arguments: [false, true])
  func `the next host shows a refused form, unless a client has cleared it`(
    isCleared: Bool
  ) throws {
    let bundle = try Scene.bundle(FormTests.refusing, permissions: ActionTests.hosts)
    var scene = try Scene(bundle)
    try submit(["extra": .int(1)], &scene)
    let marked = scene.widget?.error
    #expect(marked != nil)
    if isCleared { try scene.change { $0.error = nil } }
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(scene.widget?.error == (isCleared ? nil : marked))
    #expect(scene.instance.failures.isEmpty == isCleared)
    try submit(["title": .string("x")], &scene)
    #expect(scene.widget?.error == nil)
  }

  struct Shown: Sendable {
    /// The content beside the form.
    let label: String
    let values: ValueMap
    let isShown: Bool
  }

  private static let shown: [Shown] = [
    Shown(label: "=status.save.message", values: ["extra": Value.int(1)], isShown: true),
    Shown(label: "=string(status.save.fields.size())", values: [:], isShown: true),
    // No input has the value, so none shows its message.
    Shown(
      label: "=string(status.save.fields.size())",
      values: ["title": Value.string("x"), "extra": Value.int(1)], isShown: false),
  ]

  @Test(arguments: shown)
  func `a refusal that the content shows is left to its author`(shown: Shown) throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: "http://a.example/"}]}}
      content:
        stack:
          - {label: "\(shown.label)"}
          - {form: [{input: title, required: true}], id: f, on: {submit: save}}
      """, permissions: ActionTests.hosts)
    try submit(shown.values, &scene)
    #expect(scene.status("save", "code") == .string("INVALID_ARGUMENT"))
    #expect((scene.widget?.error == nil) == shown.isShown)
    #expect(scene.instance.failures.isEmpty == shown.isShown)
  }

  @Test func `messages for the fields of a form do not show a failure of its action`() throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: "http://a.example/"}]}}
      content:
        form: [{input: title, problem: '="title" in status.save.fields ? "wrong" : ""'}]
        id: f
        on: {submit: save}
      """, permissions: ActionTests.hosts)
    try submit(["title": .string("x")], &scene)
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene.widget?.error?.reason == "ACTION_FAILED")
  }

  @Test(arguments: [
    ("catch: [{set: {note: error.message}}]", "", true),
    ("", "on: {save.error: {set: {note: string(event.payload.message)}}}", false),
  ])
  func `only steps that run because of a refusal handle it`(
    catching: String, on: String, isShown: Bool
  ) throws {
    var scene = try Scene(
      """
      data: {note: ""}
      actions: {save: {do: [{http: "http://a.example/"}]\(catching.isEmpty ? "" : ", ")\(catching)}}
      content: {form: [{input: title, required: true}], id: f, on: {submit: save}}
      \(on)
      """, permissions: ActionTests.hosts)
    try submit([:], &scene)
    #expect((scene.widget?.error != nil) == isShown)
  }
}
