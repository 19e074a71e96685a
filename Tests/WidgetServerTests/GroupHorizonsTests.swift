import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The first date at which any group needs more entries.
struct GroupHorizonsTests {
  private final class Sink: StreamSink {
    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) {}
    func finish(_ status: RPCStatus?) {}
  }

  private static func date(_ second: Int64) -> Timestamp {
    Timestamp(nanosecondsSinceEpoch: second * 1_000_000_000)
  }

  /// A group with one member.
  private static func group(_ filter: WatchGroup.Filter) -> WatchGroup {
    let group = WatchGroup(filter)
    group.members.add(
      Subscription(
        id: 1, uid: 1, sink: Sink(), group: group, options: Subscription.Options(),
        cursor: StreamCursor(.caughtUp, sequence: 0)))
    return group
  }

  private static func group(upcoming count: Int) -> WatchGroup {
    group(
      .widgets(
        Selector(), .all, includesEvents: false, contentFamily: nil, upcomingEntries: count,
        isRedacted: false))
  }

  @Test func `the first date of a queue is right after each change`() {
    var queue = DateQueue<Int>()
    var model: [Int: Timestamp] = [:]
    for step in 0..<3_000 {
      let key = step * 7 % 50
      if step % 3 == 0 || step > 2_900 {
        let (wasThere, former) = (queue.remove(key), model.removeValue(forKey: key))
        #expect(wasThere == (former != nil))
      } else {
        let date = Self.date(Int64(step * 31 % 97))
        queue.set(key, to: date)
        model[key] = date
      }
      let first = queue.first()
      #expect(first == model.values.min() && queue.count == model.count, "step \(step)")
    }
  }

  @Test func `dates that were moved leave nothing behind in a queue`() {
    var queue = DateQueue<Int>()
    for second in Int64(1)...50 {
      for key in 0..<100 { queue.set(key, to: Self.date(second)) }
    }
    #expect(queue.count == 100)
    #expect(queue.first() == Self.date(50))
    for key in 1..<100 { queue.remove(key) }
    queue.set(200, to: Self.date(60))
    #expect(queue.count == 2 && queue[1] == nil && queue[200] == Self.date(60))
    queue.remove(0)
    #expect(queue.first() == Self.date(60))
  }

  @Test func `the answer follows each group, whether it is known, has a date, or is gone`() throws {
    let (horizons, budget) = (GroupHorizons(), HorizonBudget(datesMax: 10))
    let id = try WidgetID.make("a")
    let next = Self.date(5)
    #expect(horizons.date(next) == nil)
    // Readers of events need no change of widgets.
    horizons.update(Self.group(.events(Selector(), names: [])))
    // Nobody reads in a group without members.
    horizons.update(WatchGroup(Self.group(upcoming: 0).filter))
    #expect(horizons.date(next) == nil)
    let groups = (1...3).map { Self.group(upcoming: $0) }
    for (index, group) in groups.enumerated() {
      group.horizon.set(id, Self.date(Int64(10 * (index + 1))), within: budget)
      horizons.update(group)
    }
    #expect(horizons.date(next) == Self.date(10))
    #expect(horizons.date(Self.date(15)) == Self.date(15))
    groups[0].horizon.set(id, Self.date(40), within: budget)
    horizons.update(groups[0])
    #expect(horizons.date(next) == Self.date(20))
    horizons.remove(groups[1])
    #expect(horizons.date(next) == Self.date(30))
    let plain = Self.group(upcoming: 0)
    horizons.update(plain)
    #expect(horizons.date(next) == next)
    horizons.remove(plain)
    groups[0].horizon.remove(id)
    horizons.update(groups[0])
    #expect(horizons.date(next) == Self.date(30))
    groups[2].horizon.forget()
    horizons.update(groups[2])
    #expect(horizons.date(next) == next)
    horizons.remove(groups[2])
    #expect(horizons.date(next) == nil)
  }

  @Test func `a refused watch does not make the daemon wake for the readers of its filter`()
    async throws
  {
    try await withServer { server in
      let (isRefused, isKnown) = try server.onLoop { service -> (Bool, Bool) in
        let streams = service.streams
        let peer = Peer(uid: 1, gid: 1, pid: 1)
        let stream = try streams.open(
          WatchWidgetsRequest(upcomingEntries: 3), sink: Sink(), peer: peer)
        let token = streams.rounds.frames.token(stream.group, service.context.store.revision)
        let refused = try? streams.open(
          WatchWidgetsRequest(
            resumeToken: token, minInterval: .seconds(-1), upcomingEntries: 3),
          sink: Sink(), peer: peer)
        let isKnown = stream.group.horizon.isKnown
        streams.forget(stream)
        return (refused == nil, isKnown)
      }
      #expect(isRefused && isKnown)
    }
  }
}
