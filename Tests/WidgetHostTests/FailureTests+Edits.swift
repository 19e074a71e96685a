import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Failures that an edit of the bundle's file ends, or moves to another action.
extension FailureTests {
  /// `top` runs `outer`, and that runs `inner`, if the file has it.
  private static func chain(hasInner: Bool) throws -> Bundle {
    let inner = hasInner ? "inner: {do: [{http: \"http://h/x\"}]}" : ""
    let step = hasInner ? "inner" : "[{http: \"http://h/y\"}]"
    return try Scene.bundle(
      """
      actions:
        top: {do: outer}
        outer: {do: \(step)}
        \(inner)
      on: {go: top}
      """, permissions: "{hosts: [h]}")
  }

  private func begin(_ scene: inout Scene, _ bundle: Bundle, isReload: Bool) {
    scene.instance = BundleInstance(
      bundle, generation: scene.instance.generation + 1, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), isReload: isReload, seed: 8)
    _ = reports(&scene)
    scene.tell(.snapshot(Array(scene.widgets.values)))
  }

  private func messages(_ scene: Scene) -> [String] {
    error(scene)?.all.map { String($0.message.prefix { $0 != ":" }) } ?? []
  }

  @Test(arguments: [false, true])
  func `the failure of an action that the file no longer has counts once, and stays`(
    isReload: Bool
  ) throws {
    var scene = try Scene(FailureTests.chain(hasInner: true))
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(messages(scene) == ["Inner failed"])
    begin(&scene, try FailureTests.chain(hasInner: false), isReload: isReload)
    #expect(messages(scene) == ["Outer failed"])
    let lines = reports(&scene)
    let place = "bundle b: widget w: "
    #expect(lines.count == 2)
    #expect(
      lines.first == place + "the failure of inner has ended, because the file has changed")
    #expect(lines.last?.hasPrefix(place + "action outer: failed at ") == true)
    for round in 0..<2 {
      begin(&scene, try FailureTests.chain(hasInner: true), isReload: isReload)
      #expect(messages(scene) == ["Outer failed"], "round \(round)")
      #expect(scene.instance.failures.count == 1)
    }
    // A success ends it.
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(messages(scene) == [] && scene.instance.failures == [])
  }

  @Test(arguments: [false, true])
  func `a cleared failure stays cleared when it moves to another action`(isReload: Bool) throws {
    var scene = try Scene(FailureTests.chain(hasInner: true))
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    try scene.change { $0.error = nil }
    for hasInner in [false, true] {
      begin(&scene, try FailureTests.chain(hasInner: hasInner), isReload: isReload)
      #expect(messages(scene) == [] && scene.instance.failures == [])
      #expect(reports(&scene) == [])
    }
  }

  @Test(arguments: [false, true])
  func `a refusal that ends by an edit of the form is in the log`(isReload: Bool) throws {
    func bundle(_ lengthMax: Int) throws -> Bundle {
      try Scene.bundle(
        """
        actions: {save: {do: [{http: "http://h/x"}]}}
        content: {form: [{input: title, maxLength: \(lengthMax)}], id: f, on: {submit: save}}
        """, permissions: "{hosts: [h]}")
    }
    var scene = try Scene(bundle(1))
    scene.pass(.seconds(1))
    try scene.event("submit", node: "f", ["values": .map(["title": .string("long")])])
    #expect(scene.instance.failures.count == 1)
    begin(&scene, try bundle(9), isReload: isReload)
    #expect(scene.instance.failures == [] && error(scene) == nil)
    #expect(
      reports(&scene) == [
        "bundle b: widget w: action save: its refusal has ended, because the form has changed"
      ])
  }

  @Test func `the line about an earlier failure is one line`() throws {
    let bundle = try Scene.bundle(
      "actions: {act: {do: [{command: [cat]}]}}\non: {go: act}", permissions: "{commands: [cat]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no\nboom")))
    begin(&scene, bundle, isReload: false)
    let lines = reports(&scene)
    #expect(lines.count == 1)
    #expect(lines.first?.hasSuffix("no⏎boom") == true)
  }

  /// A widget of an earlier version, with the content of a version that adds a source. The daemon
  /// made the content without the status of the source.
  private func earlierWidget(of scene: Scene) throws -> Widget {
    var node = Node(id: "text", type: .label)
    node.problem = "text: there is no field 'disk'"
    let kind = try need(scene.instance.bundle.kinds.first?.kind.name)
    return Widget(
      id: try need(WidgetID("w")), kind: kind, data: ["n": .int(0), "status": .map([:])],
      revision: 1, content: Content(rootID: "text", nodes: [node]))
  }

  /// A version that adds a source, before the daemon has answered its first change.
  private func sceneOfAddedSource() throws -> Scene {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {disk: {command: [df], every: 30s, parse: text, set: {n: int(result)}}}
      content: {label: =status.disk.message}
      """, permissions: "{commands: [df]}", widgets: [])
    scene.isBusy = true
    scene.revision = 1
    let widget = try earlierWidget(of: scene)
    scene.widgets[widget.id] = widget
    scene.tell(.snapshot([widget]))
    return scene
  }

  @Test func `content that lacks only the statuses of added sources is no failure`() throws {
    var scene = try sceneOfAddedSource()
    #expect(scene.instance.failures == [])
    scene.catchUp()
    #expect(scene.status("disk") != nil)
    // A message from before the answer.
    scene.tell(.widget(try earlierWidget(of: scene)))
    let node = Node(id: "text", type: .label)
    try scene.change { $0.content = Content(rootID: "text", nodes: [node]) }
    #expect(scene.instance.failures == [])
    #expect(reports(&scene) == [])
  }

  @Test func `content that fails with the statuses of added sources is a failure`() throws {
    var scene = try sceneOfAddedSource()
    scene.catchUp()
    try scene.change { _ in }
    let words = "text: text: there is no field 'disk'"
    #expect(scene.instance.failures.map(\.message) == [words])
    #expect(reports(&scene) == ["bundle b: widget w: its content: \(words)"])
  }

  @Test func `content fails if the daemon refuses the statuses of added sources`() throws {
    var scene = try sceneOfAddedSource()
    let requests = scene.taken().compactMap { effect -> RequestID? in
      if case .patch(let request, _, _) = effect { request } else { nil }
    }
    scene.tell(.failed(try need(requests.first), Failure("INVALID_ARGUMENT", "no room")))
    #expect(reports(&scene).contains { $0.contains("its content: text: text: there is no field") })
  }
}
