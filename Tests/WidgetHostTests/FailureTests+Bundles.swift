import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// The problems of bundles on a widget, beside its failures and the errors of others.
extension FailureTests {
  private func messages(_ scene: Scene) -> [String] {
    error(scene)?.all.map(\.message) ?? []
  }

  /// The file of bundle `x` lacks the widget, says an earlier host. The source of the widget has
  /// failed since.
  private func leaving() throws -> Scene {
    var scene = try scene()
    try scene.change {
      $0.applySet = "bundle/x"
      $0.isStale = true
      $0.error = WidgetError(
        reason: BundleInstance.invalid, message: "the file of bundle x no longer has this widget")
    }
    try fail(&scene)
    return scene
  }

  @Test func `the error of a widget that left ends when its bundle has declared its widgets`()
    throws
  {
    var scene = try leaving()
    let words = "the file of bundle x no longer has this widget"
    let both = [words, "Feed failed: cat failed"]
    #expect(messages(scene) == both && isStale(scene))
    let marked = error(scene)
    scene.take(scene.instance.setOwnerTroubles([:], declared: ["bundle/x"], at: scene.time))
    #expect(messages(scene) == ["Feed failed: cat failed"] && !isStale(scene))
    // A change of this instance that was under way can come later.
    try scene.change { $0.error = marked }
    #expect(messages(scene) == ["Feed failed: cat failed"])
  }

  @Test func `the line of a failure has the time of the first one in a row`() throws {
    var scene = try scene()
    try fail(&scene, "no answer\nat all")
    let line = "widget w: Feed failed: no answer at all (since 2027-01-15T08:00:01Z)"
    #expect(scene.instance.failures.map(\.line) == [line])
    try fail(&scene, "no answer\nat all")
    #expect(scene.instance.failures.map(\.line) == [line])
    scene.pass(.seconds(1))
    try scene.print(scene.program()?.id, "6")
    scene.pass(.milliseconds(500))
    try fail(&scene)
    #expect(
      scene.instance.failures.map(\.line)
        == ["widget w: Feed failed: cat failed (since 2027-01-15T08:00:04Z)"])
  }

  @Test func `the error of a widget that left ends when somebody else has the widget`() throws {
    var scene = try leaving()
    try scene.change { $0.applySet = "mine" }
    #expect(messages(scene) == ["Feed failed: cat failed"] && !isStale(scene))
  }

  @Test func `a widget of a missing bundle stays stale if somebody else makes it fresh`() throws {
    var scene = try scene()
    scene.take(scene.instance.setProblem("/b is missing", isAbsent: true, at: scene.time))
    #expect(isStale(scene))
    try scene.change { $0.isStale = false }
    #expect(isStale(scene) && messages(scene) == ["/b is missing"])
    scene.take(scene.instance.setProblem(nil, at: scene.time))
    #expect(!isStale(scene))
    try scene.change { $0.isStale = true }
    #expect(isStale(scene), "the daemon has its own reasons")
  }

  /// The folder of the bundle is missing, or the folder of the bundle that has the widget.
  @Test(arguments: [true, false])
  func `a widget that a user has made stale stays stale when the folder is back`(isOwn: Bool)
    throws
  {
    func lose(_ scene: inout Scene) {
      let trouble = BundleTrouble(
        path: "/x", words: "/x is missing", wordsForOthers: "", isAbsent: true, isRunning: true)
      scene.take(
        isOwn
          ? scene.instance.setProblem("/b is missing", isAbsent: true, at: scene.time)
          : scene.instance.setOwnerTroubles(["bundle/x": trouble], declared: [], at: scene.time))
    }
    func giveBack(_ scene: inout Scene) {
      scene.take(
        isOwn
          ? scene.instance.setProblem(nil, at: scene.time)
          : scene.instance.setOwnerTroubles([:], declared: [], at: scene.time))
    }
    var scene = try scene()
    try scene.change { $0.applySet = isOwn ? "bundle/b" : "bundle/x" }
    try scene.change { $0.isStale = true }
    lose(&scene)
    #expect(isStale(scene) && messages(scene).count == 1)
    var other = scene
    giveBack(&scene)
    #expect(isStale(scene) && messages(scene) == [])
    // The host answers a data request meanwhile.
    other.tell(.asked(try need(WidgetID("w")), isRefresh: false))
    #expect(other.answers.map(\.patch.isStale) == [true])
    giveBack(&other)
    #expect(!isStale(other))
    // The user makes the widget fresh. Later the folder is missing again.
    try scene.change { $0.isStale = false }
    lose(&scene)
    #expect(isStale(scene))
    giveBack(&scene)
    #expect(!isStale(scene))
  }

  @Test func `a widget stays stale after a mistake if the host has not made it stale`() throws {
    var scene = try scene()
    scene.take(scene.instance.setProblem("/b/bundle.yaml:1:1: wrong", at: scene.time))
    try scene.change { $0.isStale = true }
    #expect(messages(scene) == ["/b/bundle.yaml:1:1: wrong"])
    scene.take(scene.instance.setProblem(nil, at: scene.time))
    #expect(messages(scene) == [] && isStale(scene))
    try scene.change { $0.isStale = false }
    // `Marks` makes a widget stale together with its error.
    try scene.change {
      $0.isStale = true
      $0.error = WidgetError(reason: BundleInstance.invalid, message: "/b is missing")
    }
    #expect(messages(scene) == [] && !isStale(scene))
  }

  @Test func `a mistake does not continue the age of a missing folder`() throws {
    var scene = try Scene("data: {n: 0}")
    let begin = scene.time.wall
    scene.take(scene.instance.setProblem("/b is missing", isAbsent: true, at: scene.time))
    scene.pass(.seconds(5))
    scene.take(scene.instance.setProblem("/b is still missing", isAbsent: true, at: scene.time))
    #expect(error(scene)?.since == begin)
    scene.take(scene.instance.setProblem("/b/bundle.yaml:1:1: wrong", at: scene.time))
    #expect(error(scene)?.since == begin.advanced(by: .seconds(5)))
    scene.pass(.seconds(5))
    scene.take(scene.instance.setProblem("/b/bundle.yaml:2:2: wrong", at: scene.time))
    #expect(error(scene)?.since == begin.advanced(by: .seconds(5)))
  }

  @Test func `a problem of the bundle removes no errors of a program`() throws {
    var scene = try Scene("data: {n: 0}")
    let theirs = (1...32).map { WidgetError(reason: "FAN_FAILED", message: "fan \($0)") }
    try scene.change { $0.error = WidgetError(joining: theirs) }
    scene.take(scene.instance.setProblem("/b is missing", isAbsent: true, at: scene.time))
    #expect(messages(scene) == ["/b is missing"] + theirs.map(\.message))
    scene.take(scene.instance.setProblem(nil, at: scene.time))
    #expect(messages(scene) == theirs.map(\.message))
  }

  /// A program has set an error before the bundle's problem, or after it.
  @Test(arguments: [true, false])
  func `the error of a program stays beside the problem of a bundle`(isFirst: Bool) throws {
    let body = "data: {n: 0}"
    let theirs = WidgetError(reason: "FAN_FAILED", message: "too hot")
    let problem = WidgetError(reason: BundleInstance.invalid, message: "/b is missing")
    var scene = try Scene(body)
    if isFirst { try scene.change { $0.error = theirs } }
    scene.take(scene.instance.setProblem("/b is missing", isAbsent: true, at: scene.time))
    if !isFirst { try scene.change { $0.error = WidgetError(joining: [problem, theirs]) } }
    #expect(messages(scene) == ["/b is missing", "too hot"])
    // The next host takes the problem over, in any order.
    var next = try Scene(body, widgets: [], generation: 2)
    var widget = try need(scene.widget)
    widget.error = WidgetError(joining: isFirst ? [theirs, problem] : [problem, theirs])
    next.widgets[widget.id] = widget
    next.tell(.snapshot([widget]))
    #expect(messages(next) == ["too hot"])
    scene.take(scene.instance.setProblem(nil, at: scene.time))
    #expect(messages(scene) == ["too hot"])
  }
}
