import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The dates of widgets, after any changes of them.
struct AgendaTests {
  @Test(arguments: 0..<UInt64(6))
  func `the first date of an agenda is right after each change`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var agenda = Agenda()
    var model: [Int32: Timestamp] = [:]
    for step in 0..<2_000 {
      let slot = Int32(random.below(60))
      let date = Timestamp.at(Int64(random.below(80)))
      switch random.below(4) {
      case 0:
        agenda.set(slot, to: nil)
        model[slot] = nil
      case 1:
        let due = model.filter { $0.value <= date }
        let first = due.min { ($0.value, $0.key) < ($1.value, $1.key) }
        let popped = agenda.popDue(at: date)
        #expect(popped == first?.key, "step \(step)")
        if let first { model[first.key] = nil }
      default:
        agenda.set(slot, to: date)
        model[slot] = date
      }
      #expect(agenda.count == model.count, "step \(step)")
      #expect(agenda.firstDate == model.values.min(), "step \(step)")
      #expect(agenda.date(of: slot) == model[slot], "step \(step)")
    }
  }

  @Test func `a slot keeps one date, however often its date goes and comes back`() {
    var agenda = Agenda()
    for _ in 0..<5_000 {
      agenda.set(3, to: .at(10))
      agenda.set(3, to: nil)
      agenda.set(3, to: .at(10))
    }
    #expect(agenda.count == 1)
    let popped = [agenda.popDue(at: .at(10)), agenda.popDue(at: .at(10))]
    #expect(popped == [3, nil])
  }

  private static let alarm = Kind(
    name: "alarm",
    data: [
      Field(name: "on", type: .bool, defaultValue: .bool(false)),
      Field(name: "at", type: .timestamp, defaultValue: .timestamp(.at(100))),
    ],
    events: [EventType(name: "press")],
    reducers: [Reducer(event: "press", assignments: ["on": "!data.on"])],
    schedule: EntrySchedule(entries: "data.on ? [{'date': data.at}] : []"))

  @Test func `an alarm that is pressed again and again has one appointment`() throws {
    var store = Store()
    try store.register([Self.alarm])
    try store.create("a", kind: "alarm")
    store.commitGroup(at: .at(0))
    for _ in 0..<3_001 { try store.send("press", to: "a") }
    #expect(store.appointmentCount == 1)
    #expect(store.nextDate == .at(100))
    try store.send("press", to: "a")
    #expect(store.appointmentCount == 0)
    #expect(store.nextDate == nil)
    #expect(store.checkInvariants() == [])
  }

  @Test func `dates that were moved leave nothing to do at the former date`() throws {
    var store = Store()
    try store.register([Kind(name: "train")])
    let ids = (0..<500).compactMap { WidgetID("t\($0)") }
    for id in ids { try store.create(id, kind: "train") }
    for seconds: Int64 in [10, 20] {
      var timeline = Timeline(entries: [TimelineEntry(date: .at(seconds))], policy: .never)
      timeline.staleTime = .at(seconds + 5)
      for id in ids { try store.run(.update(id, WidgetPatch(timeline: .some(timeline)))) }
    }
    store.commitGroup(at: .at(0))
    // One date of the next entry and one of the staleness for each widget.
    #expect(store.appointmentCount == 2 * ids.count)
    #expect(store.nextDate == .at(20))
    #expect(store.nextDuty() == .at(25))
    #expect(store.advance(to: .at(15)) == 0)
    try store.delete("t0")
    store.commitGroup(at: .at(0))
    #expect(store.appointmentCount == 2 * (ids.count - 1))
    #expect(store.advance(to: .at(25)) == 1)
    #expect(store.appointmentCount == 0)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a change that is taken back takes its dates back`() throws {
    var store = Store()
    try store.register([Self.alarm])
    try store.create("a", kind: "alarm", data: ["on": .bool(true)])
    try store.create("b", kind: "alarm")
    store.commitGroup(at: .at(0))
    try store.run(.delete("a"))
    try store.send("press", to: "b")
    try store.create("c", kind: "alarm", data: ["on": .bool(true), "at": .timestamp(.at(50))])
    #expect(store.nextDate == .at(50))
    #expect(store.checkInvariants() == [])
    store.rollbackGroup()
    #expect(store.nextDate == .at(100))
    #expect(store.appointmentCount == 1)
    #expect(store.checkInvariants() == [])
  }
}
