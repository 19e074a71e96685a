import WidgetBundle
import WidgetModel

/// The lines about values that are gone: the newest ones, and the number of earlier ones.
struct LossLines: Hashable, Sendable {
  private(set) var newest: [String] = []
  private(set) var earlierCount = 0

  /// A higher number counts as this one. The number of a former host is data, which can be wrong.
  static let earlierCountMax = 1_000_000

  init() {}

  init(_ newest: [String], earlierCount: Int) {
    self.newest = newest
    add(earlierCount: earlierCount)
  }

  var isEmpty: Bool { newest.isEmpty }

  mutating func add(_ line: String, countMax: Int) {
    newest.append(line)
    cut(to: countMax)
  }

  /// Adds the lines of an earlier host or version.
  mutating func add(earlier: LossLines, countMax: Int) {
    newest = earlier.newest.filter { !newest.contains($0) } + newest
    add(earlierCount: earlier.earlierCount)
    cut(to: countMax)
  }

  private mutating func cut(to countMax: Int) {
    let excess = max(0, newest.count - countMax)
    newest.removeFirst(excess)
    add(earlierCount: excess)
  }

  private mutating func add(earlierCount count: Int) {
    let most = LossLines.earlierCountMax
    earlierCount = min(earlierCount + min(max(0, count), most), most)
  }

  /// For people.
  var shown: [String] {
    guard earlierCount > 0 else { return newest }
    return newest + [
      earlierCount == 1
        ? "1 earlier value is gone, too; the log of widgetd-host names it"
        : "\(earlierCount) earlier values are gone, too; the log of widgetd-host names them"
    ]
  }
}

/// What is gone, for the next host and for a folder with another name: values that went with removed
/// widgets, and events that the daemon has dropped. It applies until the bundle's file changes.
struct FormerLosses: Hashable, Sendable {
  /// `Bundle.fileDigest`.
  let file: UInt64
  let lines: LossLines
  /// The numbers of dropped events.
  let drops: [ClosedRange<UInt64>]
  /// The epoch of these numbers; nil if there are none.
  let epoch: UInt64?

  /// Nil if nothing is gone, or nobody knows the file.
  init?(of current: RunningBundle) {
    guard let file = current.instance.bundle.fileDigest,
      !current.losses.isEmpty || !current.drops.isEmpty
    else { return nil }
    self.file = file
    lines = current.losses
    drops = current.drops
    epoch = current.drops.isEmpty ? nil : current.epoch
  }

  // MARK: The data of `bundle/ID`

  init?(_ value: Value?) {
    guard case .map(let map)? = value, case .string(let text)? = map["file"],
      let file = UInt64(text, radix: 16), case .list(let lines)? = map["lines"]
    else { return nil }
    self.file = file
    var earlier = 0
    if case .int(let count)? = map["earlier"] { earlier = Int(count) }
    self.lines = LossLines(
      lines.compactMap { if case .string(let line) = $0 { line } else { nil } },
      earlierCount: earlier)
    if case .string(let text)? = map["epoch"], case .list(let drops)? = map["drops"] {
      epoch = UInt64(text, radix: 16)
      self.drops = drops.compactMap { FormerLosses.drop($0) }
    } else {
      (epoch, drops) = (nil, [])
    }
  }

  var value: Value {
    var map: ValueMap = [
      "file": .string(String(file, radix: 16)),
      "lines": .list(lines.newest.map { .string($0) }),
      "earlier": .int(Int64(lines.earlierCount)),
    ]
    if let epoch {
      map["epoch"] = .string(String(epoch, radix: 16))
      map["drops"] = .list(drops.map { FormerLosses.value(of: $0) })
    }
    return .map(map)
  }

  /// The numbers of dropped events: `first` and `last`.
  static func value(of drop: ClosedRange<UInt64>) -> Value {
    .map([
      "first": .int(Int64(clamping: drop.lowerBound)),
      "last": .int(Int64(clamping: drop.upperBound)),
    ])
  }

  private static func drop(_ value: Value) -> ClosedRange<UInt64>? {
    guard case .map(let map) = value, case .int(let first)? = map["first"],
      case .int(let last)? = map["last"], first >= 0, first <= last
    else { return nil }
    return UInt64(first)...UInt64(last)
  }
}

extension HostState {
  /// Shows again what is gone, if the file of the bundle has not changed since.
  mutating func restoreLosses(_ former: FormerLosses?, of id: String) {
    guard let former, running[id]?.instance.bundle.fileDigest == former.file else { return }
    running.restore(former, of: id, countMax: limits.failuresShownMax)
  }
}
