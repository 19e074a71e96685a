import WidgetBundle
import WidgetModel

// Outcomes of events whose sender waits. When everything that an event started has ended, the
// widget's status gets the outcome under the event's number. An event that was acknowledged before
// that does not come again. Until its outcome is there, the status lists the event as pending. If
// the host is interrupted, the next host or version finds it there and writes a failure.

/// An event without an outcome yet.
struct PendingOutcome: Sendable {
  let widgetID: WidgetID
  /// The first failure of the runs that the event started.
  var failure: ActionStatus?
  /// The message of the last action that succeeded.
  var message = ""
  /// Whether the status lists the event as pending.
  var isListed = false
  /// The last change of the widget in which the event's steps set data; 0 for none.
  var change: UInt64 = 0
  /// Whether all runs have ended, but the status has no room for the outcome yet.
  var hasEnded = false
}

/// A reading whose end belongs to the outcome of an event.
struct AwaitedReading: Hashable, Sendable {
  let sequence: UInt64
  let widgetID: WidgetID
  let source: Int
  /// The uptime at which the step asked for it.
  let asked: Duration
}

/// An outcome in a widget's status.
struct ToldOutcome: Hashable, Sendable {
  let sequence: UInt64
  let time: Duration
  /// The size of the outcome in the status, in bytes.
  let bytes: Int
  /// The last change of the widget in which the event's steps set data; 0 for none.
  let change: UInt64

  init(_ sequence: UInt64, _ value: Value?, at time: Duration, change: UInt64 = 0) {
    self.change = change
    self.sequence = sequence
    self.time = time
    bytes = "\(sequence)".utf8.count + (value?.costBytes ?? 0)
  }
}

extension ActionStatus {
  /// The status as an outcome, with its texts cut to the limits.
  func outcome(_ limits: HostLimits) -> ActionStatus {
    var outcome = self
    outcome.title = title.beginning(bytesMax: limits.outcomeTextBytesMax)
    outcome.message = message.beginning(bytesMax: limits.outcomeTextBytesMax)
    outcome.fields = [:]
    var room = limits.outcomeFieldsBytesMax
    for (name, text) in fields.sorted(by: { $0.key < $1.key }) {
      let text = text.beginning(bytesMax: limits.outcomeTextBytesMax)
      room -= name.utf8.count + text.utf8.count
      guard room >= 0 else { break }
      outcome.fields[name] = text
    }
    return outcome
  }
}

extension StringProtocol {
  /// The longest prefix of whole characters with at most `bytesMax` bytes in UTF-8.
  func beginning(bytesMax: Int) -> String {
    guard utf8.count > bytesMax else { return String(self) }
    var bytes = 0
    return String(
      prefix { character in
        bytes += character.utf8.count
        return bytes <= bytesMax
      })
  }
}

extension BundleInstance {
  /// Remembers the failure of a run that an event started, if the sender waits. The first failure
  /// counts, and before it the first cancellation.
  mutating func noteOutcome(of event: Event?, _ failure: ActionStatus) {
    guard let sequence = event.flatMap({ awaitedEvent(behind: $0) }) else { return }
    noteOutcome(of: sequence, failure)
  }

  private mutating func noteOutcome(of sequence: UInt64, _ failure: ActionStatus) {
    guard let outcome = outcomes[sequence],
      outcome.failure.map({ $0.state == .cancelled && failure.state != .cancelled }) ?? true
    else { return }
    outcomes[sequence]?.failure = failure
  }

  /// Makes the sender of an event wait for a reading that a step of the event has asked for. The
  /// sender does not wait for a continuous source, such as a stream, because its readings have no
  /// end.
  mutating func awaitReading(of id: WidgetID, _ index: Int, for event: Event?) {
    guard let sequence = event.flatMap({ awaitedEvent(behind: $0) }),
      let source = source(id, index), !source.isContinuous
    else { return }
    let reading = AwaitedReading(
      sequence: sequence, widgetID: id, source: index, asked: now.uptime)
    guard !isOver(reading) else { return settle(reading) }
    guard !awaitedReadings.contains(reading), awaitedReadings.count < limits.queuedMax else {
      return
    }
    awaitedReadings.append(reading)
  }

  private func isOver(_ reading: AwaitedReading) -> Bool {
    guard let state = sources[reading.widgetID, reading.source], state.isOn else {
      return true
    }
    guard state.request == nil, !state.isQueued, !state.isWantedAgain else { return false }
    // A file that has just been read is read again a moment later.
    return (state.lastRead ?? .zero) >= reading.asked || standingFailure(reading) != nil
  }

  private func standingFailure(_ reading: AwaitedReading) -> StandingFailure? {
    standing[reading.widgetID, .source(reading.source)]
  }

  private mutating func settle(_ reading: AwaitedReading) {
    guard let failure = standingFailure(reading) else { return }
    noteOutcome(of: reading.sequence, failure.status)
  }

  /// Remembers the message of a successful action, if the sender of its event waits.
  mutating func noteMessage(of event: Event?, _ message: String) {
    guard let event, !message.isEmpty else { return }
    outcomes[event.sequence]?.message = message
  }

  /// Remembers in which change the steps of an event set data, if its sender waits.
  mutating func noteChange(of id: WidgetID, by event: Event?) {
    guard let event, event.widgetID == id, outcomes[event.sequence] != nil else { return }
    outcomes[event.sequence]?.change = widgets[id]?.newestChange ?? 0
  }

  /// Marks events as failed whose steps set data in a change that the daemon has refused for good.
  mutating func failOutcomes(of id: WidgetID, _ failure: Failure) {
    for (sequence, outcome) in outcomes
    where outcome.widgetID == id && isLost(outcome.change, of: id) {
      noteOutcome(of: sequence, BundleInstance.refusal(failure))
    }
  }

  /// Writes the outcomes of a refused change again, without the rest of the change.
  mutating func tellAgain(_ lost: ValueMap, of id: WidgetID, after failure: Failure) {
    guard case .map(let values)? = lost[BundleScope.outcomesKey] else { return }
    let failed = Set(told[id, default: []].filter { isLost($0.change, of: id) }.map(\.sequence))
    let refusal = BundleInstance.refusal(failure).outcome(limits).value
    changeOutcomes(id) { told, pending in
      for entry in values.entries {
        guard let sequence = UInt64(entry.key), told[sequence] == nil else { continue }
        var hasFailed = false
        if case .map(let status) = entry.value { hasFailed = status["failed"] == .bool(true) }
        told[sequence] = failed.contains(sequence) && !hasFailed ? refusal : entry.value
        pending.remove(sequence)
      }
    }
  }

  private func isLost(_ change: UInt64, of id: WidgetID) -> Bool {
    change > 0 && change == widgets[id]?.settledCount
  }

  private static func refusal(_ failure: Failure) -> ActionStatus {
    ActionStatus(
      state: .failure, title: "Not stored",
      message: "The daemon refuses the data: \(failure.message)", code: failure.code)
  }

  /// Writes the outcomes of events whose runs have all ended.
  mutating func tellOutcomes() {
    guard !outcomes.isEmpty || !chains.isEmpty else { return }
    var open = queues.events.union(runs.events)
    open.formUnion(requests.fetchingEvents)
    // A following event keeps the first event open, too.
    open.formUnion(open.compactMap { chains[$0]?.awaited })
    // An event for a widget that was removed meanwhile does not come.
    for (sent, chains) in sentChains where widgets[sent.widgetID] != nil {
      open.formUnion(chains.compactMap(\.awaited))
    }
    let over = awaitedReadings.filter { isOver($0) }
    for reading in over { settle(reading) }
    awaitedReadings.removeAll { over.contains($0) }
    open.formUnion(awaitedReadings.map(\.sequence))
    forgetChains(open: open)
    let unacknowledged = workedOn()
    for (sequence, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
      if !open.contains(sequence) {
        outcomes[sequence]?.hasEnded = true
        if tell(outcome, of: sequence) { outcomes[sequence] = nil }
      } else if !outcome.isListed, !unacknowledged.contains(sequence) {
        outcomes[sequence]?.isListed = true
        changeOutcomes(outcome.widgetID) { _, pending in pending.insert(sequence) }
      }
    }
  }

  /// Writes an outcome into the widget's status, if there is room.
  ///
  /// - Returns: true if the outcome was written, or if the kind takes no outcomes.
  private mutating func tell(_ outcome: PendingOutcome, of sequence: UInt64) -> Bool {
    let id = outcome.widgetID
    guard facts(of: id)?.kind.tellsOutcomes == true else { return true }
    let success = ActionStatus(state: .success, message: outcome.message)
    let status = (outcome.failure ?? success).outcome(limits)
    let entry = ToldOutcome(sequence, status.value, at: now.uptime, change: outcome.change)
    let recent = told[id, default: []].filter { !isOver($0) }
    if let first = recent.first,
      recent.count >= limits.outcomesHeldMax
        || recent.reduce(entry.bytes, { $0 + $1.bytes }) > limits.outcomesBytesMax
    {
      timers.set(.outcomes(id), at: first.time + limits.outcomeHeldFor)
      return false
    }
    changeOutcomes(id) { told, pending in
      told[sequence] = status.value
      pending.remove(sequence)
    }
    told[id, default: []].append(entry)
    forgetOutcomes(id)
    return true
  }

  /// Whether the outcome of the event is written, by this host or a former one. A later event with the
  /// same number is of another epoch.
  func hasOutcome(_ event: Event) -> Bool {
    told[event.widgetID, default: []].contains { outcome in
      outcome.sequence == event.sequence && !isOver(outcome)
        && now.uptime - outcome.time <= now.wall.duration(since: event.time)
    }
  }

  private func isOver(_ outcome: ToldOutcome) -> Bool {
    outcome.time + limits.outcomeHeldFor <= now.uptime
  }

  /// Removes outcomes that have stayed for `outcomeHeldFor`, the oldest first, until the rest fits
  /// the limits.
  mutating func forgetOutcomes(_ id: WidgetID) {
    let known = told[id, default: []]
    var bytes = known.reduce(0) { $0 + $1.bytes }
    var count = 0
    func isFull() -> Bool {
      known.count - count > limits.outcomesMax || bytes > limits.outcomesBytesMax
    }
    while count < known.count, isFull(), isOver(known[count]) {
      bytes -= known[count].bytes
      count += 1
    }
    if count > 0 {
      changeOutcomes(id) { told, _ in
        for outcome in known.prefix(count) { told[outcome.sequence] = nil }
      }
    }
    let left = Array(known.dropFirst(count))
    told[id] = left.isEmpty ? nil : left
    guard let first = left.first, isFull() else { return }
    timers.set(.outcomes(id), at: first.time + limits.outcomeHeldFor)
  }

  /// Takes over the outcomes of a former host or version, and writes failures for the events that
  /// it left pending.
  mutating func inheritOutcomes(_ id: WidgetID) {
    var inherited: [ToldOutcome] = []
    let time = now.uptime
    let interrupted = ActionStatus(
      state: .failure, title: "Interrupted",
      message: "The host ended, or the bundle was loaded again, before this was done; try again.",
      code: "ABORTED")
    changeOutcomes(id) { told, pending in
      for sequence in pending { told[sequence] = interrupted.value }
      pending = []
      inherited = told.sorted { $0.key < $1.key }.map { ToldOutcome($0.key, $0.value, at: time) }
    }
    told[id] = inherited.isEmpty ? nil : inherited
    forgetOutcomes(id)
  }

  private mutating func changeOutcomes(
    _ id: WidgetID, _ body: (_ told: inout [UInt64: Value], _ pending: inout Set<UInt64>) -> Void
  ) {
    guard facts(of: id)?.kind.tellsOutcomes == true else { return }
    var all = widgets.statuses(of: id)
    var told: [UInt64: Value] = [:]
    if case .map(let known)? = all[BundleScope.outcomesKey] {
      for entry in known.entries {
        if let sequence = UInt64(entry.key) { told[sequence] = entry.value }
      }
    }
    var pending: Set<UInt64> = []
    if case .list(let known)? = all[BundleScope.pendingKey] {
      for case .int(let number) in known {
        if let sequence = UInt64(exactly: number) { pending.insert(sequence) }
      }
    }
    let before = (told, pending)
    body(&told, &pending)
    guard before != (told, pending) else { return }
    all[BundleScope.outcomesKey] =
      told.isEmpty
      ? nil : .map(ValueMap(told.map { ValueMap.Entry(key: "\($0.key)", value: $0.value) }))
    all[BundleScope.pendingKey] =
      pending.isEmpty ? nil : .list(pending.sorted().map { .int(Int64(clamping: $0)) })
    widgets.set(id, statuses: all)
  }
}
