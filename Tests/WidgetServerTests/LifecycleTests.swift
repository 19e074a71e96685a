import Foundation
import Logging
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// A start with any existing files, and a stop without losses.
@Suite struct `The server` {
  @Test func `the server replaces the socket of a killed server`() async throws {
    let folder = try TestFolder()
    // A bound socket whose owner is gone, as after a crash.
    let fd = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: folder.socketPath.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0)
    close(fd)
    #expect(FileManager.default.fileExists(atPath: folder.socketPath))
    try await withServer(folder: folder) { try $0.expectHealthy() }
    #expect(!FileManager.default.fileExists(atPath: folder.socketPath))
  }

  @Test func `the server does not start over a file, and keeps the file`()
    async throws
  {
    let folder = try TestFolder()
    try Data("precious".utf8).write(to: URL(fileURLWithPath: folder.socketPath))
    let error = await #expect(throws: SocketError.self) {
      _ = try await startServer(folder: folder)
    }
    guard case .cannotUse(let path, let reason)? = error else {
      throw TestFault("unexpected \(String(describing: error))")
    }
    #expect(path == folder.socketPath)
    #expect(reason.contains("not a socket"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("precious".utf8))
  }

  @Test(arguments: [true, false])
  func `the server does not write through a link at the path of its lock`(isSymbolic: Bool)
    async throws
  {
    let folder = try TestFolder()
    let precious = URL(fileURLWithPath: folder.socketPath + ".precious")
    try Data("precious".utf8).write(to: precious)
    let lock = URL(fileURLWithPath: folder.socketPath + ".lock")
    if isSymbolic {
      try FileManager.default.createSymbolicLink(at: lock, withDestinationURL: precious)
    } else {
      try FileManager.default.linkItem(at: precious, to: lock)
    }
    let error = await #expect(throws: SocketError.self) {
      _ = try await startServer(folder: folder)
    }
    let reason = isSymbolic ? "it is a link" : "it has a second hard link"
    #expect(error == .cannotUse(lock.path, reason: reason))
    #expect(try Data(contentsOf: precious) == Data("precious".utf8))
  }

  @Test func `a second server is refused, and names the running process`() async throws {
    let folder = try TestFolder()
    try await withServer(folder: folder) { try $0.expectHealthy() }
    let server = try await startServer(folder: folder)
    let error = await #expect(throws: SocketError.self) {
      _ = try await startServer(folder: folder)
    }
    #expect(error == .inUse(folder.socketPath, pid: "\(getpid())"))
    #expect(error?.description.contains("\(getpid())") == true)
    try await onThread { try server.expectHealthy() }
    try await server.server.stop()
  }

  @Test func `the server does not start on a path that is too long or empty`() async throws {
    for path in ["/tmp/" + String(repeating: "x", count: 99), ""] {
      let error = await #expect(throws: SocketError.self) {
        _ = try await WidgetServer.start(
          .init(socketPath: path, policy: .own), logger: .init(label: "test"),
          makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 1) })
      }
      #expect(error == .pathTooLong(path))
    }
  }

  @Test func `the server serves on the longest possible path`() async throws {
    let folder = try TestFolder()
    let name = String(
      repeating: "x", count: SocketLock.pathBytesMax - folder.path.utf8.count - 1)
    let path = folder.path + "/" + name
    let server = try await WidgetServer.start(
      .init(socketPath: path, policy: .own), logger: .init(label: "test"),
      makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 1) })
    let health = try await onThread { try RawClient(path: path).health() }
    #expect(health == .serving)
    try await server.stop()
  }

  @Test func `the server makes the folder of its socket if it is missing`() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/new/s"
    let server = try await WidgetServer.start(
      .init(socketPath: path, policy: .own), logger: .init(label: "test"),
      makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 1) })
    let health = try await onThread { try RawClient(path: path).health() }
    #expect(health == .serving)
    try await server.stop()
  }

  @Test(arguments: [0o600, 0o660, 0o666] as [UInt16])
  func `the server gives its socket the mode that was asked for`(mode: UInt16) async throws {
    let folder = try TestFolder()
    var policy = AccessPolicy.own
    policy.clientGID = getegid()
    let server = try await WidgetServer.start(
      .init(socketPath: folder.socketPath, socketMode: mode, policy: policy),
      logger: .init(label: "test"),
      makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 1) })
    var status = stat()
    #expect(lstat(folder.socketPath, &status) == 0)
    #expect(status.st_mode & 0o777 == mode_t(mode))
    #expect(status.st_gid == getegid())
    try await server.stop()
  }

  @Test func `a server without its log does not start, and leaves the path free`() async throws {
    let folder = try TestFolder()
    let error = await #expect(throws: StorageError.self) {
      _ = try await WidgetServer.start(
        .init(socketPath: folder.socketPath, policy: .own), logger: .init(label: "test"),
        makeLog: { () throws(StorageError) in throw .corrupt(path: "/db", detail: "x") })
    }
    #expect(error?.reason == "CORRUPT")
    try await withServer(folder: folder) { try $0.expectHealthy() }
  }

  @Test func `the server can be started again as soon as it has stopped`() async throws {
    let folder = try TestFolder()
    let first = try await startServer(folder: folder)
    try await first.server.stop()
    // The stopped server is still referenced, but its lock is free.
    let second = try await startServer(folder: folder)
    try await onThread { try second.expectHealthy() }
    try await second.server.stop()
    withExtendedLifetime(first) {}
  }

  @Test func `a stop ends streams with UNAVAILABLE, and then connections`() async throws {
    let folder = try TestFolder()
    let server = try await startServer(folder: folder)
    let (client, streams) = try await onThread {
      let client = try server.connect()
      let watcher = try Watcher(client).sync()
      let events = try client.watchEvents()
      _ = try events.next()
      return (Unshared(client), Unshared((watcher.stream, events)))
    }
    try await server.server.stop()
    #expect(server.log.closeCount == 1)
    try await onThread {
      for status in [try streams.value.0.end(), try streams.value.1.end()] {
        #expect(status?.code == .unavailable)
        #expect(status?.reason == "SHUTTING_DOWN")
        #expect((status?.retryDelay ?? .zero) > .zero)
      }
      #expect(try client.value.nextFrame() == nil)
      #expect(throws: TestFault.self) { try server.connect() }
    }
  }

  @Test func `a client that never reads does not delay the stop of the server`() async throws {
    let folder = try TestFolder()
    let image = StoreImage.sample(count: 1_000) { _ in
      ["pad": .bytes([UInt8](repeating: 1, count: 2_000))]
    }
    let server = try await startServer(log: TestLog.State(image: image), folder: folder)
    let client = try await onThread {
      let client = try server.connect()
      _ = try client.watch().next()
      return Unshared(client)
    }
    try await server.server.stop()
    withExtendedLifetime(client) {}
  }

  /// Clients write at full speed while the server stops. All answered changes are in the log, and a
  /// reader's earlier token continues after the restart without a gap.
  @Test func `a stop loses no answered change, and tokens stay valid`()
    async throws
  {
    let folder = try TestFolder()
    let log = TestLog.State()
    let first = try await startServer(log: log, folder: folder)
    let mirror = Box(Mirror())
    let answered = Box<[Int64]>([0, 0, 0])
    let began = DispatchSemaphore(value: 0)
    try await onThread {
      let client = try first.connect()
      for n in 0..<3 { try client.create("w\(n)", data: ["n": .int(0)]) }
      let watcher = try Watcher(first.connect()).sync()
      try client.delete("w2")
      try client.create("w2", data: ["n": .int(0)])
      _ = try watcher.nextChanges()
      mirror.set(watcher.mirror)
    }
    let writers = (0..<3).map { index in
      Worker {
        let client = try first.connect()
        var n: Int64 = 0
        do {
          while true {
            n += 1
            try client.set("w\(index)", ["n": .int(n)])
            let value = n
            answered.update { $0[index] = value }
            if n == 20 { began.signal() }
          }
        } catch {
          // The end of the connection, or UNAVAILABLE.
          if let status = error as? RPCStatus { #expect(status.code == .unavailable) }
        }
      }
    }
    try await onThread { for _ in 0..<3 { began.wait() } }
    try await first.server.stop()
    try await onThread { for writer in writers { try writer.join() } }
    let second = try await startServer(log: log, folder: folder)
    try await onThread {
      let client = try second.connect()
      for (index, n) in answered.get().enumerated() {
        guard case .int(let stored)? = try client.get("w\(index)").data["n"] else {
          throw TestFault("no number")
        }
        #expect(stored >= n, "w\(index)")
      }
      var kept = mirror.get()
      kept.reopen()
      let watcher = try Watcher(
        client, WatchWidgetsRequest(resumeToken: kept.token), mirror: kept)
      let truth = try client.list()
      try watcher.catchUp(to: truth.revision)
      #expect(watcher.mirror.widgets == truth.widgets)
      #expect(watcher.mirror.snapshotFrames == kept.snapshotFrames)
    }
    try await second.server.stop()
  }

  @Test func `the server serves calls and watches with the store in memory`() async throws {
    let folder = try TestFolder()
    let server = try await WidgetServer.start(
      .init(socketPath: folder.socketPath, policy: .own), logger: .init(label: "test"),
      makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 9) })
    try await onThread {
      let client = try RawClient(path: folder.socketPath)
      let watcher = try Watcher(client).sync()
      try client.create("a")
      try client.set("a", ["n": .int(1)])
      try watcher.catchUp(to: 2)
      #expect(watcher.mirror.epoch == 9)
      #expect(try watcher.mirror.widgets == client.list().widgets)
      #expect(try client.stats().store == "memory")
    }
    try await server.stop()
  }
}

/// Handed from one thread to another, never used by both.
struct Unshared<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
