#if GRPC
  import NIOCore
  import WidgetServer

  /// Lets a connection's input take part in the service's turns, as the frames of ttrpc do.
  ///
  /// Without it, each pass of the event loop would parse up to 64 KiB of HTTP/2 from every
  /// connection. A few connections with small frames would stop the daemon for seconds. Here the
  /// input waits for the same slices of time as the connection's calls, and its cost is the cost of
  /// the same user. If nobody else waits, the input passes at once.
  ///
  /// The input also waits while many streams of the connection wait to be opened: to open a stream can
  /// take longer than to read its request.
  ///
  /// While input waits, the connection reads nothing more. Only the end of a connection makes the
  /// channel read on, at most what the socket holds. The waiting input is then dropped, because its
  /// calls would be cancelled.
  final class InputTurns: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: CallerConnection
    private var cutter: FrameCutter
    private var context: ChannelHandlerContext?
    /// Whether the next piece waits for the service.
    private var isWaiting = false
    /// Whether the channel is reading. Then it completes the read itself.
    private var isReading = false
    private var isReadPending = false
    /// The received bytes that wait for the service.
    private let received: ReceivedAccount
    /// Dropped data that was not given back to the window of the connection.
    private var droppedBytes = 0
    /// The bytes of frames and header blocks that have not arrived completely. nil before the first.
    private var incomplete: IncompleteRequest?
    /// The cutter's number of complete frames when these bytes were counted.
    private var countedAt = 0
    /// Less than this waits for more, so that small frames cause no frame each.
    private static let droppedBytesMin = 4 << 10
    /// When the limits are full, this many bytes of a frame or of a header block still pass.
    private static let uncountedBytesMax = 16 << 10

    init(connection: CallerConnection) {
      self.connection = connection
      received = connection.client.receivedAccount()
      cutter = FrameCutter(streamsMax: connection.streamsMax)
    }

    func handlerAdded(context: ChannelHandlerContext) {
      self.context = context
      connection.onRefusal = { [weak self] in self?.cutter.refuseNewStreams() }
      connection.onRefusedCall = { [weak self] in self?.cutter.refuse($0) }
      connection.onLoss = { [weak self] in self?.dropInput() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      isReading = true
      let bytes = unwrapInboundIn(data)
      cutter.receive(bytes)
      waitForTurn()
      if isWaiting { received.add(bytes.storageCapacity) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      isReading = false
      completeRead(context)
    }

    private func waitForTurn() {
      guard !isWaiting, cutter.hasMore else { return }
      isWaiting = true
      connection.client.whenInputTurnComes { [self] isAbandoned in
        isWaiting = false
        pass()
        // When the service stops, there are no more turns. HTTP/2 still has to end the connection.
        while isAbandoned, cutter.hasMore { pass() }
        waitForTurn()
        if !isWaiting { received.clear() }
        resumeRead()
      }
    }

    /// Passes one piece on.
    private func pass() {
      guard let context else { return }
      let piece = cutter.next()
      if let reason = cutter.closingReason { return close(context, reason) }
      refuseStreams(context)
      guard countIncomplete() else { return close(context, "its frames exceed a limit") }
      droppedBytes += cutter.takeDroppedBytes()
      giveBack(context)
      guard let piece else { return }
      // A stream that begins, ends or gets a message makes the tasks of its call work.
      if cutter.pieceIsOfStream { connection.client.expectTasks() }
      context.fireChannelRead(wrapInboundOut(piece))
      if !isReading { completeRead(context) }
    }

    /// Counts the frame, or the header block, whose rest has not arrived. Returns false if a limit
    /// forbids it.
    private func countIncomplete() -> Bool {
      let bytes = cutter.incompleteBytes
      guard bytes > 0 || incomplete != nil else { return true }
      let account = incomplete ?? connection.client.incompleteRequest()
      if incomplete == nil {
        incomplete = account
        account.endLate = { [weak self] in self?.closeLate() ?? true }
      }
      if countedAt != cutter.completeCount {
        // The time of another frame begins.
        _ = account.hold(0)
        countedAt = cutter.completeCount
      }
      // The limits for all clients can be full because of others, and a small frame may straddle two
      // reads of a good client. The limits of connections bound such frames.
      return account.hold(bytes, uncountedMax: InputTurns.uncountedBytesMax) == nil
    }

    /// Closes the connection, because a frame has not arrived in time. Returns false if the rest
    /// waits for its turn here.
    private func closeLate() -> Bool {
      guard let context else { return true }
      guard !cutter.hasMore else { return false }
      close(context, "a frame did not arrive within request_milliseconds")
      return true
    }

    private func close(_ context: ChannelHandlerContext, _ reason: String) {
      _ = incomplete?.hold(0)
      cutter = FrameCutter()
      connection.client.logClosing(because: reason)
      context.close(promise: nil)
    }

    /// Refuses the streams that began after the GOAWAY. A client may retry their requests
    /// elsewhere.
    ///
    /// The frames have a bound, because `FrameCutter` has one for the streams.
    private func refuseStreams(_ context: ChannelHandlerContext) {
      let streamIDs = cutter.takeRefusedIDs()
      guard !streamIDs.isEmpty else { return }
      var frames = ByteBuffer()
      for streamID in streamIDs { ControlFrameScanner.writeRefusal(of: streamID, into: &frames) }
      context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
    }

    /// Gives dropped data back to the window of the connection. Otherwise the peer could send less
    /// and less on its other streams.
    private func giveBack(_ context: ChannelHandlerContext) {
      // The frames would have no bound if a peer did not read them.
      guard droppedBytes >= InputTurns.droppedBytesMin, context.channel.isWritable else { return }
      var frame = ByteBuffer()
      let byteCount = min(droppedBytes, Int(Int32.max))
      ControlFrameScanner.writeWindowUpdate(of: byteCount, into: &frame)
      droppedBytes -= byteCount
      context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      giveBack(context)
      context.fireChannelWritabilityChanged()
    }

    private func completeRead(_ context: ChannelHandlerContext) {
      context.fireChannelReadComplete()
      connection.countBegunCalls()
    }

    func read(context: ChannelHandlerContext) {
      isReadPending = true
      resumeRead()
    }

    /// Streams ask for more while the input passes. So the existing input counts, even if it does
    /// not wait.
    private func resumeRead() {
      guard isReadPending, !isWaiting, !cutter.hasMore, let context else { return }
      isReadPending = false
      context.read()
    }

    private func dropInput() {
      cutter = FrameCutter()
      received.clear()
      _ = incomplete?.hold(0)
      incomplete = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
      dropInput()
      self.context = nil
      context.fireChannelInactive()
      // If a connection ends while it is being read, `channelReadComplete` does not follow.
      connection.countBegunCalls()
    }
  }
#endif
