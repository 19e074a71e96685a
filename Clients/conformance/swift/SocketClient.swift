import WidgetClient

/// The driver's side of `WidgetClient`, which speaks ttrpc.
///
/// The library sends and returns values of its own types. So requests are decoded here, and answers
/// are encoded again, which shows what the library loses. A request without such a value is refused
/// here, as the types would refuse it.
final class SocketClient: DrivenClient {
  private let client: WidgetClient

  init(path: String) {
    client = WidgetClient(socketPath: path)
  }

  func call(_ request: Request) async throws(Ending) -> [UInt8] {
    guard let call = SocketClient.function(of: request.method) else {
      throw .unsupported("WidgetClient has a function for each method there is, and no others")
    }
    return try await call(client, request.bytes, CallOptions(timeout: request.timeout))
  }

  func open(_ request: Request, _ take: @escaping FrameTaker) async throws(Ending) {
    guard request.timeout == nil else {
      throw .unsupported("WidgetClient's watches take no deadline; their task is cancelled instead")
    }
    if request.method == "widgetd.v1.WidgetService/WatchEvents" {
      try await openEvents(request.bytes, take)
    } else if request.method == "widgetd.v1.WidgetService/WatchWidgets" {
      try await watch(request.bytes, retry: .never, take)
    } else {
      throw .unsupported("WidgetClient has no such stream")
    }
  }

  func follow(_ request: [UInt8], _ take: @escaping FrameTaker) async throws(Ending) {
    try await watch(request, retry: .forever, take)
  }

  private func watch(
    _ bytes: [UInt8], retry: RetryPolicy, _ take: FrameTaker
  ) async throws(Ending) {
    let request: WatchWidgetsRequest = try SocketClient.decoded(bytes)
    var frames = client.watch(
      WatchOptions(
        selector: request.selector, readMask: request.readMask, minInterval: request.minInterval,
        progressInterval: request.progressInterval, includeEvents: request.includeEvents,
        afterSequence: request.afterSequence, resumeToken: request.resumeToken, retry: retry,
        contentFamily: request.contentFamily, includeTheme: request.includeTheme,
        isPassive: request.isPassive, upcomingEntries: request.upcomingEntries,
        isRedacted: request.isRedacted, batchDelay: request.batchDelay)
    ).makeAsyncIterator()
    let isRaw = retry.attemptsMax == 0
    while let frame = try await SocketClient.outcome(of: { () throws(ClientError) in
      try await frames.next()
    }) {
      let message: WatchWidgetsResponse
      switch frame {
      case .opened(let opened): message = .opened(opened)
      case .snapshot(let chunk): message = .snapshot(chunk)
      case .synced(let synced): message = .synced(synced)
      case .changes(let changes): message = .changes(changes)
      case .events(let batch): message = .events(batch)
      case .gap(let gap): message = .gap(gap)
      case .progress(let progress): message = .progress(progress)
      case .theme(let theme): message = .theme(theme)
      case .upcoming(let upcoming): message = .upcoming(upcoming)
      case .store(let store): message = .store(store)
      case .reset(let reason):
        // The library continues with a snapshot by itself. A raw stream instead reports the reason
        // of its end.
        guard isRaw else { continue }
        throw SocketClient.ending(reason)
      case .disconnected, .reconnected: continue
      }
      await take(try SocketClient.encoded(message))
    }
  }

  private func openEvents(_ bytes: [UInt8], _ take: FrameTaker) async throws(Ending) {
    let request: WatchEventsRequest = try SocketClient.decoded(bytes)
    var frames = client.watchEvents(
      WatchEventsOptions(
        selector: request.selector, names: request.names, afterSequence: request.afterSequence,
        retry: .never)
    ).makeAsyncIterator()
    while let frame = try await SocketClient.outcome(of: { () throws(ClientError) in
      try await frames.next()
    }) {
      switch frame {
      case .opened(let opened):
        await take(try SocketClient.encoded(WatchEventsResponse.opened(opened)))
      case .events(let batch):
        await take(try SocketClient.encoded(WatchEventsResponse.events(batch)))
      case .gap(let gap):
        await take(try SocketClient.encoded(WatchEventsResponse.gap(gap)))
      case .disconnected, .reconnected: continue
      }
    }
  }

  func converse(
    _ request: Request, _ outgoing: AsyncStream<[UInt8]>, _ take: @escaping FrameTaker
  ) async throws(Ending) {
    guard request.method == "widgetd.v1.ProviderService/Provide" else {
      throw .unsupported("WidgetClient has no such conversation")
    }
    guard request.timeout == nil else {
      throw .unsupported("WidgetClient's sessions take no deadline; they are closed instead")
    }
    // The first message is sent with the request.
    var first = outgoing.makeAsyncIterator()
    guard let bytes = await first.next() else {
      if Task.isCancelled { throw .error(.cancelled, status: []) }
      throw .unsupported("WidgetClient begins a conversation with its first message")
    }
    let opening: ProvideRequest = try SocketClient.decoded(bytes)
    let client = client
    let line = try await SocketClient.outcome { () throws(ClientError) in
      try await client.provideOnce(opening)
    }
    defer { line.close() }
    let sending = Task<Ending?, Never> {
      do throws(Ending) {
        for await bytes in outgoing {
          let message: ProvideRequest = try SocketClient.decoded(bytes)
          line.send(message)
        }
        if !Task.isCancelled { line.finish() }
        return nil
      } catch {
        line.close()
        return error
      }
    }
    defer { sending.cancel() }
    var messages = line.messages.makeAsyncIterator()
    do throws(Ending) {
      while let message = try await SocketClient.outcome(of: { () throws(ClientError) in
        try await messages.next()
      }) {
        await take(try SocketClient.encoded(message))
      }
    } catch {
      // A failed message may have ended the conversation.
      sending.cancel()
      throw await sending.value ?? error
    }
  }

  func stopDaemon() async throws { throw Misuse("this driver does not host the daemon") }

  func startDaemon() async throws { throw Misuse("this driver does not host the daemon") }

  func close() async { await client.close() }

  // MARK: - Messages and errors

  static func decoded<M: WireMessage>(_ bytes: [UInt8]) throws(Ending) -> M {
    do throws(WireError) {
      return try WireCodec().decode(M.self, from: bytes)
    } catch {
      switch error {
      case .tooDeep, .budgetExceeded: throw .error(.resourceExhausted, status: [])
      default: throw .error(.invalidArgument, status: [])
      }
    }
  }

  static func encoded<M: WireMessage>(_ message: M) throws(Ending) -> [UInt8] {
    do throws(WireError) {
      return try WireCodec().encode(message)
    } catch {
      throw .error(.internalError, status: [])
    }
  }

  /// Runs a part of the library, and converts its errors for the runner.
  static func outcome<R>(
    of body: () async throws(ClientError) -> R
  ) async throws(Ending) -> R {
    do throws(ClientError) {
      return try await body()
    } catch {
      switch error {
      case .status(let status): throw Ending(status)
      case .unavailable, .socketNotFound, .connectionLost, .unresponsive, .closed:
        throw .error(.unavailable, status: [])
      case .deadlineExceeded: throw .error(.deadlineExceeded, status: [])
      case .cancelled: throw .error(.cancelled, status: [])
      case .protocolViolation, .wire: throw .error(.internalError, status: [])
      case .requestTooLong: throw .error(.resourceExhausted, status: [])
      }
    }
  }

  private static func ending(_ reason: ResetReason) -> Ending {
    switch reason {
    case .compacted:
      Ending(
        RPCStatus(
          code: .outOfRange, message: "the watch was reset: compacted",
          errorInfo: ErrorInfo(reason: "REVISION_COMPACTED")))
    case .epochChanged:
      Ending(
        RPCStatus(
          code: .failedPrecondition, message: "the watch was reset: another epoch",
          errorInfo: ErrorInfo(reason: "EPOCH_CHANGED")))
    }
  }
}
