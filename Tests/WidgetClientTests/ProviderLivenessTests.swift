import Testing
import WidgetClient

/// Sessions of providers beside a daemon that hangs.
@Suite struct ProviderLivenessTests {
  /// Opens each session, and answers no question. Returns the number of questions.
  private static func serve(_ daemon: FakeDaemon) async throws -> Int {
    var (calls, asked) = (daemon.calls, 0)
    let opened = ProvideOpened(
      sessionID: 1, epoch: 7, revision: 3, lease: .seconds(60), firstSequence: 1)
    while let call = await calls.next() {
      if call.method.hasSuffix("/Check") { asked += 1 }
      if call.method.hasSuffix("/Provide") { try call.send(ProvideResponse.opened(opened)) }
      guard call.method == "/message", case .kinds(let kinds) = try call.decode(ProvideRequest.self)
      else { continue }
      try call.send(
        ProvideResponse.result(
          ProvideResult(
            id: kinds.id, revision: 4,
            kinds: kinds.kinds.map { KindResult(name: $0.name, action: .created) })))
    }
    return asked
  }

  /// The speed of the machine decides how often the session is lost.
  @Test func `a daemon that hangs counts as lost, and the session continues when it answers`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let serving = Task { try await Self.serve(daemon) }
    let client = WidgetClient(socketPath: daemon.socketPath)
    let answerMax = Duration.seconds(1)
    let session = client.provide(
      "desk", kinds: [Kind(name: try #require(KindName("gauge")))],
      options: ProviderOptions(
        retry: RetryPolicy(jitter: { 0 }, clock: InstantClock()),
        liveness: LivenessPolicy(quietMax: .milliseconds(50), answerMax: answerMax)))
    var requests = session.requests.makeAsyncIterator()
    var (wasLost, isBack) = (false, false)
    while !isBack, let request = try await requests.next() {
      switch request {
      case .connected: isBack = wasLost
      case .disconnected(let error):
        #expect(error == .unresponsive(socketPath: daemon.socketPath, answerMax: answerMax))
        wasLost = true
      default: break
      }
    }
    #expect(isBack)
    await session.close()
    try await daemon.stop()
    serving.cancel()
    #expect(try await serving.value > 0)
  }
}
