import NIOCore
import WidgetModel
import WidgetProto

/// The attached widgets that a provider knows, and those that linger before they are detached.
///
/// Updates are not queued. When a frame can be sent, it is the difference between the widgets that
/// are watched now and those that the provider knows. A watcher that leaves and returns while the
/// widget lingers, or while the provider does not read, causes no frame.
///
/// The comparison of many widgets takes several steps. It goes through the known widgets first, and
/// then through the watched ones, as they were when it began.
///
/// Invariant: every widget of `leaving` is in `told`, and in `departures` with the same deadline.
struct Audience {
  private var told: Set<WidgetID> = []
  /// Widgets that have lost their last watcher, and when the provider is told.
  private var leaving: [WidgetID: NIODeadline] = [:]
  /// The same widgets, by their deadlines. No set is empty.
  private var departures: [NIODeadline: Set<WidgetID>] = [:]
  /// The comparison under way.
  private var comparison: Comparison?
  /// The version of the share in the last comparison.
  private var comparingVersion: UInt64?
  /// The version of the share in the last comparison that has ended. Nil before the first one.
  private var comparedVersion: UInt64?
  /// Whether some widgets that were due did not fit in the last frame.
  private var hasMoreDue = false
  private var hasSentFirst = false
  /// The earliest deadline in `leaving`. Nil if it is empty.
  private(set) var nextDeadline: NIODeadline?
  /// The number of the first pass that covers the provider's widgets.
  private var firstPass: UInt64 = 0
  /// Whether the provider was sent the first `synced`.
  private var hasSynced = false

  private struct Comparison {
    let watched: Set<WidgetID>
    /// The known widgets that are left. Nil after the last one, because a change of `told` would copy
    /// the whole set.
    var told: Set<WidgetID>.Iterator?
    /// The watched widgets that are left.
    var rest: Set<WidgetID>.Iterator
    /// The watched widget that did not fit in the last frame.
    var unsent: WidgetID?

    mutating func nextWatched() -> WidgetID? {
      defer { unsent = nil }
      return unsent ?? rest.next()
    }
  }

  /// The maximum number of widgets that a step compares, and of widgets in a frame.
  static let stepMax = 2_048

  /// The content of one frame.
  struct Update: Equatable {
    var attached: [WidgetID] = []
    var detached: [WidgetID] = []
    /// Whether the comparison goes on, or some ids did not fit in the frame.
    var hasMore = false

    private var bytes = 0

    init(attached: [WidgetID] = [], detached: [WidgetID] = []) {
      (self.attached, self.detached) = (attached, detached)
    }

    var isEmpty: Bool { attached.isEmpty && detached.isEmpty }

    /// Counts an id. Returns whether it still fits in a frame of this size.
    fileprivate mutating func fits(_ id: WidgetID, _ bytesMax: Int) -> Bool {
      bytes += id.rawValue.utf8.count + Update.bytesPerID
      let count = attached.count + detached.count
      hasMore = (bytes > bytesMax || count >= Audience.stepMax) && count > 0
      return !hasMore
    }

    /// The overhead of an id in a frame: a tag and a length.
    private static let bytesPerID = 3

    static func == (a: Update, b: Update) -> Bool {
      a.attached == b.attached && a.detached == b.detached && a.hasMore == b.hasMore
    }
  }

  // MARK: - When

  /// Lets the first frame wait for a pass that covers the provider's widgets.
  mutating func wait(forPass pass: UInt64) { firstPass = pass }

  /// Notes that the provider has been asked about its widgets.
  mutating func synced() { hasSynced = true }

  /// Whether the provider can be told the result of a pass.
  func isReady(pass: UInt64) -> Bool { hasSynced && pass >= firstPass }

  /// Whether the comparison goes on in a later turn, although the last step gave no frame.
  var isUnfinished: Bool { comparison != nil }

  /// Takes the next step, and returns its frame; nil if the provider knows everything, or the step
  /// has only compared widgets.
  ///
  /// - Parameter isCurrent: Whether `share` is up to date. If not, widgets that linger are not
  ///   detached yet.
  mutating func next(
    _ share: WatchedWidgets.Share, isCurrent: Bool, now: NIODeadline, linger: TimeAmount,
    bytesMax: Int
  ) -> ProvideAudience? {
    let isTime = nextDeadline.map { $0 <= now } ?? false
    var update = Update()
    if comparedVersion != share.version {
      if comparingVersion != share.version {
        (comparison, comparingVersion) = (nil, share.version)
      }
      update = self.update(watched: share.ids, now: now, linger: linger, bytesMax: bytesMax)
      if comparison == nil { comparedVersion = share.version }
    } else {
      guard hasMoreDue || (isTime && isCurrent) else { return nil }
      detach(into: &update, now: now, bytesMax: bytesMax)
    }
    hasMoreDue = comparison == nil && update.hasMore
    guard !hasSentFirst || !update.isEmpty else { return nil }
    hasSentFirst = true
    return ProvideAudience(attached: update.attached, detached: update.detached)
  }

  // MARK: - What

  /// Takes a step of the comparison under way, or of a new one. Returns its update, and records it as
  /// told.
  ///
  /// - Parameters:
  ///   - linger: The delay between the loss of the last watcher and `detached`.
  ///   - bytesMax: The size limit of the frame. One id always fits.
  mutating func update(
    watched: Set<WidgetID>, now: NIODeadline, linger: TimeAmount, bytesMax: Int
  ) -> Update {
    var current =
      comparison
      ?? Comparison(watched: watched, told: told.makeIterator(), rest: watched.makeIterator())
    comparison = nil
    var update = Update()
    var left = Audience.stepMax
    while left > 0, let id = current.told?.next() {
      left -= 1
      if current.watched.contains(id) {
        stay(id)
      } else if leaving[id] == nil, told.contains(id) {
        leave(id, at: now + linger)
      }
    }
    if left > 0 { current.told = nil }
    while left > 0, let id = current.nextWatched() {
      left -= 1
      guard !told.contains(id) else { continue }
      guard update.fits(id, bytesMax) else {
        current.unsent = id
        left = 0
        break
      }
      told.insert(id)
      update.attached.append(id)
    }
    if left > 0 {
      detach(into: &update, now: now, bytesMax: bytesMax)
    } else {
      comparison = current
      update.hasMore = true
    }
    nextDeadline = departures.keys.min()
    return update
  }

  /// Adds the widgets that are due, as many as fit. O(the frame).
  private mutating func detach(into update: inout Update, now: NIODeadline, bytesMax: Int) {
    while let deadline = departures.keys.min(), deadline <= now, !update.hasMore {
      var due: [WidgetID] = []
      for id in departures[deadline] ?? [] {
        guard update.fits(id, bytesMax) else { break }
        update.detached.append(id)
        due.append(id)
      }
      for id in due { forget(id) }
    }
    nextDeadline = departures.keys.min()
  }

  private mutating func leave(_ id: WidgetID, at deadline: NIODeadline) {
    leaving[id] = deadline
    departures[deadline, default: []].insert(id)
  }

  private mutating func stay(_ id: WidgetID) {
    guard let deadline = leaving.removeValue(forKey: id) else { return }
    departures[deadline]?.remove(id)
    if departures[deadline]?.isEmpty == true { departures[deadline] = nil }
  }

  /// Forgets a widget after the provider was told of its removal.
  mutating func forget(_ id: WidgetID) {
    told.remove(id)
    stay(id)
  }
}
