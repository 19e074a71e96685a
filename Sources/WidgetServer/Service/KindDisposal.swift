import WidgetCore

/// Compiled kinds that are freed in slices of their user's time.
///
/// Confined to the event loop.
final class KindDisposal: SlicedWork {
  let share: WorkShare
  private var kinds: DroppedKinds

  /// The maximum size of kinds that are freed at once, in bytes. This takes less than half a
  /// millisecond.
  static let atOnceMax = 1 << 20

  init(_ kinds: DroppedKinds, uid: UInt32) {
    self.kinds = kinds
    share = WorkShare(uid: uid)
  }

  /// Frees kinds, now or in the next slices.
  static func begin(_ kinds: DroppedKinds, of uid: UInt32, in work: WorkQueue) {
    guard kinds.bytes > atOnceMax else { return }
    work.enqueue(KindDisposal(kinds, uid: uid))
  }

  func work(_ slice: TimeSlice) -> Bool {
    while kinds.freeOne() {
      if slice.isOver { return true }
    }
    return false
  }

  func abandon() {}
}
