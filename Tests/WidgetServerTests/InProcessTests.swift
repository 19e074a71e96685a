import Glibc
import NIOCore
import Synchronization
import TestThreads
import Testing
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

@Suite struct `A call inside the process` {
  @Test func `a call inside the process is answered like a call over a socket`() async throws {
    try await withInProcessClient { client, _ in
      let created = try await client.create("a", data: ["n": .int(1)])
      #expect(created.id == (try .make("a")))
      let read = try await client.call(
        "GetWidget", GetWidgetRequest(id: .make("a")), as: GetWidgetResponse.self)
      #expect(read.widget == created)
    }
  }

  @Test func `a call inside the process is refused like a call over a socket`() async throws {
    try await withInProcessClient { client, _ in
      _ = try await client.create("a")
      await #expect(throws: RPCStatus.self) { try await client.create("a") }
      do { _ = try await client.create("a") } catch let status as RPCStatus {
        #expect(status.code == .alreadyExists)
        #expect(status.reason == "WIDGET_EXISTS")
      }
    }
  }

  @Test(arguments: ["", "x", "widgetd.v1.WidgetService/Nope", "/", "a/b/c"])
  func `a call of an unknown method in the process is UNIMPLEMENTED`(method: String) async throws {
    try await withInProcessClient { client, _ in
      let status = await client.status { _ = try await $0.call(method, ByteBuffer()) }
      #expect(status?.code == .unimplemented)
      let opened = await client.status { _ = try await $0.open(method, ByteBuffer()) }
      #expect(opened?.code == .unimplemented)
    }
  }

  @Test func `a call in the process of the wrong kind is refused`() async throws {
    try await withInProcessClient { client, _ in
      let call = await client.status {
        _ = try await $0.call("widgetd.v1.WidgetService/WatchWidgets", ByteBuffer())
      }
      #expect(call?.reason == "WRONG_CALL_TYPE")
      let open = await client.status {
        _ = try await $0.open("widgetd.v1.WidgetService/GetWidget", ByteBuffer())
      }
      #expect(open?.reason == "WRONG_CALL_TYPE")
    }
  }

  @Test func `a call inside the process has the permissions of its peer`() async throws {
    try await withInProcessClient(policy: .client) { client, _ in
      let status = await client.status { _ in _ = try await client.create("a") }
      #expect(status?.code == .permissionDenied)
      _ = try await client.call("ListWidgets", ListWidgetsRequest(), as: ListWidgetsResponse.self)
    }
    try await withInProcessClient(policy: .nobody) { client, _ in
      let status = await client.status {
        _ = try await $0.open("widgetd.v1.WidgetService/WatchWidgets", ByteBuffer())
      }
      #expect(status?.code == .permissionDenied)
    }
  }

  @Test func `a call inside the process changes nothing if it cannot be stored`() async throws {
    let log = TestLog.State()
    try await withInProcessClient(log: log) { client, _ in
      log.failure = .full(path: "db")
      let status = await client.status { _ in _ = try await client.create("a") }
      #expect(status?.reason == "STORAGE_FAILED")
      // A reader in the same turn gets the present state.
      async let change = client.status { _ in _ = try await client.create("b") }
      async let list = client.call(
        "ListWidgets", ListWidgetsRequest(), as: ListWidgetsResponse.self)
      #expect(await change?.reason == "STORAGE_FAILED")
      #expect(try await list.widgets.isEmpty)
      log.failure = nil
      _ = try await client.create("a")
    }
  }
}

@Suite struct `A stream inside the process` {
  @Test func `a stream in the process sends a snapshot, then every change`() async throws {
    try await withInProcessClient { client, _ in
      _ = try await client.create("a", data: ["n": .int(0)])
      let watch = try await client.watch()
      try await watch.sync()
      #expect(watch.mirror.widgets.count == 1)
      _ = try await client.create("b")
      while watch.mirror.widgets.count < 2 { try await watch.step() }
      watch.stream.cancel()
      #expect(try await watch.stream.next() == nil)
      #expect(try await watch.stream.next() == nil)
    }
  }

  @Test func `an unread stream holds a bounded amount, and gets it all conflated`() async throws {
    try await withInProcessClient { client, server in
      let text = Value.string(String(repeating: "x", count: 2_000))
      for index in 0..<200 { _ = try await client.create("w\(index)", data: ["t": text]) }
      let watch = try await client.watch()
      for round in 0..<20 {
        for index in 0..<200 { try await client.set("w\(index)", ["n": .int(Int64(round))]) }
      }
      let held = try server.onLoop { $0.streams.count }
      #expect(held == 1)
      var bytes = 0
      let batch = try #require(try await watch.stream.next())
      bytes = batch.reduce(0) { $0 + $1.readableBytes }
      // The waiting bytes are the bound and the part of the snapshot that exceeded it, without the
      // 8 MB of changes.
      #expect(bytes < 1 << 20)
      try watch.apply(batch)
      let revision = try await client.revision()
      while watch.mirror.revision < revision { try await watch.step() }
      for index in 0..<200 {
        #expect(watch.mirror.widgets[try .make("w\(index)")]?.data["n"] == .int(19))
      }
    }
  }

  @Test func `the end of a conversation does not overtake its last message`() async throws {
    try await withInProcessClient { client, server in
      let codec = WireCodec()
      _ = try await client.create("w")
      let (held, stream) = try await converse(.provide, server)
      let update = try ProvideUpdate(
        id: 2, updates: [ProvidedUpdate(.make("w"), WidgetPatch(setData: ["n": .int(1)]))])
      let kinds = ProvideKinds(id: 1, kinds: [Kind(name: try .make("clock"), isOpen: true)])
      let frames: [ProvideRequest] = [
        .open(ProvideOpen(provider: "one", lease: RawProvider.leaseMax)), .kinds(kinds),
        .update(update),
      ]
      let messages = try frames.map { ByteBuffer(bytes: try codec.encode($0)) }
      for message in messages.dropLast() { #expect(await stream.send(message)) }
      // The update waits for time, unread frames wait for the reader, and the end comes.
      _ = await withCheckedContinuation { sender in
        _ = try? server.onLoop { service in
          service.context.work.enqueue(OtherWork())
          held.sink.receive(messages[2], sender)
          held.sink.halfClose()
        }
      }
      var results: [UInt64] = []
      while let batch = try await stream.next() {
        for message in batch {
          let frame = try codec.decode(
            ProvideResponse.self, from: Array(message.readableBytesView))
          guard case .result(let result) = frame else { continue }
          #expect(result.error == nil)
          results.append(result.id)
        }
      }
      #expect(results == [1, 2])
      let widget = try await client.call(
        "GetWidget", GetWidgetRequest(id: .make("w")), as: GetWidgetResponse.self
      ).widget
      #expect(widget.data["n"] == .int(1))
    }
  }

  @Test func `a sender goes on only when its message was read, whatever the reader takes`()
    async throws
  {
    try await withInProcessClient { _, server in
      let codec = WireCodec()
      let (held, stream) = try await converse(.provide, server)
      let open = try codec.encode(
        ProvideRequest.open(ProvideOpen(provider: "one", lease: RawProvider.leaseMax)))
      #expect(await stream.send(ByteBuffer(bytes: open)))
      let kinds = try ByteBuffer(
        bytes: codec.encode(ProvideRequest.kinds(ProvideKinds(id: 1, kinds: []))))
      let reading = Task(executorPreference: ThreadExecutor.shared) {
        await withCheckedContinuation { reader in
          _ = try? server.onLoop { _ in held.reader = reader }
        }
      }
      try server.eventually { _ in held.reader != nil }
      let isSending = Mutex<Bool?>(nil)
      _ = await withCheckedContinuation { sender in
        _ = try? server.onLoop { service in
          service.context.work.enqueue(OtherWork())
          held.sink.receive(kinds, sender)
          // Frames wait, so the reader takes them at once.
          if let reader = held.reader { held.sink.next(reader) }
          isSending.withLock { $0 = held.sink.isSending }
        }
      }
      _ = await reading.value
      #expect(isSending.withLock { $0 } == true)
    }
  }

  @Test func `a lost session holds the name of its provider no more`() async throws {
    try await withInProcessClient { client, server in
      let rooms = try server.onLoop { service in
        let room = LossyRoom()
        return (
          NIOLoopBound<any StreamRoom>(room, eventLoop: service.context.eventLoop),
          NIOLoopBound(room, eventLoop: service.context.eventLoop)
        )
      }
      let path = "widgetd.v1.ProviderService/Provide"
      let open = try ByteBuffer(
        bytes: WireCodec().encode(
          ProvideRequest.open(ProvideOpen(provider: "one", lease: RawProvider.leaseMax))))
      let former = try await server.server.inProcessClient(for: .current)
        .converse(path, room: rooms.0)
      #expect(await former.send(open))
      #expect(try server.onLoop { $0.providers.table.byName.count } == 1)
      let refused = try await server.server.inProcessClient(for: .current).converse(path)
      _ = await refused.send(open)
      let status = await #expect(throws: RPCStatus.self) {
        while try await refused.next() != nil {}
      }
      #expect(status?.reason == "PROVIDER_ACTIVE")
      try server.onLoop { _ in rooms.1.value.isLost = true }
      let next = try await server.server.inProcessClient(for: .current).converse(path)
      #expect(await next.send(open))
      let batch = try #require(try await next.next())
      let first = try WireCodec().decode(
        ProvideResponse.self, from: Array(batch[0].readableBytesView))
      guard case .opened = first else { throw TestFault("not opened: \(first)") }
      #expect(try server.onLoop { $0.providers.table.all.count } == 1)
    }
  }

  @Test func `a stream inside the process ends when it is released`() async throws {
    try await withInProcessClient { client, server in
      var watch: InProcessWatch? = try await client.watch()
      try await watch?.sync()
      #expect(try server.onLoop { $0.streams.count } == 1)
      watch = nil
      try server.eventually { $0.streams.isEmpty && $0.context.streamAccounts.count == 0 }
    }
  }

  @Test func `a stream inside the process ends when its reader's task is cancelled`() async throws {
    try await withInProcessClient { client, server in
      let watch = try await client.watch()
      try await watch.sync()
      let stream = watch.stream
      let reader = Task(executorPreference: ThreadExecutor.shared) {
        try await stream.next()
      }
      reader.cancel()
      #expect(try await reader.value == nil)
      try server.eventually { $0.streams.isEmpty }
    }
  }

  @Test func `a stream inside the process ends at its deadline`() async throws {
    try await withInProcessClient { client, _ in
      let late = await client.status {
        _ = try await $0.open(
          "widgetd.v1.WidgetService/WatchWidgets", ByteBuffer(), timeout: .zero)
      }
      #expect(late?.code == .deadlineExceeded)
      let stream = try await client.open(
        "widgetd.v1.WidgetService/WatchWidgets", ByteBuffer(), timeout: .milliseconds(1))
      let status = await client.status { _ in while try await stream.next() != nil {} }
      #expect(status?.code == .deadlineExceeded)
    }
  }

  @Test func `a stream in the process ends with SHUTTING_DOWN when the server stops`() async throws
  {
    let server = try await startServer(folder: TestFolder())
    let client = try await server.server.inProcessClient(for: .current)
    let watch = try await client.watch()
    try await watch.sync()
    try await server.server.stop()
    let status = await client.status { _ in while try await watch.stream.next() != nil {} }
    #expect(status?.reason == "SHUTTING_DOWN")
  }
}

// MARK: - Support

private func withInProcessClient(
  policy: AccessPolicy = .own, log: TestLog.State = TestLog.State(),
  _ body: @escaping @Sendable (InProcessClient, TestServer) async throws -> Void
) async throws {
  try await onThreads {
    let server = try await startServer(policy: policy, log: log, folder: TestFolder())
    let client = try await server.server.inProcessClient(for: .current)
    do { try await body(client, server) } catch {
      try await server.server.stop()
      throw error
    }
    try await server.server.stop()
  }
}

/// The room of a stream whose connection can be closed before the stream ends.
private final class LossyRoom: StreamRoom {
  var isLost = false
  var hasRoom: Bool { !isLost }
  var onRoom: (() -> Void)?
  func take(_ byteCount: Int) {}
}

/// The daemon's side of a stream. It is used only on the loop.
private final class HeldSink: @unchecked Sendable {
  let sink: InProcessSink
  var reader: CheckedContinuation<InProcessSink.Batch, Never>?

  init(_ service: ServiceLoop) {
    let peer = Peer.current
    sink = InProcessSink(
      peer: peer, service: service,
      calls: InProcessCalls(of: peer, .owner, service.context.work), room: nil)
  }
}

/// Work of another user: while it waits, new work waits, too.
private final class OtherWork: SlicedWork {
  let share = WorkShare(uid: 2)

  func work(_ slice: TimeSlice) -> Bool { false }
  func abandon() {}
}

/// Begins a conversation, and returns both of its sides.
private func converse(
  _ method: RPCMethod, _ server: TestServer
) async throws -> (HeldSink, InProcessStream) {
  let held = try server.onLoop { HeldSink($0) }
  let begun = await withCheckedContinuation { continuation in
    do { try server.onLoop { _ in held.sink.converse(method, nil, continuation) } } catch {
      continuation.resume(returning: .failure(.shuttingDown))
    }
  }
  return (held, try begun.get())
}

/// A stream of state and its frames.
private final class InProcessWatch {
  let stream: InProcessStream
  var mirror = Mirror()
  private let codec = WireCodec()

  init(_ stream: InProcessStream) { self.stream = stream }

  func apply(_ batch: [ByteBuffer]) throws {
    for message in batch {
      try mirror.apply(
        codec.decode(WatchWidgetsResponse.self, from: Array(message.readableBytesView)))
    }
  }

  func step() async throws {
    guard let batch = try await stream.next() else { throw StreamEnded() }
    try apply(batch)
  }

  func sync() async throws {
    while !mirror.isSynced || !mirror.isOpen { try await step() }
  }
}

extension InProcessClient {
  fileprivate func call<A: WireMessage>(
    _ method: String, _ message: some WireMessage, as type: A.Type
  ) async throws -> A {
    let codec = WireCodec()
    let answer = try await call(
      "widgetd.v1.WidgetService/" + method, ByteBuffer(bytes: codec.encode(message)))
    return try codec.decode(type, from: Array(answer.readableBytesView))
  }

  @discardableResult
  fileprivate func create(_ id: String, data: ValueMap = [:]) async throws -> Widget {
    try await call(
      "CreateWidget",
      CreateWidgetRequest(widget: WidgetSpec(id: .make(id), kind: .make("clock"), data: data)),
      as: CreateWidgetResponse.self
    ).widget
  }

  fileprivate func set(_ id: String, _ data: ValueMap) async throws {
    _ = try await call(
      "UpdateWidget",
      UpdateWidgetRequest(id: .make(id), patch: WidgetPatch(setData: data), omitWidget: true),
      as: UpdateWidgetResponse.self)
  }

  fileprivate func revision() async throws -> Revision {
    try await call("ListWidgets", ListWidgetsRequest(), as: ListWidgetsResponse.self).revision
  }

  fileprivate func watch() async throws -> InProcessWatch {
    InProcessWatch(try await open("widgetd.v1.WidgetService/WatchWidgets", ByteBuffer()))
  }

  /// The status of an end. Nil means success.
  fileprivate func status(
    _ body: (InProcessClient) async throws -> Void
  ) async -> RPCStatus? {
    do {
      try await body(self)
      return nil
    } catch {
      return error as? RPCStatus
    }
  }
}
