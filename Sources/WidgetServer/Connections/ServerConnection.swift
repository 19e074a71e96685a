import WidgetProto

/// A connection that the service counts, and closes when it stops.
///
/// Confined to the service's event loop.
protocol ServerConnection: AnyObject {
  var peer: Peer { get }

  /// Whether the connection can continue in another process.
  var canBeHandedOver: Bool { get }

  /// Gives the connection away, if possible: its state for another process, and a duplicate of its
  /// socket. Nothing more is read or written here; the channel is closed. The connection is named
  /// by its socket; see `HandedOver.identity`.
  func handOver() -> (connection: HandedConnection, socket: CInt)?

  /// The number of open streams.
  var streamCount: Int { get }

  /// Closes the connection when everything that was written has been sent.
  func closeWhenFlushed()

  /// Carries out the message whose kinds are being compiled, if there is one.
  func endPreparation()
}

extension ServerConnection {
  // The calls of guests are abandoned like those that have not begun.
  func endPreparation() {}
}
