import WidgetModel

/// Lines of bundles' traces that wait for the next `traced` events.
///
/// A value without I/O. Lines of one interval are sent together. Lines are lost if the daemon
/// refuses them, or while it is away; they count as dropped in the next event.
struct TraceQueue: Sendable {
  struct TracedEvent: Sendable {
    let widget: WidgetID
    let payload: ValueMap
    fileprivate let bundle: String
    fileprivate let lineCount: Int
  }

  private let limits: HostLimits
  /// The lines of this interval, by bundle.
  private var lines: [String: (lines: [TraceLine], dropped: Int)] = [:]
  /// The number of lines that the daemon has refused, by bundle.
  private var refused: [String: Int] = [:]
  private var pending: [TracedEvent] = []
  private var sending: TracedEvent?
  /// The end of the interval.
  private(set) var deadline: Duration?

  init(_ limits: HostLimits) { self.limits = limits }

  mutating func keep(_ new: [TraceLine], _ dropped: Int, of id: String, at uptime: Duration) {
    let room = max(0, limits.traceLinesMax - (lines[id]?.lines.count ?? 0))
    lines[id, default: ([], 0)].lines += new.prefix(room)
    lines[id]?.dropped += dropped + max(0, new.count - room)
    lines[id]?.dropped += refused.removeValue(forKey: id) ?? 0
    if deadline == nil, sending == nil, pending.isEmpty {
      deadline = uptime + limits.traceInterval
    }
  }

  /// The event to send now; nil if there is none, or the one before is not sent.
  mutating func next(at uptime: Duration) -> TracedEvent? {
    if let end = deadline, end <= uptime {
      deadline = nil
      fill()
    }
    guard sending == nil, !pending.isEmpty else { return nil }
    sending = pending.removeFirst()
    return sending
  }

  private mutating func fill() {
    for (id, trace) in lines.sorted(by: { $0.key < $1.key }) {
      guard let widget = WidgetID(HostState.provider(of: id)) else { continue }
      for batch in TraceLine.batches(
        trace.lines, dropped: trace.dropped, bytesMax: limits.traceEventBytesMax)
      {
        pending.append(
          TracedEvent(
            widget: widget,
            payload: [
              "lines": .list(batch.lines.map(\.value)), "dropped": .int(Int64(batch.dropped)),
            ], bundle: id, lineCount: batch.lines.count + batch.dropped))
      }
    }
    lines = [:]
  }

  /// The event that was sent last has an answer.
  mutating func sent(_ result: Result<DaemonAnswer, Failure>, at uptime: Duration) {
    if case .failure = result, let sending {
      refused[sending.bundle, default: 0] += sending.lineCount
    }
    sending = nil
    if pending.isEmpty, !lines.isEmpty { deadline = uptime + limits.traceInterval }
  }
}
