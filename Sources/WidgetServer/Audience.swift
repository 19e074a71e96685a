import NIOCore
import WidgetModel

/// Which widgets a provider was told to be watched, and which of them nobody watches any more.
///
/// There is no queue of what is still to be told. It is derived when it can be sent, from what was told and
/// who is watched then. So a watcher that goes and comes back while a widget lingers, or while the
/// provider does not read, makes no frame.
///
/// Invariant: every widget of `leaving` is in `told`.
struct Audience {
  private var told: Set<WidgetID> = []
  /// Widgets that nobody watches, and when the provider is told so.
  private var leaving: [WidgetID: NIODeadline] = [:]
  /// When a widget may have to be told to be detached; nil if none is leaving.
  private(set) var nextDeadline: NIODeadline?

  /// What a frame tells.
  struct Update: Equatable {
    var attached: [WidgetID] = []
    var detached: [WidgetID] = []
    /// Whether there is more than fits in the frame.
    var hasMore = false

    var isEmpty: Bool { attached.isEmpty && detached.isEmpty }
  }

  /// Looks at who is watched now, and takes for told what it returns. O(all that are told or watched).
  ///
  /// - Parameters:
  ///   - linger: how long nobody watches a widget before that is told.
  ///   - bytesMax: how large a frame of it may be; one id always fits.
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

  /// A widget is gone, and the provider was told so.
  mutating func forget(_ id: WidgetID) {
    told.remove(id)
    leaving[id] = nil
  }

  /// What an id costs in a frame beside its bytes: a tag and a length.
  private static let bytesPerID = 3
}
