import Logging
import NIOCore
import WidgetProto
import WidgetServer
import WidgetStorage

/// The driver's side of `InProcessClient`: the daemon runs in this process, and is called without a
/// socket. Messages are passed as bytes.
actor HostedDaemon: DrivenClient {
  private let settings: HostSettings
  private var server: WidgetServer?
  /// The client lives longer than the daemon, as in other programs.
  private var client: InProcessClient

  init(_ settings: HostSettings) async throws {
    self.settings = settings
    let server = try await HostedDaemon.started(settings)
    self.server = server
    client = try await server.inProcessClient(for: settings.peer ?? .current)
  }

  private static func started(_ settings: HostSettings) async throws -> WidgetServer {
    var logger = Logger(label: "widgetd", factory: { StreamLogHandler.standardError(label: $0) })
    logger.logLevel = .critical
    return try await WidgetServer.start(
      .init(
        socketPath: settings.socketPath, socketMode: 0o600,
        policy: .current(clientGID: settings.clientGID), limits: settings.limits,
        version: "conformance"),
      logger: logger,
      makeLog: { () throws(StorageError) in
        var generator = SystemRandomNumberGenerator()
        let epoch = UInt64.random(in: 1...UInt64(Int64.max), using: &generator)
        guard settings.isDurable else { return MemoryCommitLog(epoch: epoch) }
        return try SQLiteCommitLog(
          directory: StateDirectory(path: settings.stateDirectory), newEpoch: epoch,
          onCheckpointFailure: { Output.complain("the write-ahead log grows: \($0)") })
      })
  }

  // MARK: - The daemon

  func stopDaemon() async throws {
    guard let server else { throw Misuse("the daemon does not run") }
    self.server = nil
    try await server.stop()
  }

  func startDaemon() async throws {
    guard server == nil else { throw Misuse("the daemon runs") }
    let server = try await HostedDaemon.started(settings)
    self.server = server
    client = try await server.inProcessClient(for: settings.peer ?? .current)
  }

  func close() async { try? await server?.stop() }

  // MARK: - Calls

  func call(_ request: Request) async throws(Ending) -> [UInt8] {
    let client = client
    guard request.timeout == nil else {
      throw .unsupported("InProcessClient's calls take no deadline: nothing is between it and them")
    }
    do throws(RPCStatus) {
      let answer = try await client.call(request.method, ByteBuffer(bytes: request.bytes))
      return Array(answer.readableBytesView)
    } catch {
      throw Ending(error)
    }
  }

  func open(_ request: Request, _ take: @escaping FrameTaker) async throws(Ending) {
    let client = client
    do throws(RPCStatus) {
      let stream = try await client.open(
        request.method, ByteBuffer(bytes: request.bytes), timeout: request.timeout)
      while let messages = try await stream.next() {
        for message in messages { await take(Array(message.readableBytesView)) }
      }
    } catch {
      throw Ending(error)
    }
  }

  func converse(
    _ request: Request, _ outgoing: AsyncStream<[UInt8]>, _ take: @escaping FrameTaker
  ) async throws(Ending) {
    let client = client
    do throws(RPCStatus) {
      let stream = try await client.converse(request.method, timeout: request.timeout)
      let sending = Task {
        for await bytes in outgoing {
          guard await stream.send(ByteBuffer(bytes: bytes)) else { return }
        }
        if !Task.isCancelled { stream.finishSending() }
      }
      defer { sending.cancel() }
      while let messages = try await stream.next() {
        for message in messages { await take(Array(message.readableBytesView)) }
      }
    } catch {
      throw Ending(error)
    }
  }

  func follow(_ request: [UInt8], _ take: @escaping FrameTaker) async throws(Ending) {
    throw .unsupported("InProcessClient lives and ends with its daemon: nothing to reconnect to")
  }
}
