import Logging
import NIOCore
import WidgetCore
import WidgetProto

/// Counting connections, and what ends streams from outside.
extension ServiceLoop {
  /// Admits a connection, or says which limit it exceeds.
  func admit(_ peer: Peer) -> (limit: String, maximum: Int)? {
    if connectionCount >= limits.connectionsMax {
      return ("connections_max", limits.connectionsMax)
    }
    if connectionsByUID[peer.uid, default: 0] >= limits.connectionsPerUIDMax {
      return ("connections_per_uid_max", limits.connectionsPerUIDMax)
    }
    connectionCount += 1
    connectionsByUID[peer.uid, default: 0] += 1
    counters.connectionsAccepted += 1
    return nil
  }

  func connectionOpened(_ connection: any ServerConnection) {
    connections[ObjectIdentifier(connection)] = connection
  }

  /// A connection goes on as another object. It is still one connection.
  func connectionBecomes(_ former: any ServerConnection, _ connection: any ServerConnection) {
    guard connections.removeValue(forKey: ObjectIdentifier(former)) != nil else { return }
    connectionOpened(connection)
  }

  func connectionClosed(_ connection: any ServerConnection) {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    let peer = connection.peer
    connectionCount -= 1
    if drained != nil, hasDrained { finishDraining() }
    let remaining = connectionsByUID[peer.uid, default: 1] - 1
    connectionsByUID[peer.uid] = remaining > 0 ? remaining : nil
  }

  /// Whether what `drained` waits for has come.
  private var hasDrained: Bool {
    waitsForOthersOnly ? connections.values.allSatisfy(\.canBeHandedOver) : connections.isEmpty
  }

  /// Succeeds when only connections are left that can be handed over, or the drain time is over.
  func othersClosed() -> EventLoopFuture<Void> {
    waitsForOthersOnly = true
    return drain()
  }

  /// Flushes and closes every connection; succeeds when all are closed, or the drain time is over.
  func connectionsClosed() -> EventLoopFuture<Void> {
    for connection in Array(connections.values) { connection.closeWhenFlushed() }
    waitsForOthersOnly = false
    return drain()
  }

  private func drain() -> EventLoopFuture<Void> {
    let promise = eventLoop.makePromise(of: Void.self)
    drained = promise
    guard !hasDrained else {
      finishDraining()
      return promise.futureResult
    }
    drainTimer = eventLoop.assumeIsolated().scheduleTask(
      in: .milliseconds(Int64(limits.drainMilliseconds))
    ) { self.finishDraining() }
    return promise.futureResult
  }

  /// Looks at what another server left. nil if it does not fit this store, whose cursors it means.
  func accept(_ handed: HandedOver) -> [HandedConnection]? {
    guard let parsed = handed.parsed(), parsed.head.epoch == store.epoch,
      parsed.head.revision <= store.revision
    else {
      logger.warning(
        "connections of the last process are closed: their state does not match the store",
        metadata: ["connections": "\(handed.sockets.count)"])
      return nil
    }
    if parsed.unreadableCount > 0 {
      logger.warning(
        "connections of the last process are closed: their state cannot be read",
        metadata: ["connections": "\(parsed.unreadableCount)"])
    }
    lastSubscriptionID = max(lastSubscriptionID, parsed.head.lastSubscriptionID)
    formerSequence = parsed.head.lastSequence
    return parsed.connections
  }

  func finishDraining() {
    drainTimer?.cancel()
    drained?.succeed()
    drained = nil
  }
}
