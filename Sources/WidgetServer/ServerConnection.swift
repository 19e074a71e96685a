/// A connection that the service counts, and closes when it stops.
///
/// Confined to the service's event loop.
protocol ServerConnection: AnyObject {
  var peer: Peer { get }

  /// Closes the connection when everything that was written has been sent.
  func closeWhenFlushed()
}
