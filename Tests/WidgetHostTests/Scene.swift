import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// A bundle that runs, and a daemon that takes every change at once. Time passes when a test says so.
struct Scene {
  var instance: BundleInstance
  var time = HostTime(
    wall: Timestamp(nanosecondsSinceEpoch: 1_800_000_000_000_000_000), uptime: .zero)
  /// The state of the daemon.
  var widgets: [WidgetID: Widget] = [:]
  /// The effects that the test has not read, without changes of widgets.
  var effects: [Effect] = []
  var patches: [(id: WidgetID, patch: WidgetPatch)] = []
  /// The acknowledged events, and the answers to data requests.
  var acknowledged: [UInt64] = []
  var answers: [(id: WidgetID, patch: WidgetPatch)] = []
  /// The scene answers no changes and sends no widgets. The test does that.
  var isBusy = false
  var revision: Revision = 0
  private(set) var sequence: UInt64 = 0

  /// - Parameter body: a kind's, as in `Scene.bundle`.
  init(
    _ body: String, permissions: String = "{}", widgets ids: [String] = ["w"], isStub: Bool = false,
    limits: HostLimits = HostLimits(), generation: UInt64 = 1, hostUID: UInt32 = 0
  ) throws {
    try self.init(
      Scene.bundle(body, permissions: permissions), widgets: ids, isStub: isStub, limits: limits,
      generation: generation, hostUID: hostUID)
  }

  init(
    _ bundle: Bundle, widgets ids: [String] = ["w"], isStub: Bool = false,
    limits: HostLimits = HostLimits(), generation: UInt64 = 1, hostUID: UInt32 = 0
  ) throws {
    instance = BundleInstance(
      bundle, generation: generation, folder: "/bundles/b", home: "/home/me", limits: limits,
      isStub: isStub, hostUID: hostUID, seed: 7)
    let kind = try #require(bundle.kinds.first?.kind)
    for id in ids {
      let id = try #require(WidgetID(id))
      revision += 1
      widgets[id] = Widget(
        id: id, kind: kind.name,
        data: ValueMap(
          kind.data.compactMap { field in
            field.defaultValue.map { .init(key: field.name, value: $0) }
          }), revision: revision)
    }
    tell(.snapshot(widgets.values.sorted { $0.id.rawValue < $1.id.rawValue }))
  }

  static func bundle(
    _ body: String, permissions: String = "{}", services: String = "{}"
  ) throws -> Bundle {
    let lines = body.split(separator: "\n", omittingEmptySubsequences: false)
    return try BundleReader.read(
      """
      bundle: b
      format: 1
      version: 1.0.0
      permissions: \(permissions)
      services: \(services)
      kinds:
        k:

      """ + lines.map { "    \($0)\n" }.joined())
  }

  mutating func tell(_ input: BundleInput) {
    take(instance.handle(input, at: time))
  }

  mutating func take(_ new: [Effect]) {
    for effect in new {
      switch effect {
      case .acknowledge(let request, let event):
        acknowledged.append(event.sequence)
        tell(.sent(request, 0))
      case .answer(let request, let id, let patch):
        answers.append((id, patch))
        tell(.sent(request, 0))
      case .fetchWidget, .patch: isBusy ? effects.append(effect) : perform(effect)
      default: effects.append(effect)
      }
    }
  }

  /// Handles a change like the daemon, or sends a widget.
  mutating func perform(_ effect: Effect) {
    switch effect {
    case .fetchWidget(let request, let id):
      tell(
        widgets[id].map { .fetched(request, $0) } ?? .failed(request, Failure("NOT_FOUND", "gone")))
    case .patch(let request, let id, let patch):
      patches.append((id, patch))
      guard var widget = widgets[id] else { return }
      for entry in patch.setData.entries { widget.data[entry.key] = entry.value }
      for key in patch.unsetData { widget.data[key] = nil }
      if let error = patch.error { widget.error = error }
      if let isStale = patch.isStale { widget.isStale = isStale }
      revision += 1
      widget.revision = revision
      widgets[id] = widget
      tell(.sent(request, revision))
    default: break
    }
  }

  /// Handles the oldest waiting changes, up to the first that sets an error. That one keeps waiting.
  mutating func catchUpToError() {
    while let index = effects.firstIndex(where: { if case .patch = $0 { true } else { false } }),
      case .patch(_, _, let patch) = effects[index], patch.error == nil
    {
      perform(effects.remove(at: index))
    }
  }

  /// The steps that wait for the daemon continue.
  mutating func catchUp() {
    isBusy = false
    let waiting = effects
    effects = []
    for effect in waiting {
      if case .presence = effect { effects.append(effect) } else { take([effect]) }
    }
  }

  /// Lets time pass, and fires each timer that was requested meanwhile.
  mutating func pass(_ duration: Duration) {
    let end = time.uptime + duration
    while let deadline = instance.nextDeadline, deadline <= end {
      let step = max(deadline - time.uptime, .zero)
      time = HostTime(wall: time.wall.advanced(by: step), uptime: time.uptime + step)
      tell(.tick)
    }
    let rest = end - time.uptime
    time = HostTime(wall: time.wall.advanced(by: rest), uptime: end)
  }

  mutating func event(
    _ name: String, node: String = "", _ payload: ValueMap = [:], of id: String = "w",
    wantsOutcome: Bool = false, client: String = "", uid: UInt32 = 0
  ) throws {
    sequence += 1
    tell(
      .event(
        Event(
          sequence: sequence, widgetID: try #require(WidgetID(id)), nodeID: node, name: name,
          payload: payload, time: time.wall, origin: EventOrigin(uid: uid, client: client),
          wantsOutcome: wantsOutcome)))
  }

  /// Changes a widget like another client.
  mutating func change(_ id: String = "w", _ body: (inout Widget) -> Void) throws {
    let id = try #require(WidgetID(id))
    var widget = try #require(widgets[id])
    body(&widget)
    revision += 1
    widget.revision = revision
    widgets[id] = widget
    tell(.widget(widget))
  }

  // MARK: What is there

  subscript(_ key: String) -> Value? { data(key) }

  func data(_ key: String, of id: String = "w") -> Value? {
    WidgetID(id).flatMap { widgets[$0]?.data[key] }
  }

  /// The widget `w`.
  var widget: Widget? { WidgetID("w").flatMap { widgets[$0] } }

  /// A detail of the status of a source or an action.
  func status(_ name: String, _ detail: String = "state", of id: String = "w") -> Value? {
    guard case .map(let all)? = data("status", of: id), case .map(let status)? = all[name] else {
      return nil
    }
    return status[detail]
  }

  // MARK: What was asked for; each looks at it only once

  mutating func taken() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  private mutating func first<T>(_ pick: (Effect) -> T?) -> T? {
    for (index, effect) in effects.enumerated() {
      guard let picked = pick(effect) else { continue }
      effects.remove(at: index)
      return picked
    }
    return nil
  }

  mutating func webRequest() -> (id: RequestID, request: WebRequest)? {
    first { if case .web(let id, let request) = $0 { (id, request) } else { nil } }
  }

  mutating func fileRequest() -> (id: RequestID, request: FileRequest)? {
    first { if case .readFile(let id, let request) = $0 { (id, request) } else { nil } }
  }

  mutating func fileWatch() -> (id: RequestID, path: String)? {
    first { if case .watchFile(let id, let path, _) = $0 { (id, path) } else { nil } }
  }

  mutating func lastFileWatch() -> (id: RequestID, path: String)? {
    var last: (id: RequestID, path: String)?
    while let watch = fileWatch() { last = watch }
    return last
  }

  mutating func connection() -> (id: RequestID, request: SocketRequest)? {
    first { if case .connect(let id, let request) = $0 { (id, request) } else { nil } }
  }

  mutating func socketCommand() -> (id: RequestID, request: SocketCommand)? {
    first { if case .tellSocket(let id, let request) = $0 { (id, request) } else { nil } }
  }

  mutating func busRequest() -> (id: RequestID, request: BusRequest)? {
    first { if case .bus(let id, let request) = $0 { (id, request) } else { nil } }
  }

  mutating func folderRequest() -> (id: RequestID, request: FolderRequest)? {
    first { if case .readFolder(let id, let request) = $0 { (id, request) } else { nil } }
  }

  mutating func program() -> (id: RequestID, request: CommandRequest)? {
    first { if case .run(let id, let request) = $0 { (id, request) } else { nil } }
  }

  /// The last program that was started.
  mutating func lastProgram() -> RequestID? {
    var last: RequestID?
    while let program = program() { last = program.id }
    return last
  }

  mutating func sentEvent() -> (id: RequestID, name: String, payload: ValueMap)? {
    first {
      if case .send(let id, _, let name, let payload, _) = $0 { (id, name, payload) } else { nil }
    }
  }

  mutating func presence() -> (id: RequestID, action: PresenceAction, ids: [WidgetID])? {
    first {
      if case .presence(let id, let action, let ids) = $0 { (id, action, ids) } else { nil }
    }
  }

  mutating func cancelled() -> RequestID? {
    first { if case .cancel(let id) = $0 { id } else { nil } }
  }

  mutating func answer(
    _ id: RequestID?, _ status: Int, _ body: String = "", etag: String? = nil, server: String = ""
  ) throws {
    tell(
      .web(
        try #require(id),
        WebAnswer(
          server: server, status: status, contentType: "application/json", etag: etag,
          body: Array(body.utf8))))
  }

  mutating func print(_ id: RequestID?, _ text: String) throws {
    tell(.bytes(try #require(id), Array(text.utf8)))
  }
}

extension WebRequest {
  var text: String {
    if case .bytes(let bytes) = body { String(decoding: bytes, as: UTF8.self) } else { "" }
  }

  func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// A value that a test needs to continue.
func need<T>(_ value: T?) throws -> T { try #require(value) }
