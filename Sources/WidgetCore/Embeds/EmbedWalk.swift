import DequeModule
import WidgetModel

/// A queue that has each widget once.
struct WidgetQueue {
  private var order: Deque<WidgetID> = []
  private var members: Set<WidgetID> = []

  var isEmpty: Bool { order.isEmpty }
  var count: Int { order.count }

  mutating func append(_ id: WidgetID) {
    if members.insert(id).inserted { order.append(id) }
  }

  mutating func popFirst() -> WidgetID? {
    guard let id = order.popFirst() else { return nil }
    members.remove(id)
    return id
  }
}

/// The walk from widgets to the widgets that show them, in parts. A command only adds the start of a
/// walk, so its cost does not depend on the number of these widgets.
///
/// `WidgetStore.settleEmbeds` ends all walks before it changes a link.
struct EmbedWalk {
  /// Changed widgets. Their walks end at the widgets that show them.
  private var changed = WidgetQueue()
  /// Widgets with changed links. Their walks reach every widget with a chain of links to them.
  private var relinked = WidgetQueue()
  /// The rest of the widgets that show the current one.
  private var current: Set<WidgetID>.Iterator?
  private var isClimbing = false
  /// Widgets from which a climbing walk continues.
  private var waiting: [WidgetID] = []
  /// All widgets that were in `waiting`.
  private var seen: Set<WidgetID> = []

  var isOver: Bool {
    current == nil && waiting.isEmpty && relinked.isEmpty && changed.isEmpty
  }

  /// Adds a walk to the widgets that show a widget.
  mutating func begin(atChanged id: WidgetID) { changed.append(id) }

  /// Adds a walk to all widgets with a chain of links to a widget.
  mutating func begin(atRelinked id: WidgetID) { relinked.append(id) }

  /// The next widget; nil at the end of all walks. O(1).
  mutating func next(_ embedders: [WidgetID: Set<WidgetID>]) -> WidgetID? {
    while true {
      if let id = current?.next() {
        if isClimbing, embedders[id] != nil, seen.insert(id).inserted { waiting.append(id) }
        return id
      }
      if let id = waiting.popLast() {
        (current, isClimbing) = (embedders[id]?.makeIterator(), true)
      } else if let id = relinked.popFirst() {
        (current, isClimbing) = (embedders[id]?.makeIterator(), true)
      } else if let id = changed.popFirst() {
        (current, isClimbing) = (embedders[id]?.makeIterator(), false)
      } else {
        (current, seen) = (nil, [])
        return nil
      }
    }
  }
}
