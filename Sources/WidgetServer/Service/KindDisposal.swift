import WidgetCore

/// The compiled kinds that wait to be freed, by user.
///
/// They count in no quota, because their command has been carried out. So a message compiles no
/// kinds while kinds of its user wait: it frees them first. A user who declares and withdraws kinds
/// again and again then holds no more than the quotas of registered kinds and of kinds that are
/// being compiled.
///
/// Confined to the event loop.
final class KindDisposals {
  private let work: WorkQueue
  private var waiting: [UInt32: KindDisposal] = [:]

  /// The maximum size of kinds that are freed at once, in bytes. This takes less than half a
  /// millisecond.
  static let atOnceMax = 1 << 20

  init(in work: WorkQueue) { self.work = work }

  /// The memory of a user's kinds that wait, in bytes.
  func bytes(of uid: UInt32) -> Int { waiting[uid]?.bytes ?? 0 }

  /// Frees kinds, now or in the next slices.
  func add(_ kinds: DroppedKinds, of uid: UInt32) {
    guard kinds.bytes > KindDisposals.atOnceMax else { return }
    if let disposal = waiting[uid] {
      disposal.add(kinds)
      return work.enqueue(disposal)
    }
    let disposal = KindDisposal(kinds, uid: uid)
    disposal.onEnd = { [weak self] in self?.waiting[uid] = nil }
    waiting[uid] = disposal
    work.enqueue(disposal)
  }

  /// Frees kinds of a user in somebody else's slice. Returns whether none is left.
  func free(of uid: UInt32, _ slice: TimeSlice) -> Bool {
    guard let disposal = waiting[uid] else { return true }
    return !disposal.free(slice)
  }
}

/// Compiled kinds that are freed in slices of their user's time.
///
/// Confined to the event loop.
final class KindDisposal: SlicedWork {
  let share: WorkShare
  /// Called when the queue has nothing more to free.
  var onEnd: () -> Void = {}
  private var kinds: DroppedKinds

  init(_ kinds: DroppedKinds, uid: UInt32) {
    self.kinds = kinds
    share = WorkShare(uid: uid)
  }

  /// The memory of the kinds, in bytes.
  var bytes: Int { kinds.bytes }

  func add(_ further: DroppedKinds) { kinds.add(further) }

  /// Frees kinds until the slice is over. Returns whether kinds are left.
  func free(_ slice: TimeSlice) -> Bool {
    while kinds.freeOne() {
      if slice.isOver { return true }
    }
    return false
  }

  func work(_ slice: TimeSlice) -> Bool {
    let hasMore = free(slice)
    if !hasMore { onEnd() }
    return hasMore
  }

  func abandon() {}
}
