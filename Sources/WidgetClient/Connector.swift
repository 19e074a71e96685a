import NIOCore
import NIOPosix
import WidgetTransport

/// Makes connections to one socket, and keeps the one that calls share. Confined to one event loop.
///
/// The shared connection is made when a call needs it, and made again by the next call after it was
/// lost. While it is being made, calls wait for it together.
final class Connector {
  typealias Completion = (Result<RPCConnection, ClientError>) -> Void

  private enum Shared {
    case none
    case connecting([Completion])
    case connected(RPCConnection)
    case closed
  }

  let eventLoop: any EventLoop
  private let socketPath: String
  private let connectTimeout: Duration
  private var shared = Shared.none

  init(eventLoop: any EventLoop, socketPath: String, connectTimeout: Duration) {
    self.eventLoop = eventLoop
    self.socketPath = socketPath
    self.connectTimeout = connectTimeout
  }

  /// Hands over the shared connection, now or when it is made.
  func withShared(_ completion: @escaping Completion) {
    switch shared {
    case .connected(let connection) where connection.isUsable:
      completion(.success(connection))
    case .none, .connected:
      shared = .connecting([completion])
      connect { self.sharedIsMade($0) }
    case .connecting(let waiting):
      shared = .connecting(waiting + [completion])
    case .closed:
      completion(.failure(.closed))
    }
  }

  private func sharedIsMade(_ result: Result<RPCConnection, ClientError>) {
    guard case .connecting(let waiting) = shared else {
      if case .success(let connection) = result { connection.close() }
      return
    }
    switch result {
    case .success(let connection): shared = .connected(connection)
    case .failure: shared = .none
    }
    for completion in waiting { completion(result) }
  }

  /// Makes a connection for the caller alone.
  func withOwn(_ completion: @escaping Completion) {
    if case .closed = shared {
      completion(.failure(.closed))
    } else {
      connect(completion)
    }
  }

  /// Closes the shared connection. Callers that wait for it or for an answer get an error.
  func close() {
    let before = shared
    shared = .closed
    switch before {
    case .connected(let connection): connection.close()
    case .connecting(let waiting): for completion in waiting { completion(.failure(.closed)) }
    case .none, .closed: break
    }
  }

  private func connect(_ completion: @escaping Completion) {
    let path = socketPath
    ClientBootstrap(group: eventLoop)
      .connectTimeout(TimeAmount(connectTimeout))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(RPCConnection(socketPath: path))
        }
      }
      .connect(unixDomainSocketPath: path)
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel):
          completion(Connector.connection(of: channel, socketPath: path))
        case .failure(let error):
          completion(
            .failure(.unavailable(ConnectFailure(connecting: error), socketPath: path)))
        }
      }
  }

  private static func connection(
    of channel: any Channel, socketPath: String
  ) -> Result<RPCConnection, ClientError> {
    do {
      return .success(try channel.pipeline.syncOperations.handler(type: RPCConnection.self))
    } catch {
      // The channel was closed at the same time, and its handlers are gone.
      return .failure(.connectionLost(socketPath: socketPath))
    }
  }
}

extension ConnectFailure {
  init(connecting error: any Error) {
    switch error {
    case let error as IOError: self.init(errno: error.errnoCode, description: error.description)
    case SocketAddressError.unixDomainSocketPathTooLong: self = .pathTooLong
    case ChannelError.connectTimeout: self = .timedOut
    default: self = .other(errno: 0, description: "\(error)")
    }
  }
}
