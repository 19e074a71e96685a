import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Events wait for their provider: across restarts, and within the limits.
struct UnacknowledgedEventTests {
  /// A store with a widget of each kind, and the state of its commit log.
  private struct Desk {
    var store: Store
    var image = StoreImage(epoch: 7)
    let limits: StoreLimits

    init(limits: StoreLimits = StoreLimits()) throws {
      self.limits = limits
      store = Store(image: image, limits: limits)
      try declare([Kind(name: "gauge"), Kind(name: "lamp")], by: "desk")
      try declare([Kind(name: "door")], by: "hall")
      try declare([Kind(name: "log", hasLosableEvents: true)], by: "logs")
      try declare([Kind(name: "file")], by: "files", isAttended: false)
      for kind: KindName in ["gauge", "lamp", "door", "log", "file", "free"] {
        try store.create(WidgetID(kind.rawValue), kind: kind)
      }
      commit()
    }

    mutating func declare(_ kinds: [Kind], by provider: String, isAttended: Bool = true) throws {
      try store.run(
        .applyKinds(
          KindDeclaration(provider: provider, kinds: kinds, prunes: true, isAttended: isAttended)))
    }

    mutating func commit() {
      if store.hasPendingGroup { image.apply(store.pendingGroup()) }
      store.commitGroup(at: .at(0))
    }

    @discardableResult
    mutating func click(_ widget: WidgetID) throws -> UInt64 {
      guard case .accepted(let sequence) = try store.send("click", to: widget).outcome else {
        return 0
      }
      return sequence
    }

    mutating func acknowledge(_ sequence: UInt64, by provider: String) throws {
      try store.run(.acknowledge(provider: provider, through: sequence))
    }

    /// The state after the process is killed now.
    mutating func restart() { store = Store(image: image, limits: limits) }

    /// The events for a provider that has handled all events up to a number.
    func pages(of kinds: Set<KindName>, after sequence: UInt64, limit: Int = 3) -> [String] {
      var words: [String] = []
      var cursor = sequence
      while cursor < store.lastEventSequence {
        let page = store.events(after: cursor, limit: limit, of: kinds)
        guard page.cursor > cursor else { return words + ["stuck at \(cursor)"] }
        if let gap = page.gap { words.append("gap \(gap.lowerBound)-\(gap.upperBound)") }
        words += page.events.map { "\($0.sequence) \($0.widgetID)" }
        cursor = page.cursor
      }
      return words
    }
  }

  private static let own: Set<KindName> = ["gauge", "lamp"]

  @Test func `a restart keeps exactly the unacknowledged events`() throws {
    var desk = try Desk()
    for widget: WidgetID in ["gauge", "door", "lamp", "gauge", "free"] { try desk.click(widget) }
    try desk.acknowledge(1, by: "desk")
    desk.commit()
    desk.restart()
    #expect(desk.pages(of: Self.own, after: 1) == ["3 lamp", "4 gauge"])
    #expect(desk.pages(of: ["door"], after: 0) == ["2 door"])
    #expect(desk.store.sequenceBeforeUnacknowledged(of: "desk") == 2)
    #expect(desk.store.sequenceBeforeUnacknowledged(of: "hall") == 1)
    // The next events continue the numbers.
    #expect(try desk.click("lamp") == WidgetStore.eventSequenceBlock + 1)
    #expect(desk.pages(of: Self.own, after: 3) == ["4 gauge", "4097 lamp"])
  }

  @Test func `a provider that lost no event gets no gap, despite many other events`() throws {
    var desk = try Desk(limits: .with { $0.eventsKeptMax = 4 })
    try desk.click("gauge")
    try desk.acknowledge(1, by: "desk")
    for _ in 0..<20 {
      try desk.click("free")
      desk.commit()
    }
    #expect(desk.pages(of: Self.own, after: 1) == [])
    desk.restart()
    #expect(desk.pages(of: Self.own, after: 1) == [])
  }

  @Test func `a stored event counts for its group`() throws {
    var desk = try Desk()
    try desk.click("file")
    #expect(desk.store.pendingBytes == 0)
    try desk.click("gauge")
    let bytes = desk.store.pendingBytes
    #expect(bytes > 0)
    try desk.click("gauge")
    #expect(desk.store.pendingBytes == 2 * bytes)
    desk.store.rollbackGroup()
    #expect(desk.store.pendingBytes == 0)
    try desk.click("gauge")
    desk.commit()
    #expect(desk.store.pendingBytes == 0)
    desk.restart()
    #expect(desk.store.pendingBytes == 0 && desk.store.unacknowledgedCount == 1)
  }

  @Test func `acknowledging is by number, and of the provider's kinds alone`() throws {
    var desk = try Desk()
    for widget: WidgetID in ["gauge", "door", "lamp"] { try desk.click(widget) }
    try desk.acknowledge(2, by: "desk")
    #expect(desk.store.unacknowledgedCount == 2)
    try desk.acknowledge(3, by: "nobody")
    #expect(desk.store.unacknowledgedCount == 2)
    try desk.acknowledge(3, by: "desk")
    desk.commit()
    desk.restart()
    #expect(desk.store.unacknowledgedCount == 1)
    #expect(desk.image.events.map(\.kind) == ["door"])
  }

  @Test func `events that may be lost, or that nobody would acknowledge, are not stored`()
    throws
  {
    var desk = try Desk()
    for widget: WidgetID in ["log", "file", "free"] {
      try desk.click(widget)
      desk.commit()
      #expect(desk.image.events.isEmpty && desk.store.unacknowledgedCount == 0)
    }
    // While the daemon runs, providers get these events.
    #expect(desk.pages(of: ["log"], after: 0) == ["1 log"])
    try desk.click("gauge")
    desk.commit()
    desk.restart()
    // Losable events make no gap. For kinds without a provider, the store does not know the losses.
    #expect(desk.pages(of: ["log", "gauge"], after: 0) == ["4 gauge"])
    #expect(desk.pages(of: ["file"], after: 0) == ["gap 1-4096"])
    #expect(
      desk.pages(of: ["file", "gauge"], after: 0) == ["gap 1-3", "4 gauge", "gap 5-4096"])
  }

  @Test(arguments: [true, false])
  func `the oldest events are dropped over the limit, and a gap names them`(
    byCount: Bool
  ) throws {
    var desk = try Desk(
      limits: .with { if byCount { $0.eventsKeptMax = 4 } else { $0.eventBytesKeptMax = 4 * 64 } })
    for widget: WidgetID in ["door", "gauge", "lamp", "gauge", "free", "gauge", "lamp"] {
      try desk.click(widget)
    }
    desk.commit()
    // The next group stores the loss.
    try desk.click("gauge")
    desk.commit()
    #expect(desk.store.unacknowledgedCount == 4)
    for _ in 0..<2 {
      let all = desk.pages(of: Self.own, after: 0)
      #expect(all == ["gap 2-3", "4 gauge", "6 gauge", "7 lamp", "8 gauge"])
      #expect(desk.pages(of: ["door"], after: 0) == ["gap 1-1"])
      #expect(desk.store.sequenceBeforeUnacknowledged(of: "hall") == 0)
      desk.restart()
      desk.commit()
    }
    // A gap is acknowledged like an event.
    try desk.acknowledge(3, by: "desk")
    try desk.acknowledge(1, by: "hall")
    desk.commit()
    desk.restart()
    #expect(desk.store.sequenceBeforeUnacknowledged(of: "desk") == 3)
    #expect(desk.store.sequenceBeforeUnacknowledged(of: "hall") == nil)
  }

  @Test func `a removed kind removes its events, unless the removal is rolled back`() throws {
    var desk = try Desk()
    try desk.click("gauge")
    desk.commit()
    try desk.declare([Kind(name: "lamp")], by: "desk")
    #expect(desk.store.unacknowledgedCount == 0)
    desk.store.rollbackGroup()
    #expect(desk.store.unacknowledgedCount == 1)
    try desk.declare([Kind(name: "lamp")], by: "desk")
    try desk.declare([Kind(name: "gauge")], by: "desk")
    desk.commit()
    desk.restart()
    #expect(desk.store.unacknowledgedCount == 0 && desk.image.events.isEmpty)
  }

  @Test func `an event that is accepted and acknowledged in one group is not stored`() throws {
    var desk = try Desk()
    try desk.acknowledge(try desk.click("gauge"), by: "desk")
    #expect(desk.store.pendingGroup().events.isEmpty)
  }

  @Test func `an event that cannot be stored leaves no trace`() throws {
    var desk = try Desk()
    try desk.click("gauge")
    #expect(desk.store.hasPendingGroup)
    desk.store.rollbackGroup()
    #expect(desk.store.unacknowledgedCount == 0 && desk.store.lastEventSequence == 0)
  }

  // MARK: - Random histories

  /// Each provider has a simple model: the numbers of its unacknowledged events, and the newest
  /// forgotten number.
  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `after random operations providers get all unacknowledged events in order, or a gap`(
    seed: UInt64
  ) throws {
    var rng = SeededGenerator(seed: seed)
    let limit = 3 + rng.below(6)
    var desk = try Desk(limits: .with { $0.eventsKeptMax = limit })
    let owners: [(name: String, kinds: Set<KindName>)] = [("desk", Self.own), ("hall", ["door"])]
    /// The events that providers may still get: numbers by provider, in order.
    var owed: [[UInt64]] = [[], []]
    var atGroup = owed
    for step in 0..<120 {
      switch rng.below(10) {
      case 0...4:
        let widget = rng.pick(["gauge", "lamp", "door", "free", "log"] as [WidgetID])
        let sequence = try desk.click(widget)
        let kind = KindName(widget.rawValue) ?? "free"
        for index in owners.indices where owners[index].kinds.contains(kind) {
          owed[index].append(sequence)
        }
      case 5, 6:
        let index = rng.below(2)
        guard let sequence = owed[index].first else { break }
        try desk.acknowledge(sequence, by: owners[index].name)
        owed[index].removeFirst()
      case 7:
        desk.store.rollbackGroup()
        owed = atGroup
      case 8:
        desk.restart()
        owed = atGroup
      default:
        desk.commit()
        atGroup = owed
      }
      #expect(desk.store.checkInvariants() == [], "seed \(seed), step \(step)")
      for (owner, numbers) in zip(owners, owed) {
        let start = min(
          numbers.first.map { $0 - 1 } ?? desk.store.lastEventSequence,
          desk.store.sequenceBeforeUnacknowledged(of: owner.name) ?? .max)
        let words = desk.pages(of: owner.kinds, after: start, limit: 1 + rng.below(3))
        let got = words.compactMap { UInt64($0.split(separator: " ")[0]) }
        #expect(got == Array(numbers.suffix(got.count)), "seed \(seed), step \(step): \(words)")
        // A gap names the missing events, and only if there were too many.
        let isTold = words.contains { $0.hasPrefix("gap") }
        #expect(isTold || got.count == numbers.count, "seed \(seed), step \(step): \(words)")
        if isTold { #expect(desk.store.lastEventSequence > UInt64(limit), "seed \(seed)") }
      }
    }
  }
}
