import NIOCore
import WidgetModel
import WidgetProto
import WidgetTimers
import WidgetTransport

/// The receiver of one call's answers. Confined to the connection's loop.
protocol CallReceiver: AnyObject {
  /// A message of a stream arrived.
  func message(_ bytes: ByteBuffer)
  /// The call is over: with the payload of a response, without one (a stream that ended well), or
  /// with an error. Called exactly once, unless the call is abandoned.
  func finish(_ result: Result<ByteBuffer?, ClientError>)
}

/// One connection to the daemon: sends requests and hands each answer to the call it belongs to.
///
/// A channel handler confined to its event loop. It knows the envelope (`ttrpc.Request`,
/// `ttrpc.Response`) but no services. When the connection ends, every call on it gets an error.
final class RPCConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let codec = WireCodec()
  private let socketPath: String
  private var context: ChannelHandlerContext?
  private var reader = FrameReader()
  private var streams = ClientStreams()
  private var receivers: [UInt32: any CallReceiver] = [:]
  private var isReadingPaused = false
  private var isReadWanted = false
  /// The reason of the end of the connection, which its calls have got.
  private var failure: ClientError?
  /// The check whether the daemon answers. Nil for none.
  private var liveness: Liveness?
  /// Rings at the next step of `liveness`. A cancelled timer of NIO would wake the program all the same.
  private var livenessTimer: WallClockTimer?

  init(socketPath: String) {
    self.socketPath = socketPath
  }

  /// Whether calls can still be made.
  var isUsable: Bool { context != nil && failure == nil }

  // MARK: Calls

  /// Sends a request. The receiver gets the answers.
  ///
  /// - Parameter willSend: called just before the request is sent, and not if it is not sent.
  /// - Returns: the call's stream id.
  /// - Throws: the reason why the request was not sent; the receiver then gets nothing.
  func open<Request: WireMessage>(
    _ kind: ClientStreams.Kind, _ method: RPCMethod, _ request: Request, timeout: Duration?,
    metadata: [MetadataEntry], receiver: any CallReceiver, willSend: () -> Void = {}
  ) throws(ClientError) -> UInt32 {
    guard let context, failure == nil else { throw .connectionLost(socketPath: socketPath) }
    guard let streamID = streams.open(kind) else {
      // All ids are used up: the next call gets a new connection.
      fail(.connectionLost(socketPath: socketPath))
      throw .connectionLost(socketPath: socketPath)
    }
    let frame: ByteBuffer
    do throws(ClientError) {
      frame = try codec.requestFrame(
        method, request, streamID: streamID, kind: kind, timeout: timeout, metadata: metadata,
        allocator: context.channel.allocator)
    } catch {
      // Nothing was sent. Skipping an id is allowed.
      streams.abandon(streamID)
      throw error
    }
    receivers[streamID] = receiver
    willSend()
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    return streamID
  }

  /// Sends a frame of a stream on which the client may still send.
  func write(_ frame: ByteBuffer, on streamID: UInt32) {
    guard failure == nil, streams.canSend(streamID) else { return }
    context?.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }

  /// Says that the client sends no more on a stream. Its messages are still received.
  func halfClose(_ streamID: UInt32) {
    var frame = ByteBuffer()
    frame.writeFrameHeader(
      FrameHeader(dataBytes: 0, streamID: streamID, type: .data, flags: .endOfStream))
    write(frame, on: streamID)
    streams.halfClose(streamID)
  }

  /// Forgets a call. Its receiver gets nothing more.
  func abandon(_ streamID: UInt32) {
    streams.abandon(streamID)
    receivers[streamID] = nil
  }

  /// Closes the connection. Calls on it fail with `closed`.
  func close() { fail(.closed) }

  private func fail(_ error: ClientError) {
    guard failure == nil else { return }
    failure = error
    livenessTimer?.close()
    livenessTimer = nil
    context?.close(promise: nil)
    finishAll(error)
  }

  private func finishAll(_ error: ClientError) {
    let waiting = receivers.sorted { $0.key < $1.key }
    receivers = [:]
    for (_, receiver) in waiting { receiver.finish(.failure(error)) }
  }

  // MARK: Liveness

  /// The time of the last bytes.
  private var heardAt: NIODeadline?

  /// Whether the daemon has sent something since then.
  func hasHeard(since instant: NIODeadline) -> Bool { heardAt.map { $0 >= instant } ?? false }

  /// Asks the daemon for its health, for any answer.
  func ask() {
    _ = try? open(
      .unary, .checkHealth, HealthCheckRequest(), timeout: nil, metadata: [],
      receiver: AnyAnswer())
  }

  /// Fails the connection with `unresponsive` if the daemon does not answer. Call it when a stream was
  /// requested.
  func check(_ policy: LivenessPolicy) {
    guard isUsable, let eventLoop = context?.eventLoop else { return }
    let now = NIODeadline.now()
    liveness = Liveness(policy, at: now)
    livenessTimer = WallClockTimer(eventLoop: eventLoop) { [weak self] in self?.livenessIsDue() }
    setLivenessTimer(now + TimeAmount(policy.answerMax))
  }

  /// The wall clock may be set meanwhile, so a step may be early. It then sets the timer again.
  private func setLivenessTimer(_ deadline: NIODeadline) {
    guard let livenessTimer else { return }
    let delay = deadline - .now()
    let date = Timestamp.wallClock().advanced(by: .nanoseconds(delay.nanoseconds))
    livenessTimer.set(date)
  }

  private func livenessIsDue() {
    guard isUsable, let policy = liveness?.policy,
      let step = liveness?.step(at: .now(), isReading: !isReadingPaused)
    else { return }
    switch step {
    case .wait(let deadline):
      setLivenessTimer(deadline)
    case .ask(let deadline):
      setLivenessTimer(deadline)
      do throws(ClientError) {
        _ = try open(
          .unary, .checkHealth, HealthCheckRequest(), timeout: nil, metadata: [],
          receiver: AnyAnswer())
      } catch {
        fail(error)
      }
    case .lost:
      fail(.unresponsive(socketPath: socketPath, answerMax: policy.answerMax))
    }
  }

  // MARK: Backpressure

  /// Stops reading the socket until `resumeReading`.
  func pauseReading() { isReadingPaused = true }

  func resumeReading() {
    isReadingPaused = false
    guard isReadWanted else { return }
    isReadWanted = false
    context?.read()
  }

  func read(context: ChannelHandlerContext) {
    if isReadingPaused {
      isReadWanted = true
    } else {
      context.read()
    }
  }

  // MARK: The channel's events

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let now = NIODeadline.now()
    heardAt = now
    if let deadline = liveness?.heard(at: now) { setLivenessTimer(deadline) }
    reader.append(unwrapInboundIn(data))
    while failure == nil, let item = reader.next() {
      switch item {
      case .frame(let frame): receive(frame)
      case .oversize(let header): receive(Frame(header: header, data: ByteBuffer()))
      }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail(.connectionLost(socketPath: socketPath))
    context.fireChannelInactive()
  }

  /// A read or write failed. The error is the kernel's, and the channel cannot be used any more.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    fail(.connectionLost(socketPath: socketPath))
  }

  private func receive(_ frame: Frame) {
    switch streams.receive(frame.header) {
    case .response(let streamID):
      let receiver = receivers.removeValue(forKey: streamID)
      do throws(ClientError) {
        let payload = try codec.decodeResponse(frame.data)
        receiver?.finish(.success(payload))
      } catch {
        receiver?.finish(.failure(error))
      }
    case .message(let streamID, let isLast):
      let receiver = receivers[streamID]
      receiver?.message(frame.data)
      if isLast { receivers.removeValue(forKey: streamID)?.finish(.success(nil)) }
    case .end(let streamID):
      receivers.removeValue(forKey: streamID)?.finish(.success(nil))
    case .ignore:
      break
    case .violation(let violation):
      fail(.protocolViolation("\(violation)"))
    }
  }
}
