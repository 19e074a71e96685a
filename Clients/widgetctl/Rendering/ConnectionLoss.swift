import WidgetClient
import WidgetModel

/// The reason why widgets may be old, for viewers: the connection to the daemon is lost, or the
/// daemon's store takes no changes.
struct ConnectionLoss: Hashable, Sendable {
  let since: Timestamp
  /// The event in a few words. Viewers add its time.
  private(set) var words: String
  /// The reason why there was no connection, and the next step. Empty if a connection was lost.
  private(set) var absence: String
  /// Whether the new connection sends a snapshot. Until it is complete, the state is the old one.
  private var waitsForSnapshot = false
  /// Whether the connection is up, and the store takes no changes.
  private(set) var isOfStore = false
  /// The failure of the store, while the state is the old one for another reason.
  private var store: StoreFailure?

  /// The next step of the viewer or the user.
  var next: String { isOfStore ? "`widgetctl status` shows why" : "reconnecting" }

  init(_ error: ClientError, at now: Timestamp) {
    since = now
    words = error.timedLoss
    absence = error.absence ?? ""
  }

  init(_ failure: StoreFailure) {
    since = failure.since
    words = failure.loss
    absence = ""
    isOfStore = true
  }

  /// The loss after another frame. Further attempts do not change its time. They change its reason,
  /// if they fail for another one.
  static func after(_ frame: WatchFrame, _ loss: ConnectionLoss?, at now: Timestamp)
    -> ConnectionLoss?
  {
    guard var loss, !loss.isOfStore else {
      switch frame {
      case .disconnected(let error): return ConnectionLoss(error, at: now)
      case .store(let store): return store.failure.map { ConnectionLoss($0) }
      // The daemon reports the store again after `opened`.
      case .opened: return nil
      default: return loss
      }
    }
    switch frame {
    case .disconnected(let error):
      (loss.words, loss.absence) = (error.timedLoss, error.absence ?? "")
    case .store(let store): loss.store = store.failure
    case .reset: loss.waitsForSnapshot = true
    case .opened where !loss.waitsForSnapshot: return nil
    case .opened: loss.store = nil
    case .synced: return loss.store.map { ConnectionLoss($0) }
    default: break
    }
    return loss
  }
}

extension StoreFailure {
  /// The loss in a few words. Viewers add its time.
  var loss: String { "widgetd cannot store changes" }

  /// The end of a failure.
  static let end = "widgetd stores changes again"
}
