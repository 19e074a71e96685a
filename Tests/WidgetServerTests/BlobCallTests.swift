import Glibc
import NIOCore
import Testing
import WidgetProto

@testable import WidgetServer

/// Calls about blobs while another thread reads or writes a file.
@Suite struct `Calls about blobs` {
  private static let service = "widgetd.v1.BlobService"

  /// The work that a test carries out in place of the thread.
  private typealias Work = @Sendable () -> Void

  private static func hold(_ server: TestServer) throws -> Box<[Work]> {
    let held = Box<[Work]>([])
    try server.onLoop { service in
      service.blobs.run = { work in held.update { $0.append(work) } }
    }
    return held
  }

  private static func start(
    _ client: RawClient, _ data: [UInt8], id: String = "", offset: UInt64 = 0
  ) throws -> UInt32 {
    try client.start(
      "UploadBlob", UploadBlobRequest(blobID: id, offset: offset, data: data), service: service)
  }

  private static func next(_ held: Box<[Work]>, in server: TestServer) throws -> Work {
    try server.eventually { _ in !held.get().isEmpty }
    var work: Work?
    held.update { work = $0.removeFirst() }
    return try #require(work)
  }

  @Test func `a write that blocks delays only further calls about blobs of its user`() async throws
  {
    try await withServer { server in
      let held = try Self.hold(server)
      let (writer, other) = (try server.connect(), try server.connect())
      let first = try Self.start(writer, [1, 2])
      let write = try Self.next(held, in: server)
      // The second upload waits, on this connection and on another one. All other calls go on.
      let second = try Self.start(writer, [3])
      let third = try Self.start(other, [4, 5, 6])
      #expect(try server.connect().health() == .serving)
      try server.connect().create("a")
      #expect(held.get().isEmpty)
      write()
      #expect(try writer.answer(to: first, as: UploadBlobResponse.self).size == 2)
      for _ in 0..<2 { try Self.next(held, in: server)() }
      #expect(try writer.answer(to: second, as: UploadBlobResponse.self).size == 1)
      #expect(try other.answer(to: third, as: UploadBlobResponse.self).size == 3)
      try server.eventually { !$0.blobs.queue.isBusy }
    }
  }

  @Test func `the pieces and reads that a client sends at once are carried out in order`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let first = try client.answer(to: Self.start(client, [1]), as: UploadBlobResponse.self)
      let pieces = try (1..<20 as Range<UInt8>).map {
        try Self.start(client, [$0 + 1], id: first.blobID, offset: UInt64($0))
      }
      let read = try client.start(
        "ReadBlob", ReadBlobRequest(blobID: first.blobID), service: Self.service)
      for (index, piece) in pieces.enumerated() {
        #expect(
          try client.answer(to: piece, as: UploadBlobResponse.self).size == UInt64(index + 2))
      }
      #expect(try client.answer(to: read, as: ReadBlobResponse.self).data == Array(1...20))
    }
  }

  @Test func `a client that leaves during a write leaves nothing behind`() async throws {
    try await withServer { server in
      let held = try Self.hold(server)
      let (gone, waiting) = (try server.connect(), try server.connect())
      _ = try Self.start(gone, [1])
      let write = try Self.next(held, in: server)
      _ = try Self.start(waiting, [2])
      gone.close()
      waiting.close()
      try server.eventually { $0.connections.shares.count == 0 }
      write()
      try server.eventually { !$0.blobs.queue.isBusy }
      // The next call does not wait for those that left.
      let client = try server.connect()
      let upload = try Self.start(client, [3])
      try Self.next(held, in: server)()
      #expect(try client.answer(to: upload, as: UploadBlobResponse.self).size == 1)
    }
  }

  @Test func `calls under way and calls that wait are refused when the service stops`() async throws
  {
    try await withServer { server in
      let held = try Self.hold(server)
      let client = try server.connect()
      let first = try Self.start(client, [1])
      let write = try Self.next(held, in: server)
      let second = try Self.start(client, [2])
      try server.onLoop { $0.blobs.stop() }
      for call in [first, second] {
        #expect(try client.response(to: call).status?.reason == "SHUTTING_DOWN")
      }
      // The end of the write changes nothing more.
      write()
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a call inside the process waits for the calls of its user`() async throws {
    try await onThreads {
      let codec = WireCodec()
      let server = try await startServer(folder: TestFolder())
      let client = try await server.server.inProcessClient(for: .current)
      let held = try await onThread { try Self.hold(server) }
      let request = ByteBuffer(bytes: try codec.encode(UploadBlobRequest(data: [1])))
      async let first = client.call("widgetd.v1.BlobService/UploadBlob", request)
      let write = try await onThread { try Self.next(held, in: server) }
      async let second = client.call("widgetd.v1.BlobService/UploadBlob", request)
      try await onThread { try server.expectHealthy() }
      write()
      let later = try await onThread { try Self.next(held, in: server) }
      later()
      for answer in [try await first, try await second] {
        let decoded = try codec.decode(
          UploadBlobResponse.self, from: Array(answer.readableBytesView))
        #expect(decoded.size == 1)
      }
      try await server.server.stop()
    }
  }

  @Test func `a call inside the process that waits counts with its request`() async throws {
    try await onThreads {
      let codec = WireCodec()
      let server = try await startServer(
        limits: .with { $0.incompleteBytesPerUIDMax = 1_500 }, folder: TestFolder())
      let client = try await server.server.inProcessClient(for: .current)
      let held = try await onThread { try Self.hold(server) }
      let data = [UInt8](repeating: 1, count: 1_000)
      let request = ByteBuffer(bytes: try codec.encode(UploadBlobRequest(data: data)))
      async let first = client.call("widgetd.v1.BlobService/UploadBlob", request)
      let write = try await onThread { try Self.next(held, in: server) }
      async let second = client.call("widgetd.v1.BlobService/UploadBlob", request)
      try await onThread {
        try server.eventually { $0.incompleteRequests.bytes(of: geteuid()) > 1_000 }
      }
      let refusal = await #expect(throws: RPCStatus.self) {
        try await client.call("widgetd.v1.BlobService/UploadBlob", request)
      }
      #expect(refusal?.errorInfo?.metadata["limit"] == "incomplete_bytes_per_uid_max")
      write()
      try await onThread { try Self.next(held, in: server)() }
      _ = try await first
      _ = try await second
      try await onThread {
        try server.eventually { $0.incompleteRequests.bytes(of: geteuid()) == 0 }
      }
      try await server.server.stop()
    }
  }
}

/// The thread for work that blocks.
@Suite struct BlobThreadTests {
  @Test func `work is carried out in order, and not by its caller`() async {
    let thread = BlobThread()
    let done = Box<[Int]>([])
    let callers = Box<Set<UInt>>([])
    let caller = UInt(pthread_self())
    await withCheckedContinuation { (end: CheckedContinuation<Void, Never>) in
      for number in 0..<100 {
        thread.run {
          done.update { $0.append(number) }
          callers.update { _ = $0.insert(UInt(pthread_self())) }
          if number == 99 { end.resume() }
        }
      }
    }
    #expect(done.get() == Array(0..<100))
    #expect(!callers.get().contains(caller))
  }
}
