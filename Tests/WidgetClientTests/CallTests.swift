import NIOCore
import Synchronization
import Testing
import WidgetClient
import WidgetTransport

/// Unary calls against a daemon that the test plays.
struct CallTests {
  private static func get(_ client: WidgetClient, _ id: String) async throws -> Widget {
    try await client.getWidget(GetWidgetRequest(id: .of(id))).widget
  }

  @Test func `concurrent calls get their own answers, on one connection`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let ids = (0..<50).map { "w\($0)" }
    try await withThrowingTaskGroup { group in
      for id in ids {
        group.addTask {
          let widget = try await CallTests.get(client, id)
          #expect(widget == .sample(id))
        }
      }
      var waiting: [FakeDaemon.Call] = []
      for _ in ids { waiting.append(try await calls.expect("GetWidget")) }
      for call in waiting.reversed() {
        let request = try call.decode(GetWidgetRequest.self)
        try call.respond(GetWidgetResponse(widget: .sample(request.id.rawValue)))
      }
      try await group.waitForAll()
    }
    #expect(try await daemon.connectionCount() == 1)
    try await daemon.stop()
  }

  private struct Unreadable: Error {}

  @Test func `a file that cannot be read completely leaves no blob in the daemon`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let upload = Task {
      var count = 0
      return try await client.upload(name: "f") { _ in
        count += 1
        guard count == 1 else { throw Unreadable() }
        return [1, 2, 3]
      }
    }
    try await calls.expect("UploadBlob").respond(UploadBlobResponse(blobID: "b1", size: 3))
    let call = try await calls.expect("DeleteBlob")
    #expect(try call.decode(DeleteBlobRequest.self).blobID == "b1")
    try call.respond(DeleteBlobResponse())
    await #expect(throws: Unreadable.self) { try await upload.value }
    try await daemon.stop()
  }

  @Test func `a cancelled upload leaves no blob in the daemon`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let upload = Task { try await client.upload(name: "f") { _ in [1, 2, 3] } }
    try await calls.expect("UploadBlob").respond(UploadBlobResponse(blobID: "b1", size: 3))
    _ = try await calls.expect("UploadBlob")
    upload.cancel()
    let call = try await calls.expect("DeleteBlob")
    #expect(try call.decode(DeleteBlobRequest.self).blobID == "b1")
    try call.respond(DeleteBlobResponse())
    await #expect(throws: (any Error).self) { try await upload.value }
    try await daemon.stop()
  }

  @Test func `every method reaches the daemon under its full name`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    let id = WidgetID.of("a")
    let widget = "widgetd.v1.WidgetService/"
    let methods: [(String, @Sendable () async throws -> Void)] = [
      (
        widget + "CreateWidget",
        { _ = try await client.createWidget(.init(widget: WidgetSpec(id: id, kind: .of("k")))) }
      ),
      (widget + "GetWidget", { _ = try await client.getWidget(.init(id: id)) }),
      (widget + "ListWidgets", { _ = try await client.listWidgets(.init()) }),
      (
        widget + "UpdateWidget",
        { _ = try await client.updateWidget(.init(id: id, patch: WidgetPatch())) }
      ),
      (widget + "DeleteWidget", { _ = try await client.deleteWidget(.init(id: id)) }),
      (
        widget + "SetPresence",
        { _ = try await client.setPresence(.init(target: .all, action: .show)) }
      ),
      (
        widget + "MoveWidget",
        { _ = try await client.moveWidget(.init(id: id, destination: .first)) }
      ),
      (widget + "ApplyWidgets", { _ = try await client.applyWidgets(.init(widgets: [])) }),
      (
        widget + "SendEvent",
        { _ = try await client.sendEvent(.init(widgetID: id, name: "click")) }
      ),
      (widget + "Unsubscribe", { _ = try await client.unsubscribe(.init(subscriptionID: 1)) }),
      (
        widget + "RequestProgress",
        { _ = try await client.requestProgress(.init(subscriptionID: 1)) }
      ),
      ("widgetd.v1.AdminService/GetStats", { _ = try await client.getStats() }),
      ("widgetd.v1.AdminService/Reload", { _ = try await client.reload() }),
      (
        "widgetd.v1.AdminService/SetLogLevel",
        { _ = try await client.setLogLevel(.init(level: .debug)) }
      ),
      ("grpc.health.v1.Health/Check", { _ = try await client.checkHealth() }),
    ]
    var calls = daemon.calls
    for (name, call) in methods {
      let answer = Task { try await call() }
      let arrived = try #require(await calls.next())
      #expect(arrived.method == name)
      #expect(!arrived.isStream)
      try arrived.fail(.unimplemented, "TEST")
      await #expect(throws: ClientError.self) { try await answer.value }
    }
    try await daemon.stop()
  }

  @Test func `an error of the daemon reaches the caller with its reason`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let answer = Task { try await CallTests.get(client, "a") }
    try await calls.expect("GetWidget").fail(.notFound, "WIDGET_NOT_FOUND")
    let error = await #expect(throws: ClientError.self) { try await answer.value }
    #expect(error?.status?.code == .notFound)
    #expect(error?.reason == "WIDGET_NOT_FOUND")
    #expect(error.map { "\($0)" } == "no (NOT_FOUND: WIDGET_NOT_FOUND)")
    try await daemon.stop()
  }

  @Test func `a status that says OK is not an error`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let answer = Task { try await CallTests.get(client, "a") }
    let call = try await calls.expect("GetWidget")
    let payload = try WireCodec().encode(GetWidgetResponse(widget: .sample("a")))
    call.write(
      .response, try WireCodec().encode(TTRPCResponse(status: RPCStatus(), payload: payload)))
    #expect(try await answer.value == .sample("a"))
    try await daemon.stop()
  }

  @Test func `the deadline ends the wait, and the daemon knows it`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    // On an open connection, the call is sent before its time is over.
    try await client.connect()
    let timeout = Duration.milliseconds(30)
    let answer = Task { try await client.getStats(options: CallOptions(timeout: timeout)) }
    let late = try await calls.expect("GetStats")
    #expect((1...30_000_000).contains(late.timeoutNanoseconds))
    await #expect(throws: ClientError.deadlineExceeded(timeout)) { try await answer.value }
    // The late answer has no effect.
    try late.respond(GetStatsResponse(version: "late"))
    let next = Task { try await client.getStats() }
    let call = try await calls.expect("GetStats")
    #expect(call.timeoutNanoseconds == 0)
    try call.respond(GetStatsResponse(version: "next"))
    #expect(try await next.value.version == "next")
    #expect(try await daemon.connectionCount() == 1)
    try await daemon.stop()
  }

  @Test func `only a change can still be made after the deadline`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    // On an open connection, the call is sent before its time is over.
    try await client.connect()
    let timeout = Duration.milliseconds(30)
    let options = CallOptions(timeout: timeout)
    await #expect(throws: ClientError.deadlineExceeded(timeout, mayBeMade: true)) {
      try await client.deleteWidget(DeleteWidgetRequest(id: .of("a")), options: options)
    }
    let read = await #expect(throws: ClientError.self) {
      try await client.getWidget(GetWidgetRequest(id: .of("a")), options: options)
    }
    #expect(read == .deadlineExceeded(timeout))
    #expect(read?.description.contains("change") == false)
    try await daemon.stop()
  }

  @Test func `a caller is told of a change from its request to its end`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    // On an open connection, the call is sent before its time is over.
    try await client.connect()
    let told = Mutex<[Bool]>([])
    let options = CallOptions(
      timeout: .milliseconds(30),
      pendingChange: { isPending in told.withLock { $0.append(isPending) } })
    await #expect(throws: ClientError.self) {
      try await client.getWidget(GetWidgetRequest(id: .of("a")), options: options)
    }
    #expect(told.withLock { $0.isEmpty })
    await #expect(throws: ClientError.self) {
      try await client.deleteWidget(DeleteWidgetRequest(id: .of("a")), options: options)
    }
    #expect(told.withLock { $0 } == [true, false])
    try await daemon.stop()
  }

  @Test func `a caller is not told of a change that cannot be sent`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    try await client.connect()
    let isTold = Mutex(false)
    let options = CallOptions(pendingChange: { _ in isTold.withLock { $0 = true } })
    var deep = Value.int(1)
    for _ in 0..<1000 { deep = .list([deep]) }
    let payloads: [ValueMap] = [["a": .string("\0")], ["a": deep]]
    for payload in payloads {
      let error = await #expect(throws: ClientError.self) {
        try await client.sendEvent(
          SendEventRequest(widgetID: .of("a"), name: "click", payload: payload), options: options)
      }
      let isOfEncoding = if case .wire? = error { true } else { false }
      #expect(isOfEncoding, "\(String(describing: error))")
    }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await client.deleteWidget(
        DeleteWidgetRequest(id: .of("a")), options: options)
    }
    await #expect(throws: ClientError.cancelled) { try await task.value }
    #expect(!isTold.withLock { $0 })
    try await daemon.stop()
  }

  @Test(arguments: [
    ("data: Use text.", "data: Use text. (INVALID_ARGUMENT)"),
    ("There are mistakes.", "There are mistakes. (INVALID_ARGUMENT); data: Use text."),
  ])
  func `a description has a violation once`(message: String, description: String) {
    let status = RPCStatus(
      code: .invalidArgument, message: message,
      fieldViolations: [FieldViolation(field: "data", description: "Use text.")])
    #expect(ClientError.status(status).description == description)
  }

  @Test func `a caller is told that the daemon hangs, and continues to wait`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let (notes, post) = AsyncStream<Void>.makeStream()
    let options = CallOptions(
      silence: CallOptions.Silence(after: .milliseconds(100)) { post.yield() })
    let answer = Task { try await client.getStats(options: options) }
    let call = try await calls.expect("GetStats")
    _ = try await calls.expect("Check")
    var arrivals = notes.makeAsyncIterator()
    #expect(await arrivals.next() != nil)
    try call.respond(GetStatsResponse(version: "late"))
    #expect(try await answer.value.version == "late")
    try await daemon.stop()
  }

  @Test func `a slow call does not count as silence of the daemon`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let noted = Mutex(false)
    // Only on a machine that stops meanwhile is the answer to the question too late. The next round
    // has more time.
    for seconds in [3, 15, 60, 300] {
      noted.withLock { $0 = false }
      let options = CallOptions(
        timeout: .seconds(seconds + 1),
        silence: CallOptions.Silence(after: .seconds(seconds)) { noted.withLock { $0 = true } })
      let answer = Task { try await client.getStats(options: options) }
      _ = try await calls.expect("GetStats")
      try await calls.expect("Check").respond(HealthCheckResponse(status: .serving))
      await #expect(throws: ClientError.self) { try await answer.value }
      guard noted.withLock({ $0 }) else { break }
    }
    #expect(!noted.withLock { $0 })
    try await daemon.stop()
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `a timeout of 0 makes no call`(timeout: Duration) async throws {
    let client = WidgetClient(socketPath: FakeDaemon.freshPath())
    await #expect(throws: ClientError.deadlineExceeded(timeout)) {
      try await client.getStats(options: CallOptions(timeout: timeout))
    }
  }

  @Test func `metadata travels in order`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let metadata = [
      MetadataEntry(key: "b", value: "1"), MetadataEntry(key: "a", value: "2"),
      MetadataEntry(key: "b", value: "3"),
    ]
    let answer = Task { try await client.getStats(options: CallOptions(metadata: metadata)) }
    let call = try await calls.expect("GetStats")
    #expect(call.metadata == metadata)
    try call.respond(GetStatsResponse())
    _ = try await answer.value
    try await daemon.stop()
  }

  @Test func `a cancelled task stops waiting, and the connection goes on`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let task = Task { try await client.getStats() }
    let call = try await calls.expect("GetStats")
    task.cancel()
    await #expect(throws: ClientError.cancelled) { try await task.value }
    try call.respond(GetStatsResponse())
    let next = Task { try await client.getStats() }
    try await calls.expect("GetStats").respond(GetStatsResponse(version: "2"))
    #expect(try await next.value.version == "2")
    try await daemon.stop()
  }

  @Test func `a task that was cancelled before makes no call`() async throws {
    let client = WidgetClient(socketPath: FakeDaemon.freshPath())
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await client.getStats()
    }
    await #expect(throws: ClientError.cancelled) { try await task.value }
  }

  @Test func `a missing socket and one without a listener have different errors`() async throws {
    let path = FakeDaemon.freshPath()
    let client = WidgetClient(socketPath: path)
    await #expect(throws: ClientError.unavailable(.noSuchFile, socketPath: path)) {
      try await client.connect()
    }
    let stale = try StaleSocket(path)
    await #expect(throws: ClientError.unavailable(.refused, socketPath: path)) {
      try await client.getStats()
    }
    stale.remove()
  }

  @Test(
    arguments: [
      (103, ConnectFailure.noSuchFile), (104, .pathTooLong), (107, .pathTooLong),
      (200, .pathTooLong),
    ])
  func `a path of up to 103 bytes can be a socket`(
    byteCount: Int, failure: ConnectFailure
  ) async throws {
    let path = "/" + String(repeating: "x", count: byteCount - 1)
    await #expect(throws: ClientError.unavailable(failure, socketPath: path)) {
      try await WidgetClient(socketPath: path).connect()
    }
    #expect("\(failure)".contains("103 bytes") == (failure == .pathTooLong))
  }

  @Test func `a lost connection fails the calls on it, and the next call connects again`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let first = Task { try await client.getStats() }
    let second = Task { try await client.getStats() }
    _ = try await calls.expect("GetStats")
    try await calls.expect("GetStats").closeConnection()
    let lost = ClientError.connectionLost(socketPath: daemon.socketPath)
    await #expect(throws: lost) { try await first.value }
    await #expect(throws: lost) { try await second.value }
    let next = Task { try await client.getStats() }
    let call = try await calls.expect("GetStats")
    #expect(call.connection == 2)
    try call.respond(GetStatsResponse())
    _ = try await next.value
    try await daemon.stop()
  }

  @Test func `a daemon that breaks the protocol is disconnected`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let answer = Task { try await client.getStats() }
    try await calls.expect("GetStats").write(.data, [])
    let error = await #expect(throws: ClientError.self) { try await answer.value }
    guard case .protocolViolation = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try await daemon.stop()
  }

  @Test func `an answer that cannot be decoded fails only its call`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let bad = Task { try await client.getStats() }
    let call = try await calls.expect("GetStats")
    let good = Task { try await client.getStats() }
    let other = try await calls.expect("GetStats")
    call.write(.response, [0xFF, 0xFF])
    try other.respond(GetStatsResponse(version: "1"))
    let error = await #expect(throws: ClientError.self) { try await bad.value }
    guard case .wire = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await good.value.version == "1")
    try await daemon.stop()
  }

  @Test func `a request that is too large for a frame is not sent`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    let data: ValueMap = ["x": .bytes(Array(repeating: 0, count: FrameHeader.frameDataBytesMax))]
    let error = await #expect(throws: ClientError.self) {
      try await client.updateWidget(
        UpdateWidgetRequest(id: .of("a"), patch: WidgetPatch(setData: data)))
    }
    guard case .requestTooLong = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    var calls = daemon.calls
    let next = Task { try await client.getStats() }
    try await calls.expect("GetStats").respond(GetStatsResponse())
    _ = try await next.value
    try await daemon.stop()
  }

  @Test func `a closed client fails its calls under way and later calls`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let answer = Task { try await client.getStats() }
    _ = try await calls.expect("GetStats")
    await client.close()
    await #expect(throws: ClientError.closed) { try await answer.value }
    await #expect(throws: ClientError.closed) { try await client.getStats() }
    try await daemon.stop()
  }

  @Test func `a released client ends its connection`() async throws {
    let daemon = try await FakeDaemon()
    var calls = daemon.calls
    var client: WidgetClient? = WidgetClient(socketPath: daemon.socketPath)
    let answer = Task { [client] in try await client?.getStats() }
    client = nil
    let call = try await calls.expect("GetStats")
    try call.respond(GetStatsResponse())
    _ = try await answer.value
    try await call.connectionEnded()
    try await daemon.stop()
  }
}
