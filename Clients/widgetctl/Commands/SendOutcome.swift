import Synchronization
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

/// `send --wait`: sends an event and waits for its outcome.
///
/// The widget's provider puts the outcome into the widget's data, under the event's number. The
/// watch starts before the event is sent, so that no outcome can be missed.
struct OutcomeWait: Sendable {
  private let request: SendEventRequest
  /// The blobs in the event.
  private let blobs: [String]
  private let session: Session
  private let limit: Duration?
  private let follow: FollowOptions
  private let global: GlobalOptions

  init(
    _ request: SendEventRequest, with blobs: [String], _ session: Session, _ global: GlobalOptions
  ) {
    self.global = global
    self.request = request
    self.blobs = blobs
    self.session = session
    limit = global.timeout == nil ? GlobalOptions.timeoutDefault : global.limit
    var limited = global
    limited.timeout = limit ?? .zero
    follow = FollowOptions(global: limited, waits: false)
  }

  /// The time after which the command reports that it waits, and for which program. After each
  /// further such time, the command reports the program again if its state has changed.
  private static let patience = Duration.seconds(3)

  /// Holds the daemon's answer after the event was sent.
  private final class Sent: Sendable {
    let answer = Mutex<SendEventResponse?>(nil)
    /// Whether the command has begun to send the event.
    let isBegun = Mutex(false)
    /// Whether the command has reported that it waits.
    let isNoted = Mutex(false)
  }

  func run() async throws {
    let sent = Sent()
    PendingChanges.setNote("the command ended before it sent the event")
    defer { PendingChanges.setNote(nil) }
    do {
      try await run(sent)
    } catch {
      // Without an event, nobody can use the blobs.
      if !sent.isBegun.withLock({ $0 }) {
        await Upload.delete(blobs, session)
      }
      throw error
    }
  }

  private func run(_ sent: Sent) async throws {
    do {
      try await follow.limited {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await self.wait(sent) }
          group.addTask { try await self.noteState(sent) }
          defer { group.cancelAll() }
          try await group.next()
        }
      }
    } catch let failure as CommandFailure where failure.exit == .timedOut {
      guard let answer = sent.answer.withLock({ $0 }) else { throw failure.unsent }
      throw await timedOut(answer)
    } catch let error as ClientError where error.reason == "REDUCER_FAILED" {
      // A reducer is a part of what the event starts.
      throw CommandFailure(error, socket: global.socket).exiting(.actionFailed)
    }
  }

  /// Reports what the command waits for, at first and after each change. Ends only with a failure: if
  /// the host returns and has not got the event.
  private func noteState(_ sent: Sent) async throws {
    var notices = Notices()
    while true {
      try await Task.sleep(for: OutcomeWait.patience)
      guard let answer = sent.answer.withLock({ $0 }) else { continue }
      let host = await BundleHost.ask(global)
      let words = OutcomeWait.waiting(event: answer.sequence, of: request.widgetID, host: host)
      let isNoted = sent.isNoted.withLock { $0 }
      try Task.checkCancellation()
      if notices.isNews(words, isNoted: isNoted) {
        Output.writeError("widgetctl: \(words.safeForTerminal)\n")
      }
      if host.isRunning, await facts(within: .seconds(2)).hasDropped(answer.sequence) {
        throw DroppedEvent.failure(answer.sequence)
      }
    }
  }

  /// The notices about what the command waits for.
  struct Notices {
    private var last: String?

    /// Whether a notice differs from the one before.
    ///
    /// - Parameter isNoted: whether the command has already told the first state in other words.
    mutating func isNews(_ words: String, isNoted: Bool) -> Bool {
      defer { last = words }
      return last.map { $0 != words } ?? !isNoted
    }
  }

  /// The kind of the event's widget, and the status widget of its bundle; nil if unknown.
  private struct KindFacts {
    var kind: RegisteredKind?
    var bundle: Widget?

    /// Whether the daemon stores the events; nil if this is unknown.
    var isStored: Bool? { kind.map { !$0.kind.hasLosableEvents } }

    func hasDropped(_ event: UInt64) -> Bool {
      isStored == true && DroppedEvent.isReported(event, by: bundle)
    }
  }

  /// - Parameter limit: the time for all questions together.
  private func facts(within limit: Duration) async -> KindFacts {
    let time = Allowance(limit)
    let widget = try? await session.client.getWidget(
      GetWidgetRequest(id: request.widgetID), options: time.call
    ).widget
    var facts = KindFacts()
    if let widget {
      facts.kind = try? await session.client.getKind(
        GetKindRequest(name: widget.kind), options: time.call
      ).kind
    }
    // The host reports the state of a bundle in the widget with the provider's name.
    if let kind = facts.kind, kind.isOfHost, let id = WidgetID(kind.provider) {
      facts.bundle = try? await session.client.getWidget(
        GetWidgetRequest(id: id), options: time.call
      ).widget
    }
    return facts
  }

  /// The time for several questions together. After it, no question is asked.
  struct Allowance {
    private let end: ContinuousClock.Instant

    init(_ limit: Duration, from start: ContinuousClock.Instant = .now) { end = start + limit }

    /// The rest of the time; never less than 0.
    func left(at now: ContinuousClock.Instant = .now) -> Duration {
      max(now.duration(to: end), .zero)
    }

    /// The options of the next question.
    var call: CallOptions { CallOptions(timeout: left()) }
  }

  /// The time for all questions after the end of `--timeout`.
  private static let grace = Duration.seconds(1)

  /// The failure at the end of the time. It says whether the event is stored, and whether a host
  /// runs.
  private func timedOut(_ answer: SendEventResponse) async -> CommandFailure {
    let time = DurationSyntax.seconds(limit ?? .zero)
    let allowed = Allowance(OutcomeWait.grace)
    let facts = await facts(within: allowed.left())
    guard !facts.hasDropped(answer.sequence) else { return DroppedEvent.failure(answer.sequence) }
    // The search for the host asks two questions, each with this limit.
    let host = await BundleHost.ask(global, within: allowed.left() / 2)
    let isProvided = facts.kind.flatMap { OutcomeWait.runs($0, facts.bundle) }
    var mayBeDropped = false
    // A host that runs the bundle has got the event, or has reported the loss.
    if facts.isStored == true, !host.isRunning || isProvided == false {
      mayBeDropped = await DroppedEvent.isMissing(
        answer.sequence, of: request.widgetID, session.client, within: allowed.left())
    }
    return CommandFailure(
      .timedOut,
      OutcomeWait.words(
        event: answer.sequence, of: request.widgetID, within: time, isStored: facts.isStored,
        mayBeDropped: mayBeDropped, isReduced: facts.kind.map { $0.kind.reduces(request) } ?? false,
        isProvided: isProvided, host: host))
  }

  /// Whether the program that handles a kind's events runs. Nil if this is unknown. A stale widget
  /// does not show it: a failed source makes the widgets of a running bundle stale.
  ///
  /// - Parameter bundle: the status widget of the kind's bundle, if it exists.
  static func runs(_ kind: RegisteredKind, _ bundle: Widget?) -> Bool? {
    if case .bool(let runs)? = bundle?.data["runs"] { return runs }
    return kind.isAttended ? kind.isProviderConnected : nil
  }

  /// The outcome that the command waits for.
  static func waiting(event: UInt64, of id: WidgetID, host: BundleHost) -> String {
    let cause =
      switch host {
      case .running:
        "widgetd-host runs; `widgetctl get \(id) --field data.status` shows the state of its actions"
      case .returning: BundleHost.waiting
      case .silent(let process, _): process.words("widgetd-host")
      case .missing: "no widgetd-host runs: `\(host.mend ?? "widgetd-host")`"
      case .unknown: "the daemon does not answer: run `widgetctl doctor`"
      }
    return "still waiting for the outcome of event \(event); \(cause)"
  }

  /// The note if a signal ends the command before it has the outcome.
  static func interrupted(event: UInt64, of id: WidgetID) -> String {
    "the command ended before the outcome of event \(event) came. The daemon has taken the event, "
      + "and this does not stop it; `widgetctl get \(id) --field data.status` shows its state"
  }

  /// Reports at once that the program that handles the event does not run.
  private func noteAbsence(of widget: Widget, _ sent: Sent) async {
    var providers = ProviderFacts()
    await providers.look(for: [widget], session)
    guard
      let warning = providers.staleness(of: widget).flatMap({ EventCheck.waiting(request, $0) })
    else { return }
    sent.isNoted.withLock { $0 = true }
    Output.warn([warning])
  }

  /// - Parameters:
  ///   - isStored: whether the event waits for its provider; nil if its kind is unknown.
  ///   - mayBeDropped: whether so many events came since then that the daemon can have dropped it.
  ///   - isReduced: whether the kind has reducers for the event. The daemon ran them with the event.
  ///   - isProvided: whether the widget's bundle runs; nil if this is unknown.
  static func words(
    event: UInt64, of id: WidgetID, within time: String, isStored: Bool?,
    mayBeDropped: Bool = false, isReduced: Bool = false, isProvided: Bool?, host: BundleHost
  ) -> String {
    let start = "event \(event) has not ended within \(time); "
    let stored =
      switch isStored {
      case true? where mayBeDropped:
        "it may have been dropped, because the daemon keeps at most events_kept_max events"
      case true?: "it is stored"
      case false?: "its kind stores no events"
      case nil: "the daemon has taken it"
      }
    let condition = mayBeDropped ? " only if the daemon still has it" : ""
    let retry = mayBeDropped ? "; send it again if it has no effect" : ""
    let next: String
    switch host {
    case .running:
      next =
        isProvided == false
        ? "widgetd-host runs, but not its bundle: `widgetctl bundle ls` shows why"
        : "widgetd-host continues it: `widgetctl get \(id) --field data.status` shows its state"
    case .silent(let process, _):
      next = "\(process.words("widgetd-host")); it continues the event then\(condition)\(retry)"
    case .returning:
      next =
        "\(BundleHost.waiting); it continues the event when it returns\(condition)\(retry)"
    case .missing:
      let outcome =
        isStored == false
        ? "the host loses the event" : "a host that starts handles the event\(condition)"
      next = "no widgetd-host runs; \(outcome): `\(host.mend ?? "widgetd-host")`\(retry)"
      if isReduced {
        // The daemon does not know whether the bundle has more steps for the event.
        return "the daemon has changed the data (event \(event), "
          + "`widgetctl get \(id) --field data` shows it), but did not report within \(time) "
          + "whether widgetd-host has steps left: \(next)"
      }
    case .unknown:
      next = "the daemon does not answer: run `widgetctl doctor`"
    }
    return "\(start)\(stored); \(next)"
  }

  private func wait(_ result: Sent) async throws {
    let options = WatchOptions(
      selector: Selector(ids: [request.widgetID]), retry: FollowOptions.retry)
    var notes = ConnectionNotes(follow)
    var mirror = WidgetMirror()
    var sent: SendEventResponse?
    for try await frame in session.client.watch(options) {
      try notes.note(frame)
      guard try mirror.apply(frame) != nil || mirror.isSynced, mirror.isSynced else { continue }
      let answer: SendEventResponse
      if let sent {
        answer = sent
      } else {
        result.isBegun.withLock { $0 = true }
        // From here on, the note of a pending change is true.
        PendingChanges.setNote(nil)
        answer = try await Upload.send(request, with: blobs, session)
        sent = answer
        result.answer.withLock { $0 = answer }
        PendingChanges.setNote(
          OutcomeWait.interrupted(event: answer.sequence, of: request.widgetID))
        if let widget = mirror[request.widgetID], widget.isStale,
          await handler(of: widget.kind) == .bundle
        {
          await noteAbsence(of: widget, result)
        }
      }
      guard let widget = mirror[request.widgetID] else {
        throw CommandFailure(.notFound, "widget \"\(request.widgetID)\" was removed meanwhile")
      }
      let handler = await handler(of: widget.kind)
      if handler == .nobody, let failure = OutcomeWait.unhandled(request, on: widget) {
        throw failure
      }
      guard case .map(let status)? = widget.data["status"], handler == .bundle else {
        return await told(answer, .null, handler)
      }
      guard case .map(let outcomes)? = status["$outcomes"],
        case .map(let outcome)? = outcomes["\(answer.sequence)"]
      else { continue }
      guard outcome["failed"] == .bool(true) else {
        return await told(answer, .map(outcome), handler)
      }
      throw OutcomeWait.failure(outcome, of: request)
    }
  }

  /// The handler of a kind's events.
  enum Handler: Hashable {
    /// A bundle. Only widgets of such kinds get outcomes.
    case bundle
    /// A program that is connected for its kinds, and reports no outcomes.
    case program(String)
    /// The daemon alone, with the reducers of the kind.
    case daemon
    /// The kind is not registered.
    case nobody
  }

  private func handler(of kind: KindName) async -> Handler {
    do throws(ClientError) {
      let registered = try await session.client.getKind(
        GetKindRequest(name: kind), options: session.options
      ).kind
      if registered.provider.hasPrefix("bundle/") { return .bundle }
      return registered.isAttended ? .program(registered.provider) : .daemon
    } catch {
      return error.status?.code == .notFound ? .nobody : .bundle
    }
  }

  private func told(_ answer: SendEventResponse, _ outcome: Value, _ handler: Handler) async {
    PendingChanges.setNote(nil)
    let warning = OutcomeWait.warning(await EventCheck.warning(request, session), beside: outcome)
    if let warning { Output.warn([warning]) }
    session.printer.print(
      .map([
        "sequence": .revision(answer.sequence), "revision": .revision(answer.revision),
        "outcome": outcome, "warnings": .list(warning.map { [$0.document] } ?? []),
      ])
    ) {
      OutcomeWait.done(
        request, answer.sequence, outcome, handler, warning: warning?.reason)
    }
  }

  /// The warning that belongs to an outcome. A host that has reported the outcome has handled the
  /// event. The daemon can still count that host as silent at this time.
  static func warning(_ found: RequestWarning?, beside outcome: Value) -> RequestWarning? {
    outcome != .null && found?.reason == "PROVIDER_AWAY" ? nil : found
  }

  /// `album submit done: Saved (event 4)`
  ///
  /// - Parameter warning: the reason of the warning that is printed too, if there is one.
  static func done(
    _ request: SendEventRequest, _ sequence: UInt64, _ outcome: Value, _ handler: Handler,
    warning: String?
  ) -> String {
    var word =
      switch (warning, handler) {
      case ("PROVIDER_AWAY"?, _): "sent, but not handled yet"
      case ("EVENT_NOT_HANDLED"?, _): "sent, but nothing handles it"
      case (_, .program(let name)): "sent to \(name), which reports no outcome"
      case (_, .nobody): "sent, but its kind is not registered, so there is no outcome"
      case (_, .bundle), (_, .daemon): "done"
      }
    if case .map(let map) = outcome, case .string(let message)? = map["message"], !message.isEmpty {
      word += ": \(message)"
    }
    return "\(request.widgetID) \(request.name) \(word) (event \(sequence))".safeForTerminal + "\n"
  }

  /// The failure of an event that nobody handles, because a bundle no longer has the kind. Nil if the
  /// widget has no problem of a bundle.
  static func unhandled(_ request: SendEventRequest, on widget: Widget) -> CommandFailure? {
    let errors = widget.isStale ? widget.error?.all ?? [] : []
    guard let error = errors.first(where: { $0.reason == WidgetOffer.reason }) else { return nil }
    var failure = CommandFailure(
      .actionFailed,
      "\(request.widgetID) \(request.name) failed: nobody handles the event, because the kind"
        + " \"\(widget.kind)\" is not registered; \(error.message.withoutFinalPeriod)")
    failure.code = "FAILED_PRECONDITION"
    return failure
  }

  static func failure(_ outcome: ValueMap, of request: SendEventRequest) -> CommandFailure {
    func text(_ key: String) -> String {
      if case .string(let text)? = outcome[key] { text } else { "" }
    }
    let event = "\(request.widgetID) \(request.name)"
    if case .map(let fields)? = outcome["fields"], !fields.entries.isEmpty {
      return refusal(of: fields, told: text("message"))
    }
    let words = [text("title"), text("message")].filter { !$0.isEmpty }.joined(separator: ": ")
    var failure =
      text("state") == "cancelled"
      ? CommandFailure(
        .actionCancelled, "\(event) was cancelled: \(text("message").withoutFinalPeriod)")
      : CommandFailure(.actionFailed, "\(event) failed: \(words) (\(text("code")))")
    failure.code = text("code")
    return failure
  }
}

extension OutcomeWait {
  /// A form that refuses its values: the same failure as a refusal by the daemon.
  ///
  /// - Parameter message: the mistakes in the order of the form, each on its line. `fields` has them
  ///   in the order of their names.
  private static func refusal(of fields: ValueMap, told message: String) -> CommandFailure {
    let lines = message.split(separator: "\n").map(String.init)
    let places = fields.entries.enumerated().map { index, entry in
      (lines.firstIndex(of: entry.value.plainText) ?? lines.count, index, entry)
    }
    let sorted = places.sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    let violations = sorted.map { _, _, entry in
      FieldViolation(
        field: "payload[values][\(entry.key)]", description: entry.value.plainText)
    }
    let words = violations.map {
      "\(FieldWords.typed($0.field)): \($0.description)".withoutFinalPeriod
    }
    var failure = CommandFailure(.invalidArgument, words.joined(separator: "\n"))
    (failure.code, failure.reason) = (StatusCode.invalidArgument.name, "INVALID_FIELD")
    failure.violations = violations
    return failure
  }
}

extension CommandFailure {
  /// The failure at the end of the time, before the daemon has taken the event.
  fileprivate var unsent: CommandFailure {
    saying("the event was not sent: \(message)")
  }
}

extension Kind {
  /// Whether reducers of the kind change data on an event like this.
  func reduces(_ request: SendEventRequest) -> Bool {
    reducers.contains {
      $0.event == request.name
        && ($0.nodeID.isEmpty || NodeID.isNode(request.nodeID, of: $0.nodeID))
    }
  }
}
