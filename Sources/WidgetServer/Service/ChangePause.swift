/// Lets changes wait while the store's log catches up.
///
/// A log that grows faster than the disk takes it would stop the loop, and so everybody. In a pause,
/// only those wait who change something: a connection waits with its next change, and with all that
/// it has sent after it. Calls that free room on the disk do not wait. Of the daemon's own changes, only
/// those wait that can be of all widgets: the end of a provider's session, and the dates of activities.
///
/// Confined to the event loop.
final class ChangePause {
  private(set) var isOn = false
  private var waiting: [ObjectIdentifier: () -> Void] = [:]
  private var isOver = false

  /// The number of connections and calls that wait.
  var waitingCount: Int { waiting.count }

  /// Whether a call of this method waits now.
  func holds(_ method: Method) -> Bool {
    guard isOn else { return false }
    return switch method.roomUse {
    case .needs, .freesWithChanges: true
    case .frees, .unused: false
    }
  }

  /// Calls a closure at the end of the pause. A later closure of the same owner replaces it.
  func wait(_ owner: AnyObject, _ resume: @escaping () -> Void) {
    waiting[ObjectIdentifier(owner)] = resume
  }

  /// Forgets the closure of an owner that no longer waits.
  func forget(_ owner: AnyObject) { waiting[ObjectIdentifier(owner)] = nil }

  /// Begins a pause. Returns false if one is on, or if there is none any more.
  func begin() -> Bool {
    guard !isOn, !isOver else { return false }
    isOn = true
    return true
  }

  func end() {
    guard isOn else { return }
    isOn = false
    let resumed = waiting
    waiting = [:]
    for resume in resumed.values { resume() }
  }

  /// Ends the pause for good, because the process ends or hands its connections over.
  func endForGood() {
    isOver = true
    end()
  }
}
