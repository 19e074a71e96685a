import WidgetClient
import WidgetModel

/// The loss of the connection to the daemon, as viewers show it.
struct ConnectionLoss: Hashable, Sendable {
  let since: Timestamp
  /// What happened, in a few words. Viewers add since when.
  let words: String
  /// Why there was no connection and what to do next. Empty if there was one, which is lost.
  let absence: String
  /// Whether the new connection sends a snapshot. Until it is complete, the state is the old one.
  private var waitsForSnapshot = false

  init(_ error: ClientError, at now: Timestamp) {
    since = now
    words = error.loss
    absence = error.absence ?? ""
  }

  /// The loss after another frame. Further attempts do not change it.
  static func after(_ frame: WatchFrame, _ loss: ConnectionLoss?, at now: Timestamp)
    -> ConnectionLoss?
  {
    guard var loss else {
      if case .disconnected(let error) = frame { return ConnectionLoss(error, at: now) }
      return nil
    }
    switch frame {
    case .reset: loss.waitsForSnapshot = true
    case .opened where !loss.waitsForSnapshot, .synced: return nil
    default: break
    }
    return loss
  }
}
