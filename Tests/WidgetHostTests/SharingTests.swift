import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The limits of a bundle that several users share: one user leaves the others their share.
struct SharingTests {
  private static let counter =
    "data: {n: 0}\non: {click: [{set: {n: data.n + 1}}, {reload: all}]}"

  private func outcome(_ scene: Scene, _ sequence: Int, _ detail: String) -> Value? {
    guard case .map(let all)? = scene["status"],
      case .map(let told)? = all[BundleScope.outcomesKey],
      case .map(let one)? = told["\(sequence)"]
    else { return nil }
    return one[detail]
  }

  /// The texts of the requests that the scene has sent since, as `ActionTests.post` sends them.
  private func texts(_ requests: [WebRequest]) -> [String] {
    requests.map { String($0.text.dropFirst(#"{"text":""#.count).dropLast(#""}"#.count)) }
  }

  /// Answers each request, until no more come.
  private func answerAll(_ scene: inout Scene) throws -> [String] {
    var requests: [WebRequest] = []
    while let request = scene.webRequest() {
      requests.append(request.request)
      try scene.answer(request.id, 200, #"{"n": 1}"#)
    }
    return texts(requests)
  }

  @Test func `a storm of events of one user stops no event of another user`() throws {
    var limits = HostLimits()
    (limits.triggersBurst, limits.triggersPerSecond) = (10, 1)
    var scene = try Scene(Self.counter, widgets: ["w", "v"], limits: limits)
    for _ in 0..<100 { try scene.event("click", uid: 1) }
    try scene.event("click", of: "v", uid: 2)
    #expect(scene["n"] == .int(10) && scene.data("n", of: "v") == .int(1))
    for _ in 0..<100 { try scene.event("click", uid: 1) }
    #expect(scene["n"] == .int(10))
  }

  @Test func `a storm of events under the host's name stops no event of the host`() throws {
    var limits = HostLimits()
    (limits.triggersBurst, limits.triggersPerSecond) = (10, 1)
    var scene = try Scene(Self.counter, widgets: ["w", "v"], limits: limits)
    for _ in 0..<100 { try scene.event("click", client: BundleInstance.sender, uid: 1) }
    try scene.event("click", of: "v", client: BundleInstance.sender, uid: 0)
    #expect(scene["n"] == .int(10) && scene.data("n", of: "v") == .int(1))
  }

  @Test func `a user who claims the host's name has one share of the triggers`() throws {
    var limits = HostLimits()
    (limits.triggersBurst, limits.triggersPerSecond) = (10, 1)
    var scene = try Scene(Self.counter, widgets: ["w", "v"], limits: limits)
    for _ in 0..<100 { try scene.event("click", uid: 1) }
    try scene.event("click", of: "v", client: BundleInstance.sender, uid: 1)
    #expect(scene["n"] == .int(10) && scene.data("n", of: "v") == .int(0))
  }

  @Test func `an event under the host's name is the host's only from the user of the host`() throws
  {
    let scene = try Scene(Self.counter, hostUID: 990)
    func sharer(_ client: String, _ uid: UInt32) throws -> Sharer {
      scene.instance.sharer(
        of: Event(
          sequence: 1, widgetID: try #require(WidgetID("w")), nodeID: "", name: "click",
          payload: [:], time: scene.time.wall, origin: EventOrigin(uid: uid, client: client)))
    }
    #expect(try sharer(BundleInstance.sender, 990) == .host)
    #expect(try sharer(BundleInstance.sender, 1) == .user(1))
    #expect(try sharer("widgetctl", 990) == .user(990))
    #expect(scene.instance.sharer(of: nil) == .bundle)
    #expect(scene.instance.preview(generation: 2, seed: 1).hostUID == 990)
  }

  @Test func `a bundle knows the user of the host`() {
    var machine = HostMachine(home: "/home/me", uid: 990, seed: 1)
    _ = machine.found(
      .bundle(Bundle(id: "a", version: "1.0.0"), digest: 1), in: "/b/a",
      at: HostTime(wall: .epoch, uptime: .zero))
    #expect(machine.bundles.running["a"]?.instance.hostUID == 990)
  }

  @Test func `a storm of events of one user stops no interval`() throws {
    var limits = HostLimits()
    (limits.triggersBurst, limits.triggersPerSecond) = (10, 1)
    var scene = try Scene(
      """
      data: {n: 0, ticks: 0}
      on:
        click: [{set: {n: data.n + 1}}, {reload: all}]
        every: {interval: 10s, do: [{set: {ticks: data.ticks + 1}}]}
      """, limits: limits)
    scene.pass(.milliseconds(9_900))
    for _ in 0..<100 { try scene.event("click", uid: 1) }
    scene.pass(.milliseconds(100))
    #expect(scene["ticks"] == .int(1))
  }

  @Test func `a waiting event gives its place to a user who has fewer places`() throws {
    var limits = HostLimits()
    limits.queuedMax = 3
    var scene = try Scene(ActionTests.post(), permissions: ActionTests.hosts, limits: limits)
    for (text, uid) in [("0", 1), ("1", 1), ("2", 1), ("3", 1), ("4", 1), ("b", 2), ("c", 2)] {
      try scene.event(
        "click", ["text": .string(text)], wantsOutcome: true, uid: UInt32(uid))
    }
    // The newest waiting event of the user with the most was the fourth one.
    #expect(outcome(scene, 4, "code") == .string("RESOURCE_EXHAUSTED"))
    #expect(
      outcome(scene, 4, "message") == .string("Too many actions are waiting; try again later."))
    let texts = try answerAll(&scene)
    #expect(texts == ["0", "1", "2", "b"])
    #expect(outcome(scene, 6, "state") == .string("success"))
    #expect(outcome(scene, 7, "code") == .string("RESOURCE_EXHAUSTED"))
    #expect(scene.acknowledged.last == 7)
  }

  @Test func `a throttled event gives its place to a user who has fewer places`() throws {
    var limits = HostLimits()
    limits.queuedMax = 2
    var scene = try Scene(
      ActionTests.post(on: "click: {throttle: 500ms, do: save}"), permissions: ActionTests.hosts,
      limits: limits)
    for (text, uid) in [("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 2)] {
      try scene.event(
        "click", node: text, ["text": .string(text)], wantsOutcome: true, uid: UInt32(uid))
    }
    for sequence in [2, 3, 5] {
      #expect(outcome(scene, sequence, "code") == .string("RESOURCE_EXHAUSTED"))
    }
    scene.pass(.milliseconds(500))
    let texts = try answerAll(&scene)
    #expect(Set(texts) == ["a", "d"])
  }

  /// The counts of the sharers must follow every change of the throttled events.
  @Test func `the newest throttled event of the user with the most gives its place`() throws {
    var queues = TriggerQueues()
    var model: [ThrottleKey: (sequence: UInt64, sharer: Sharer)] = [:]
    var numbers = SeededNumbers(seed: 3)
    let ids = [try #require(WidgetID("v")), try #require(WidgetID("w"))]
    var taken = 0
    for sequence in UInt64(1)...2_000 {
      let sharer = Sharer.user(UInt32(numbers.next() % 3))
      let key = ThrottleKey(
        widgetID: ids[Int(numbers.next() % 2)], trigger: Int(numbers.next() % 2),
        node: "\(numbers.next() % 8)")
      switch numbers.next() % 40 {
      case 0:
        queues.forgetThrottled(of: key.widgetID)
        model = model.filter { $0.key.widgetID != key.widgetID }
      case 1..<8:
        let expired = queues.takeThrottled(key)
        #expect(expired?.sequence == model.removeValue(forKey: key)?.sequence)
      case 8..<20:
        let sorted = model.sorted { $0.value.sequence < $1.value.sequence }
        let loser = Sharer.loser(among: sorted.map { $0.value.sharer }, for: sharer)
        let given = queues.takeThrottled(for: sharer)
        #expect(given?.key == loser.map { sorted[$0].key })
        #expect(given?.event.sequence == loser.map { sorted[$0].value.sequence })
        if let given {
          model[given.key] = nil
          taken += 1
        }
      default:
        let event = Event(sequence: sequence, widgetID: key.widgetID, name: "click")
        let replaced = queues.throttle(event, of: sharer, key)
        #expect(replaced?.sequence == model[key]?.sequence)
        model[key] = (sequence, sharer)
      }
      #expect(queues.throttledCount == model.count)
    }
    #expect(taken > 50)
  }

  @Test func `the actions of one user leave a quarter of the programs and requests to others`()
    throws
  {
    var limits = HostLimits()
    limits.effectsMax = 4
    var scene = try Scene(
      ActionTests.post(), permissions: ActionTests.hosts, widgets: (0..<6).map { "w\($0)" },
      limits: limits)
    func sent() -> [(id: RequestID, request: WebRequest)] {
      var sent: [(id: RequestID, request: WebRequest)] = []
      while let request = scene.webRequest() { sent.append(request) }
      return sent
    }
    for index in 0..<5 {
      try scene.event("click", ["text": .string("a\(index)")], of: "w\(index)", uid: 1)
    }
    let first = sent()
    #expect(texts(first.map(\.request)) == ["a0", "a1", "a2"])
    try scene.event("click", ["text": .string("b")], of: "w5", uid: 2)
    #expect(texts(sent().map(\.request)) == ["b"])
    try scene.answer(first.first?.id, 200, #"{"n": 1}"#)
    #expect(texts(sent().map(\.request)) == ["a3"])
  }

  @Test func `a user who claims the host's name gets no more programs and requests`() throws {
    var limits = HostLimits()
    limits.effectsMax = 4
    var scene = try Scene(
      ActionTests.post(), permissions: ActionTests.hosts, widgets: (0..<6).map { "w\($0)" },
      limits: limits)
    for index in 0..<3 {
      try scene.event("click", ["text": .string("a\(index)")], of: "w\(index)", uid: 1)
    }
    try scene.event(
      "click", ["text": .string("a3")], of: "w3", client: BundleInstance.sender, uid: 1)
    try scene.event("click", ["text": .string("b")], of: "w4", uid: 2)
    var sent: [WebRequest] = []
    while let request = scene.webRequest() { sent.append(request.request) }
    #expect(texts(sent) == ["a0", "a1", "a2", "b"])
  }

  @Test func `a failure without evaluation steps says whose are used up`() throws {
    let endless = SourceRetryTests.endless
    var scene = try Scene(
      """
      data: {flag: false}
      sources: {loop: {timer: 1s, set: {flag: '\(endless)'}}}
      actions: {act: {do: [{set: {flag: '\(endless)'}}, {emit: done}]}}
      on: {go: act}
      """, limits: SourceRetryTests.limits)
    func says(_ name: String, _ work: String) -> Bool {
      guard case .string(let message)? = scene.status(name, "message") else { return false }
      return message.contains("the evaluation steps for \(work) are used up")
    }
    #expect(says("loop", "sources and timers"))
    // The daemon would make the change itself without the second step.
    for _ in 0..<4 { try scene.event("go", uid: 1) }
    #expect(says("act", "events of one user"))
    for _ in 0..<4 { try scene.event("go", client: BundleInstance.sender, uid: 0) }
    #expect(says("act", "events of the host"))
  }

  @Test func `the user with the most places loses one, and only to a user with fewer`() {
    func loser(_ places: [UInt32], _ newcomer: UInt32) -> Int? {
      Sharer.loser(among: places.map { .user($0) }, for: .user(newcomer))
    }
    #expect(loser([1, 1, 1], 2) == 2)
    #expect(loser([1, 2, 1, 1, 2], 3) == 3)
    #expect(loser([1, 1, 2, 2], 3) == 3)
    #expect(loser([1, 1, 2], 2) == nil)
    #expect(loser([1, 2, 3], 4) == nil)
    #expect(loser([1, 1, 1], 1) == nil)
    #expect(loser([], 1) == nil)
  }
}
