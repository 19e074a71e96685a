import WidgetBundle
import WidgetModel

/// The lines about values that are gone with removed widgets, for the next host and for a folder with
/// another name. They apply until the bundle's file changes.
struct FormerLosses: Hashable, Sendable {
  /// `Bundle.fileDigest`.
  let file: UInt64
  let lines: [String]

  /// Nil if there are no lines, or nobody knows the file.
  init?(of current: RunningBundle) {
    guard let file = current.instance.bundle.fileDigest, !current.losses.isEmpty else { return nil }
    self.file = file
    lines = current.losses
  }

  // MARK: The data of `bundle/ID`

  init?(_ value: Value?) {
    guard case .map(let map)? = value, case .string(let text)? = map["file"],
      let file = UInt64(text, radix: 16), case .list(let lines)? = map["lines"]
    else { return nil }
    self.file = file
    self.lines = lines.compactMap { if case .string(let line) = $0 { line } else { nil } }
  }

  var value: Value {
    .map(["file": .string(String(file, radix: 16)), "lines": .list(lines.map { .string($0) })])
  }
}

extension HostState {
  /// Shows the lines about lost values again, if the file of the bundle has not changed since.
  mutating func restoreLosses(_ former: FormerLosses?, of id: String) {
    guard let former, let current = running[id],
      current.instance.bundle.fileDigest == former.file
    else { return }
    for line in former.lines where !current.losses.contains(line) {
      running.lost(line, of: id, countMax: limits.failuresShownMax)
    }
  }
}
