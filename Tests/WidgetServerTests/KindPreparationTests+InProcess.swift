import NIOCore
import TestThreads
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Messages from inside the process whose kinds are compiled in parts.
@Suite struct KindsInPartsInProcess {
  private static var codec: WireCodec { WireCodec() }

  private static func bytes(_ message: some WireMessage) throws -> ByteBuffer {
    ByteBuffer(bytes: try codec.encode(message))
  }

  /// Runs a test with a slow server and a client in its process.
  private static func withClient(
    limits: ServerLimits = ServerLimits(),
    _ body: @escaping @Sendable (InProcessClient, TestServer) async throws -> Void
  ) async throws {
    try await onThreads {
      let server = try await startServer(limits: limits, folder: TestFolder())
      do {
        let client = try await server.server.inProcessClient(for: .current)
        try server.hold()
        try await body(client, server)
      } catch {
        try await server.server.stop()
        throw error
      }
      try await server.server.stop()
    }
  }

  /// A session that is open.
  private static func session(_ client: InProcessClient) async throws -> InProcessStream {
    let session = try await client.converse("widgetd.v1.ProviderService/Provide")
    let open = ProvideRequest.open(
      ProvideOpen(provider: "own", lease: RawProvider.leaseMax, epoch: 77))
    #expect(await session.send(try bytes(open)))
    return session
  }

  private static func kinds(_ id: UInt64, _ name: String = "own") throws -> ByteBuffer {
    try bytes(ProvideRequest.kinds(ProvideKinds(id: id, kinds: [LargeKinds.kind(name)])))
  }

  /// The ids of the session's results, until it ends.
  private static func results(_ session: InProcessStream) async throws -> [UInt64] {
    var ids: [UInt64] = []
    while let messages = try await session.next() {
      for message in messages {
        let frame = try codec.decode(ProvideResponse.self, from: Array(message.readableBytesView))
        if case .result(let result) = frame { ids.append(result.id) }
      }
    }
    return ids
  }

  @Test func `calls in the process do not wait for the kinds of the same client`() async throws {
    try await Self.withClient { client, server in
      let large = try Self.bytes(LargeKinds.request(LargeKinds.kinds()))
      async let applied = client.call("\(LargeKinds.catalog)/ApplyKinds", large)
      try await onThread { try server.awaitCompilation() }
      // The session's kinds are compiled after those of the call.
      let session = try await Self.session(client)
      let own = try Self.kinds(1)
      async let sent = session.send(own)
      for number in 0..<3 {
        let spec = WidgetSpec(id: try .make("w\(number)"), kind: try .make("k0"))
        _ = try await client.call(
          "widgetd.v1.WidgetService/CreateWidget", Self.bytes(CreateWidgetRequest(widget: spec)))
      }
      let isCompiling = try await onThread { try server.isCompiling() }
      #expect(isCompiling)
      try await onThread { try server.goOn() }
      let answer = try Self.codec.decode(
        ApplyKindsResponse.self, from: Array(await applied.readableBytesView))
      #expect(answer.results.count == 12)
      #expect(await sent)
      let count = try await onThread { try server.onLoop { $0.context.store.kindCount } }
      let bytes = try await onThread { try server.preparationBytes() }
      #expect((count, bytes) == (13, 0))
      session.cancel()
    }
  }

  /// The sender of a message may give up waiting. The message is still carried out, first.
  @Test func `a session in the process keeps the order of its frames`() async throws {
    try await Self.withClient { client, server in
      let session = try await Self.session(client)
      let results = Task(executorPreference: ThreadExecutor.shared) {
        try await Self.results(session)
      }
      let kinds = try Self.kinds(1)
      let first = Task(executorPreference: ThreadExecutor.shared) { await session.send(kinds) }
      try await onThread { try server.awaitCompilation() }
      first.cancel()
      #expect(await first.value == false)
      try await onThread { try server.goOn() }
      for id in UInt64(2)...3 {
        #expect(await session.send(try Self.bytes(ProvideRequest.update(ProvideUpdate(id: id)))))
      }
      session.finishSending()
      #expect(try await results.value == [1, 2, 3])
    }
  }

  @Test func `a session in the process ends after its last frame`() async throws {
    try await Self.withClient { client, server in
      let session = try await Self.session(client)
      let results = Task(executorPreference: ThreadExecutor.shared) {
        try await Self.results(session)
      }
      let kinds = try Self.kinds(1)
      let last = Task(executorPreference: ThreadExecutor.shared) { await session.send(kinds) }
      try await onThread { try server.awaitCompilation() }
      last.cancel()
      _ = await last.value
      try await onThread { try server.goOn() }
      session.finishSending()
      #expect(try await results.value == [1])
    }
  }

  @Test func `a session that is cancelled gives the memory of its kinds back`() async throws {
    try await Self.withClient { client, server in
      let large = try Self.bytes(LargeKinds.request(LargeKinds.kinds()))
      async let applied = client.call("\(LargeKinds.catalog)/ApplyKinds", large)
      try await onThread { try server.awaitCompilation() }
      let before = try await onThread { try server.preparationBytes() }
      let session = try await Self.session(client)
      let kinds = try Self.bytes(
        ProvideRequest.kinds(ProvideKinds(id: 1, kinds: LargeKinds.kinds("s", count: 60))))
      async let sent = session.send(kinds)
      let most = before + 4 * kinds.readableBytes
      try await onThread { try server.awaitCompilation(bytes: most) }
      session.cancel()
      #expect(await sent == false)
      // The call in front of it is still being compiled.
      try await onThread {
        try server.eventually { $0.preparations.bytes(of: LargeKinds.uid) < most }
        #expect(try server.isCompiling())
        try server.goOn()
      }
      _ = try await applied
    }
  }

  // MARK: - Calls that wait

  /// Starts all calls at once. Confined to the event loop.
  private final class Admission: CallAdmission {
    private(set) var isLost = false

    func admit(_ start: @escaping (_ isCancelled: Bool) -> Int) { _ = start(isLost) }
    func answered(_ byteCount: Int) {}
    func cancel() { isLost = true }
  }

  private static func admission(
    _ server: TestServer
  ) async throws -> NIOLoopBound<any CallAdmission> {
    try await onThread {
      try server.onLoop { NIOLoopBound(Admission(), eventLoop: $0.context.eventLoop) }
    }
  }

  @Test func `waiting calls have one quota, and cancelled calls give it back`() async throws {
    let large = try Self.bytes(LargeKinds.request(LargeKinds.kinds(count: 40)))
    let size = try await LargeKinds.waitingBytes(LargeKinds.request(LargeKinds.kinds(count: 40)))
    let limits = ServerLimits.with { $0.store.kindMemoryBytesPerUIDMax = 11 * size / 4 }
    try await Self.withClient(limits: limits) { client, server in
      let path = "\(LargeKinds.catalog)/ApplyKinds"
      func awaitBytes(_ range: Range<Int>) async throws {
        try await onThread {
          try server.eventually { range.contains($0.preparations.bytes(of: LargeKinds.uid)) }
        }
      }
      _ = Task(executorPreference: ThreadExecutor.shared) { try await client.call(path, large) }
      try await awaitBytes(size..<2 * size)
      let admission = try await Self.admission(server)
      let second = Task(executorPreference: ThreadExecutor.shared) {
        try await client.call(path, large, admission: admission)
      }
      try await awaitBytes(2 * size..<3 * size)
      do {
        _ = try await client.call(path, large)
        Issue.record("the third call should have been refused")
      } catch {
        let limit = (error as? RPCStatus)?.errorInfo?.metadata["limit"]
        #expect(limit == "kind_memory_bytes_per_uid_max")
      }
      try await onThread {
        try server.onLoop { _ in (admission.value as? Admission)?.cancel() }
      }
      await #expect(throws: RPCStatus.self) { try await second.value }
      try await awaitBytes(size..<2 * size)
      _ = Task(executorPreference: ThreadExecutor.shared) { try await client.call(path, large) }
      try await awaitBytes(2 * size..<3 * size)
      let isCompiling = try await onThread { try server.isCompiling() }
      #expect(isCompiling)
    }
  }

  // MARK: - The end

  @Test func `messages in the process end if the server stops meanwhile`() async throws {
    let server = try await startServer(folder: TestFolder())
    let client = try await server.server.inProcessClient(for: .current)
    try await onThread { try server.hold() }
    let large = try Self.bytes(LargeKinds.request(LargeKinds.kinds()))
    let call = Task(executorPreference: ThreadExecutor.shared) {
      try await client.call("\(LargeKinds.catalog)/ApplyKinds", large)
    }
    try await onThread { try server.awaitCompilation() }
    let session = try await Self.session(client)
    let kinds = try Self.bytes(
      ProvideRequest.kinds(ProvideKinds(id: 1, kinds: LargeKinds.kinds("s", count: 60))))
    let most = try await onThread { try server.preparationBytes() } + 4 * kinds.readableBytes
    let sent = Task(executorPreference: ThreadExecutor.shared) { await session.send(kinds) }
    try await onThread { try server.awaitCompilation(bytes: most) }
    try await server.server.stop()
    await #expect(throws: RPCStatus.shuttingDown) { try await call.value }
    #expect(await sent.value == false)
  }
}
