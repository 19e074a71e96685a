/// What a host says before it knows whether the daemon accepts it.
///
/// A second host of a daemon loads bundles that it never runs; who reads that they are loaded would take
/// them for running.
struct HeldReports: Hashable, Sendable {
  enum Line: Hashable, Sendable {
    /// Something that does not work, or may not.
    case report(String)
    /// What the host does when all is well.
    case note(String)
  }

  private(set) var lines: [Line] = []
  private let countMax: Int

  init(countMax: Int) { self.countMax = countMax }

  /// - Returns: whether the line is held; there may be no room.
  mutating func hold(_ line: Line) -> Bool {
    guard lines.count < countMax else { return false }
    lines.append(line)
    return true
  }

  mutating func discard() { lines = [] }
}
