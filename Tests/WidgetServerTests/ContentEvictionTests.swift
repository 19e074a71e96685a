import NIOCore
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The eviction of cached content when the last watch of a family ends.
@Suite struct ContentEvictionTests {
  private final class Sink: StreamSink {
    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) {}
    func finish(_ status: RPCStatus?) {}
  }

  /// The number of slices of an eviction. Each slice is over at the first look at the clock.
  private static func slices(of eviction: ContentEviction) -> Int {
    let clock = SlowClock()
    var count = 0
    var hasMore = true
    while hasMore, count < 100 {
      count += 1
      let start = clock.look()
      hasMore = eviction.work(
        TimeSlice(start: start, end: start + .seconds(1), clock: clock.look))
    }
    return count
  }

  /// Each look at the clock comes after 256 widgets without cached content.
  @Test func `an eviction ends with its slice`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 600))) { server in
      let counts = try server.onLoop { service in
        let once = ContentEviction(service.context, uid: 1)
        let twice = ContentEviction(service.context, uid: 1)
        let clock = SlowClock()
        let start = clock.look()
        // Another family loses its last reader after the first slice.
        _ = twice.work(TimeSlice(start: start, end: start + .seconds(1), clock: clock.look))
        twice.beginAgain()
        return [Self.slices(of: once), Self.slices(of: twice)]
      }
      #expect(counts == [3, 5])
    }
  }

  @Test func `the end of the last watch of a family leaves the eviction to slices of its user`()
    async throws
  {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let waits = try server.onLoop { service in
        let streams = try (0..<2).map { _ in
          try service.streams.open(
            WatchWidgetsRequest(contentFamily: .inline), sink: Sink(),
            peer: Peer(uid: 1, gid: 1, pid: 1))
        }
        return streams.map { stream in
          service.streams.forget(stream)
          return service.context.work.hasMore
        }
      }
      #expect(waits == [false, true])
      try server.eventually { !$0.context.work.hasMore }
    }
  }
}
