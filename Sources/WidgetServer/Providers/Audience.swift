import NIOCore
import WidgetModel
import WidgetProto

/// The attached widgets that a provider knows, and those that linger before they are detached.
///
/// Updates are not queued. When a frame can be sent, it is the difference between the widgets that
/// are watched now and those that the provider knows. A watcher that leaves and returns while the
/// widget lingers, or while the provider does not read, causes no frame.
///
/// Invariant: every widget of `leaving` is in `told`.
struct Audience {
  private var told: Set<WidgetID> = []
  /// Widgets that have lost their last watcher, and when the provider is told.
  private var leaving: [WidgetID: NIODeadline] = [:]
  /// The earliest deadline in `leaving`. Nil if it is empty.
  private(set) var nextDeadline: NIODeadline?
  /// The version of `WatchedWidgets.Share` that the provider was told. Nil before the first frame.
  private var toldVersion: UInt64?
  /// The number of the first pass that covers the provider's widgets.
  private var firstPass: UInt64 = 0
  /// Whether the provider was sent the first `synced`.
  private var hasSynced = false

  /// The content of one frame.
  struct Update: Equatable {
    var attached: [WidgetID] = []
    var detached: [WidgetID] = []
    /// Whether some ids did not fit in the frame.
    var hasMore = false

    var isEmpty: Bool { attached.isEmpty && detached.isEmpty }
  }

  // MARK: - When

  /// Lets the first frame wait for a pass that covers the provider's widgets.
  mutating func wait(forPass pass: UInt64) { firstPass = pass }

  /// Notes that the provider has been asked about its widgets.
  mutating func synced() { hasSynced = true }

  /// Whether the provider can be told the result of a pass.
  func isReady(pass: UInt64) -> Bool { hasSynced && pass >= firstPass }

  /// Returns the next frame; nil if the provider knows everything.
  ///
  /// - Parameter isCurrent: Whether `share` is up to date. If not, widgets that linger are not
  ///   detached yet.
  mutating func next(
    _ share: WatchedWidgets.Share, isCurrent: Bool, now: NIODeadline, linger: TimeAmount,
    bytesMax: Int
  ) -> ProvideAudience? {
    let isFirst = toldVersion == nil
    let isTime = nextDeadline.map { $0 <= now } ?? false
    guard isFirst || toldVersion != share.version || (isTime && isCurrent) else { return nil }
    let update = update(watched: share.ids, now: now, linger: linger, bytesMax: bytesMax)
    // No share has this version, so the next call sends the rest.
    toldVersion = update.hasMore ? .max : share.version
    guard isFirst || !update.isEmpty else { return nil }
    return ProvideAudience(attached: update.attached, detached: update.detached)
  }

  // MARK: - What

  /// Returns the next update, and records it as told. O(told and watched widgets).
  ///
  /// - Parameters:
  ///   - linger: The delay between the loss of the last watcher and `detached`.
  ///   - bytesMax: The size limit of the frame. One id always fits.
  mutating func update(
    watched: Set<WidgetID>, now: NIODeadline, linger: TimeAmount, bytesMax: Int
  ) -> Update {
    for id in told {
      if watched.contains(id) {
        leaving[id] = nil
      } else if leaving[id] == nil {
        leaving[id] = now + linger
      }
    }
    var update = Update()
    var bytes = 0
    func fits(_ id: WidgetID) -> Bool {
      bytes += id.rawValue.utf8.count + Audience.bytesPerID
      update.hasMore = bytes > bytesMax && !update.isEmpty
      return !update.hasMore
    }
    for id in watched where !told.contains(id) {
      guard fits(id) else { break }
      update.attached.append(id)
    }
    told.formUnion(update.attached)
    if !update.hasMore {
      for (id, deadline) in leaving where deadline <= now {
        guard fits(id) else { break }
        update.detached.append(id)
      }
      for id in update.detached { forget(id) }
    }
    nextDeadline = leaving.values.min()
    return update
  }

  /// Forgets a widget after the provider was told of its removal.
  mutating func forget(_ id: WidgetID) {
    told.remove(id)
    leaving[id] = nil
  }

  /// The overhead of an id in a frame: a tag and a length.
  private static let bytesPerID = 3
}
