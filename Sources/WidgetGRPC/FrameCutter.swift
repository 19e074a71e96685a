#if GRPC
  import NIOCore

  /// Cuts a client's side of an HTTP/2 connection into pieces that take little time.
  ///
  /// A value: bytes in, pieces out, in order. It buffers the bytes that nobody has asked for. Of
  /// frames it reads only the heads. Malformed frames pass unchanged.
  struct FrameCutter {
    /// The maximum number of frames that begin in a piece.
    static let framesMax = 4

    /// The number of bytes to pass unread: the connection preface, then the payload of a frame.
    private var passing: Int
    private var arrived = ByteBuffer()
    /// Whether a frame of the last piece begins or ends a stream, or has data of one.
    private(set) var pieceIsOfStream = false

    /// - Parameter openingBytes: The length of the connection preface.
    init(openingBytes: Int = 24) { passing = openingBytes }

    /// Whether there is another piece.
    var hasMore: Bool {
      arrived.readableBytes > (passing > 0 ? 0 : FrameHead.bytes - 1)
    }

    mutating func receive(_ bytes: ByteBuffer) {
      guard arrived.readableBytes > 0 else { return arrived = bytes }
      arrived.writeImmutableBuffer(bytes)
    }

    /// The next piece. nil if it needs more bytes.
    ///
    /// A piece has at most one frame that takes long: one that begins or ends a stream, or changes all
    /// streams. A call with its message is one piece.
    mutating func next() -> ByteBuffer? {
      let unread = arrived
      var frames = 0
      var hasLongFrame = false
      pieceIsOfStream = false
      while arrived.readableBytes > 0 {
        if passing > 0 {
          let count = min(passing, arrived.readableBytes)
          arrived.moveReaderIndex(forwardBy: count)
          passing -= count
          continue
        }
        guard let head = arrived.peekHead(), frames < FrameCutter.framesMax,
          !(head.takesLong && hasLongFrame)
        else { break }
        frames += 1
        if head.takesLong { hasLongFrame = true }
        if head.isOfStream { pieceIsOfStream = true }
        passing = FrameHead.bytes + head.length
      }
      let piece = unread.beginning(upTo: arrived)
      if !hasMore {
        // Copy a small rest, so that it does not retain a large buffer.
        arrived = arrived.readableBytes == 0 ? ByteBuffer() : ByteBuffer(buffer: arrived.slice())
      }
      return piece.readableBytes > 0 ? piece : nil
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

    /// Whether it begins or ends a stream, or has data of one.
    fileprivate var isOfStream: Bool {
      switch type {
      case FrameHead.headers, FrameHead.reset, FrameHead.data: true
      default: false
      }
    }
  }
#endif
