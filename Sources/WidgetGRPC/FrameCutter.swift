#if GRPC
  import NIOCore

  /// Cuts a client's side of an HTTP/2 connection into pieces that take little time.
  ///
  /// A value that takes bytes and returns pieces, in order. It buffers the bytes that have not been
  /// requested. Of frames it reads only the heads. Malformed frames pass unchanged.
  struct FrameCutter {
    /// The maximum number of frames that begin in a piece.
    static let framesMax = 4

    /// The number of bytes to pass unread: the connection preface, then the payload of a frame.
    private var passing: Int
    /// The head of the frame that is passing.
    private var frame: FrameHead?
    /// The bytes of the frames of the open header block.
    private var blockBytes = 0
    /// The number of frames and header blocks that have passed completely.
    private(set) var completeCount = 0
    private var arrived = ByteBuffer()
    /// The number of bytes to drop: the rest of a refused stream's frame.
    private var dropping = 0
    /// The newest stream that a piece has begun.
    private var newestStreamID: UInt32 = 0
    /// The newest stream that is accepted. nil while all are.
    private var lastAcceptedID: UInt32?
    /// The number of heads that were dropped, because they came after the GOAWAY.
    private var droppedHeadCount = 0
    /// The streams that were refused since the last call of `takeRefusedIDs`.
    private var newRefusedIDs: [UInt32] = []
    /// The reason to close the connection, nil if there is none. HTTP/2 must not get the piece with
    /// which it comes.
    private(set) var closingReason: String?
    /// The latest streams that the daemon has refused, the oldest first.
    private var refusedIDs = CircularBuffer<UInt32>()
    /// The same as a set, for look-ups.
    private var refused: Set<UInt32> = []
    /// The number of streams that a peer may have open. It knows of the refusal of more
    /// `refusedIDs`, and did not send more heads before it got a GOAWAY.
    private let streamsMax: Int
    /// The bytes of data that were dropped since the last call of `takeDroppedBytes`.
    private var droppedBytes = 0
    /// Whether a frame of the last piece begins or ends a stream, or has data of one.
    private(set) var pieceIsOfStream = false

    /// - Parameter openingBytes: The length of the connection preface.
    init(openingBytes: Int = 24, streamsMax: Int = 1_024) {
      passing = openingBytes
      self.streamsMax = streamsMax
    }

    /// Whether there is another piece.
    var hasMore: Bool {
      arrived.readableBytes > (passing > 0 || dropping > 0 ? 0 : FrameHead.bytes - 1)
    }

    /// The passed bytes that HTTP/2 buffers, because the rest of their frame, or the frame that ends
    /// their header block, has not arrived. HTTP/2 passes the bytes of data on.
    var incompleteBytes: Int {
      guard let frame, frame.type != FrameHead.data else { return blockBytes }
      return blockBytes + FrameHead.bytes + frame.length - passing
    }

    /// Drops the frames of streams that begin from now on, because the daemon has sent a GOAWAY.
    ///
    /// NIO's HTTP/2 would answer the head of such a stream with `REFUSED_STREAM`, and forget the
    /// stream. It would take the data that follows for an error of the connection, and end all calls:
    /// https://github.com/apple/swift-nio-http2/blob/1.46.0/Sources/NIOHTTP2/ConnectionStateMachine/ConnectionStreamsState.swift.
    /// It would also take a peer with more than 200 such heads for an attacker
    /// (`GlitchesMonitor.swift`). A peer can have more on their way when the GOAWAY is sent. No
    /// issue reports these two (November 2026).
    mutating func refuseNewStreams() {
      if lastAcceptedID == nil { lastAcceptedID = newestStreamID }
    }

    /// The streams that began after the GOAWAY, since the last call. HTTP/2 does not know of them,
    /// so the caller must refuse them.
    mutating func takeRefusedIDs() -> [UInt32] {
      defer { newRefusedIDs = [] }
      return newRefusedIDs
    }

    /// Drops the data of a refused stream that was on its way when its peer got the refusal.
    ///
    /// NIO's HTTP/2 remembers 32 streams that it has reset. It takes data of an older one for an
    /// error of the connection, and ends all calls. The number is `defaultMaximumRecentlyResetFrames` in
    /// https://github.com/apple/swift-nio-http2/blob/1.46.0/Sources/NIOHTTP2/HTTP2ChannelHandler.swift.
    /// grpc-swift has no setting for this, and no issue asks for one (November 2026).
    mutating func refuse(_ streamID: UInt32) {
      guard refused.insert(streamID).inserted else { return }
      refusedIDs.append(streamID)
      if refusedIDs.count > streamsMax, let oldest = refusedIDs.popFirst() {
        refused.remove(oldest)
      }
    }

    /// The bytes of data that were dropped since the last call. HTTP/2 does not know of them, so
    /// they must be given back to the window of the connection.
    mutating func takeDroppedBytes() -> Int {
      defer { droppedBytes = 0 }
      return droppedBytes
    }

    mutating func receive(_ bytes: ByteBuffer) {
      guard arrived.readableBytes > 0 else { return arrived = bytes }
      arrived.writeImmutableBuffer(bytes)
    }

    /// The next piece. nil if it needs more bytes, or if all bytes were dropped.
    ///
    /// A piece has at most one frame that takes long: one that begins or ends a stream, or changes all
    /// streams. A call with its message is one piece.
    mutating func next() -> ByteBuffer? {
      drop()
      guard closingReason == nil else {
        arrived = ByteBuffer()
        return nil
      }
      let unread = arrived
      var frames = 0
      var hasLongFrame = false
      pieceIsOfStream = false
      while arrived.readableBytes > 0 {
        if passing > 0 {
          let count = min(passing, arrived.readableBytes)
          arrived.moveReaderIndex(forwardBy: count)
          passing -= count
          if passing == 0 { endFrame() }
          continue
        }
        guard let head = arrived.peekHead(), frames < FrameCutter.framesMax,
          !(head.takesLong && hasLongFrame), !isDropped(head)
        else { break }
        if head.isOfHeaderBlock, droppedHeadCount > 0 {
          // HPACK needs every block to read the next one. Clients of gRPC send no trailers.
          closingReason = "it sends trailers after requests that were refused"
          break
        }
        if head.type == FrameHead.headers { newestStreamID = max(newestStreamID, head.streamID) }
        frames += 1
        if head.takesLong { hasLongFrame = true }
        if head.isOfStream { pieceIsOfStream = true }
        frame = head
        passing = FrameHead.bytes + head.length
      }
      let piece = unread.beginning(upTo: arrived)
      if !hasMore {
        // Copy a small rest, so that it does not retain a large buffer.
        arrived = arrived.readableBytes == 0 ? ByteBuffer() : ByteBuffer(buffer: arrived.slice())
      }
      return piece.readableBytes > 0 ? piece : nil
    }

    private mutating func endFrame() {
      guard let frame else { return }
      self.frame = nil
      if frame.isOfHeaderBlock, !frame.endsHeaders {
        blockBytes += FrameHead.bytes + frame.length
      } else {
        if frame.isOfHeaderBlock { blockBytes = 0 }
        completeCount += 1
      }
    }

    /// Drops the frames that come next, if they are of refused streams.
    private mutating func drop() {
      while passing == 0, closingReason == nil {
        let count = min(dropping, arrived.readableBytes)
        arrived.moveReaderIndex(forwardBy: count)
        dropping -= count
        guard dropping == 0, let head = arrived.peekHead(), isDropped(head) else { return }
        dropping = FrameHead.bytes + head.length
        if head.type == FrameHead.data { droppedBytes += head.length }
        if head.type == FrameHead.headers { dropHead(of: head.streamID) }
      }
    }

    private mutating func dropHead(of streamID: UInt32) {
      droppedHeadCount += 1
      guard droppedHeadCount <= streamsMax else {
        closingReason = "it sends too many requests after GOAWAY"
        return
      }
      guard streamID > newestStreamID else { return }
      newestStreamID = streamID
      newRefusedIDs.append(streamID)
    }

    private func isDropped(_ head: FrameHead) -> Bool {
      if head.type == FrameHead.data, refused.contains(head.streamID) { return true }
      return lastAcceptedID.map { head.streamID > $0 } ?? false
    }
  }

  extension FrameHead {
    /// Whether it begins or ends a stream, or changes all streams.
    fileprivate var takesLong: Bool {
      switch type {
      case FrameHead.headers, FrameHead.reset, FrameHead.settings: true
      default: false
      }
    }

    fileprivate var isOfHeaderBlock: Bool {
      type == FrameHead.headers || type == FrameHead.continuation
    }

    /// Whether it begins or ends a stream, or has data of one.
    fileprivate var isOfStream: Bool {
      switch type {
      case FrameHead.headers, FrameHead.reset, FrameHead.data: true
      default: false
      }
    }
  }
#endif
