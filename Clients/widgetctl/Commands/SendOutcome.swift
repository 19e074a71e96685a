import Synchronization
import WidgetClient
import WidgetModel

/// `send --wait`: sends an event and waits for its outcome.
///
/// Whoever provides the widget puts the outcome into its data, under the event's number. The widget is
/// watched before the event is sent, so that no outcome can be missed.
struct OutcomeWait: Sendable {
  private let request: SendEventRequest
  private let session: Session
  private let limit: Duration?
  private let follow: FollowOptions
  private let global: GlobalOptions

  init(_ request: SendEventRequest, _ session: Session, _ global: GlobalOptions) {
    self.global = global
    self.request = request
    self.session = session
    limit = global.timeout == nil ? GlobalOptions.timeoutDefault : global.limit
    var limited = global
    limited.timeout = limit ?? .zero
    follow = FollowOptions(global: limited, waits: false)
  }

  /// Holds the daemon's answer after the event was sent.
  private final class Sent: Sendable {
    let answer = Mutex<SendEventResponse?>(nil)
  }

  func run() async throws {
    let sent = Sent()
    do {
      try await follow.limited { try await self.wait(sent) }
    } catch let failure as CommandFailure where failure.exit == .timedOut {
      throw await timedOut(sent.answer.withLock { $0 })
    }
  }

  /// The failure when the time is over. Says whether the event is stored and whether a host runs.
  private func timedOut(_ answer: SendEventResponse?) async -> CommandFailure {
    let time = DurationSyntax.seconds(limit ?? .zero)
    guard let answer else {
      return CommandFailure(
        .timedOut, "the event was not sent within \(time); allow more with --timeout")
    }
    let options = CallOptions(timeout: .seconds(2))
    let widget = try? await session.client.getWidget(
      GetWidgetRequest(id: request.widgetID), options: options
    ).widget
    var kind: RegisteredKind?
    if let widget {
      kind = try? await session.client.getKind(
        GetKindRequest(name: widget.kind), options: options
      ).kind
    }
    let isStored = kind.map { !$0.kind.hasLosableEvents }
    return CommandFailure(
      .timedOut,
      OutcomeWait.words(
        event: answer.sequence, of: request.widgetID, within: time, isStored: isStored,
        isReduced: kind.map { $0.kind.reduces(request) } ?? false,
        isProvided: widget.map { !$0.isStale }, host: await BundleHost.ask(global)))
  }

  /// - Parameters:
  ///   - isStored: whether the event waits for its provider; nil if nobody knows.
  ///   - isReduced: whether the kind has reducers for the event. The daemon ran them with the event.
  ///   - isProvided: whether the widget is fresh; it is fresh while its bundle runs.
  static func words(
    event: UInt64, of id: WidgetID, within time: String, isStored: Bool?, isReduced: Bool = false,
    isProvided: Bool?, host: BundleHost
  ) -> String {
    let start = "event \(event) has not ended within \(time); "
    let stored =
      switch isStored {
      case true?: "it is stored"
      case false?: "its kind stores no events"
      case nil: "whether it is stored is not known"
      }
    let next: String
    switch host {
    case .running:
      next =
        isProvided == false
        ? "widgetd-host runs, but not its bundle: `widgetctl bundle ls` shows why"
        : "widgetd-host continues it: `widgetctl get \(id) --field data.status` shows its state"
    case .missing:
      let outcome =
        isStored == true ? "a host that starts handles the event" : "the host loses the event"
      next = "no widgetd-host runs; \(outcome): `\(host.mend ?? "widgetd-host")`"
      if isReduced {
        // The daemon does not know whether the bundle has more steps for the event.
        return "the daemon has set the data as the event says (event \(event), "
          + "`widgetctl get \(id) --field data` shows it); whether steps for widgetd-host are left is "
          + "not known within \(time), because \(next)"
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
        answer = try await session.client.sendEvent(request, options: session.options)
        sent = answer
        result.answer.withLock { $0 = answer }
      }
      guard let widget = mirror[request.widgetID] else {
        throw CommandFailure(.notFound, "widget \"\(request.widgetID)\" was removed meanwhile")
      }
      guard case .map(let status)? = widget.data["status"], await isOfBundle(widget.kind) else {
        return await told(answer, .null)
      }
      guard case .map(let outcomes)? = status["$outcomes"],
        case .map(let outcome)? = outcomes["\(answer.sequence)"]
      else { continue }
      guard outcome["failed"] == .bool(true) else { return await told(answer, .map(outcome)) }
      throw failure(outcome)
    }
  }

  /// Whether a bundle declares the kind. Only widgets of such kinds get outcomes.
  private func isOfBundle(_ kind: KindName) async -> Bool {
    do throws(ClientError) {
      let answer = try await session.client.getKind(
        GetKindRequest(name: kind), options: session.options)
      return answer.kind.provider.hasPrefix("bundle/")
    } catch {
      // Widgets of a kind that nobody has registered get no outcomes.
      return error.status?.code != .notFound
    }
  }

  private func told(_ answer: SendEventResponse, _ outcome: Value) async {
    let warning = await EventCheck.warning(request, session)
    if let warning { Output.warn([warning]) }
    session.printer.print(
      .map([
        "sequence": .revision(answer.sequence), "revision": .revision(answer.revision),
        "outcome": outcome, "warnings": .list(warning.map { [$0.document] } ?? []),
      ])
    ) {
      OutcomeWait.done(
        request, answer.sequence, outcome, isHandled: warning?.reason != "EVENT_NOT_HANDLED")
    }
  }

  /// `album submit done: Saved (event 4)`
  static func done(
    _ request: SendEventRequest, _ sequence: UInt64, _ outcome: Value, isHandled: Bool
  ) -> String {
    var word = isHandled ? "done" : "sent, but nothing handles it"
    if case .map(let map) = outcome, case .string(let message)? = map["message"], !message.isEmpty {
      word += ": \(message)"
    }
    return "\(request.widgetID) \(request.name) \(word) (event \(sequence))".safeForTerminal + "\n"
  }

  private func failure(_ outcome: ValueMap) -> CommandFailure {
    func text(_ key: String) -> String {
      if case .string(let text)? = outcome[key] { text } else { "" }
    }
    let words = [text("title"), text("message")].filter { !$0.isEmpty }.joined(separator: ": ")
    var failure = CommandFailure(
      .actionFailed, "\(request.widgetID) \(request.name) failed: \(words) (\(text("code")))")
    failure.code = text("code")
    return failure
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
