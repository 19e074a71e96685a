public import Logging
public import NIOCore
import WidgetModel
import WidgetProto
import WidgetTimers

/// A protocol that shares the daemon's socket with ttrpc.
///
/// The first bytes of a connection tell its protocol. A guest gets the connections that begin with
/// its opening. It makes their calls through an `InProcessClient` that acts for the peer. So all
/// protocols have the service's policy, quotas and errors.
public protocol GuestProtocol: Sendable {
  /// The name in messages.
  var name: String { get }

  /// The first bytes of its connections. At least one byte. The first is not 0, because 0 is ttrpc.
  var opening: [UInt8] { get }

  /// Gets ready for the first connection, which waits meanwhile. If this fails, the connection is
  /// closed, and the next one starts the protocol again.
  func start(on host: GuestHost) async throws

  /// Takes over a connection. The first read comes later and has its first bytes. Called on the event
  /// loop. It sets up the channel's handlers before it returns. If it cannot, it closes the channel.
  ///
  /// - Returns: when the channel is closed and the connection's calls have ended. Until then, the
  ///   connection counts for the limits of connections. The future belongs to the channel's loop.
  func adopt(_ channel: any Channel, for client: InProcessClient) -> EventLoopFuture<Void>

  /// Opens no more calls and tells peers so. Calls under way continue. Called on the event loop, if
  /// the start has begun.
  func beginShutdown()

  /// Ends the remaining calls. All connections are closed, or their time is over. Called if the
  /// start has ended.
  func stop() async
}

/// The parts of the daemon that a guest protocol uses.
public struct GuestHost: Sendable {
  /// The event loop of the connections. A guest should do all its work here.
  public let eventLoop: any EventLoop
  /// The limits when the daemon started.
  public let limits: ServerLimits
  public let logger: Logger
  let service: NIOLoopBound<ServiceLoop>

  /// Runs a part of a guest's task, and counts its time: see `InProcessClient.expectTasks`. Call on
  /// the event loop.
  public func runTask(_ body: () -> Void) { service.value.context.work.runTask(body) }

  /// Logs a failed start, and keeps it for `widgetctl status`. Every connection can cause one, so the
  /// log has at most one a second. Call on the event loop.
  func noteFailedStart(of guest: any GuestProtocol, _ error: any Error) {
    let context = service.value.context
    let status = RPCStatus(
      .unavailable, "PROTOCOL_FAILED", "\(guest.name) cannot start: \(error)")
    context.keep(status, area: "connections", at: .wallClock())
    context.log(
      .error, "cannot start \(guest.name); the next connection tries again", about: "guests",
      of: nil, ["error": "\(error)"])
  }
}
