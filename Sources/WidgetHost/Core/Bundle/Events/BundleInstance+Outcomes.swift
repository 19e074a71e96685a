import WidgetBundle
import WidgetModel

// Outcomes of events whose sender waits. When everything that an event started has ended, the
// widget's status gets the outcome under the event's number. An event that was acknowledged before
// that does not come again. Until its outcome is there, the status lists the event as pending. If
// the host is interrupted, the next host or version finds it there and writes a failure.

extension ActionStatus {
  /// The status as an outcome, with its texts cut to the limits.
  func outcome(_ limits: HostLimits) -> ActionStatus {
    var outcome = self
    outcome.title = title.wholeWords(bytesMax: limits.outcomeTextBytesMax)
    outcome.message = message.wholeWords(bytesMax: limits.outcomeTextBytesMax)
    (outcome.form, outcome.errorMessage) = ("", "")
    (outcome.fields, outcome.rules) = ([:], [:])
    var room = limits.outcomeFieldsBytesMax
    for (name, text) in fields.sorted(by: { $0.key < $1.key }) {
      let text = text.wholeWords(bytesMax: limits.outcomeTextBytesMax)
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

  /// The beginning with at most `bytesMax` bytes in UTF-8. A cut text ends with `…` after a whole word.
  /// A word that takes more than half of the bytes is cut between characters.
  func wholeWords(bytesMax: Int) -> String {
    guard utf8.count > bytesMax else { return String(self) }
    let mark = "…"
    let start = beginning(bytesMax: bytesMax - mark.utf8.count)
    var words = start[...]
    if let next = dropFirst(start.count).first, !next.isWhitespace,
      let end = words.lastIndex(where: \.isWhitespace),
      words[..<end].utf8.count >= bytesMax / 2
    {
      words = words[..<end]
    }
    while words.last?.isWhitespace == true { words.removeLast() }
    return "\(words)\(mark)"
  }
}

extension BundleInstance {
  /// Remembers the failure of a run that an event started, if the sender waits. The first failure
  /// counts, and before it the first cancellation.
  mutating func noteOutcome(of event: Event?, _ failure: ActionStatus) {
    guard let sequence = event.flatMap({ awaitedEvent(behind: $0) }) else { return }
    outcomes.failed(sequence, failure)
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
    outcomes.wait(for: reading, max: limits.queuedMax)
  }

  private func isOver(_ reading: AwaitedReading) -> Bool {
    guard let state = sources[reading.widgetID, reading.source], state.isOn else {
      return true
    }
    guard state.request == nil, !state.isQueued, !state.isWantedAgain else { return false }
    // The host does not read it again.
    if waiting.contains(reading.widgetID) { return true }
    // A file that has just been read is read again a moment later.
    return (state.lastRead ?? .zero) >= reading.asked || standingFailure(reading) != nil
  }

  private func standingFailure(_ reading: AwaitedReading) -> StandingFailure? {
    standing[reading.widgetID, .source(reading.source)]
  }

  private mutating func settle(_ reading: AwaitedReading) {
    guard let failure = standingFailure(reading) else { return }
    outcomes.failed(reading.sequence, failure.status)
  }

  /// Remembers the message of a successful action, if the sender of its event waits.
  mutating func noteMessage(of event: Event?, _ message: String) {
    guard let event, !message.isEmpty else { return }
    outcomes.set(event.sequence, message: message)
  }

  /// Remembers in which change the steps of an event set data, if its sender waits.
  mutating func noteChange(of id: WidgetID, by event: Event?) {
    guard let event, event.widgetID == id else { return }
    outcomes.set(event.sequence, change: widgets[id]?.newestChange ?? 0)
  }

  /// Marks events as failed whose steps set data in a change that the daemon has refused for good.
  mutating func failOutcomes(of id: WidgetID, _ failure: Failure) {
    for (sequence, outcome) in outcomes.all
    where outcome.widgetID == id && isLost(outcome.change, of: id) {
      outcomes.failed(sequence, BundleInstance.refusal(failure))
    }
  }

  /// Writes the outcomes of a refused change again, without the rest of the change.
  mutating func tellAgain(_ lost: ValueMap, of id: WidgetID, after failure: Failure) {
    guard case .map(let values)? = lost[BundleScope.outcomesKey] else { return }
    let failed = Set(told[id].filter { isLost($0.change, of: id) }.map(\.sequence))
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
    open.formUnion(chains.awaited { widgets[$0] != nil })
    let over = outcomes.readings.filter { isOver($0) }
    for reading in over { settle(reading) }
    outcomes.end(over)
    open.formUnion(outcomes.readings.map(\.sequence))
    chains.forget(except: open)
    let unacknowledged = workedOn()
    for (sequence, outcome) in outcomes.all {
      if !open.contains(sequence) {
        outcomes.runsEnded(sequence)
        if tell(outcome, of: sequence) { outcomes.end(sequence) }
      } else if !outcome.isListed, !unacknowledged.contains(sequence) {
        outcomes.listed(sequence)
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
    let entry = ToldOutcome(
      sequence, status.value, at: now.uptime, of: .event(at: outcome.time), change: outcome.change)
    let recent = told[id].filter { !isOver($0) }
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
    told.append(id, entry)
    forgetOutcomes(id)
    return true
  }

  /// Whether the outcome of the event is written, by this host or a former one.
  func hasOutcome(_ event: Event) -> Bool {
    told[event.widgetID].contains { $0.isOutcome(of: event) && !isOver($0) }
  }

  private func isOver(_ outcome: ToldOutcome) -> Bool {
    outcome.time + limits.outcomeHeldFor <= now.uptime
  }

  /// Removes outcomes that have stayed for `outcomeHeldFor`, the oldest first, until the rest fits
  /// the limits.
  mutating func forgetOutcomes(_ id: WidgetID) {
    let known = told[id]
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
    told.removeFirst(id, count)
    guard let first = told[id].first, isFull() else { return }
    timers.set(.outcomes(id), at: first.time + limits.outcomeHeldFor)
  }

  /// Takes over the outcomes of a former host or version, and writes failures for the events that
  /// it left pending.
  mutating func inheritOutcomes(_ id: WidgetID) {
    guard let revision = widgets[id]?.heard.revision else { return }
    var inherited: [ToldOutcome] = []
    let now = self.now
    let interrupted = ActionStatus(
      state: .failure, title: "Interrupted",
      message: "The host ended, or the bundle was loaded again, before this was done; try again.",
      code: "ABORTED")
    changeOutcomes(id) { told, pending in
      for sequence in pending { told[sequence] = interrupted.value }
      pending = []
      inherited = told.sorted { $0.key < $1.key }.map {
        ToldOutcome($0.key, $0.value, at: now.uptime, of: .accepted(before: revision))
      }
    }
    told.inherit(id, inherited)
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
