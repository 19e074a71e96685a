import DequeModule
import WidgetModel

/// Which widgets show which others in their embeds, and which of them have to be looked at again.
///
/// A link begins at the embedding widget, also if the other one is missing or cannot be shown. So whether
/// links make a circle does not depend on what is shown, and the looks come to an end.
///
/// Links change only between groups (`WidgetStore.settleEmbeds`). Readers share the object with the table
/// of records, because they make content for other families that has links too.
final class EmbedLinks {
  private struct Targets {
    /// Of the embeds in the content that is kept.
    var direct: Set<WidgetID> = []
    /// Of embeds in content that is made for these embeds alone, or for a reader.
    var further: Set<WidgetID> = []

    var all: Set<WidgetID> { further.isEmpty ? direct : direct.union(further) }
  }

  private var targets: [WidgetID: Targets] = [:]
  private var embedders: [WidgetID: Set<WidgetID>] = [:]
  private var queue: Deque<WidgetID> = []
  private var isQueued: Set<WidgetID> = []
  /// Widgets whose embeds are in content that was made for one reader and is not kept.
  private var unkept: Set<WidgetID> = []
  /// Widgets that were there when the store was opened, and that were not looked at since: nobody knows
  /// what readers have seen of them.
  var restored: Set<WidgetID> = []
  /// Widgets of kind `smart-stack`.
  private(set) var stacks: [WidgetID: StackMembers] = [:]
  /// The stacks with an expression.
  private(set) var selectingStacks: Set<WidgetID> = []
  /// The revision up to which these know of all changes.
  var newsRevision: Revision = 0
  /// Grows whenever a link comes or goes.
  private(set) var version: UInt64 = 0

  init() {}

  func copy() -> EmbedLinks {
    let other = EmbedLinks()
    (other.targets, other.embedders, other.queue) = (targets, embedders, queue)
    (other.isQueued, other.unkept, other.restored) = (isQueued, unkept, restored)
    (other.stacks, other.selectingStacks) = (stacks, selectingStacks)
    (other.newsRevision, other.version) = (newsRevision, version)
    return other
  }

  /// How many widgets a widget may show, those in embeds of embeds included.
  static let reachMax = 256

  // MARK: - What to look at

  var hasQueue: Bool { !queue.isEmpty }

  /// Has a widget looked at.
  func enqueue(_ id: WidgetID) {
    if isQueued.insert(id).inserted { queue.append(id) }
  }

  /// The next widget to look at.
  func next() -> WidgetID? {
    guard let id = queue.popFirst() else { return nil }
    isQueued.remove(id)
    return id
  }

  /// Has everything looked at that shows a widget, because the widget came, changed or went.
  func noteChange(of id: WidgetID, hasEmbeds: Bool) {
    if hasEmbeds || targets[id] != nil { enqueue(id) }
    guard let embedders = embedders[id] else { return }
    for embedder in embedders { enqueue(embedder) }
  }

  /// Whether a widget's content for readers is nowhere kept, so that nobody can tell whether it changed.
  func hasUnkeptContent(_ id: WidgetID) -> Bool { unkept.contains(id) }

  func setStack(_ id: WidgetID, to stack: StackMembers?) {
    stacks[id] = stack
    if stack?.expression.isEmpty ?? true {
      selectingStacks.remove(id)
    } else if selectingStacks.count < EmbedLinks.selectingMax {
      selectingStacks.insert(id)
    }
  }

  /// How many stacks with an expression follow the changes of widgets. Every change is compared with each
  /// of these expressions.
  static let selectingMax = 64

  // MARK: - Links

  func targets(of id: WidgetID) -> Set<WidgetID> { targets[id]?.all ?? [] }

  /// The widgets that show a widget in an embed of theirs.
  func embedders(of id: WidgetID) -> Set<WidgetID> { embedders[id] ?? [] }

  /// Sets what the embeds of a widget name.
  func setTargets(of id: WidgetID, to direct: Set<WidgetID>) {
    var next = targets[id] ?? Targets()
    next.direct = direct
    set(next, of: id)
  }

  /// Sets what embeds of embeds name, in content that was made for the embeds of a widget.
  func setFurtherTargets(of id: WidgetID, to further: Set<WidgetID>) {
    unkept.remove(id)
    var next = targets[id] ?? Targets()
    next.further = further
    set(next, of: id)
  }

  /// Adds what the embeds name in content that was made for a reader.
  func addTargets(of id: WidgetID, _ further: Set<WidgetID>, isKept: Bool) {
    if !isKept { unkept.insert(id) }
    var next = targets[id] ?? Targets()
    next.further.formUnion(further)
    set(next, of: id, isNews: false)
  }

  private func set(_ next: Targets, of id: WidgetID, isNews: Bool = true) {
    let (before, after) = (targets[id]?.all ?? [], next.all)
    targets[id] = after.isEmpty ? nil : next
    guard before != after else { return }
    version += 1
    for gone in before.subtracting(after) {
      embedders[gone]?.remove(id)
      if embedders[gone]?.isEmpty ?? false { embedders[gone] = nil }
    }
    for new in after.subtracting(before) { embedders[new, default: []].insert(id) }
    guard isNews else { return }
    // Whether there is a circle may have changed for everyone from whom a chain of links leads here.
    var waiting = Array(embedders(of: id))
    var seen = Set(waiting)
    while let above = waiting.popLast() {
      enqueue(above)
      for next in embedders(of: above) where seen.insert(next).inserted { waiting.append(next) }
    }
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
