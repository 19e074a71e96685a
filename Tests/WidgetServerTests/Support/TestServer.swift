import Foundation
import Logging
import NIOCore
import TestThreads
import Testing
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// A real server on a real Unix socket in a separate folder.
struct TestServer: Sendable {
  let server: WidgetServer
  let folder: TestFolder
  let log: TestLog.State

  var path: String { folder.socketPath }

  /// A new connection.
  func connect() throws -> RawClient { try RawClient(path: path) }

  /// Reads state of the service, on its event loop.
  func onLoop<R: Sendable>(_ body: @escaping @Sendable (ServiceLoop) throws -> R) throws -> R {
    try server.onLoop(body).wait()
  }

  /// Waits until a condition holds on the event loop. The condition must become true by itself.
  func eventually(_ isSo: @escaping @Sendable (ServiceLoop) -> Bool) throws {
    while try !onLoop(isSo) { usleep(1_000) }
  }

  /// A new connection whose first bytes, a call of Check, are there when the daemon accepts it. So
  /// they are never late.
  func connectWithCall() throws -> (client: RawClient, call: UInt32) {
    try onLoop { _ -> SendableBox<(client: RawClient, call: UInt32)> in
      let client = try connect()
      let call = try client.start(
        "Check", HealthCheckRequest(), service: "grpc.health.v1.Health")
      return SendableBox((client: client, call: call))
    }.value
  }

  /// Checks that a new connection is served.
  func expectHealthy(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation)
    throws
  {
    #expect(try connect().health() == .serving, comment, sourceLocation: sourceLocation)
  }
}

/// Clocks for the slices of the loop's time (`WorkQueue.clock`).
enum SliceClock {
  /// No slice ends, however slow the machine is.
  @Sendable static func makeStill() -> () -> NIODeadline { { .uptimeNanoseconds(1) } }

  /// Each slice is over at the first look, as on a machine that stops the daemon for a moment.
  @Sendable static func makeOver() -> () -> NIODeadline {
    var now = NIODeadline.uptimeNanoseconds(1)
    return {
      now = now + .milliseconds(10)
      return now
    }
  }
}

/// A temporary folder that goes with its last reference.
final class TestFolder: Sendable {
  let path: String
  var socketPath: String { path + "/s" }

  init() throws {
    var template = Array("/tmp/widgetd-tests.XXXXXX".utf8CString)
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

  /// The same limits, with an hour in place of the default times. So a slow machine reaches no limit
  /// that the test does not set.
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
  static var client: AccessPolicy { AccessPolicy(ownerUIDs: [4_000_000_001], clientGID: getegid()) }
  /// The test's own user has no access.
  static var nobody: AccessPolicy {
    AccessPolicy(ownerUIDs: [4_000_000_001], clientGID: 4_000_000_002)
  }
}

/// Starts a server, runs a test against it, and stops it.
///
/// The test's body blocks on sockets, so it runs on a separate thread and not on one of Swift's few
/// threads. The number of threads at once is limited, so that a slow machine is not overloaded.
func withServer<R: Sendable>(
  limits: ServerLimits = ServerLimits(), policy: AccessPolicy = .own,
  log: TestLog.State = TestLog.State(), folder: TestFolder? = nil, clock: ServiceClock = .real,
  _ body: @escaping @Sendable (TestServer) throws -> R
) async throws -> R {
  let folder = try folder ?? TestFolder()
  return try await Turnstile.shared.pass {
    let server = try await startServer(
      limits: limits, policy: policy, log: log, folder: folder, clock: clock)
    let result: Result<R, any Error> = await withTaskExecutorPreference(ThreadExecutor.shared) {
      Result { try body(server) }
    }
    log.openGate()
    try await server.server.stop()
    return try result.get()
  }
}

func startServer(
  limits: ServerLimits = ServerLimits(), policy: AccessPolicy = .own,
  log: TestLog.State = TestLog.State(), folder: TestFolder, guests: [any GuestProtocol] = [],
  takingOver handed: HandedOver? = nil, inheritedListener: CInt? = nil,
  clock: ServiceClock = .real, subordinateUIDs: SubordinateUIDs = SubordinateUIDs()
) async throws -> TestServer {
  var limits = limits.patient
  limits.drainMilliseconds = min(limits.drainMilliseconds, 500)
  var logger = Logger(label: "test") { _ in SilentLogHandler() }
  logger.logLevel = .critical
  let server = try await WidgetServer.start(
    .init(
      socketPath: folder.socketPath, policy: policy, subordinateUIDs: subordinateUIDs,
      limits: limits, version: "test",
      inheritedListeners: inheritedListener.map { [$0] } ?? [], clock: clock),
    guests: guests, takingOver: handed, logger: logger,
    makeLog: { () throws(StorageError) in TestLog(log) })
  return TestServer(server: server, folder: folder, log: log)
}

extension Turnstile {
  static let shared = Turnstile(places: 4)
}

/// A thread that a test started beside itself.
final class Worker: Sendable {
  private let group = DispatchGroup()
  private let box = Box<(any Error)?>(nil)

  init(_ body: @escaping @Sendable () throws -> Void) {
    group.enter()
    Task(executorPreference: ThreadExecutor.shared) { [self] in
      do { try body() } catch { box.set(error) }
      group.leave()
    }
  }

  /// Waits for the end of the thread, and throws its error.
  func join() throws {
    group.wait()
    if let error = box.get() { throw error }
  }
}

/// A value shared by threads.
final class Box<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func get() -> Value { lock.withLock { value } }
  func set(_ new: Value) { lock.withLock { value = new } }
  func update(_ body: (inout Value) -> Void) { lock.withLock { body(&value) } }
}

/// A weak reference.
final class WeakBox<Value: AnyObject>: @unchecked Sendable {
  private(set) weak var value: Value?
  init(_ value: Value) { self.value = value }
}

/// Runs blocking code on a separate thread.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withTaskExecutorPreference(ThreadExecutor.shared) { try body() }
}

/// Runs an asynchronous test, with the start and the end of its servers, on separate threads. The
/// jobs of Swift's few threads can take so long that a lease or a deadline passes between two steps.
func onThreads(_ body: @escaping @Sendable () async throws -> Void) async throws {
  try await Turnstile.shared.pass {
    try await withTaskExecutorPreference(ThreadExecutor.shared) { try await body() }
  }
}

/// A log handler that drops all lines, but keeps its level.
struct SilentLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {}
}
