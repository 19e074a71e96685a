import Logging
import NIOCore
import WidgetModel
import WidgetProto
import WidgetStorage

/// Whether the store takes changes, and whether its files are still there. Logs what changes.
///
/// Only an attempt to store shows whether the store works. So while the store fails and nobody
/// changes anything, the daemon itself tries to store something small from time to time.
final class StorageHealth {
  private let context: ServiceContext
  /// Called when the health of the daemon, or of its store, has changed.
  var onChange: () -> Void = {}
  /// The failure of the last attempt to store. Nil if the store takes changes.
  private(set) var failure: StoreFailure?
  /// Counts what readers must be told: how often the store began to take changes or to refuse them,
  /// was removed or came back, and news about the copy of a removed store.
  private(set) var version: UInt64 = 0
  /// The copy of a removed store. Nil if the files of the store are there.
  private var copy: SavedCopy?
  /// Whether the files of the store are missing, so that nothing can be stored.
  var isRemoved: Bool { copy != nil }
  /// The time of the last attempt to store.
  private var triedAt = NIODeadline.now()
  /// The time of the last refused change.
  private var refusedAt = NIODeadline.now()
  /// The end of the last failure.
  private var endedAt: NIODeadline?
  /// The time without refused changes after which a failure ends.
  private var calm = TimeAmount.zero
  private var isProbeScheduled = false
  private var wantsProbe = false

  /// The wait before the daemon itself tries to store something, after the last attempt.
  var probePause = TimeAmount.seconds(5)
  /// The minimum time without refused changes if only the daemon's own small attempt was stored.
  private static let probeCalm = TimeAmount.seconds(8)
  /// A failure that comes back within this time lasts longer. On an almost full disk, small changes are
  /// stored and large ones are refused, and readers must not see each of them.
  private static let relapse = TimeAmount.seconds(60)
  private static let calmMin = TimeAmount.seconds(2)

  init(_ context: ServiceContext) { self.context = context }

  /// Something was stored.
  ///
  /// - Parameter isSmall: Whether it was the daemon's own, or only removals, so that other changes may
  ///   still be refused.
  func stored(isSmall: Bool = false) {
    guard failure != nil || isRemoved else { return }
    if !isRemoved {
      let wait = isSmall ? max(calm, StorageHealth.probeCalm) : calm
      triedAt = .now()
      guard triedAt >= refusedAt + wait else { return scheduleProbe() }
      endedAt = triedAt
      context.log(.notice, "the store takes changes again", about: "storage", of: nil, [:])
    }
    note(nil)
  }

  /// Something was not stored.
  ///
  /// - Parameter uid: The user of the group's calls; nil if there is none, or several.
  func failed(_ error: StorageError, of uid: UInt32? = nil) {
    context.keep(.storageFailed(error), area: "storage", uid: uid, at: context.turn.now)
    // Only the widget of this change has no stored form.
    if case .unrepresentable = error { return }
    let now = NIODeadline.now()
    if failure == nil {
      let isRelapse = endedAt.map { now < $0 + StorageHealth.relapse } ?? false
      calm = isRelapse ? min(max(calm * 2, StorageHealth.calmMin), StorageHealth.relapse) : .zero
      context.log(
        .error, "changes are refused until the store works again", about: "storage", of: nil,
        ["error": "\(error)"])
    }
    (triedAt, refusedAt) = (now, now)
    note(error)
    scheduleProbe()
  }

  /// Checks whether the files of the store are still there.
  func check(_ log: any CommitLog) {
    do throws(StorageError) {
      try log.check()
      // If the files are there again, only this failure ends: the disk may still be full.
      if isRemoved { note(nil) }
    } catch {
      // Calls check again and again, so only news is kept.
      if note(error) {
        context.keep(.storageFailed(error), area: "storage", at: context.clock.now)
      }
      // The daemon must try again by itself, because no caller may come when the files are back.
      triedAt = .now()
      scheduleProbe()
    }
  }

  /// Returns whether readers must be told something new.
  @discardableResult
  private func note(_ error: StorageError?) -> Bool {
    let (hadFailed, formerCopy) = (failure != nil, copy)
    if let error {
      failure = StoreFailure(message: "\(error)", since: failure?.since ?? context.clock.now)
    } else {
      failure = nil
    }
    copy = if case .removed(_, _, _, let copy)? = error { copy } else { nil }
    let isCopyNews = copy != formerCopy
    if isCopyNews, let error, let copy {
      if formerCopy == nil {
        context.logger.critical(
          "the store was removed; the daemon no longer serves", metadata: ["error": "\(error)"])
      } else {
        logCopy(copy, error)
      }
    } else if isCopyNews {
      context.logger.notice("the store is back; the daemon serves again")
    }
    guard isCopyNews || hadFailed != (failure != nil) else { return false }
    version += 1
    onChange()
    return true
  }

  /// Logs the end of the copy of a removed store.
  private func logCopy(_ copy: SavedCopy, _ error: StorageError) {
    switch copy {
    case .underWay: break
    case .saved(let path):
      context.logger.notice(
        "the removed store was saved to a file", metadata: ["path": "\(path)", "error": "\(error)"])
    case .failed:
      context.logger.error(
        "the removed store could not be saved", metadata: ["error": "\(error)"])
    }
  }

  /// Forgets a failure, because another process continues with the store and finds out by itself.
  func handOver() { if !isRemoved { note(nil) } }

  // MARK: - Probes

  private func scheduleProbe() {
    guard !isProbeScheduled, context.phase == .serving else { return }
    isProbeScheduled = true
    context.schedule(at: triedAt + probePause) { [weak self] in self?.probeIsDue() }
  }

  private func probeIsDue() {
    isProbeScheduled = false
    guard failure != nil else { return }
    guard NIODeadline.now() >= triedAt + probePause else { return scheduleProbe() }
    wantsProbe = true
    context.turn.open()
  }

  /// Whether to try to store something small now, after the turn's group.
  func takeProbe() -> Bool {
    defer { wantsProbe = false }
    return wantsProbe && failure != nil && context.phase == .serving
  }
}
