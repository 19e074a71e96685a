import Logging
import WidgetProto
import WidgetStorage

/// Whether the store takes changes, and whether its files are still there. Logs what changes.
///
/// The methods return whether the health of the daemon has changed, so that its readers must be
/// told.
final class StorageHealth {
  private let context: ServiceContext
  /// Whether the store refused the last group.
  private var isFailing = false
  /// Whether the files of the store are missing, so that nothing can be stored.
  private(set) var isRemoved = false

  init(_ context: ServiceContext) { self.context = context }

  /// A group was stored.
  func groupWasStored() -> Bool {
    let hasChanged = note(nil)
    if isFailing {
      isFailing = false
      context.log(.notice, "the store takes changes again", about: "storage", of: nil, [:])
    }
    return hasChanged
  }

  /// A group was refused.
  ///
  /// - Parameter uid: The user of the group's calls; nil if there is none, or several.
  func groupFailed(_ error: StorageError, of uid: UInt32?) -> Bool {
    context.keep(.storageFailed(error), area: "storage", uid: uid, at: context.turn.now)
    if !isFailing {
      isFailing = true
      context.log(
        .error, "changes are refused until the store works again", about: "storage", of: nil,
        ["error": "\(error)"])
    }
    return note(error)
  }

  /// Checks whether the files of the store are still there.
  func check(_ log: any CommitLog) -> Bool {
    do throws(StorageError) {
      try log.check()
      return note(nil)
    } catch {
      if !isRemoved {
        context.keep(.storageFailed(error), area: "storage", at: .wallClock())
      }
      return note(error)
    }
  }

  private func note(_ error: StorageError?) -> Bool {
    var isRemoved = false
    if case .removed = error { isRemoved = true }
    guard isRemoved != self.isRemoved else { return false }
    self.isRemoved = isRemoved
    if let error, isRemoved {
      context.logger.critical(
        "the store was removed; the daemon no longer serves", metadata: ["error": "\(error)"])
    } else {
      context.logger.notice("the store is back; the daemon serves again")
    }
    return true
  }
}
