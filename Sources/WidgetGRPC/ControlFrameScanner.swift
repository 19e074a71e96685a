#if GRPC
  import NIOCore

  /// Finds pings and resets in the bytes of a client's side of an HTTP/2 connection.
  ///
  /// A value: bytes in, pieces out, in order. It buffers at most one incomplete control frame. Of
  /// other frames it reads only the heads, and the length of the padding of data. Malformed frames
  /// pass unchanged.
  struct ControlFrameScanner {
    enum Piece: Equatable {
      /// A ping that asks for an answer, and its frame.
      case ping(UInt64, ByteBuffer)
      /// The reset of a stream, and its frame.
      case reset(UInt32, ByteBuffer)
      /// Other frames, or parts of them.
      case other(ByteBuffer)
    }

    /// The number of bytes to pass unread: the connection preface, then the payload of a frame.
    private var passing: Int
    /// Received bytes that `next` has not returned.
    private var arrived = ByteBuffer()
    /// Whether a header block is open. Other frames are not allowed in it.
    private var isInHeaderBlock = false
    private var limits = FloodLimits()
    /// Whether HTTP/2 would take the peer for an attacker if it got the next frame. The bytes before
    /// the frame are returned, and nothing after them.
    private(set) var isFlood = false

    /// - Parameter openingBytes: The length of the connection preface.
    init(openingBytes: Int = 24) {
      passing = openingBytes
    }

    /// Receives bytes. Before the next call, call `next` until it returns nil.
    mutating func receive(_ bytes: ByteBuffer) {
      guard arrived.readableBytes > 0 else { return arrived = bytes }
      arrived.writeImmutableBuffer(bytes)
    }

    /// The next piece. Nil if it needs more bytes. If HTTP/2 gets a reset, call `count` first.
    mutating func next(at now: @autoclosure () -> NIODeadline = .now()) -> Piece? {
      guard !isFlood else { return nil }
      let unread = arrived
      while arrived.readableBytes > 0 {
        if passing > 0 {
          let count = min(passing, arrived.readableBytes)
          arrived.moveReaderIndex(forwardBy: count)
          passing -= count
          continue
        }
        guard let head = arrived.peekHead(), let isEmpty = arrived.hasEmptyData(head)
        else { break }
        guard head.isPing || head.isReset, !isInHeaderBlock else {
          guard limits.take(head, isEmpty: isEmpty, at: now()) else {
            isFlood = true
            break
          }
          follow(head)
          passing = head.length + FrameHead.bytes
          continue
        }
        // Return the bytes before the frame first.
        guard arrived.readerIndex == unread.readerIndex else { break }
        guard let frame = arrived.readSlice(length: FrameHead.bytes + head.length)
        else { break }
        return piece(head, frame)
      }
      let passed = unread.beginning(upTo: arrived)
      if isFlood { arrived = ByteBuffer() }
      guard passed.readableBytes == 0 else { return .other(passed) }
      // Copy a small rest, so that it does not retain a large buffer.
      arrived = arrived.readableBytes == 0 ? ByteBuffer() : ByteBuffer(buffer: arrived.slice())
      return nil
    }

    /// Counts a ping or a reset as HTTP/2 counts it. If `isFlood` is true then, HTTP/2 must not get
    /// it.
    mutating func count(
      _ frame: ByteBuffer, at now: @autoclosure () -> NIODeadline = .now()
    ) {
      guard let head = frame.peekHead() else { return }
      if !limits.take(head, isEmpty: false, at: now()) { isFlood = true }
    }

    /// Takes the peer for an attacker.
    mutating func stop() { (isFlood, arrived) = (true, ByteBuffer()) }

    private func piece(_ head: FrameHead, _ frame: ByteBuffer) -> Piece {
      guard head.isPing else { return .reset(head.streamID, frame) }
      let payload: UInt64? = frame.getInteger(at: frame.readerIndex + FrameHead.bytes)
      return payload.map { .ping($0, frame) } ?? .other(frame)
    }

    private mutating func follow(_ head: FrameHead) {
      switch head.type {
      case FrameHead.headers, FrameHead.pushPromise, FrameHead.continuation:
        isInHeaderBlock = !head.endsHeaders
      default: break
      }
    }

    /// The size of the answer to a ping.
    static let answerBytes = FrameHead.bytes + FrameHead.pingBytes

    static func writeAnswer(to payload: UInt64, into buffer: inout ByteBuffer) {
      buffer.writeBytes([0, 0, UInt8(FrameHead.pingBytes), FrameHead.ping, 1, 0, 0, 0, 0])
      buffer.writeInteger(payload)
    }

    /// The frame that tells the peer to calm down. It names no stream as unprocessed.
    static func writeGoAway(into buffer: inout ByteBuffer) {
      buffer.writeBytes([0, 0, 8, FrameHead.goAway, 0, 0, 0, 0, 0])
      buffer.writeInteger(UInt32(Int32.max))
      buffer.writeInteger(FrameHead.enhanceYourCalm)
    }

    /// The frame that refuses a stream. Its request was not processed.
    static func writeRefusal(of streamID: UInt32, into buffer: inout ByteBuffer) {
      buffer.writeBytes([0, 0, UInt8(FrameHead.resetBytes), FrameHead.reset, 0])
      buffer.writeInteger(streamID)
      buffer.writeInteger(FrameHead.refusedStream)
    }

    /// The frame that gives so many bytes back to the window of the connection.
    static func writeWindowUpdate(of byteCount: Int, into buffer: inout ByteBuffer) {
      buffer.writeBytes([0, 0, 4, FrameHead.windowUpdate, 0, 0, 0, 0, 0])
      buffer.writeInteger(UInt32(byteCount))
    }
  }

  /// The head of an HTTP/2 frame.
  struct FrameHead {
    /// The length of the payload.
    let length: Int
    let type: UInt8
    let flags: UInt8
    let streamID: UInt32

    /// The size of a head.
    static let bytes = 9
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
    static let alternativeService: UInt8 = 10
    static let origin: UInt8 = 12
    static let pingBytes = 8
    static let resetBytes = 4
    /// The codes of errors.
    static let refusedStream: UInt32 = 7
    static let enhanceYourCalm: UInt32 = 11

    /// Whether its header block ends with it, if it has a part of one.
    var endsHeaders: Bool { flags & 4 != 0 }

    /// Whether its stream ends with it, if it has data or headers.
    var endsStream: Bool { flags & 1 != 0 }

    /// Whether its payload begins with the length of its padding, if it has data or headers.
    var isPadded: Bool { flags & 8 != 0 }

    /// Whether it asks for an answer.
    var isPing: Bool {
      type == FrameHead.ping && flags & 1 == 0 && streamID == 0 && length == FrameHead.pingBytes
    }

    var isReset: Bool {
      type == FrameHead.reset && streamID != 0 && length == FrameHead.resetBytes
    }
  }

  extension ByteBuffer {
    /// The part of this buffer before `rest`.
    func beginning(upTo rest: ByteBuffer) -> ByteBuffer {
      getSlice(at: readerIndex, length: rest.readerIndex - readerIndex) ?? ByteBuffer()
    }

    /// Whether the frame that begins here is of data, and has none beside its padding. nil if the
    /// length of the padding is not there.
    func hasEmptyData(_ head: FrameHead) -> Bool? {
      guard head.type == FrameHead.data else { return false }
      guard head.isPadded, head.length > 0 else { return head.length == 0 }
      let padding: UInt8? = getInteger(at: readerIndex + FrameHead.bytes)
      return padding.map { head.length == Int($0) + 1 }
    }

    /// The head of the frame that begins here. nil if it is not there completely.
    func peekHead() -> FrameHead? {
      guard let first = getInteger(at: readerIndex, as: UInt32.self),
        let flags = getInteger(at: readerIndex + 4, as: UInt8.self),
        let streamID = getInteger(at: readerIndex + 5, as: UInt32.self)
      else { return nil }
      return FrameHead(
        length: Int(first >> 8), type: UInt8(truncatingIfNeeded: first), flags: flags,
        streamID: streamID & 0x7fff_ffff)
    }
  }
#endif
