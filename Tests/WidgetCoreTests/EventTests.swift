import Testing
import WidgetModel

@testable import WidgetCore

struct EventTests {
  private func names(_ page: EventPage) -> [String] { page.events.map(\.name) }

  @Test func `an accepted event has its sender, time and revision, and is no change`() throws {
    var store = try Store(widgets: ["a"])
    let draft = EventDraft(
      widgetID: "a", nodeID: "button", name: "click", payload: ["x": .int(1)])
    let caller = Caller(uid: 5, pid: 6, client: "cli")
    let commit = try store.apply(.sendEvent(draft), by: caller, at: .at(3))
    #expect(commit == Commit(revision: 1, isChange: false, outcome: .accepted(sequence: 1)))
    #expect(store.revision == 1)
    #expect(
      store.events(after: 0).events == [
        Event(
          sequence: 1, widgetID: "a", nodeID: "button", name: "click", payload: ["x": .int(1)],
          time: .at(3), revision: 1, origin: caller, isForced: false)
      ])
    #expect(try store.changes(since: 1).changes.isEmpty)
  }

  @Test func `a page of events ends early if the selector has many conditions`() throws {
    var store = try Store(widgets: ["a"])
    for _ in 0..<20 { try store.send("click", to: "a") }
    func lastLookedAt(_ selector: Selector) -> UInt64 {
      store.events(after: 0, selecting: selector, costMax: 50).cursor
    }
    #expect(lastLookedAt(Selector()) == 20)
    let labels = (0..<20).map { LabelRequirement(key: "l\($0)", operator: .notExists) }
    // Each look costs 11.
    #expect(lastLookedAt(Selector(labels: labels)) == 5)
    // Ids are looked up in a set.
    let ids: [WidgetID] = try (0..<80).map { try #require(WidgetID("w\($0)")) }
    #expect(lastLookedAt(Selector(ids: ids)) == 20)
  }

  @Test func `sequence numbers count up over all widgets`() throws {
    var store = try Store(widgets: ["a", "b"])
    for sequence in 1...5 as ClosedRange<UInt64> {
      let id: WidgetID = sequence % 2 == 0 ? "a" : "b"
      #expect(try store.send("click", to: id).outcome == .accepted(sequence: sequence))
      #expect(store.lastEventSequence == sequence)
    }
    #expect(store.events(after: 0).events.map(\.sequence) == [1, 2, 3, 4, 5])
  }

  @Test func `a hidden or disabled widget takes no events unless forced`() throws {
    var store = try Store(widgets: ["a"])
    let draft = EventDraft(widgetID: "a", name: "click")
    try store.run(.setPresence(.ids(["a"]), .disable))
    #expect(store.refusal(of: .sendEvent(draft)) == .widgetDisabled("a"))
    try store.run(.setPresence(.ids(["a"]), .hide))
    #expect(store.refusal(of: .sendEvent(draft)) == .widgetHidden("a"))
    try store.run(.setPresence(.ids(["a"]), .enable))
    #expect(store.refusal(of: .sendEvent(draft)) == .widgetHidden("a"))
    #expect(try store.send("click", to: "a", isForced: true).outcome == .accepted(sequence: 1))
    #expect(store.events(after: 0).events.map(\.isForced) == [true])
    try store.run(.setPresence(.ids(["a"]), .show))
    #expect(try store.send("click", to: "a").outcome == .accepted(sequence: 2))
  }

  @Test func `a missing widget takes no events, not even forced ones`() throws {
    var store = try Store(widgets: ["a"])
    let draft = EventDraft(widgetID: "x", name: "click", isForced: true)
    #expect(store.refusal(of: .sendEvent(draft)) == .widgetNotFound("x"))
  }

  @Test(arguments: [
    (EventDraft(widgetID: "a", name: ""), "name"),
    (EventDraft(widgetID: "a", name: "-x"), "name"),
    (EventDraft(widgetID: "a", name: String(repeating: "a", count: 65)), "name"),
    (EventDraft(widgetID: "a", nodeID: " ", name: "click"), "node_id"),
    (EventDraft(widgetID: "a", nodeID: String(repeating: "a", count: 129), name: "x"), "node_id"),
    (EventDraft(widgetID: "a", name: "click", payload: ["": .null]), "payload"),
  ])
  func `a malformed event is refused by field`(draft: EventDraft, field: String) throws {
    var store = try Store(widgets: ["a"])
    guard case .invalid(field, _) = store.refusal(of: .sendEvent(draft)) else {
      Issue.record("not refused for \(field)")
      return
    }
  }

  @Test func `a reader gets the events after its cursor, a page at a time`() throws {
    var store = try Store(widgets: ["a"])
    for name in ["e1", "e2", "e3", "e4", "e5"] { try store.send(name, to: "a") }
    #expect(names(store.events(after: 3)) == ["e4", "e5"])
    let first = store.events(after: 0, limit: 2)
    #expect(names(first) == ["e1", "e2"])
    #expect(first.cursor == 2)
    #expect(first.gap == nil)
    let rest = store.events(after: first.cursor, limit: 100)
    #expect(names(rest) == ["e3", "e4", "e5"])
    #expect(rest.cursor == 5)
    #expect(store.events(after: 5) == store.events(after: 99))
    #expect(store.events(after: 5).events.isEmpty)
    #expect(store.events(after: 5).cursor == 5)
    #expect(store.events(after: 0, limit: 0).cursor == 0)
  }

  @Test func `a page has only selected widgets and names, and its cursor passes the others`() throws
  {
    var store = Store()
    try store.create("a", labels: ["on": "1"])
    try store.create("b", kind: "other")
    for (name, id) in [
      ("click", "a"), ("click", "b"), ("drag", "a"), ("drag", "b"), ("click", "a"),
    ] as [(String, WidgetID)] {
      try store.send(name, to: id)
    }
    let sequences = { (page: EventPage) in page.events.map(\.sequence) }
    #expect(sequences(store.events(after: 0, selecting: Selector(ids: ["a"]))) == [1, 3, 5])
    #expect(sequences(store.events(after: 0, selecting: Selector(kinds: ["other"]))) == [2, 4])
    let labelled = Selector(labels: [.init(key: "on", operator: .exists)])
    #expect(
      sequences(store.events(after: 0, selecting: labelled, names: ["drag", "x"])) == [3])
    let page = store.events(after: 0, limit: 1, selecting: Selector(ids: ["b"]))
    #expect(sequences(page) == [2])
    #expect(page.cursor == 2)
    #expect(store.events(after: 2, selecting: Selector(ids: ["none"])).cursor == 5)
  }

  @Test func `an event is selected by its widget's state at its acceptance`() throws {
    var store = Store()
    try store.create("a", labels: ["on": "1"])
    try store.send("before", to: "a")
    try store.update("a", .with { $0.unsetLabels = ["on"] })
    try store.send("after", to: "a")
    try store.delete("a")
    let labelled = Selector(labels: [.init(key: "on", operator: .exists)])
    #expect(names(store.events(after: 0, selecting: labelled)) == ["before"])
    #expect(names(store.events(after: 0, selecting: Selector(ids: ["a"]))) == ["before", "after"])
  }

  @Test func `only the latest events are kept, and lost events are reported`() throws {
    var store = try Store(widgets: ["a"], limits: .with { $0.eventsKeptMax = 3 })
    for number in 1...3 { try store.send("e\(number)", to: "a") }
    store.commitGroup(at: .at(0))
    #expect(store.events(after: 0).gap == nil)
    for number in 4...5 { try store.send("e\(number)", to: "a") }
    #expect(names(store.events(after: 0)).count == 5)
    store.commitGroup(at: .at(0))
    let page = store.events(after: 0)
    #expect(page.gap == 1...2)
    #expect(names(page) == ["e3", "e4", "e5"])
    #expect(store.events(after: 1).gap == 2...2)
    #expect(store.events(after: 2).gap == nil)
    #expect(store.checkInvariants() == [])
  }

  @Test func `kept events are dropped above their limit in bytes`() throws {
    // An event costs 64 bytes and its payload: here a key of 1 byte and text of 19 bytes.
    let limits = StoreLimits.with { $0.eventBytesKeptMax = 3 * 100 }
    var store = try Store(widgets: ["a"], limits: limits)
    let payload: ValueMap = ["k": .string(String(repeating: "x", count: 19))]
    for _ in 1...3 { try store.send("e", to: "a", payload: payload) }
    store.commitGroup(at: .at(0))
    #expect(store.events(after: 0).events.count == 3)
    try store.send("e", to: "a", payload: payload)
    store.commitGroup(at: .at(0))
    #expect(store.events(after: 0).gap == 1...1)
    #expect(store.events(after: 0).events.count == 3)
  }

  @Test func `no event is kept if the limit is 0`() throws {
    var store = try Store(widgets: ["a"], limits: .with { $0.eventsKeptMax = 0 })
    try store.send("e", to: "a")
    store.commitGroup(at: .at(0))
    #expect(store.events(after: 0).gap == 1...1)
    #expect(store.events(after: 1).gap == nil)
    #expect(try store.send("e", to: "a").outcome == .accepted(sequence: 2))
  }

  @Test func `a restored store never uses a sequence number again`() throws {
    var store = Store()
    try store.create("a")
    var image = StoreImage(epoch: 1)
    var highest: UInt64 = 0
    for round in 1...3 {
      for _ in 1...2 {
        guard case .accepted(let sequence) = try store.send("e", to: "a").outcome else { continue }
        #expect(sequence > highest, "in round \(round)")
        highest = sequence
      }
      if round == 1 { #expect(store.hasPendingGroup) }
      image.apply(store.pendingGroup())
      store.commitGroup(at: .at(0))
      #expect(image.eventSequenceCeiling >= highest)
      // These numbers are not made durable one by one, because the ceiling covers them.
      guard case .accepted(let last) = try store.send("lost", to: "a").outcome else { continue }
      highest = last
      #expect(!store.hasPendingGroup)
      store = Store(image: image, isRevocable: true)
      #expect(store.lastEventSequence == image.eventSequenceCeiling)
      let page = store.events(after: 0)
      #expect(page.gap == 1...image.eventSequenceCeiling)
      #expect(page.events.isEmpty)
    }
  }

  @Test func `a store that ends properly skips no sequence number`() throws {
    var store = Store()
    try store.create("a")
    var image = StoreImage(epoch: 1)
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    #expect(store.closingGroup() == nil)
    for last: UInt64 in 1...3 {
      #expect(try store.send("e", to: "a").outcome == .accepted(sequence: last))
      if store.hasPendingGroup { image.apply(store.pendingGroup()) }
      store.commitGroup(at: .at(0))
      image.apply(try #require(store.closingGroup()))
      store = Store(image: image, isRevocable: true)
      #expect(store.closingGroup() == nil)
      #expect(store.events(after: last).gap == nil)
    }
  }

  @Test func `the ceiling is raised once for many events`() throws {
    var store = try Store(widgets: ["a"])
    var raised = 0
    for _ in 0..<(2 * WidgetStore.eventSequenceBlock) {
      try store.send("e", to: "a")
      if store.hasPendingGroup {
        raised += 1
        #expect(store.pendingGroup().eventSequenceCeiling >= store.lastEventSequence)
      }
      store.commitGroup(at: .at(0))
    }
    #expect(raised == 2)
  }
}
