#if GRPC
  import GRPCCore
  import NIOCore
  import NIOHTTP2
  import Synchronization
  import WidgetServer

  /// Finds the caller of each call.
  ///
  /// grpc-swift shows a handler the metadata of its call, but not the stream. Its context has a
  /// field for the transport (https://github.com/grpc/grpc-swift/pull/2228), which knows only the
  /// connection. So a number overwrites a reserved header of every call, before anyone reads it.
  /// The number identifies the call here.
  final class Callers: Sendable {
    static let header = "widgetd-connection"

    private struct State {
      var lastNumber: UInt64 = 0
      var connections: [ObjectIdentifier: NIOLoopBound<CallerConnection>] = [:]
      var calls: [String: CallerCall] = [:]
    }

    /// A call that is under way.
    struct CallerCall: Sendable {
      let client: InProcessClient
      let admission: NIOLoopBound<any CallAdmission>
      let room: NIOLoopBound<any StreamRoom>
      let guarded: NIOLoopBound<CallGuard>
    }

    private let state = Mutex(State())
    /// See `ControlFrames`.
    let closingMax: TimeAmount

    init(closingMax: TimeAmount = ControlFrames.closingMax) {
      self.closingMax = closingMax
    }

    /// Takes a connection in, until its channel is closed.
    ///
    /// - Returns: the channel for HTTP/2 over the channel of the socket.
    func add(
      _ client: InProcessClient, on socket: any Channel, _ limits: ServerLimits
    ) -> LingeringChannel {
      let connection = NIOLoopBound(
        CallerConnection(client: client, limits), eventLoop: socket.eventLoop)
      let channel = LingeringChannel(over: socket, of: connection.value)
      let id = ObjectIdentifier(channel)
      state.withLock { $0.connections[id] = connection }
      channel.closeFuture.whenComplete { _ in
        self.state.withLock { $0.connections[id] = nil }
        connection.value.close()
      }
      return channel
    }

    /// The number of calls that are under way.
    var callCount: Int { state.withLock { $0.calls.count } }

    /// The state of an open connection. Call on its event loop.
    func connection(of channel: any Channel) throws -> CallerConnection {
      guard let connection = state.withLock({ $0.connections[ObjectIdentifier(channel)] }) else {
        throw ChannelError.ioOnClosedChannel
      }
      return connection.value
    }

    /// Puts a guard in front of a new HTTP/2 stream.
    func guardCall(on stream: any Channel) throws {
      guard let parent = stream.parent, let options = stream.syncOptions else {
        throw ChannelError.ioOnClosedChannel
      }
      let connection = try connection(of: parent)
      let streamID = UInt32(Int32(try options.getOption(HTTP2StreamChannelOptions.streamID)))
      let number = state.withLock { state in
        state.lastNumber += 1
        return String(state.lastNumber)
      }
      let call = CallGuard(streamID, number: number, connection: connection) {
        [weak self, weak connection] in
        _ = self?.state.withLock { $0.calls.removeValue(forKey: number) }
        connection?.remove(streamID)
      }
      try stream.pipeline.syncOperations.addHandler(call, position: .first)
      connection.add(call, on: streamID)
      let found = CallerCall(
        client: connection.client,
        admission: NIOLoopBound(call, eventLoop: stream.eventLoop),
        room: NIOLoopBound(call, eventLoop: stream.eventLoop),
        guarded: NIOLoopBound(call, eventLoop: stream.eventLoop))
      state.withLock { $0.calls[number] = found }
    }

    /// The call with this metadata.
    func call(_ metadata: Metadata) throws(RPCError) -> CallerCall {
      for case .string(let number) in metadata[Callers.header] {
        if let call = state.withLock({ $0.calls[number] }) { return call }
      }
      throw RPCError(code: .unavailable, message: "The connection is closed.")
    }
  }

  /// The memory of one connection's calls. Confined to the event loop.
  ///
  /// Flow control stops the sending to a slow peer, but not the making of answers. So calls wait
  /// while the peer has not taken too many bytes of answers. Streams make no more messages while
  /// their unsent messages exceed a bound. Both wait while the user's connections together have too
  /// many unsent bytes.
  ///
  /// No window stops the errors of calls. So a connection that does not read its errors is closed.
  final class CallerConnection {
    let client: InProcessClient
    /// The maximum size of a call's metadata, in bytes.
    let metadataBytesMax: Int
    /// The memory of incomplete requests, and of requests whose calls wait.
    var receivingBytes = 0
    /// The maximum number of open streams.
    let streamsMax: Int
    /// Called when new streams are to be refused, because of a GOAWAY.
    var onRefusal: (() -> Void)?
    /// Called when a call is refused before the end of its request.
    var onRefusedCall: ((_ streamID: UInt32) -> Void)?
    /// Called when the socket is closed.
    var onLoss: (() -> Void)?
    /// The calls that the present input has begun.
    private var begun: [CallGuard] = []
    /// Bytes of answers that were made and not taken.
    private var answerBytes = 0 {
      didSet { countUnsent() }
    }
    /// Bytes of streams' messages that were made and not taken.
    private var streamBytes = 0 {
      didSet { countUnsent() }
    }
    /// The memory of the streams of calls whose answers were made.
    var callBytes = 0 {
      didSet { countUnsent() }
    }
    /// Bytes of failed calls' ends that the socket has not taken.
    private var errorBytes = 0 {
      didSet { countUnsent() }
    }
    /// Bytes of answers to pings that the socket has not taken.
    var pingAnswerBytes = 0 {
      didSet { countUnsent() }
    }
    private let unsent: UnsentAccount
    private var calls: [UInt32: CallGuard] = [:]
    private var newestStreamID: UInt32 = 0
    private var resets: ResetAllowance
    private var waiting = CircularBuffer<(call: CallGuard, start: (Bool) -> Int)>()
    /// Whether the next call of `waiting` waits for the service.
    private var isQueued = false
    /// Whether the connection is being closed, because its peer does not read.
    private var isClosing = false
    /// Whether the socket is closed.
    private(set) var isLost = false
    /// The calls that end in the next turns, because the socket is closed.
    private var ending: [CallGuard] = []

    /// The cost of the end of a call, compared with the tasks of a call. It is higher than measured: a
    /// pass of the loop ends few calls, and nobody waits for the rest.
    private static let endParts: Int64 = 16

    /// Calls wait while the peer has not taken this many bytes of answers.
    static let answerBytesMax = 1 << 20
    /// Streams make no more messages while the peer has not taken this many bytes of messages.
    private static let streamBytesMax = 3 << 20
    /// Calls wait while the socket has not taken this many bytes of errors. The connection has no more
    /// while its user has too many unsent bytes.
    private static let errorBytesMin = 64 << 10
    /// The maximum for errors of calls that do not wait, because the daemon refuses them at once: an
    /// error for each stream that a connection can have by default.
    private static let errorBytesMax = 1 << 20
    /// Pings count as control frames while the socket has not taken this many bytes of answers to
    /// pings.
    static let pingAnswerBytesMax = 256 << 10
    /// The same while the user has too many unsent bytes. Small, because the reserve for connections
    /// with few unsent bytes is for calls. A peer that takes its answers has fewer, beside those of
    /// the present turn.
    static let pingAnswerBytesMin = 1 << 10
    /// The connection is closed at this many bytes of answers to pings. A peer that stays within
    /// the limit of control frames needs more than half an hour to reach it.
    static let pingAnswerBytesEnd = 2 * pingAnswerBytesMax
    /// The maximum memory of a connection's incomplete requests, in bytes.
    static let receivingBytesMax = 16 << 20

    init(client: InProcessClient, _ limits: ServerLimits) {
      self.client = client
      metadataBytesMax = limits.metadataBytesMax
      streamsMax = limits.streamsPerConnectionMax
      resets = ResetAllowance(maximum: limits.streamResetsMax)
      unsent = client.unsentAccount()
      unsent.onRoom = { [weak self] in self?.roomCame() }
    }

    /// The connection has ended.
    func close() { unsent.close() }

    func add(_ call: CallGuard, on streamID: UInt32) {
      calls[streamID] = call
      newestStreamID = max(newestStreamID, streamID)
    }

    func remove(_ streamID: UInt32) { calls[streamID] = nil }

    /// Notes that the head of a request has arrived, without its end.
    func callHasBegun(_ call: CallGuard) { begun.append(call) }

    /// Counts the begun requests that are not complete. The end of most requests is in the same
    /// input as the beginning; they cost nothing here, and no quota can refuse them.
    func countBegunCalls() {
      guard !begun.isEmpty else { return }
      let calls = begun
      begun.removeAll(keepingCapacity: true)
      for call in calls { call.countBeginning() }
    }

    /// Cancels the call that the peer has reset; an ended call does not change.
    ///
    /// Returns false if HTTP/2 has to decide: too many resets, or the reset of an unknown stream.
    func cancelCall(on streamID: UInt32) -> Bool {
      let isCall = streamID <= newestStreamID && !streamID.isMultiple(of: 2)
      guard isCall, resets.take(at: .now()) else { return false }
      calls[streamID]?.cancel()
      return true
    }

    /// The socket is closed: no input follows, and no output is needed.
    func lose() {
      isLost = true
      onLoss?()
    }

    /// Runs a closure that sets tasks going, in a part of the user's turns. Runs it at once if the
    /// service stops.
    func whenTurnComes(_ body: @escaping () -> Void) {
      client.whenTurnComes { [self] isAbandoned in
        if !isAbandoned { client.expectTasks() }
        body()
      }
    }

    /// Ends all calls, one in each part of the user's turns, and then calls `finish`. The end of a
    /// thousand calls takes longer than a turn.
    func endCalls(then finish: @escaping () -> Void) {
      // The oldest first, because HTTP/2 then removes the stream without moving the others: see
      // `StreamMap`, and `remove(at:)` of NIO's `CircularBuffer`.
      ending = calls.sorted { $0.key > $1.key }.map(\.value)
      endNextCall(then: finish)
    }

    private func endNextCall(then finish: @escaping () -> Void) {
      while let call = ending.last, call.isOver { ending.removeLast() }
      guard !ending.isEmpty else { return finish() }
      client.whenTurnComes { [self] isAbandoned in
        guard !isAbandoned, let call = ending.popLast() else {
          ending = []
          return finish()
        }
        client.expectTasks(parts: CallerConnection.endParts)
        call.cancel()
        endNextCall(then: finish)
      }
    }

    func admit(_ call: CallGuard, _ start: @escaping (_ isCancelled: Bool) -> Int) {
      waiting.append((call, start))
      guard mayAnswer else { return call.countWaiting() }
      resume()
      // One call that waits for its slice is a part of the cost of a connection.
      if waiting.count > 1, waiting.last?.call === call { call.countWaiting() }
    }

    /// Whether more answers may be made.
    private var mayAnswer: Bool {
      !isLost && answerBytes < CallerConnection.answerBytesMax
        && errorBytes < CallerConnection.errorBytesMin && unsent.hasRoom
    }

    /// Ends a call: the peer has taken its answer, or will never take it.
    func release(_ call: CallGuard, _ byteCount: Int) {
      answerBytes -= byteCount
      while let index = waiting.firstIndex(where: { $0.call === call }) {
        _ = waiting.remove(at: index).start(true)
      }
      resume()
    }

    /// The peer has taken a part of an ended call's answer, or will never take it.
    func releaseRest(_ byteCount: Int) {
      answerBytes -= byteCount
      resume()
    }

    /// Notes the size of an answer that was made after the start of its call.
    func addAnswerBytes(_ byteCount: Int) { answerBytes += byteCount }

    /// Notes the end of a failed call. Returns false if the connection has to be closed, because its
    /// peer does not read.
    func addError(_ byteCount: Int) -> Bool {
      errorBytes += byteCount
      let maximum =
        unsent.hasRoom ? CallerConnection.errorBytesMax : CallerConnection.errorBytesMin
      guard errorBytes > maximum, !isClosing else { return true }
      isClosing = true
      client.logClosing(because: "the peer does not read the errors of its calls")
      return false
    }

    /// The socket has taken the end of a failed call, or never will.
    func errorIsWritten(_ byteCount: Int) {
      errorBytes -= byteCount
      resume()
    }

    /// Whether the daemon may answer pings without counting them as control frames. Only the answers
    /// of this connection matter: a peer that takes them may ping without a limit.
    ///
    /// - Parameter newBytes: The answers that were not offered to the socket. Up to one write of
    ///   them does not count for the lower limit: after a pause of the daemon, even a peer that
    ///   reads has many pings at once.
    func mayAnswerPings(besides newBytes: Int) -> Bool {
      guard unsent.isUserWaiting else {
        return pingAnswerBytes < CallerConnection.pingAnswerBytesMax
      }
      let uncountedBytes = min(newBytes, ControlFrames.writtenBytesMax)
      return pingAnswerBytes - uncountedBytes < CallerConnection.pingAnswerBytesMin
    }

    /// Whether far too many answers to pings wait for the peer.
    var hasTooManyPingAnswers: Bool {
      pingAnswerBytes >= CallerConnection.pingAnswerBytesEnd
    }

    private func countUnsent() {
      unsent.hold(answerBytes + streamBytes + callBytes + errorBytes + pingAnswerBytes)
    }

    /// The user's connections together have room again.
    private func roomCame() {
      resume()
      tellStreams()
    }

    // MARK: - Streams

    /// Whether streams may make more messages.
    var hasRoom: Bool {
      !isLost && streamBytes < CallerConnection.streamBytesMax && unsent.hasRoom
    }

    private func tellStreams() {
      guard hasRoom else { return }
      for call in calls.values { call.onRoom?() }
    }

    /// Notes the number of bytes that a stream has made. A negative number: bytes that were taken
    /// or dropped.
    func addStreamBytes(_ byteCount: Int) {
      let hadRoom = hasRoom
      streamBytes += byteCount
      if !hadRoom { tellStreams() }
    }

    // MARK: - Calls

    /// Starts the next call when the service has time for it.
    private func resume() {
      guard !isQueued, !waiting.isEmpty, mayAnswer else { return }
      isQueued = true
      client.whenTurnComes { [self] isAbandoned in
        isQueued = false
        if isAbandoned {
          while let (_, start) = waiting.popFirst() { _ = start(true) }
        } else if !mayAnswer {
          // Other connections of the user may have used the room meanwhile.
          countWaiting()
        } else if let (call, start) = waiting.popFirst() {
          // The client has the status of a refusal already.
          guard !call.isRefused else {
            _ = start(true)
            return resume()
          }
          call.requestIsTaken()
          call.holdStream()
          client.expectTasks()
          answerBytes += call.hold(start(false) + CallGuard.answerCostBytes)
          if mayAnswer { resume() } else { countWaiting() }
        }
      }
    }

    /// Counts the waiting calls, because there is no room for their answers.
    private func countWaiting() {
      for (call, _) in Array(waiting) { call.countWaiting() }
    }
  }
#endif
