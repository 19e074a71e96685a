import Logging
import NIOCore
import WidgetProto

/// A guest protocol on this server. It starts with its first connection, because many daemons get
/// none, and gRPC takes a third of the daemon's start.
///
/// Confined to the event loop, except `stopAll`.
final class Guest {
  private let guest: any GuestProtocol
  private let host: GuestHost
  /// nil before the first connection, and after a failed start.
  private var start: EventLoopFuture<Void>?
  private var isShuttingDown = false

  init(_ guest: any GuestProtocol, on host: GuestHost) {
    self.guest = guest
    self.host = host
  }

  /// The first bytes of its connections.
  var opening: [UInt8] { guest.opening }

  /// Starts the protocol if necessary, and passes it on when it can adopt a connection. Passes nil
  /// if it cannot.
  ///
  /// If the protocol is ready already, the body runs before this returns.
  func whenReady(_ body: @escaping ((any GuestProtocol)?) -> Void) {
    guard !isShuttingDown else { return body(nil) }
    (start ?? begin()).assumeIsolated().whenComplete { result in
      switch result {
      case .success where !self.isShuttingDown: body(self.guest)
      case .success, .failure: body(nil)
      }
    }
  }

  private func begin() -> EventLoopFuture<Void> {
    let (guest, host) = (guest, host)
    let start = host.eventLoop.makeFutureWithTask { try await guest.start(on: host) }
    self.start = start
    start.assumeIsolated().whenFailure { error in
      self.start = nil
      host.noteFailedStart(of: guest, error)
    }
    return start
  }

  /// Opens no more calls and tells peers so.
  func beginShutdown() {
    isShuttingDown = true
    if start != nil { guest.beginShutdown() }
  }

  /// Ends the remaining calls of protocols that have started. Call outside of the event loop.
  static func stopAll(_ guests: NIOLoopBound<[Guest]>, on eventLoop: any EventLoop) async {
    let begun = try? await eventLoop.submit {
      guests.value.compactMap { guest in
        guest.isShuttingDown = true
        return guest.start.map { (guest.guest, $0) }
      }
    }.get()
    for (guest, start) in begun ?? [] {
      try? await start.get()
      await guest.stop()
    }
  }
}
