import Glibc
import NIOCore
import NIOEmbedded
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// A connection with the streams of a former process.
@Suite struct `A connection that is taken over` {
  /// A connection on a socket that nobody reads.
  private struct TakenOver {
    let connection: TTRPCConnection
    let channel = EmbeddedChannel()
    let sockets: [CInt]

    init(_ service: ServiceLoop, streamCount: UInt32) throws {
      var pair: [CInt] = [-1, -1]
      try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
      sockets = pair
      let streams = (0..<streamCount).map { number in
        HandedStream(
          streamID: 2 * number + 1, request: .widgets(WatchWidgetsRequest()),
          subscriptionID: UInt64(number) + 1)
      }
      connection = TTRPCConnection(
        peer: .current, socket: pair[0], service: service,
        former: HandedConnection(lastStreamID: 2 * streamCount, streams: streams))
      try channel.pipeline.syncOperations.addHandler(connection)
      try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
    }

    /// Does one part of the work.
    func work() -> Bool {
      let now = NIODeadline.uptimeNanoseconds(1)
      return connection.work(TimeSlice(start: now, end: now, clock: { now }))
    }

    /// Hands the connection over, and returns the ids of its streams.
    func handOver() throws -> [UInt32] {
      guard let (handed, socket) = connection.handOver() else { throw TestFault("not handed over") }
      for descriptor in sockets + [socket] { close(descriptor) }
      channel.embeddedEventLoop.run()
      return handed.streams.map(\.streamID)
    }
  }

  @Test func `its streams are taken over in parts, and the rest can be handed over again`()
    async throws
  {
    try await withServer { server in
      let (counts, known, ids) = try server.onLoop { service -> ([Int], [Int], [UInt32]) in
        let taken = try TakenOver(service, streamCount: 5)
        var (counts, known) = ([service.streams.count], [taken.connection.streamCount])
        for _ in 0..<3 {
          #expect(taken.work())
          counts.append(service.streams.count)
          known.append(taken.connection.streamCount)
        }
        return (counts, known, try taken.handOver())
      }
      #expect(counts == [0, 1, 2, 3])
      #expect(known == [5, 5, 5, 5])
      #expect(ids == [1, 3, 5, 7, 9])
      try server.eventually { $0.streams.isEmpty }
    }
  }
}
