import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Events that follow from events.
struct EventChainTests {
  @Test func `an event loop ends with a failure that has its chain`() throws {
    var limits = HostLimits()
    limits.chainMax = 6
    var scene = try Scene(
      "{data: {n: 0}, on: {ping: [{emit: pong}], pong: [{emit: ping}]}}", limits: limits)
    try scene.event("ping")
    var count = 0
    while let sent = scene.sentEvent(), count < 100 {
      count += 1
      scene.tell(.sent(sent.id, 0))
      try scene.event(sent.name, client: "widgetd-host")
    }
    // Five events of the chain, and the event about the failure.
    #expect(count == 6)
    let error = WidgetID("w").flatMap { scene.widgets[$0]?.error }
    #expect(error?.reason == "ACTION_FAILED")
    #expect(
      error?.message.contains("event loop: … → pong → ping → pong → ping") == true,
      "\(error as Any)")
    #expect(scene.instance.failures.count == 1)
  }

  @Test func `an event loop between two bundles ends`() throws {
    var limits = HostLimits()
    limits.chainMax = 6
    func scene(_ id: String, sendingTo other: String, _ generation: UInt64) throws -> Scene {
      try Scene(
        "{data: {n: 0}, on: {ping: [{emit: ping, widget: '=\"\(other)\"'}]}}", widgets: [id],
        limits: limits, generation: generation)
    }
    var scenes = [
      try scene("a", sendingTo: "b", 1), try scene("b", sendingTo: "a", 2),
    ]
    try scenes[0].event("ping", of: "a")
    var count = 0
    while count < 100 {
      let (sender, receiver) = (count % 2, (count + 1) % 2)
      let effects = scenes[sender].taken()
      // The chain is sent before the event, because the event can arrive before its answer.
      for effect in effects {
        if case .lead(let sent, let names, let generation) = effect {
          #expect(generation == UInt64(sender + 1))
          scenes[receiver].tell(.led(sent, names: names))
        }
      }
      let sent = effects.compactMap { effect -> RequestID? in
        if case .send(let id, _, "ping", _, _) = effect { id } else { nil }
      }.first
      guard let sent else { break }
      count += 1
      scenes[sender].tell(.sent(sent, 0))
      try scenes[receiver].event("ping", of: ["a", "b"][receiver], client: BundleInstance.sender)
    }
    #expect(count == 5)
    #expect(scenes.map(\.instance.failures.count).reduce(0, +) == 1)
  }

  @Test func `the chain of an event that another bundle could not send is forgotten`() throws {
    var limits = HostLimits()
    limits.chainMax = 3
    var scene = try Scene(
      "{data: {n: 0}, on: {a: [{emit: b}], b: [{emit: c}]}}", limits: limits)
    let sent = BundleInstance.SentEvent(widgetID: try need(WidgetID("w")), name: "a")
    scene.tell(.led(sent, names: ["x", "y"]))
    scene.tell(.unled(name: "a", names: ["x", "y"]))
    try scene.event("a", client: BundleInstance.sender)
    let next = try need(scene.sentEvent())
    // With the chain of x and y, this event would be one too many.
    #expect(next.name == "b")
    scene.tell(.sent(next.id, 0))
    try scene.event("b", client: BundleInstance.sender)
    #expect(scene.sentEvent()?.name == "c")
  }

  @Test func `an event that cannot be sent to another bundle is taken back there`() throws {
    var scene = try Scene("{data: {n: 0}, on: {a: [{emit: b, widget: '=\"other\"'}]}}")
    try scene.event("a")
    let effects = scene.taken()
    let lead = effects.contains { if case .lead = $0 { true } else { false } }
    #expect(lead)
    let id = try need(
      effects.compactMap { if case .send(let id, _, "b", _, _) = $0 { id } else { nil } }.first)
    scene.tell(.failed(id, Failure("FAILED_PRECONDITION", "hidden")))
    let unlead = scene.taken().contains {
      if case .unlead("b", ["a"], _) = $0 { true } else { false }
    }
    #expect(unlead)
  }

  @Test func `events that follow from one another after a delay are no loop`() throws {
    var limits = HostLimits()
    limits.chainMax = 3
    var scene = try Scene(
      "{data: {n: 0}, on: {ping: {delay: 1s, do: [{emit: ping}]}}}", limits: limits)
    try scene.event("ping")
    for _ in 0..<10 {
      scene.pass(.seconds(1))
      let sent = try need(scene.sentEvent())
      scene.tell(.sent(sent.id, 0))
      try scene.event(sent.name, client: "widgetd-host")
    }
    #expect(scene.instance.failures.isEmpty)
  }

  @Test func `a refused event does not count for the next chain`() throws {
    var limits = HostLimits()
    limits.chainMax = 4
    var scene = try Scene(
      """
      data: {n: 0}
      on: {go: [{emit: a}], a: [{emit: b}], b: [{emit: c}], c: [{emit: d}], other: [{emit: c}]}
      """, limits: limits)
    try scene.event("go")
    for name in ["a", "b"] {
      let sent = try need(scene.sentEvent())
      #expect(sent.name == name)
      scene.tell(.sent(sent.id, 0))
      try scene.event(name, client: "widgetd-host")
    }
    scene.tell(.failed(try need(scene.sentEvent()).id, Failure("FAILED_PRECONDITION", "hidden")))
    while scene.sentEvent() != nil {}
    try scene.event("other")
    let sent = try need(scene.sentEvent())
    #expect(sent.name == "c")
    scene.tell(.sent(sent.id, 0))
    try scene.event("c", client: "widgetd-host")
    // With the chain of go, a and b, this event would be one too many.
    #expect(scene.sentEvent()?.name == "d")
  }
}
