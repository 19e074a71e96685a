public import Logging
public import NIOCore

/// A protocol that shares the daemon's socket with ttrpc.
///
/// The first bytes of a connection tell its protocol. A guest gets the connections that begin with
/// its opening. It makes their calls through an `InProcessClient` that acts for the peer. So all
/// protocols have the service's policy, quotas and errors.
public protocol GuestProtocol: Sendable {
  /// The first bytes of its connections. At least one byte. The first is not 0, because 0 is ttrpc.
  var opening: [UInt8] { get }

  /// Prepares the protocol, before the first connection.
  func start(on host: GuestHost) async throws

  /// Takes over a connection before anything is read from it. Called on the event loop. It sets up
  /// the channel's handlers before it returns. If it cannot, it closes the channel.
  func adopt(_ channel: any Channel, for client: InProcessClient)

  /// Refuses new calls, and tells the peers. Calls under way continue. Called on the event loop.
  func beginShutdown()

  /// Ends the remaining calls, after all connections have been closed, or their drain time is over.
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
}
