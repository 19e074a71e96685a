#if GRPC
  import NIOCore

  /// Finds the frame for which NIO's HTTP/2 would take a peer for an attacker.
  ///
  /// NIO then sends a GOAWAY that accepts no stream, and so ends all streams of the connection in one
  /// step. For a thousand streams, this takes some 170 ms. grpc-swift-nio-transport 2.9.2 does not
  /// pass the settings on for servers. The limits here equal NIO's. NIO sees each frame later, so
  /// these limits are reached first. NIO's are in
  /// https://github.com/apple/swift-nio-http2/blob/1.46.0/Sources/NIOHTTP2/DOSHeuristics.swift. NIO
  /// counts errors of streams, too, but grpc-swift closes the connection at the first one. New
  /// streams after a GOAWAY of the daemon do not reach HTTP/2, see `FrameCutter`.
  ///
  /// A value: the caller passes in the frames that HTTP/2 gets, and the time.
  struct FloodLimits {
    /// The maximum number of DATA frames without data since the last beginning or end of a request.
    static let emptyDataMax = 1
    /// The maximum number of resets in a window of time, and the same for other control frames.
    static let framesMax = 200
    /// One second more than NIO's, because NIO reads the clock later.
    static let window = TimeAmount.seconds(31)

    private var emptyDataCount = 0
    private var resets: [NIODeadline] = []
    private var controlFrames: [NIODeadline] = []

    /// Counts a frame. Returns false if HTTP/2 must not get it.
    ///
    /// - Parameter isEmpty: Whether it is of data, and has none beside its padding.
    mutating func take(
      _ head: FrameHead, isEmpty: Bool, at now: @autoclosure () -> NIODeadline
    ) -> Bool {
      switch head.type {
      case FrameHead.data:
        if isEmpty { emptyDataCount += 1 }
        if head.endsStream { emptyDataCount = 0 }
        return emptyDataCount <= FloodLimits.emptyDataMax
      case FrameHead.headers:
        emptyDataCount = 0
        return true
      case FrameHead.reset:
        return FloodLimits.add(now(), to: &resets)
      case FrameHead.ping, FrameHead.settings, FrameHead.priority, FrameHead.alternativeService,
        FrameHead.origin:
        return FloodLimits.add(now(), to: &controlFrames)
      default:
        return true
      }
    }

    private static func add(_ now: NIODeadline, to times: inout [NIODeadline]) -> Bool {
      times.removeAll { now - $0 > window }
      guard times.count < framesMax else { return false }
      times.append(now)
      return true
    }
  }
#endif
