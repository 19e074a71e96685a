import WidgetCore
import WidgetModel

/// Evicts the cached content of families whose last watch has ended. The time counts for the user of
/// that watch.
///
/// Confined to the event loop.
final class ContentEvictions {
  private let context: ServiceContext
  private var underWay: [UInt32: ContentEviction] = [:]

  init(_ context: ServiceContext) { self.context = context }

  /// Ends one `keepContent` for a user. If it was the last one of the family, its content is evicted
  /// in the next slices of the user.
  func dropContent(of family: Family, by uid: UInt32) {
    // The memory of a process that ends need not be freed.
    guard context.dropContent(of: family), context.phase != .draining else { return }
    if let eviction = underWay[uid] { return eviction.beginAgain() }
    let eviction = ContentEviction(context, uid: uid)
    eviction.onEnd = { [weak self] in self?.underWay[uid] = nil }
    underWay[uid] = eviction
    context.work.enqueue(eviction)
  }
}

/// The eviction of cached content without readers, in slices of a user's time.
///
/// It looks at all widgets, and frees the content of some.
///
/// Confined to the event loop.
final class ContentEviction: SlicedWork {
  let share: WorkShare
  /// Called when the eviction has looked at all widgets.
  var onEnd: () -> Void = {}
  private let context: ServiceContext
  private var nextSlot = 0
  /// Whether another family has lost its last reader meanwhile.
  private var isRepeated = false

  init(_ context: ServiceContext, uid: UInt32) {
    self.context = context
    share = WorkShare(uid: uid)
  }

  /// Looks at all widgets again, because another family has no more readers.
  func beginAgain() { isRepeated = nextSlot > 0 }

  func work(_ slice: TimeSlice) -> Bool {
    if let next = context.evictContents(from: nextSlot, slice) {
      nextSlot = next
      return true
    }
    nextSlot = 0
    guard isRepeated else {
      onEnd()
      return false
    }
    isRepeated = false
    return true
  }

  func abandon() {}
}
