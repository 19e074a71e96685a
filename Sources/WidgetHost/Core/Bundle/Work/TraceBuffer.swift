/// The lines of a bundle's trace since the last round, and the time until which the bundle is
/// traced.
struct TraceBuffer: Sendable {
  private let linesMax: Int
  private var end = Duration.zero
  private var lines: [TraceLine] = []
  private var dropped = 0

  init(_ limits: HostLimits) { linesMax = limits.traceLinesMax }

  func isOpen(at now: Duration) -> Bool { now < end }

  /// Traces until a point in time, or longer if an earlier call said so.
  mutating func open(until end: Duration) { self.end = max(self.end, end) }

  /// Whether there is room for another line. Without room, the line counts as dropped.
  mutating func admitLine() -> Bool {
    guard lines.count >= linesMax else { return true }
    dropped += 1
    return false
  }

  mutating func append(_ line: TraceLine) { lines.append(line) }

  /// The lines of this round, and the number of dropped lines; nil if there are none.
  mutating func takeAll() -> (lines: [TraceLine], dropped: Int)? {
    guard !lines.isEmpty || dropped > 0 else { return nil }
    defer { (lines, dropped) = ([], 0) }
    return (lines, dropped)
  }
}
