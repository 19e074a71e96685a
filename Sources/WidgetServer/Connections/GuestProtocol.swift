public import Logging
public import NIOCore

/// A protocol that shares the daemon's socket with ttrpc.
///
/// What a connection speaks is told by its first byte. A guest gets the connections that begin as
/// its do, and makes calls for them through an `InProcessClient` that stands for the peer: policy,
/// quotas and errors are the service's, the same for every protocol.
public protocol GuestProtocol: Sendable {
  /// What its connections begin with, at least one byte; the first is not 0, which is ttrpc.
  var opening: [UInt8] { get }

  /// Gets ready, before the first connection.
  func start(on host: GuestHost) async throws

  /// Takes over a connection, of which nothing has been read yet: called on the event loop; sets up
  /// the channel's handlers before it returns, and closes the channel if it cannot.
  func adopt(_ channel: any Channel, for client: InProcessClient)

  /// Opens no more calls and tells peers so. Calls under way go on. Called on the event loop.
  func beginShutdown()

  /// Ends what is left. All connections are closed, or their time is over.
  func stop() async
}

/// What a guest protocol finds in the daemon.
public struct GuestHost: Sendable {
  /// Where connections live, and where everything the guest does should happen.
  public let eventLoop: any EventLoop
  /// The limits when the daemon started.
  public let limits: ServerLimits
  public let logger: Logger
}
