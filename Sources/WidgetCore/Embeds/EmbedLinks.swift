import WidgetModel

/// The links between widgets through embeds, and the queue of widgets whose embeds must be checked
/// again.
///
/// A link begins at the embedding widget, even if the other widget is missing or cannot be shown.
/// So circles of links do not depend on what is shown, and the checks come to an end.
///
/// Links change only between groups (`WidgetStore.settleEmbeds`). Readers share the object with the
/// table of records, because content for other families, which they make, has links too.
final class EmbedLinks {
  private struct Targets {
    /// The links from embeds in the cached content.
    var direct: Set<WidgetID> = []
    /// The links from embeds in content for other families, which is made for embeds or for a
    /// reader.
    var further: Set<WidgetID> = []

    var all: Set<WidgetID> { further.isEmpty ? direct : direct.union(further) }
  }

  private var targets: [WidgetID: Targets] = [:]
  private var embedders: [WidgetID: Set<WidgetID>] = [:]
  private var queue = WidgetQueue()
  /// The way to further widgets for the queue.
  private var walk = EmbedWalk()
  /// Widgets whose embeds are in content that was made for one reader and not cached.
  private var unkept: Set<WidgetID> = []
  /// Widgets that existed when the store was opened, and have not been checked since. The content
  /// that readers have of these widgets is unknown.
  var restored: Set<WidgetID> = []
  /// Widgets of kind `smart-stack`.
  private(set) var stacks: [WidgetID: StackMembers] = [:]
  /// The stacks with an expression that follow the changes of widgets.
  private(set) var selectingStacks: Set<WidgetID> = []
  /// The stacks with an expression that wait until one of `selectingStacks` is removed.
  private var waitingStacks: Set<WidgetID> = []
  /// The revision up to which the stacks have processed all changes.
  var newsRevision: Revision = 0
  /// Increases whenever a link is added or removed.
  private(set) var version: UInt64 = 0

  init() {}

  func copy() -> EmbedLinks {
    let other = EmbedLinks()
    (other.targets, other.embedders) = (targets, embedders)
    (other.queue, other.walk) = (queue, walk)
    (other.unkept, other.restored) = (unkept, restored)
    (other.stacks, other.selectingStacks) = (stacks, selectingStacks)
    other.waitingStacks = waitingStacks
    (other.newsRevision, other.version) = (newsRevision, version)
    return other
  }

  /// The maximum number of widgets that a widget may show, including embeds of embeds.
  static let reachMax = 256

  // MARK: - What to look at

  /// Whether widgets are in the queue, or `spread` adds some.
  var hasQueue: Bool { !queue.isEmpty || !walk.isOver }

  /// Adds a widget to the queue.
  func enqueue(_ id: WidgetID) { queue.append(id) }

  /// Takes the next widget from the queue. Call it only after `spread` has returned 0.
  func next() -> WidgetID? { queue.popFirst() }

  /// A widget was added, changed or removed. `spread` then adds all widgets that show it to the
  /// queue. O(1).
  func noteChange(of id: WidgetID, hasEmbeds: Bool) {
    if hasEmbeds || targets[id] != nil { enqueue(id) }
    if embedders[id] != nil { walk.begin(atChanged: id) }
  }

  /// Adds widgets around changed ones to the queue. Returns their number; 0 if none is left.
  func spread(atMost countMax: Int) -> Int {
    var count = 0
    while count < countMax, let id = walk.next(embedders) {
      enqueue(id)
      count += 1
    }
    return count
  }

  /// The maximum number of widgets that one step adds to the queue.
  static let spreadMax = 256

  /// Whether a widget has content that was made for a reader and not cached, so that its changes
  /// are unknown.
  func hasUnkeptContent(_ id: WidgetID) -> Bool { unkept.contains(id) }

  func setStack(_ id: WidgetID, to stack: StackMembers?) {
    stacks[id] = stack
    if stack?.expression.isEmpty ?? true {
      waitingStacks.remove(id)
      if selectingStacks.remove(id) != nil { admitWaitingStack() }
    } else if !selectingStacks.contains(id) {
      if selectingStacks.count < EmbedLinks.selectingMax {
        selectingStacks.insert(id)
      } else {
        waitingStacks.insert(id)
      }
    }
  }

  /// Lets the first waiting stack follow the changes of widgets. The stack selects its widgets
  /// again.
  private func admitWaitingStack() {
    guard let id = waitingStacks.min(by: { $0.rawValue.precedesByBytes($1.rawValue) }) else {
      return
    }
    waitingStacks.remove(id)
    selectingStacks.insert(id)
    stacks[id]?.isOutdated = true
    enqueue(id)
  }

  /// The maximum number of stacks with an expression that follow the changes of widgets. Every
  /// change is tested with each of these expressions.
  static let selectingMax = 64

  // MARK: - Links

  func targets(of id: WidgetID) -> Set<WidgetID> { targets[id]?.all ?? [] }

  /// The widgets that embed a widget.
  func embedders(of id: WidgetID) -> Set<WidgetID> { embedders[id] ?? [] }

  /// Sets the targets of a widget's embeds.
  func setTargets(of id: WidgetID, to direct: Set<WidgetID>) {
    var next = targets[id] ?? Targets()
    next.direct = direct
    set(next, of: id)
  }

  /// Sets the targets of embeds of embeds, in content that was made for the embeds of a widget.
  func setFurtherTargets(of id: WidgetID, to further: Set<WidgetID>) {
    unkept.remove(id)
    var next = targets[id] ?? Targets()
    next.further = further
    set(next, of: id)
  }

  /// Adds the targets of the embeds in content that was made for a reader.
  func addTargets(of id: WidgetID, _ further: Set<WidgetID>, isKept: Bool) {
    if !isKept { unkept.insert(id) }
    var next = targets[id] ?? Targets()
    next.further.formUnion(further)
    set(next, of: id, checksCircles: false)
  }

  /// - Parameter checksCircles: False for content that is made for a reader.
  private func set(_ next: Targets, of id: WidgetID, checksCircles: Bool = true) {
    let (before, after) = (targets[id]?.all ?? [], next.all)
    targets[id] = after.isEmpty ? nil : next
    guard before != after else { return }
    version += 1
    for gone in before.subtracting(after) {
      embedders[gone]?.remove(id)
      if embedders[gone]?.isEmpty ?? false { embedders[gone] = nil }
    }
    for new in after.subtracting(before) { embedders[new, default: []].insert(id) }
    // Every widget with a chain of links to this widget may have entered or left a circle of links.
    if checksCircles, embedders[id] != nil { walk.begin(atRelinked: id) }
  }

  enum Reach { case apart, circle, tooMany }

  /// Whether a chain of links leads from a widget to another one.
  func reach(from start: WidgetID, to end: WidgetID, spending cost: inout Int) -> Reach {
    guard let first = targets[start]?.all else { return .apart }
    if first.contains(end) { return .circle }
    var seen: Set<WidgetID> = [start]
    var waiting = Array(first)
    while let id = waiting.popLast() {
      guard seen.insert(id).inserted else { continue }
      cost += 1
      guard seen.count <= EmbedLinks.reachMax else { return .tooMany }
      let next = targets(of: id)
      if next.contains(end) { return .circle }
      waiting += next
    }
    return .apart
  }
}
