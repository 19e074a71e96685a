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
  private(set) var selectingStacks: [WidgetID] = []
  /// The stacks with an expression that wait until one of `selectingStacks` is removed.
  private var waitingStacks: Set<WidgetID> = []
  /// The changes that these stacks have not been compared with yet.
  private var news = StackNews()
  /// Whether the last step of `settleEmbeds` was about news.
  private var wasNews = false
  /// Whether `settleEmbeds` runs. Its changes are no news for stacks.
  var isSettling = false
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
    (other.news, other.wasNews, other.version) = (news, wasNews, version)
    return other
  }

  /// The maximum number of widgets that a widget may show, including embeds of embeds.
  static let reachMax = 256
  /// The maximum number of links that one search from a widget follows. Stacks of the same stacks
  /// have many links between few widgets.
  static let linksMax = 1_024
  /// The maximum number of links that the searches for one stack follow together.
  static let linksPerCheckMax = SmartStackKind.membersMax * reachMax

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
    if !isSettling { noteNews(of: id) }
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

  /// Notes that content with embeds was made for a reader, and is not cached.
  func noteUnkeptContent(of id: WidgetID) { unkept.insert(id) }

  func setStack(_ id: WidgetID, to stack: StackMembers?) {
    stacks[id] = stack
    let place = selectingStacks.firstIndex(of: id)
    if stack?.expression.isEmpty ?? true {
      waitingStacks.remove(id)
      if let place {
        selectingStacks.remove(at: place)
        admitWaitingStack()
      }
      if selectingStacks.isEmpty { news = StackNews() }
    } else if place == nil {
      if selectingStacks.count < EmbedLinks.selectingMax {
        selectingStacks.append(id)
      } else {
        waitingStacks.insert(id)
        // Many stacks may wait, so they keep no compiled expression.
        stacks[id]?.test = nil
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
    selectingStacks.append(id)
    outdate(id)
  }

  /// Makes a stack select its widgets again.
  private func outdate(_ id: WidgetID) {
    stacks[id]?.isOutdated = true
    enqueue(id)
  }

  /// The maximum number of stacks with an expression that follow the changes of widgets. Every
  /// change is tested with each of these expressions.
  static let selectingMax = 64

  // MARK: - News for stacks

  /// Whether changed widgets must be compared with stacks.
  var hasNews: Bool { !news.isOver }

  /// A widget has changed in a way that may be news for stacks. O(1).
  func noteNews(of id: WidgetID) {
    if !selectingStacks.isEmpty { news.note(id) }
  }

  /// Whether the next step is about news. Such steps and checks take turns, so that neither wait
  /// for all of the others.
  func takesNewsNext() -> Bool {
    wasNews = hasNews && !(wasNews && hasQueue)
    return wasNews
  }

  /// A changed widget, and a stack to compare with it. Nil at the end of a round: the outdated
  /// stacks are then in the queue.
  func nextNews() -> (widget: WidgetID, stack: WidgetID)? {
    if let next = news.next(selectingStacks) { return next }
    // A stack may have been removed, or wait, since it was compared.
    for id in news.endRound(selectingStacks) where selectingStacks.contains(id) { outdate(id) }
    return nil
  }

  /// A stack must select its widgets again, after the round.
  func noteOutdated(_ stack: WidgetID) { news.noteOutdated(stack) }

  // MARK: - Links

  func targets(of id: WidgetID) -> Set<WidgetID> { targets[id]?.all ?? [] }

  /// Whether a widget has targets. O(1).
  func hasTargets(_ id: WidgetID) -> Bool { targets[id] != nil }

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
  func addTargets(of id: WidgetID, _ further: Set<WidgetID>) {
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

  /// Whether a chain of links leads from a widget to another one. The cost is the number of links.
  /// The search does not end at a circle, so that the order of the links changes nothing.
  func reach(from start: WidgetID, to end: WidgetID, spending cost: inout Int) -> Reach {
    guard var next = targets[start]?.all else { return .apart }
    if next.contains(end) { return .circle }
    var (isCircle, linkCount) = (false, 0)
    var seen: Set<WidgetID> = [start]
    var waiting: [WidgetID] = []
    while true {
      let count = min(next.count, EmbedLinks.linksMax + 1 - linkCount)
      linkCount += count
      cost += count
      guard linkCount <= EmbedLinks.linksMax else { return .tooMany }
      for id in next {
        if id == end {
          isCircle = true
        } else if seen.insert(id).inserted {
          waiting.append(id)
        }
      }
      guard seen.count <= EmbedLinks.reachMax else { return .tooMany }
      guard let id = waiting.popLast() else { return isCircle ? .circle : .apart }
      next = targets(of: id)
    }
  }
}
