/// Messages that a host holds back until it knows whether the daemon accepts it.
///
/// A second host of a daemon loads bundles but never runs them. The line `loaded` would suggest
/// that they run.
struct HeldReports: Hashable, Sendable {
  enum Line: Hashable, Sendable {
    /// An error or a warning.
    case report(String)
    /// The host's progress.
    case note(String)
  }

  private(set) var lines: [Line] = []
  private let countMax: Int

  init(countMax: Int) { self.countMax = countMax }

  /// - Returns: whether the line is held; false if there is no room.
  mutating func hold(_ line: Line) -> Bool {
    guard lines.count < countMax else { return false }
    lines.append(line)
    return true
  }

  mutating func discard() { lines = [] }
}
