import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Failed steps without a name, in the next host or version.
extension FailureTests {
  @Test func `the next host goes on with failed steps without a name`() throws {
    let body = "on: {go: [{http: \"http://h/x\"}], stop: [{http: \"http://h/y\"}]}"
    let title = "on go: "
    let bundle = try Scene.bundle(body, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    let marked = try need(error(scene))
    #expect(marked.message.hasPrefix(title))
    _ = reports(&scene)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == marked)
    #expect(scene.instance.failures.map(\.title) == ["on go"])
    let since = RFC3339.text(try need(marked.since))
    let place = "bundle b: widget w: on go"
    let message = String(marked.message.dropFirst(title.count))
    #expect(reports(&scene) == ["\(place): failed at \(since): \(message)"])
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil)
  }

  @Test func `a version without the failed steps forgets their failure`() throws {
    var scene = try Scene("on: {go: [{http: \"http://h/x\"}]}", permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene)?.reason == "ACTION_FAILED")
    scene.instance = BundleInstance(
      try Scene.bundle(
        "on: {stop: [{http: \"http://h/x\"}], halt: [{http: \"http://h/x\"}]}",
        permissions: "{hosts: [h]}"), generation: 2, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == nil)
  }
}
