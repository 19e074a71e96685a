import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Failures that steps of the author handle, or do not handle, in the next host or version.
extension FailureTests {
  private func next(_ scene: inout Scene, _ bundle: Bundle, isReload: Bool) {
    scene.instance = BundleInstance(
      bundle, generation: scene.instance.generation + 1, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), isReload: isReload, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
  }

  private static let handled = "catch: [{set: {note: error.message}}]"

  /// The action `save` fails. It has the trigger `go`.
  struct HandlingFile: Sendable {
    /// Other triggers.
    var on = ""
    /// The handler of `save`.
    var catching = ""
    /// Other actions.
    var more: [String] = []

    func bundle() throws -> Bundle {
      let actions =
        ["save: {do: [{http: \"http://h/x\"}]\(catching.isEmpty ? "" : ", \(catching)")}"] + more
      let lines =
        ["data: {note: \"\"}", "actions:"] + actions.map { "  \($0)" }
        + ["on: {go: save\(on.isEmpty ? "" : ", \(on)")}"]
      return try Scene.bundle(lines.joined(separator: "\n"), permissions: "{hosts: [h]}")
    }
  }

  private static let failing = "{do: [{http: \"http://h/y\"}]}"
  private static let handlers = [
    HandlingFile(on: "error: notify", more: ["notify: \(failing)"]),
    HandlingFile(on: "error: [{http: \"http://h/y\"}]"),
    HandlingFile(on: "error: outer", more: ["notify: \(failing)", "outer: {do: notify}"]),
  ]

  @Test(arguments: handlers, [false, true])
  func `a failure of a handler of the event error stays shown in the next host and version`(
    file: HandlingFile, isReload: Bool
  ) throws {
    let bundle = try file.bundle()
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    try scene.event("error")
    try scene.answer(scene.webRequest()?.id, 500)
    let marked = try need(error(scene))
    #expect(marked.all.count == 1)
    for _ in 0..<2 {
      scene.pass(.seconds(60))
      next(&scene, bundle, isReload: isReload)
      #expect(error(scene) == marked)
      #expect(scene.instance.failures.count == 1)
      #expect(scene.instance.failures.first?.since == marked.since)
    }
    // The failure ends when the handler works.
    _ = scene.taken()
    try scene.event("error")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil && scene.instance.failures == [])
  }

  struct HandlingEdit: Sendable {
    var before = HandlingFile()
    var after = HandlingFile()
    var isShown: Bool
  }

  private static let noting = "[{set: {note: '\"x\"'}}]"
  private static let edits = [
    // The handler is gone.
    HandlingEdit(before: HandlingFile(catching: handled), isShown: true),
    HandlingEdit(before: HandlingFile(on: "save.error: \(noting)"), isShown: true),
    HandlingEdit(before: HandlingFile(on: "error: \(noting)"), isShown: true),
    // Another handler takes its place.
    HandlingEdit(
      before: HandlingFile(catching: handled),
      after: HandlingFile(on: "save.error: \(noting)"), isShown: false),
    // The handler has not run for the failure.
    HandlingEdit(after: HandlingFile(catching: handled), isShown: true),
    // The file is the same.
    HandlingEdit(
      before: HandlingFile(catching: handled), after: HandlingFile(catching: handled),
      isShown: false),
  ]

  @Test(arguments: edits, [false, true])
  func `a failure counts if the present version does not handle it`(
    edit: HandlingEdit, isReload: Bool
  ) throws {
    var scene = try Scene(edit.before.bundle())
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    let since = scene.status("save", "since")
    scene.pass(.seconds(60))
    next(&scene, try edit.after.bundle(), isReload: isReload)
    #expect((error(scene) != nil) == edit.isShown)
    #expect(scene.instance.failures.count == (edit.isShown ? 1 : 0))
    #expect(scene.status("save", "since") == since)
    guard edit.isShown else { return }
    #expect(error(scene)?.since.map { Value.timestamp($0) } == since)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil)
  }

  /// `save` has no handler. The action `outer`, or the steps that run it, have one.
  struct OuterEdit: Sendable {
    var outer = "{do: save, \(FailureTests.handled)}"
    var on = "outer"
    var outerAfter = "{do: save}"
    var onAfter = "outer"
    var isShown = true

    static func bundle(_ outer: String, _ on: String) throws -> Bundle {
      try Scene.bundle(
        """
        data: {note: ""}
        actions:
          save: {do: [{http: "http://h/x"}]}
          outer: \(outer)
        on: {go: \(on)}
        """, permissions: "{hosts: [h]}")
    }
  }

  private static let outerEdits = [
    OuterEdit(),
    // The handler no longer runs the failed action.
    OuterEdit(
      outerAfter: "{do: [{set: {note: '\"x\"'}}], \(handled)}", onAfter: "[outer, save]"),
    OuterEdit(outer: "{do: save}", on: "{do: outer, \(handled)}", onAfter: "{do: outer}"),
    // An action without a name in the outer one has the handler.
    OuterEdit(outer: "{do: [{do: save, \(handled)}]}", outerAfter: "{do: [{do: save}]}"),
    OuterEdit(
      outer: "{do: [{do: save, \(handled)}]}", outerAfter: "{do: [{do: save, \(handled)}]}",
      isShown: false),
    // The steps of the trigger take the place of the outer action.
    OuterEdit(onAfter: "{do: outer, \(handled)}", isShown: false),
  ]

  @Test(arguments: outerEdits, [false, true])
  func `a failure counts if its outer handler is gone`(edit: OuterEdit, isReload: Bool) throws {
    var scene = try Scene(OuterEdit.bundle(edit.outer, edit.on))
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) == nil && scene.instance.failures == [])
    next(&scene, try OuterEdit.bundle(edit.outerAfter, edit.onAfter), isReload: isReload)
    #expect((error(scene) != nil) == edit.isShown)
    #expect(scene.instance.failures.map(\.title) == (edit.isShown ? ["Save failed"] : []))
  }

  /// The version without `inner` has its steps in `outer`.
  @Test(arguments: [false, true])
  func `a handled failure stays handled when it moves to another action`(isReload: Bool) throws {
    let steps = "[{http: \"http://h/x\"}]"
    func bundle(_ step: String, _ inner: String) throws -> Bundle {
      try Scene.bundle(
        """
        data: {note: ""}
        actions:
          outer: {do: \(step), \(FailureTests.handled)}
          \(inner)
        on: {go: outer}
        """, permissions: "{hosts: [h]}")
    }
    let whole = try bundle("inner", "inner: {do: \(steps)}")
    var scene = try Scene(whole)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    for version in [try bundle(steps, ""), whole] {
      next(&scene, version, isReload: isReload)
      #expect(error(scene) == nil && scene.instance.failures == [])
    }
  }

  @Test func `catch does not handle a refusal of the data by the daemon`() throws {
    var scene = try Scene(
      """
      data: {note: ""}
      actions: {save: {do: [{http: "http://h/x", set: {note: '"long"'}}], \(FailureTests.handled)}}
      on: {go: save}
      """, permissions: "{hosts: [h]}")
    try scene.event("go")
    let request = scene.webRequest()?.id
    scene.isBusy = true
    try scene.answer(request, 200)
    let changes = scene.taken()
    #expect(changes.count == 1)
    guard case .patch(let change, _, let patch)? = changes.first else {
      Issue.record("no change: \(changes)")
      return
    }
    #expect(patch.setData["note"] == .string("long"))
    scene.tell(.failed(change, Failure("INVALID_ARGUMENT", "too long")))
    scene.catchUp()
    #expect(scene.status("save", "failed") == .bool(true))
    #expect(scene.instance.failures.map(\.message) == ["The daemon refuses the data: too long"])
    #expect(error(scene)?.message == "Save failed: The daemon refuses the data: too long")
  }
}
