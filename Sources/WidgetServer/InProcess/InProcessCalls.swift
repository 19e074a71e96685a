import NIOCore

/// The calls of one client inside the process, until the service has time for them. Confined to the
/// event loop.
final class InProcessCalls: SlicedWork {
  typealias Start = (_ isAbandoned: Bool) -> Void

  let share: WorkShare
  /// Whether the client may only ask for health.
  let isUnauthorized: Bool
  /// The requests that began to arrive.
  var requestCount = 0
  private let queue: WorkQueue
  private var waiting = CircularBuffer<Start>()
  /// The messages whose kinds are being compiled.
  private var preparing = CircularBuffer<(kinds: KindPreparation, start: Start)>()
  /// Input that waits until fewer streams wait to be opened.
  private var heldInput = CircularBuffer<Start>()
  /// The streams that were asked for and are not open yet.
  private var openingCount = 0
  /// Whether the last slice compiled kinds.
  private var hasCompiled = false

  init(of peer: Peer, _ level: AccessPolicy.Level, _ queue: WorkQueue) {
    isUnauthorized = level == .nothing
    share = WorkShare(uid: peer.uid)
    self.queue = queue
  }

  /// Begins a call exactly once, now or later.
  func add(_ start: @escaping Start) {
    waiting.append(start)
    queue.submit(self)
  }

  /// The same for input that can ask for streams. It also waits while many streams wait to be opened.
  func addInput(_ start: @escaping Start) {
    guard openingCount < WaitingStream.countMax else { return heldInput.append(start) }
    add(start)
  }

  /// Notes that a stream waits to be opened. `openingEnded` ends this.
  func openingBegins() { openingCount += 1 }

  /// Notes that a stream is open or refused.
  func openingEnded() {
    openingCount -= 1
    guard openingCount < WaitingStream.countMax, !heldInput.isEmpty else { return }
    waiting.append(contentsOf: heldInput)
    heldInput.removeAll()
    // Not at once: the service may be in the middle of its turn's end.
    queue.enqueue(self)
  }

  /// Begins a call exactly once, when its kinds are compiled or nobody needs them any more. A call
  /// without room for its kinds begins now.
  func add(after kinds: KindPreparation, _ start: @escaping Start) {
    guard !kinds.isRefused else { return start(false) }
    preparing.append((kinds, start))
    queue.submit(self)
  }

  /// Notes that the present call continues in tasks.
  func expectTasks(parts: Int64 = 1) { queue.expectTasks(parts: parts) }

  /// Slices for calls and slices for kinds alternate, so that other calls of the client do not wait
  /// for thousands of expressions.
  func work(_ slice: TimeSlice) -> Bool {
    hasCompiled = !preparing.isEmpty && (!hasCompiled || waiting.isEmpty)
    if hasCompiled { compile(slice) } else { begin(slice) }
    return !waiting.isEmpty || !preparing.isEmpty
  }

  private func begin(_ slice: TimeSlice) {
    while let start = waiting.popFirst() {
      start(false)
      if !waiting.isEmpty, slice.isOver { return }
    }
  }

  private func compile(_ slice: TimeSlice) {
    // Calls that were cancelled give their memory back before the calls in front of them end.
    let cancelled = preparing.filter { !$0.kinds.isNeeded() }
    if !cancelled.isEmpty { preparing.removeAll { !$0.kinds.isNeeded() } }
    for (_, start) in cancelled { start(false) }
    for (kinds, _) in preparing.dropFirst() { kinds.onWait() }
    guard let (kinds, start) = preparing.first, kinds.work(slice) else { return }
    preparing.removeFirst()
    start(false)
  }

  func abandon() {
    while let start = waiting.popFirst() { start(true) }
    while let (_, start) = preparing.popFirst() { start(true) }
    while let start = heldInput.popFirst() { start(true) }
  }
}
