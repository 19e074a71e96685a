import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Errors that clients clear or replace, on widgets with failures.
extension FailureTests {
  private static let failure = "Could not save: the server answered 403 (forbidden)"
  private static let theirs = WidgetError(reason: "THEIRS", message: "look at this")

  private static func saving() throws -> Bundle {
    try Scene.bundle(
      """
      actions: {save: {do: [{http: {method: DELETE, url: "http://h/x"}}], title: Could not save}}
      on: {go: save}
      """, permissions: "{hosts: [h]}")
  }

  private func failSaving(_ scene: inout Scene) throws {
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 403)
  }

  private func messages(_ scene: Scene) -> [String] {
    error(scene)?.all.map(\.message) ?? []
  }

  /// The next host, or version.
  private func begin(_ scene: inout Scene, isReload: Bool = false) throws {
    scene.instance = BundleInstance(
      try FailureTests.saving(), generation: 2, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), isReload: isReload, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
  }

  @Test(arguments: [false, true])
  func `a cleared failure stays cleared when a mistake of the file begins and ends`(
    isReload: Bool
  ) throws {
    var scene = try Scene(FailureTests.saving())
    try failSaving(&scene)
    try scene.change { $0.error = nil }
    #expect(scene.status("save", "cleared") == .bool(true))
    scene.take(scene.instance.setProblem("line 3: no", at: scene.time))
    #expect(messages(scene) == ["line 3: no"])
    _ = reports(&scene)
    try begin(&scene, isReload: isReload)
    #expect(messages(scene) == [] && scene.instance.failures == [])
    #expect(reports(&scene) == [])
    try failSaving(&scene)
    #expect(messages(scene) == [FailureTests.failure])
    #expect(scene.status("save", "cleared") == nil)
  }

  /// The former version's content showed the failure, so the widget had no error.
  @Test(arguments: [false, true])
  func `a failure that the content showed counts when the next version does not show it`(
    isReload: Bool
  ) throws {
    var scene = try Scene(
      Scene.bundle(
        """
        content: {label: =status.save.message}
        actions: {save: {do: [{http: {method: DELETE, url: "http://h/x"}}], title: Could not save}}
        on: {go: save}
        """, permissions: "{hosts: [h]}"))
    try failSaving(&scene)
    #expect(messages(scene) == [] && scene.status("save") == .string("failure"))
    try begin(&scene, isReload: isReload)
    #expect(messages(scene) == [FailureTests.failure] && scene.instance.failures.count == 1)
    #expect(scene.status("save", "cleared") == nil)
  }

  @Test func `a cleared failure stays cleared beside an error of others in the next host`() throws {
    var scene = try Scene(FailureTests.saving())
    try failSaving(&scene)
    try scene.change { $0.error = nil }
    try scene.change { $0.error = FailureTests.theirs }
    _ = reports(&scene)
    try begin(&scene)
    #expect(messages(scene) == ["look at this"] && scene.instance.failures == [])
    #expect(reports(&scene) == [])
  }

  @Test func `a source that fails again after its error was cleared is in the log`() throws {
    var scene = try scene()
    try fail(&scene)
    _ = reports(&scene)
    try scene.change { $0.error = nil }
    #expect(
      reports(&scene) == [
        "bundle b: widget w: source feed no longer counts: its error was cleared"
      ])
    for isFirst in [true, false] {
      try fail(&scene)
      #expect(messages(scene) == ["Feed failed: cat failed"])
      let told = isFirst ? ["bundle b: widget w: source feed: cat failed (again)"] : []
      #expect(reports(&scene) == told)
    }
  }

  /// The file has a mistake when the next host begins, so that the error of the mistake comes before
  /// an instance.
  @Test(arguments: [false, true])
  func `a failure that a client clears while no host runs stays cleared`(hasMistake: Bool) throws {
    var scene = try Scene(FailureTests.saving())
    try failSaving(&scene)
    _ = reports(&scene)
    let mistake = WidgetError(reason: BundleInstance.invalid, message: "line 3: no")
    let id = try need(WidgetID("w"))
    scene.widgets[id]?.error = hasMistake ? mistake : nil
    try begin(&scene)
    #expect(messages(scene) == [] && scene.instance.failures == [])
    #expect(
      reports(&scene) == [
        "bundle b: widget w: action save no longer counts: its error was cleared"
      ])
  }

  @Test(arguments: [false, true])
  func `a failure is shown beside an error of others, and stays when that one is cleared`(
    isLater: Bool
  ) throws {
    var scene = try Scene(FailureTests.saving())
    if isLater { try scene.change { $0.error = FailureTests.theirs } }
    try failSaving(&scene)
    if !isLater { try scene.change { $0.error = FailureTests.theirs } }
    #expect(messages(scene) == [FailureTests.failure, "look at this"])
    #expect(scene.instance.failures.count == 1)
    try scene.change { $0.error = nil }
    #expect(messages(scene) == [FailureTests.failure])
    #expect(scene.instance.failures.count == 1)
    // Now only the failure is there.
    try scene.change { $0.error = nil }
    #expect(messages(scene) == [] && scene.instance.failures == [])
  }

  @Test func `an error of others that replaces a failure while no host runs clears nothing`() throws
  {
    var scene = try Scene(FailureTests.saving())
    try failSaving(&scene)
    let id = try need(WidgetID("w"))
    scene.widgets[id]?.error = FailureTests.theirs
    try begin(&scene)
    #expect(messages(scene) == [FailureTests.failure, "look at this"])
    #expect(scene.instance.failures.count == 1)
  }

  /// The host's change, which still has the error of others, is under way.
  @Test func `an error of others that somebody clears meanwhile does not come back`() throws {
    var scene = try Scene(FailureTests.saving())
    try failSaving(&scene)
    scene.isBusy = true
    try scene.change { $0.error = FailureTests.theirs }
    try scene.change { $0.error = nil }
    scene.catchUp()
    #expect(messages(scene) == [FailureTests.failure])
  }

  /// The daemon tells the host's change before it answers, or does not.
  @Test(arguments: [false, true], [false, true])
  func `an error of others that comes while a change of the host is under way stays`(
    isReplaced: Bool, isTold: Bool
  ) throws {
    let former = WidgetError(reason: "THEIRS", message: "wait")
    let mark = WidgetError(reason: BundleInstance.actionFailed, message: FailureTests.failure)
    var scene = try Scene(FailureTests.saving())
    if isReplaced { try scene.change { $0.error = former } }
    try scene.event("go")
    let request = scene.webRequest()?.id
    scene.isBusy = true
    try scene.answer(request, 403)
    scene.catchUpToError()
    try scene.change { $0.error = FailureTests.theirs }
    if isTold {
      try scene.change { $0.error = WidgetError(joining: isReplaced ? [mark, former] : [mark]) }
    }
    scene.catchUp()
    #expect(messages(scene) == [FailureTests.failure, "look at this"])
  }

  /// Another part of the host repeats a change that it made before the failure.
  @Test func `an error that a change without it has removed is set again`() throws {
    var scene = try scene()
    try scene.change { $0.error = FailureTests.theirs }
    try fail(&scene)
    let marked = error(scene)
    #expect(messages(scene) == ["Feed failed: cat failed", "look at this"])
    try scene.change {
      $0.error = FailureTests.theirs
      $0.isStale = false
    }
    #expect(error(scene) == marked)
  }

  @Test func `the status of a source says whether the source makes the widget stale`() throws {
    var scene = try scene(stale: ", staleAfter: 5s")
    try fail(&scene)
    #expect(scene.status("feed", "stale") == nil && !isStale(scene))
    for _ in 0..<5 { try fail(&scene) }
    #expect(scene.status("feed", "stale") == .bool(true) && isStale(scene))
    let patches = scene.patches.count
    try fail(&scene)
    #expect(scene.patches.count == patches, "nothing has changed")
    scene.pass(.seconds(1))
    try scene.print(scene.program()?.id, "6")
    #expect(scene.status("feed", "stale") == nil && !isStale(scene))
  }
}
