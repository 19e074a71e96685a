#if GRPC
  import Foundation
  import Logging
  import NIOCore
  import NIOPosix
  import TestThreads
  import Testing
  import WidgetModel
  import WidgetProto
  import WidgetStorage

  @testable import WidgetGRPC
  @testable import WidgetServer

  /// A real server for ttrpc and gRPC, on a socket in a temporary folder.
  struct TestServer: Sendable {
    let server: WidgetServer
    let folder: TestFolder
    /// The protocol under test, and its connections.
    let guest: WatchedGuest

    var path: String { folder.socketPath }

    /// A new connection that speaks HTTP/2.
    func connect(_ options: RawHTTP2.Options = .init()) throws -> RawHTTP2 {
      try RawHTTP2(path: path, options)
    }

    /// Reads the state of the service, on its event loop.
    func onLoop<R: Sendable>(_ body: @escaping @Sendable (ServiceLoop) throws -> R) throws -> R {
      try server.onLoop(body).wait()
    }

    /// Waits until a condition holds on the event loop. The call does not cause it.
    func eventually(
      _ what: String, _ isSo: @escaping @Sendable (ServiceLoop) -> Bool
    ) throws {
      let end = NIODeadline.now() + .seconds(Int64(Patience.seconds))
      while try !onLoop(isSo) {
        guard NIODeadline.now() < end else { throw TestFault("this has not happened: \(what)") }
        usleep(1_000)
      }
    }

    /// The server must serve a new connection, whatever happened to the others.
    func expectHealthy(sourceLocation: SourceLocation = #_sourceLocation) throws {
      #expect(try connect().health() == .serving, sourceLocation: sourceLocation)
    }
  }

  /// The daemon's gRPC, which also records its connections. A test can set the peers of
  /// connections.
  final class WatchedGuest: GuestProtocol {
    let guest: GRPCProtocol
    private let box = Box<State>(State())

    private struct State: Sendable {
      var channels: [any Channel] = []
      var disguises: [InProcessClient] = []
    }

    init(closingMax: TimeAmount) { guest = GRPCProtocol(closingMax: closingMax) }

    var name: String { guest.name }
    var opening: [UInt8] { guest.opening }
    var channels: [any Channel] { box.get().channels }

    /// The next connection counts as one of this client's peer.
    func disguiseNext(as client: InProcessClient) { box.update { $0.disguises.append(client) } }

    func start(on host: GuestHost) async throws { try await guest.start(on: host) }

    func adopt(
      _ channel: any Channel, for client: InProcessClient
    ) -> EventLoopFuture<Void> {
      var client = client
      box.update { state in
        state.channels.append(channel)
        if !state.disguises.isEmpty { client = state.disguises.removeFirst() }
      }
      return guest.adopt(channel, for: client)
    }

    /// The number of calls that are under way.
    var callCount: Int { guest.callCount }

    func beginShutdown() { guest.beginShutdown() }
    func stop() async { await guest.stop() }
  }

  /// A temporary folder that is removed with its last reference.
  final class TestFolder: Sendable {
    let path: String
    var socketPath: String { path + "/s" }

    init() throws {
      var template = Array("/tmp/widgetd-grpc.XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else { throw TestFault("mkdtemp: errno \(errno)") }
      path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// A failure after which a test cannot continue.
  struct TestFault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  extension ServerLimits {
    /// The defaults, with the changes of a test.
    static func with(_ change: (inout ServerLimits) -> Void) -> ServerLimits {
      var limits = ServerLimits()
      change(&limits)
      return limits
    }

    /// The same limits, with an hour in place of the default times. So a slow machine reaches no
    /// limit that the test does not set.
    var patient: ServerLimits {
      var limits = self
      for (path, hour) in Self.times where self[keyPath: path] == Self()[keyPath: path] {
        limits[keyPath: path] = hour
      }
      return limits
    }

    private static var times: [(WritableKeyPath<ServerLimits, Int>, Int)] {
      [
        (\.unauthorizedMilliseconds, 3_600_000), (\.firstByteMilliseconds, 3_600_000),
        (\.requestMilliseconds, 3_600_000), (\.audienceLingerMilliseconds, 3_600_000),
        (\.bundleCallSeconds, 3_600),
      ]
    }
  }

  extension AccessPolicy {
    /// The test's own user may do everything.
    static var own: AccessPolicy { .current(clientGID: nil) }
    /// The test's own user is a member of the client group, and not an owner.
    static var client: AccessPolicy {
      AccessPolicy(ownerUIDs: [4_000_000_001], clientGID: getegid())
    }
    /// The test's own user has no rights.
    static var nobody: AccessPolicy {
      AccessPolicy(ownerUIDs: [4_000_000_001], clientGID: 4_000_000_002)
    }
  }

  typealias MakeLog = @Sendable () throws(StorageError) -> any CommitLog

  /// - Parameters:
  ///   - closingMax: See `ControlFrames`.
  ///   - drainMilliseconds: the time for open streams at the end.
  func startServer(
    limits: ServerLimits = ServerLimits(), policy: AccessPolicy = .own,
    closingMax: TimeAmount = ControlFrames.closingMax, drainMilliseconds: Int = 500,
    makeLog: @escaping MakeLog = { () throws(StorageError) in MemoryCommitLog(epoch: 77) }
  ) async throws -> TestServer {
    var limits = limits.patient
    limits.drainMilliseconds = drainMilliseconds
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .critical
    let (folder, guest) = (try TestFolder(), WatchedGuest(closingMax: closingMax))
    let server = try await WidgetServer.start(
      .init(socketPath: folder.socketPath, policy: policy, limits: limits, version: "test"),
      guests: [guest], logger: logger, makeLog: makeLog)
    return TestServer(server: server, folder: folder, guest: guest)
  }

  /// Starts a server, runs a test against it, and stops it.
  ///
  /// The test's body may block, because each of its steps runs on a separate thread.
  func withServer<R: Sendable>(
    limits: ServerLimits = ServerLimits(), policy: AccessPolicy = .own,
    closingMax: TimeAmount = ControlFrames.closingMax,
    _ body: @escaping @Sendable (TestServer) async throws -> R
  ) async throws -> R {
    try await Turnstile.shared.pass {
      let server = try await startServer(
        limits: limits, policy: policy, closingMax: closingMax)
      let result: Result<R, any Error> = await withTaskExecutorPreference(ThreadExecutor.shared) {
        do { return .success(try await body(server)) } catch { return .failure(error) }
      }
      try await server.server.stop()
      return try result.get()
    }
  }

  /// Starts a server, and runs a test that stops it.
  ///
  /// - Parameter drainMilliseconds: the time for open streams. Only peers that acknowledge nothing
  ///   need a short one.
  func withStoppedServer(
    limits: ServerLimits = ServerLimits(), drainMilliseconds: Int = 60_000,
    makeLog: @escaping MakeLog = { () throws(StorageError) in MemoryCommitLog(epoch: 77) },
    _ body: @escaping @Sendable (TestServer) async throws -> Void
  ) async throws {
    try await Turnstile.shared.pass {
      let server = try await startServer(
        limits: limits, drainMilliseconds: drainMilliseconds, makeLog: makeLog)
      try await withTaskExecutorPreference(ThreadExecutor.shared) { try await body(server) }
    }
  }

  extension Turnstile {
    static let shared = Turnstile(places: 3)
  }

  /// A value shared by threads.
  final class Box<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func get() -> Value { lock.withLock { value } }
    func update(_ body: (inout Value) -> Void) { lock.withLock { body(&value) } }
  }

  extension WidgetID {
    static func make(_ id: String) throws -> WidgetID {
      guard let id = WidgetID(id) else { throw TestFault("\(id) is not an id") }
      return id
    }
  }

  extension KindName {
    static func make(_ name: String) throws -> KindName {
      guard let name = KindName(name) else { throw TestFault("\(name) is not a kind") }
      return name
    }
  }

  extension RPCStatus {
    var reason: String { errorInfo?.reason ?? "" }
  }
#endif
