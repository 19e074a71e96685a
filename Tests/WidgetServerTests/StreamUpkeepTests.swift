import NIOCore
import NIOEmbedded
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Work that many streams of a user need at once. Each slice is over at the first look at the clock.
@Suite struct `Work on many streams of a user` {
  /// Records how many streams have ended in each turn from now on, without the turns in which none
  /// has.
  private static func record(into ended: Box<[Int]>, _ service: ServiceLoop) {
    service.context.work.clock = SliceClock.makeOver()
    let end = service.turn.atEnd
    service.turn.atEnd = { [unowned service] in
      let before = service.streams.count
      end()
      let count = before - service.streams.count
      if count > 0 { ended.update { $0.append(count) } }
    }
  }

  @Test func `the streams of a closed connection end one by one, and count until then`()
    async throws
  {
    let count = 20
    try await withServer { server in
      let client = try server.connect()
      for number in 0..<count {
        let selector = Selector(ids: [try .make("w\(number)")])
        _ = try client.watch(WatchWidgetsRequest(selector: selector))
      }
      try server.eventually { $0.streams.count == count }
      let (ended, atClose) = (Box<[Int]>([]), Box<[Int]>([]))
      try server.onLoop { service in
        Self.record(into: ended, service)
        service.connections.onClosed = { [unowned service] in
          let writable = service.streams.all.count { $0.sink.isWritable }
          atClose.set([
            service.connections.shares.count, service.streams.count,
            service.context.streamAccounts.count, writable,
          ])
        }
      }
      client.close()
      try server.eventually { $0.streams.isEmpty }
      #expect(atClose.get() == [0, count, count, 0])
      #expect(ended.get() == Array(repeating: 1, count: count))
      let left = try server.onLoop {
        [$0.context.streamAccounts.count, $0.streams.rounds.groupCount]
      }
      #expect(left == [0, 0])
    }
  }

  @Test func `work that waits when the service ends is dropped`() {
    let queue = WorkQueue(turn: Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false))
    let upkeep = StreamUpkeep(in: queue)
    var done: [Int] = []
    upkeep.add(of: 1) { done.append(1) }
    queue.serve()
    upkeep.add(of: 1) { done.append(2) }
    upkeep.stop()
    upkeep.add(of: 2) { done.append(3) }
    queue.abandonAll()
    queue.serve()
    #expect(done == [1] && !queue.hasMore)
  }
}
