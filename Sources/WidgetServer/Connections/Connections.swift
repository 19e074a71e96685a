import Logging
import NIOCore
import WidgetProto

/// The open connections: how many each user has, and when all of them are closed.
final class Connections {
  private let context: ServiceContext
  private let policy: AccessPolicy
  /// The users of subordinate uids. A new value applies to new connections.
  var subordinates: SubordinateUIDs
  private var open: [ObjectIdentifier: any ServerConnection] = [:]
  /// Connections that were admitted and are not closed, even those that are not in `open` yet.
  private(set) var shares = ConnectionShares(files: .current)
  /// Called after a connection has ended.
  var onClosed: () -> Void = {}
  /// The caller that waits for connections to close.
  private var drain: Drain?
  /// The last refusal of a user, in words. To make words takes longer than to refuse a connection.
  private var reports: [UInt32: Report] = [:]

  private struct Report {
    let refusal: ConnectionShares.Refusal
    let status: RPCStatus
    let metadata: Logger.Metadata

    init(_ refusal: ConnectionShares.Refusal) {
      self.refusal = refusal
      status = refusal.status
      metadata = refusal.metadata
    }
  }

  /// With more users than this, the words are made again.
  private static let reportsMax = 64

  private struct Drain {
    let wait: DrainWait
    let waitsForOthersOnly: Bool
  }

  init(_ context: ServiceContext, _ policy: AccessPolicy, _ subordinates: SubordinateUIDs) {
    self.context = context
    self.policy = policy
    self.subordinates = subordinates
  }

  // MARK: - Counting

  /// Why a new connection is refused; nil if it is not. A refusal is counted and reported.
  func refusal(of socket: CInt) -> RefusedConnection? {
    do throws(RefusedConnection) { _ = try peer(of: socket) } catch { return error }
    return nil
  }

  /// Counts a new connection. Throws if it is refused, which is counted and reported.
  func admit(_ socket: CInt) throws(RefusedConnection) -> Peer {
    let peer = try peer(of: socket)
    _ = shares.admit(peer.uid, policy.level(of: peer), context.limits)
    context.counters.countAcceptedConnection()
    return peer
  }

  /// The peer as everything behind this function counts it.
  private func peer(of socket: CInt) throws(RefusedConnection) -> Peer {
    guard let process = Peer(socket: socket) else {
      context.counters.countRefusedConnection()
      let status = RPCStatus(
        .unauthenticated, "PEER_UNKNOWN",
        "A connection was refused, because the kernel does not tell its user.")
      context.keep(status, area: "connections", at: context.clock.now)
      throw .unknownPeer
    }
    let peer = policy.counted(process, with: subordinates)
    if let refusal = shares.refusal(of: peer.uid, policy.level(of: peer), context.limits) {
      context.counters.countRefusedConnection()
      report(refusal, of: peer.uid)
      throw .exceeds(refusal)
    }
    return peer
  }

  private func report(_ refusal: ConnectionShares.Refusal, of uid: UInt32) {
    let report = report(about: refusal, of: uid)
    context.keep(report.status, area: "connections", uid: uid, at: context.clock.now)
    context.log(
      .warning, "refusing a connection", about: "refusing", of: uid, report.metadata)
  }

  private func report(about refusal: ConnectionShares.Refusal, of uid: UInt32) -> Report {
    if let known = reports[uid], known.refusal == refusal { return known }
    let report = Report(refusal)
    if reports.count >= Connections.reportsMax { reports.removeAll() }
    reports[uid] = report
    return report
  }

  /// Closes a connection after a short time if its peer may only ask for health.
  func limitTime(of channel: any Channel, _ peer: Peer) {
    guard policy.level(of: peer) == .nothing else { return }
    let milliseconds = context.limits.unauthorizedMilliseconds
    let timer = context.schedule(in: .milliseconds(Int64(milliseconds))) { [context] in
      context.logClosing(
        peer, because: "its user may only ask for health, and it is \(milliseconds) ms old")
      channel.close(promise: nil)
    }
    channel.closeFuture.assumeIsolated().whenComplete { _ in timer.cancel() }
  }

  func opened(_ connection: any ServerConnection) {
    open[ObjectIdentifier(connection)] = connection
  }

  /// Replaces the object of a connection. It is still one connection.
  func replace(_ former: any ServerConnection, by connection: any ServerConnection) {
    guard open.removeValue(forKey: ObjectIdentifier(former)) != nil else { return }
    opened(connection)
  }

  func closed(_ connection: any ServerConnection) {
    guard open.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    shares.release(connection.peer.uid, policy.level(of: connection.peer))
    onClosed()
    if let drain, hasDrained(drain) { finishDraining() }
  }

  /// Ends the messages whose kinds are being compiled.
  func endPreparations() {
    for connection in Array(open.values) { connection.endPreparation() }
  }

  // MARK: - Draining

  /// Succeeds when only connections are left that can be handed over, or the drain time is over.
  func othersClosed() -> EventLoopFuture<Void> {
    beginDraining(
      waitsForOthersOnly: true, within: .milliseconds(Int64(context.limits.drainMilliseconds)))
  }

  /// Flushes and closes every connection; succeeds when all are closed, or the time is over.
  func closeAll(within limit: TimeAmount) -> EventLoopFuture<Void> {
    for connection in Array(open.values) { connection.closeWhenFlushed() }
    return beginDraining(waitsForOthersOnly: false, within: limit)
  }

  private func hasDrained(_ drain: Drain) -> Bool {
    drain.waitsForOthersOnly ? open.values.allSatisfy(\.canBeHandedOver) : open.isEmpty
  }

  private func beginDraining(
    waitsForOthersOnly: Bool, within limit: TimeAmount
  ) -> EventLoopFuture<Void> {
    let drain = Drain(
      wait: DrainWait(limit, context) { self.finishDraining() },
      waitsForOthersOnly: waitsForOthersOnly)
    self.drain = drain
    if hasDrained(drain) { finishDraining() }
    return drain.wait.future
  }

  private func finishDraining() {
    drain?.wait.end()
    drain = nil
  }

  // MARK: - Handing over

  /// The connections that can continue in another process, those with streams first.
  func toHandOver(atMost countMax: Int) -> [any ServerConnection] {
    let all = open.values.filter(\.canBeHandedOver)
    if all.count > countMax {
      context.logger.notice(
        "closing connections, because the next process takes only a limited number",
        metadata: ["connections": "\(all.count - countMax)", "maximum": "\(countMax)"])
    }
    let watching = all.filter { $0.streamCount > 0 }
    let idle = all.filter { $0.streamCount == 0 }
    return Array((watching + idle).prefix(countMax))
  }
}

/// Why a connection is closed before it is served.
enum RefusedConnection: Error {
  /// The kernel does not tell its user.
  case unknownPeer
  case exceeds(ConnectionShares.Refusal)
}

extension ConnectionShares.Refusal {
  /// The refusal as an error.
  var status: RPCStatus {
    guard let shortage else { return .quotaExceeded(limit, maximum) }
    return .fewOpenFiles(maximum, "connections", "Close one of the connections", shortage)
  }

  /// The refusal in the log.
  var metadata: Logger.Metadata {
    guard let shortage else { return ["limit": "\(limit)=\(maximum)"] }
    return [
      "limit": "open_files=\(shortage.allowed)", "connections": "\(maximum)",
      "remedy": "\(shortage.remedy)",
    ]
  }
}
