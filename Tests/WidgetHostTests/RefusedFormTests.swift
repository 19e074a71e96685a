import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// When the refusal of a form is a failure, and when it ends.
struct RefusedFormTests {
  private func form(_ content: String) -> String {
    """
    actions: {save: {do: [{http: "http://a.example/"}]}}
    content: \(content)
    """
  }

  private let single = "{form: [{input: title, required: true}], id: f, on: {submit: save}}"

  private func scene(_ content: String) throws -> Scene {
    try Scene(form(content), permissions: ActionTests.hosts)
  }

  private func submit(_ values: ValueMap, _ node: String, _ scene: inout Scene) throws {
    scene.pass(.seconds(1))
    try scene.event("submit", node: node, ["values": .map(values)])
  }

  private let good: ValueMap = ["title": Value.string("x")]

  // MARK: - What the content shows

  struct Shown: Sendable {
    let label: String
    let isShown: Bool
  }

  @Test(arguments: [
    Shown(label: "=status.save.running ? \"a\" : \"b\"", isShown: false),
    Shown(label: "=status.save.succeeded ? \"a\" : \"b\"", isShown: false),
    Shown(label: "=status.save.progress == null ? \"a\" : \"b\"", isShown: false),
    Shown(label: "=status.save.failed ? \"a\" : \"b\"", isShown: true),
    Shown(label: "=status.save.code", isShown: true),
    Shown(label: "=has(status.save) ? \"a\" : \"b\"", isShown: false),
    Shown(label: "=\"save\" in status ? \"a\" : \"b\"", isShown: false),
    Shown(label: "=has(status.save.failed) ? \"a\" : \"b\"", isShown: false),
    Shown(label: "=has(status.save.fields) ? \"a\" : \"b\"", isShown: false),
  ])
  func `content that does not tell of a failure does not hide it`(shown: Shown) throws {
    var scene = try scene(
      "{stack: [{label: '\(shown.label)'}, \(single)]}")
    try submit([:], "f", &scene)
    #expect((scene.widget?.error == nil) == shown.isShown)
    try submit(good, "f", &scene)
    try scene.answer(scene.webRequest()?.id, 500)
    #expect((scene.widget?.error == nil) == shown.isShown)
  }

  @Test(arguments: [
    "\"title\" in status.save.fields", "has(status.save.fields.title)",
    "size(status.save.fields) > 0", "status.save.fields == {}",
    "status.save.fields.exists(f, f == \"title\")", "status.save.fields.exists(f, m, m != \"\")",
  ])
  func `a test for a wrong field shows the refusal, and no other failure`(test: String) throws {
    var scene = try scene(
      "{stack: [{label: '=\(test) ? \"a\" : \"b\"'}, \(single)]}")
    try submit([:], "f", &scene)
    #expect(scene.widget?.error == nil)
    try submit(good, "f", &scene)
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene.widget?.error != nil)
  }

  @Test(
    arguments: [
      (["title": Value.string(""), "count": Value.string("1")], true),
      (["title": Value.string("x"), "count": Value.string("y")], false),
      (["title": Value.string(""), "count": Value.string("y")], false),
    ] as [(ValueMap, Bool)])
  func `content shows only the messages that it reads`(values: ValueMap, isShown: Bool) throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: "http://a.example/"}]}}
      content:
        form:
          - input: title
            required: true
            problem: '="title" in status.save.fields ? status.save.fields.title : ""'
          - {input: count, mode: number}
        id: f
        on: {submit: save}
      """, permissions: ActionTests.hosts)
    try submit(values, "f", &scene)
    #expect((scene.widget?.error == nil) == isShown)
  }

  // MARK: - When a refusal ends

  @Test func `the success of an earlier run does not end a refusal`() throws {
    var scene = try scene(single)
    try submit(good, "f", &scene)
    let request = try need(scene.webRequest())
    try submit([:], "f", &scene)
    try scene.answer(request.id, 200, "{}")
    #expect(scene.widget?.error?.message == "Save failed: title is needed.")
    try submit(good, "f", &scene)
    #expect(scene.widget?.error == nil)
  }

  @Test func `an action that runs is running again after a refusal`() throws {
    var scene = try scene(single)
    try submit(good, "f", &scene)
    let request = try need(scene.webRequest())
    try submit([:], "f", &scene)
    #expect(scene.status("save") == .string("failure"))
    // This submission waits for the end of the first run.
    try submit(good, "f", &scene)
    #expect(scene.widget?.error == nil)
    #expect(scene.status("save") == .string("running"))
    try scene.answer(request.id, 200, "{}")
    #expect(scene.webRequest() != nil)
  }

  @Test(arguments: [true, false])
  func `an action that another run enters later does not hide a refusal from the next host`(
    isReload: Bool
  ) throws {
    let bundle = try Scene.bundle(
      """
      actions:
        upload: {do: [{http: "http://a.example/"}]}
        save: {do: [{http: "http://a.example/"}, {run: upload}]}
      content: \(single)
      """, permissions: ActionTests.hosts)
    var scene = try Scene(bundle)
    try submit(good, "f", &scene)
    let request = try need(scene.webRequest())
    try submit([:], "f", &scene)
    try scene.answer(request.id, 200, "{}")
    #expect(scene.status("upload") == .string("running"))
    #expect(scene.status("save", "inner") == nil)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: isReload, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    let messages = Set(scene.widget?.error?.all.map(\.message) ?? [])
    #expect(
      messages == [
        "Save failed: title is needed.", "Upload failed: It was interrupted; try again.",
      ])
  }

  /// Two forms of an action, and a form in rows.
  @Test(arguments: [("f", "g"), ("f/1", "f/2")])
  func `a form does not end the refusal of another form`(one: String, other: String) throws {
    var scene = try scene(
      """
      {stack: [
        {form: [{input: title, required: true}], id: f, on: {submit: save}},
        {form: [{input: title, required: true}], id: g, on: {submit: save}}]}
      """.split(separator: "\n").joined(separator: " "))
    try submit([:], one, &scene)
    let marked = scene.widget?.error
    try submit(good, other, &scene)
    try scene.answer(scene.webRequest()?.id, 200, "{}")
    #expect(marked != nil && scene.widget?.error == marked)
    try submit(good, one, &scene)
    #expect(scene.widget?.error == nil && scene.instance.failures == [])
  }

  @Test func `the number of refusals has a limit`() throws {
    var scene = try scene(single)
    for row in 0..<50 { try submit([:], "f/\(row)", &scene) }
    #expect(scene.instance.failures.count == HostLimits().failuresShownMax)
  }

  @Test func `a refusal ends when the content no longer has its form`() throws {
    var scene = try scene(single)
    let form = [Node(id: "f", type: .form)]
    try scene.change { $0.content = Content(rootID: "f", nodes: form) }
    try submit([:], "f", &scene)
    #expect(scene.widget?.error != nil)
    try scene.change {
      $0.content = Content(rootID: "label", nodes: [Node(id: "label", type: .label)])
    }
    #expect(scene.widget?.error == nil && scene.instance.failures == [])
    #expect(scene.status("save") == .string("idle"))
  }

  struct Version: Sendable {
    let content: String
    let isRefused: Bool
  }

  @Test(arguments: [
    Version(
      content: "{form: [{input: title, required: true}], id: f, on: {submit: save}}",
      isRefused: true),
    // The field takes the empty text.
    Version(content: "{form: [{input: title}], id: f, on: {submit: save}}", isRefused: false),
    // Its form has another id, no form has the field, or no form has the action.
    Version(content: "{form: [{input: title}], id: g, on: {submit: save}}", isRefused: false),
    Version(content: "{form: [{input: name}], id: f, on: {submit: save}}", isRefused: false),
    Version(content: "{label: x}", isRefused: false),
  ])
  func `a version without the form ends its refusal`(version: Version) throws {
    var scene = try scene(single)
    try submit([:], "f", &scene)
    #expect(scene.widget?.error != nil)
    scene.instance = BundleInstance(
      try Scene.bundle(form(version.content), permissions: ActionTests.hosts), generation: 2,
      folder: "/bundles/b", home: "/home/me", limits: HostLimits(), isReload: true, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect((scene.widget?.error != nil) == version.isRefused)
    #expect(scene.status("save", "failed") == .bool(version.isRefused))
  }

  @Test(arguments: [
    // The field has the same rules, is not required, or has another limit. Other fields count for
    // nothing, and nodes before it change the numbers of nodes.
    ("{form: [{input: title, maxLength: 5, required: true}], id: f, on: {submit: save}}", true),
    ("{form: [{input: title, maxLength: 5}], id: f, on: {submit: save}}", false),
    (
      "{form: [{input: title, maxLength: 50, required: true}], id: f, on: {submit: save}}", false
    ),
    (
      "{form: [{label: x}, {input: y}, {input: title, maxLength: 5, required: true}], id: f, "
        + "on: {submit: save}}", true
    ),
  ])
  func `a version with another declaration of a wrong field ends its refusal`(
    content: String, isRefused: Bool
  ) throws {
    for isReload in [true, false] {
      try checkEdit(to: content, isRefused: isRefused, isReload: isReload)
    }
  }

  /// - Parameter isReload: false for an edit while no host runs.
  private func checkEdit(to content: String, isRefused: Bool, isReload: Bool) throws {
    var scene = try scene(
      "{form: [{input: title, maxLength: 5, required: true}], id: f, on: {submit: save}}")
    try submit(["title": Value.string("too long")], "f", &scene)
    #expect(scene.widget?.error != nil)
    let former = scene.instance
    scene.instance = BundleInstance(
      try Scene.bundle(form(content), permissions: ActionTests.hosts), generation: 2,
      folder: "/bundles/b", home: "/home/me", limits: HostLimits(), isReload: isReload, seed: 8)
    if isReload { scene.instance.keepAges(of: former) }
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect((scene.widget?.error != nil) == isRefused)
    #expect(scene.status("save", "failed") == .bool(isRefused))
  }

  // MARK: - Words

  @Test func `only the status has the typed values`() throws {
    var scene = try scene(
      "{form: [{input: pin, mode: number}, {input: title}], id: f, on: {submit: save}}")
    try submit(["pin": Value.string("hunter2"), "extra": Value.int(1)], "f", &scene)
    let words = "pin takes a number. The form has no field \"extra\"."
    #expect(scene.widget?.error?.message == "Save failed: \(words)")
    #expect(scene.instance.failures.map(\.message) == [words])
    let reports = scene.taken().compactMap { effect -> String? in
      if case .report(let text) = effect { text } else { nil }
    }
    #expect(reports == ["bundle b: widget w: action save: \(words)"])
    guard case .string(let full)? = scene.status("save", "message") else {
      Issue.record("no message")
      return
    }
    #expect(full.contains("hunter2"))
    #expect(scene.status("save", "errorMessage") == .string(words))
  }

  @Test func `the name of a field cannot look like another line of the log`() throws {
    var scene = try scene("{form: [{input: title}], id: f, on: {submit: save}}")
    try submit(["title": .string("a"), "x\nbundle b removed": .int(1)], "f", &scene)
    let reports = scene.taken().compactMap { effect -> String? in
      if case .report(let text) = effect { text } else { nil }
    }
    #expect(
      reports == [
        "bundle b: widget w: action save: The form has no field \"x⏎bundle b removed\"."
      ])
  }

  @Test func `the error of a refused form is cut`() throws {
    var scene = try scene(single)
    var values: ValueMap = [:]
    for number in 0..<40 {
      values["\(number)" + String(repeating: "x", count: 60)] = .int(1)
    }
    try submit(values, "f", &scene)
    let message = try need(scene.widget?.error?.message)
    #expect(message.utf8.count <= HostLimits().outcomeTextBytesMax + "Save failed: ".utf8.count)
    #expect(message.hasPrefix("Save failed: title is needed. The form has no field \"0x"))
    #expect(message.hasSuffix("x\". The form has no field…"), "\(message)")
  }
}
