import WidgetClient
import WidgetModel

/// The loss of the connection to the daemon, as viewers show it.
struct ConnectionLoss: Hashable, Sendable {
  let since: Timestamp
  /// What happened, in a few words. Viewers add since when.
  let words: String
  /// Why there was no connection and what to do next. Empty if there was one, which is lost.
  let absence: String

  init(_ error: ClientError, at now: Timestamp) {
    since = now
    words = error.loss
    absence = error.absence ?? ""
  }

  /// The loss after another frame. Further attempts do not change it.
  static func after(_ frame: WatchFrame, _ loss: ConnectionLoss?, at now: Timestamp)
    -> ConnectionLoss?
  {
    switch frame {
    case .disconnected(let error): loss ?? ConnectionLoss(error, at: now)
    case .opened, .reconnected: nil
    default: loss
    }
  }
}
