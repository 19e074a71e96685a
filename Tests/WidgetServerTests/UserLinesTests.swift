import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The shares of users in rounds. The clock belongs to the tests.
@Suite struct `Lines of users` {
  private final class Clock {
    var now = NIODeadline.uptimeNanoseconds(1)
  }

  private struct Item {
    let uid: UInt32
    let cost: TimeAmount
  }

  private let clock = Clock()
  private let lines = UserLines<Item>()
  private let roundMax = TimeAmount.milliseconds(2)

  private func add(_ uid: UInt32, _ cost: TimeAmount, count: Int = 1) {
    for _ in 0..<count { lines.add(Item(uid: uid, cost: cost), of: uid) }
  }

  /// Serves a round. Returns the items.
  private func round(_ serve: (Item) -> Void = { _ in }) -> [Item] {
    let end = clock.now + roundMax
    var served: [Item] = []
    lines.beginRound()
    while clock.now < end, let item = lines.next(at: clock.now) {
      clock.now = clock.now + item.cost
      served.append(item)
      serve(item)
    }
    lines.endRound(at: clock.now)
    return served
  }

  @Test func `a user's only item does not wait for thousands of others`() {
    add(1, .microseconds(100), count: 4_000)
    for _ in 0..<20 { #expect(round().count == 20) }
    for _ in 0..<50 {
      add(2, .microseconds(100))
      let place = round().firstIndex { $0.uid == 2 }
      // A part of the first user comes before it at most.
      #expect((0...5).contains(place ?? .max))
    }
    #expect(lines.count == 4_000 + 50 - 20 * 70)
  }

  @Test func `users get the same time, however long their items are`() {
    var used: [UInt32: Int64] = [:]
    for (uid, cost) in [(1, 30), (2, 700), (3, 5_000)] as [(UInt32, Int64)] {
      add(uid, .microseconds(cost), count: 20_000)
    }
    for _ in 0..<600 {
      for item in round() { used[item.uid, default: 0] += item.cost.nanoseconds }
    }
    let all = used.values.reduce(0, +)
    for uid in 1...3 as ClosedRange<UInt32> {
      #expect((0.3...0.36).contains(Double(used[uid] ?? 0) / Double(all)))
    }
  }

  @Test func `items that are added in a round are served in the next`() {
    for uid in 1...3 as ClosedRange<UInt32> { add(uid, .zero) }
    for _ in 0..<3 {
      let served = round { add($0.uid, .zero) }
      #expect(served.map(\.uid).sorted() == [1, 2, 3])
    }
    #expect(lines.count == 3)
  }

  @Test func `an item that is put back is the first of its user`() {
    for cost in [1, 2, 3] as [Int64] { add(1, .microseconds(cost)) }
    lines.beginRound()
    let first = lines.next(at: clock.now)
    lines.endRound(at: clock.now)
    first.map { lines.putBack($0, of: $0.uid) }
    #expect(round().map(\.cost.nanoseconds) == [1_000, 2_000, 3_000])
    #expect(lines.isEmpty && round().isEmpty)
  }

  @Test func `removed items are not served`() {
    for uid in 1...3 as ClosedRange<UInt32> { add(uid, .microseconds(100), count: 2) }
    #expect(lines.removeAll().map(\.uid).sorted() == [1, 1, 2, 2, 3, 3])
    #expect(lines.isEmpty && round().isEmpty)
    add(2, .zero)
    #expect(round().map(\.uid) == [2])
  }

  @Test func `users without items are forgotten`() {
    for uid in 1...1_000 as ClosedRange<UInt32> {
      add(uid, .microseconds(10))
      #expect(round().count == 1)
    }
    #expect(lines.userCount <= 65)
  }
}

/// Streams of two users.
@Suite struct `Streams of two users` {
  /// The times and frames of a test, used only on the loop.
  private final class Record {
    var now = NIODeadline.now()
    var order: [UInt32] = []

    func note(_ uid: UInt32) {
      order.append(uid)
      now = now + .microseconds(100)
    }
  }

  /// A sink whose frames take time.
  private final class SlowSink: StreamSink {
    let uid: UInt32
    let record: Record

    init(_ uid: UInt32, _ record: Record) { (self.uid, self.record) = (uid, record) }

    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) { record.note(uid) }
    func finish(_ status: RPCStatus?) {}
  }

  @Test func `a stream opens before thousands that another user opens`() async throws {
    try await withServer { server in
      let order = try server.onLoop { service in
        let record = Record()
        service.context.work.clock = { record.now }
        for uid in [UInt32](repeating: 1, count: 4_000) + [2] {
          service.turn.whenDurable(for: WorkShare(uid: uid)) { _ in record.note(uid) }
        }
        service.turn.open()
        service.turn.finish()
        return record.order
      }
      #expect(order.contains(2))
      // 2 ms of a turn.
      #expect(order.count <= 21)
    }
  }

  @Test func `a stream is served before thousands of another user`() async throws {
    try await withServer { server in
      let order = try server.onLoop { service in
        let record = Record()
        service.context.work.clock = { record.now }
        for (number, uid) in ([UInt32](repeating: 1, count: 2_000) + [2]).enumerated() {
          let label = LabelRequirement(key: "x\(number)", operator: .notExists)
          _ = try service.streams.open(
            WatchWidgetsRequest(selector: Selector(labels: [label])),
            sink: SlowSink(uid, record), peer: Peer(uid: uid, gid: 1, pid: 1))
        }
        // The frames of the openings.
        record.order = []
        service.streams.rounds.send(at: .now())
        return record.order
      }
      #expect(order.contains(2))
      #expect(order.count <= 100)
    }
  }
}
