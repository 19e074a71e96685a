import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The triggers of actions: many events in a short time, and the events that count.
struct TriggerTests {
  private static let search = """
    data: {query: "", found: ""}
    content:
      input: query
      id: query
      value: =data.query
      on:
        change:
          throttle: 500ms
          minLength: 2
          do: [{http: {url: "http://a.example/", query: {q: =event.payload.value}}, parse: text, set: {found: result}}]
    """

  @Test func `several changes in quick succession send one request, for the last`() throws {
    var scene = try Scene(TriggerTests.search, permissions: ActionTests.hosts)
    for text in ["ca", "caf", "cafe"] {
      try scene.event("change", node: "query", ["value": .string(text)])
      scene.pass(.milliseconds(400))
      #expect(scene.webRequest() == nil)
    }
    scene.pass(.milliseconds(100))
    #expect(scene.webRequest()?.request.address.query == "q=cafe")
    scene.pass(.seconds(5))
    #expect(scene.webRequest() == nil)
  }

  @Test func `a text that is too short sends no request, but an empty text does`() throws {
    var scene = try Scene(TriggerTests.search, permissions: ActionTests.hosts)
    try scene.event("change", node: "query", ["value": .string("c")])
    scene.pass(.seconds(1))
    #expect(scene.webRequest() == nil)
    // A cleared filter shows everything again.
    try scene.event("change", node: "query", ["value": .string("")])
    scene.pass(.seconds(1))
    #expect(scene.webRequest()?.request.address.query == "q=")
  }

  @Test func `events of one trigger run one after the other, and a limited number waits`() throws {
    var limits = HostLimits()
    limits.queuedMax = 3
    var scene = try Scene(
      ActionTests.post(), permissions: ActionTests.hosts, limits: limits)
    for number in 0..<6 { try scene.event("click", ["text": .string("\(number)")]) }
    var texts: [String] = []
    while let request = scene.webRequest() {
      texts.append(request.request.text)
      #expect(scene.webRequest() == nil)
      try scene.answer(request.id, 200, #"{"n": 1}"#)
    }
    #expect(texts == (0..<4).map { #"{"text":"\#($0)"}"# })
    #expect(scene.taken().contains { if case .report = $0 { true } else { false } })
  }

  @Test func `a storm of events is limited to a rate and reported`() throws {
    var limits = HostLimits()
    limits.triggersBurst = 10
    limits.triggersPerSecond = 1
    var scene = try Scene(
      "data: {n: 0}\non: {click: [{set: {n: data.n + 1}}, {reload: all}]}", limits: limits)
    for _ in 0..<1_000 { try scene.event("click") }
    #expect(scene["n"] == .int(10))
    scene.pass(.seconds(2))
    try scene.event("click")
    #expect(scene["n"] == .int(11))
  }

  @Test func `an event or a change of presence waits for the changes before it`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      on:
        click: [{set: {n: "1"}}, {emit: done, payload: {n: =data.n}}, {hide: [self]}, {set: {n: "2"}}]
      """)
    try scene.event("click")
    #expect(scene["n"] == .int(1))
    let event = try need(scene.sentEvent())
    #expect(event.payload == ["n": .int(1)])
    #expect(scene.presence() == nil)
    scene.tell(.sent(event.id, 0))
    let presence = try need(scene.presence())
    #expect(presence.action == .hide && presence.ids.map(\.rawValue) == ["w"])
    scene.tell(.sent(presence.id, 0))
    #expect(scene["n"] == .int(2))
  }
}
