/// The server's side of one ttrpc connection: the open streams, and the meaning of a frame.
///
/// A value without I/O. Its input is the header of each arrived frame, and the end of a stream by
/// the server. Its output is the next action. It knows no services and no messages. The server
/// decides whether a method is unary or streams, and whether a request's flags fit it.
///
/// Opening: a request with no flags is a unary call. With `remoteClosed` the client sends nothing
/// more and expects a stream; with `remoteOpen` it will send data as well. In both cases the
/// request's payload holds the first message, if it is not empty.
///
/// Unary calls are not recorded, so the common case needs no table look-up. The server has a quota
/// for calls in flight. Only streams count against `openStreamsMax`.
///
/// Invalid input, by whose fault it is:
///
/// - Our bug: `end` for a stream that is not open. It returns false and changes nothing.
/// - The peer's fault, answered on that stream (`refuse`, `fail`), the connection continues:
///   an even stream id; an id that is not higher than all before (as Go's ttrpc: a request);
///   contradicting flags; data after the client closed its half; a no-data frame with data; a
///   frame that is too long; too many open streams. If the stream was open, it is over (`fail`).
/// - The peer's fault, and nothing it sends can be trusted: a response frame. Close.
/// - Ignorable: frame types this version does not know (Go ignores them too, for the sake of later
///   versions); flags it does not know; data for a stream that is not open, because it may have
///   been under way when the server ended the stream.
///
/// Two differences to Go's server, both on the generous side: a data frame with `remoteClosed` may
/// carry the last message, as the protocol's text says (Go delivers the message, then fails the
/// stream); and data for a stream that is not open is ignored (Go sends an error).
public struct ServerStreams: Sendable {
  /// The default maximum number of open streams on one connection.
  public static let openStreamsMaxDefault = 1024

  /// The server's next action after a frame.
  public enum Action: Equatable, Sendable {
    /// Answer the request in the frame with one response.
    case unaryCall(streamID: UInt32)
    /// A stream was opened by the request in the frame. Answer with data, end it, tell `end`.
    case openStream(streamID: UInt32, kind: StreamKind)
    /// The frame holds a message of an open stream; with `isLast`, the client's last one.
    case message(streamID: UInt32, isLast: Bool)
    /// The client sends no more messages on an open stream.
    case halfClose(streamID: UInt32)
    /// Nothing to do.
    case ignore(IgnoreReason)
    /// Nothing was opened. Answer with a response that carries this error.
    case refuse(streamID: UInt32, ProtocolError)
    /// An open stream is over because of this error: release it, and answer with a response that
    /// carries the error. `end` need not be called.
    case fail(streamID: UInt32, ProtocolError)
    /// Close the connection: the peer does not speak the protocol.
    case close(CloseReason)
  }

  /// The senders of messages on a stream after the request.
  public enum StreamKind: Equatable, Sendable {
    /// Only the server.
    case server
    /// The client, and perhaps the server.
    case bidirectional
  }

  /// The reason why a frame was ignored.
  public enum IgnoreReason: Equatable, Sendable {
    case unknownType(FrameType)
    case streamNotOpen(streamID: UInt32)
    /// A data frame that neither carries a message nor closes anything.
    case empty
  }

  /// The reason why the connection has to be closed.
  public enum CloseReason: Equatable, Sendable {
    case responseFromClient(streamID: UInt32)
  }

  private enum State { case clientOpen, clientClosed }

  /// The maximum number of open streams.
  public let openStreamsMax: Int
  private var streams: [UInt32: State] = [:]
  /// The highest stream id that the client used.
  public private(set) var lastStreamID: UInt32 = 0
  /// The number of ignored frames so far.
  public private(set) var ignoredFrames: UInt64 = 0
  /// The number of the peer's faulty frames so far.
  public private(set) var faultyFrames: UInt64 = 0

  public init(openStreamsMax: Int = ServerStreams.openStreamsMaxDefault) {
    self.openStreamsMax = openStreamsMax
  }

  /// A connection that another process has served so far.
  ///
  /// - Parameter openStreamIDs: streams to which the client sends nothing more.
  public init(openStreamsMax: Int, lastStreamID: UInt32, openStreamIDs: [UInt32]) {
    self.openStreamsMax = openStreamsMax
    self.lastStreamID = lastStreamID
    for streamID in openStreamIDs { streams[streamID] = .clientClosed }
  }

  /// The number of open streams.
  public var openCount: Int { streams.count }

  /// The ids of the open streams, in no particular order, to release when the connection ends.
  public var openStreamIDs: [UInt32] { Array(streams.keys) }

  public func isOpen(_ streamID: UInt32) -> Bool { streams[streamID] != nil }

  /// Takes the header of an arrived frame (`FrameReader.Item.frame`) and returns the action. It
  /// also accepts the header of a frame that is too long (`.oversize`), whose data was dropped.
  /// O(1).
  ///
  /// - Parameter isDropped: whether the data was dropped for another reason.
  public mutating func receive(_ header: FrameHeader, isDropped: Bool = false) -> Action {
    let action = decide(
      header, lost: isDropped ? .dropped : header.isOversize ? .oversize(header) : nil)
    switch action {
    case .ignore: ignoredFrames += 1
    case .refuse, .close: faultyFrames += 1
    case .fail(let streamID, _):
      faultyFrames += 1
      streams[streamID] = nil
    case .unaryCall, .openStream, .message, .halfClose: break
    }
    return action
  }

  /// The server ended a stream, with a response or with `endOfStream`. Both halves are over: later
  /// data from the client is ignored.
  ///
  /// - Returns: false if the stream was not open, which is the caller's bug.
  @discardableResult
  public mutating func end(_ streamID: UInt32) -> Bool {
    streams.removeValue(forKey: streamID) != nil
  }

  /// - Parameter lost: the reason why there is no data.
  private mutating func decide(_ header: FrameHeader, lost: ProtocolError?) -> Action {
    let streamID = header.streamID
    switch header.type {
    case .request:
      return streamID & 1 == 1 ? request(header, lost) : .refuse(streamID: streamID, .evenStreamID)
    case .data:
      return streamID & 1 == 1 ? data(header, lost) : .refuse(streamID: streamID, .evenStreamID)
    case .response:
      return .close(.responseFromClient(streamID: streamID))
    default:
      return .ignore(.unknownType(header.type))
    }
  }

  private mutating func request(_ header: FrameHeader, _ lost: ProtocolError?) -> Action {
    let streamID = header.streamID
    guard streamID > lastStreamID else { return reject(streamID, .streamIDReused) }
    lastStreamID = streamID
    if let lost { return .refuse(streamID: streamID, lost) }
    let isClosed = header.flags.contains(.remoteClosed)
    let isOpen = header.flags.contains(.remoteOpen)
    guard isClosed || isOpen else { return .unaryCall(streamID: streamID) }
    guard !(isClosed && isOpen) else { return .refuse(streamID: streamID, .contradictingFlags) }
    guard streams.count < openStreamsMax else {
      return .refuse(streamID: streamID, .tooManyStreams(max: openStreamsMax))
    }
    streams[streamID] = isClosed ? .clientClosed : .clientOpen
    return .openStream(streamID: streamID, kind: isClosed ? .server : .bidirectional)
  }

  private mutating func data(_ header: FrameHeader, _ lost: ProtocolError?) -> Action {
    let streamID = header.streamID
    guard let state = streams[streamID] else { return .ignore(.streamNotOpen(streamID: streamID)) }
    guard state == .clientOpen else { return .fail(streamID: streamID, .dataAfterClose) }
    if let lost { return .fail(streamID: streamID, lost) }
    let isLast = header.flags.contains(.remoteClosed)
    let hasMessage = !header.flags.contains(.noData)
    guard hasMessage || header.dataBytes == 0 else {
      return .fail(streamID: streamID, .dataInNoData)
    }
    if isLast { streams[streamID] = .clientClosed }
    switch (hasMessage, isLast) {
    case (true, _): return .message(streamID: streamID, isLast: isLast)
    case (false, true): return .halfClose(streamID: streamID)
    case (false, false): return .ignore(.empty)
    }
  }

  /// An error response on an id also ends the stream that has this id, at the client.
  private func reject(_ streamID: UInt32, _ error: ProtocolError) -> Action {
    isOpen(streamID)
      ? .fail(streamID: streamID, error) : .refuse(streamID: streamID, error)
  }
}
