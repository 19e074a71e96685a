/// The client's side of one ttrpc connection: the calls that wait for an answer, and the meaning of
/// the server's frames.
///
/// A value without I/O. It numbers calls (odd, strictly increasing), matches each frame to its
/// call, and detects a server that breaks the protocol. A call is over when `receive` returns its
/// end, or when the caller abandons it (`abandon`). The protocol cannot cancel, so the server may
/// still answer.
///
/// Invalid input, by whose fault it is:
///
/// - Our bug: `halfClose` or `abandon` of a call that is not open, or sending after `halfClose`.
///   They return false and change nothing.
/// - The server's fault, and nothing it sends can be trusted (`violation`; close the connection):
///   a request; an id that was never opened; data for a unary call; data with the no-data flag; a
///   frame that is too long.
/// - Ignorable: frame types this version does not know; frames for a call that is over, because an
///   abandoned call may be answered late. So no memory is kept of calls that are over.
public struct ClientStreams: Sendable {
  /// The kind of a new call.
  public enum Kind: Equatable, Sendable {
    /// One request, one response.
    case unary
    /// One request, many messages from the server.
    case server
    /// Messages both ways.
    case bidirectional

    /// The flags of the request that opens it.
    public var requestFlags: FrameFlags {
      switch self {
      case .unary: []
      case .server: .remoteClosed
      case .bidirectional: .remoteOpen
      }
    }
  }

  /// The meaning of a frame for the calls.
  public enum Action: Equatable, Sendable {
    /// The frame holds the response that ends a call or stream, with a result or an error.
    case response(streamID: UInt32)
    /// The frame holds a message of a stream; with `isLast`, the stream ended well after it.
    case message(streamID: UInt32, isLast: Bool)
    /// The stream ended well.
    case end(streamID: UInt32)
    /// Nothing to do.
    case ignore
    /// The server broke the protocol: close the connection.
    case violation(Violation)
  }

  /// The violation of the protocol by a server.
  public enum Violation: Error, Hashable, Sendable, CustomStringConvertible {
    case requestFromServer(streamID: UInt32)
    case unknownStream(streamID: UInt32)
    case dataOnUnaryCall(streamID: UInt32)
    case dataInNoData(streamID: UInt32)
    case oversize(streamID: UInt32, dataBytes: UInt32)

    public var description: String {
      switch self {
      case .requestFromServer(let id): "it sent a request (stream \(id))"
      case .unknownStream(let id): "it answered stream \(id), which was never opened"
      case .dataOnUnaryCall(let id): "it sent stream data for the unary call \(id)"
      case .dataInNoData(let id): "it sent data in a frame marked as having none (stream \(id))"
      case .oversize(let id, let bytes):
        "it sent a frame of \(bytes) bytes (stream \(id)); "
          + "\(FrameHeader.frameDataBytesMax) are allowed"
      }
    }
  }

  private enum State { case unary, serverOnly, bidirectional, halfClosed }

  private var calls: [UInt32: State] = [:]
  /// The next id. It has 64 bits, so that it does not overflow when all ids are used.
  private var nextStreamID: UInt64

  /// - Parameter firstStreamID: an odd number; 1 except in tests.
  public init(firstStreamID: UInt32 = 1) {
    nextStreamID = UInt64(firstStreamID | 1)
  }

  /// The number of open calls and streams.
  public var openCount: Int { calls.count }

  /// The ids of open calls in the order in which they were opened.
  public var openStreamIDs: [UInt32] { calls.keys.sorted() }

  public func isOpen(_ streamID: UInt32) -> Bool { calls[streamID] != nil }

  /// Opens a call: send a request with the returned id and with `kind.requestFlags`.
  ///
  /// - Returns: nil when the connection has used all of its 2^31 ids: open a new connection.
  public mutating func open(_ kind: Kind) -> UInt32? {
    guard let streamID = UInt32(exactly: nextStreamID) else { return nil }
    nextStreamID += 2
    calls[streamID] =
      switch kind {
      case .unary: .unary
      case .server: .serverOnly
      case .bidirectional: .bidirectional
      }
    return streamID
  }

  /// Whether data may be sent on the stream.
  public func canSend(_ streamID: UInt32) -> Bool { calls[streamID] == .bidirectional }

  /// Ends the client's data on a bidirectional stream.
  ///
  /// - Returns: false if the client could not send data any more.
  @discardableResult
  public mutating func halfClose(_ streamID: UInt32) -> Bool {
    guard canSend(streamID) else { return false }
    calls[streamID] = .halfClosed
    return true
  }

  /// Gives up a call. Later frames of the server for it are ignored.
  ///
  /// - Returns: false if the call was over already.
  @discardableResult
  public mutating func abandon(_ streamID: UInt32) -> Bool {
    calls.removeValue(forKey: streamID) != nil
  }

  /// Takes the header of an arrived frame and returns its meaning. O(1).
  public mutating func receive(_ header: FrameHeader) -> Action {
    let streamID = header.streamID
    // A frame of any type counts: such a long frame is not ttrpc but, for example, text. Its end
    // may never come.
    guard !header.isOversize else {
      return .violation(.oversize(streamID: streamID, dataBytes: header.dataBytes))
    }
    switch header.type {
    case .response, .data: break
    case .request: return .violation(.requestFromServer(streamID: streamID))
    default: return .ignore
    }
    guard streamID & 1 == 1, UInt64(streamID) < nextStreamID else {
      return .violation(.unknownStream(streamID: streamID))
    }
    guard let state = calls[streamID] else { return .ignore }
    if header.type == .response {
      calls[streamID] = nil
      return .response(streamID: streamID)
    }
    return data(header, state: state)
  }

  private mutating func data(_ header: FrameHeader, state: State) -> Action {
    let streamID = header.streamID
    guard state != .unary else { return .violation(.dataOnUnaryCall(streamID: streamID)) }
    let isLast = header.flags.contains(.remoteClosed)
    let hasMessage = !header.flags.contains(.noData)
    guard hasMessage || header.dataBytes == 0 else {
      return .violation(.dataInNoData(streamID: streamID))
    }
    // The server's end of a stream ends both halves: later messages of the client are ignored.
    if isLast { calls[streamID] = nil }
    switch (hasMessage, isLast) {
    case (true, _): return .message(streamID: streamID, isLast: isLast)
    case (false, true): return .end(streamID: streamID)
    case (false, false): return .ignore
    }
  }
}
