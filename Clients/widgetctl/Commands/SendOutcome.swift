import WidgetClient
import WidgetModel

/// `send --wait`: sends an event and waits for what becomes of it.
///
/// Whoever provides the widget puts the outcome into its data, under the event's number. The widget is
/// watched before the event is sent, so that no outcome can be missed.
struct OutcomeWait: Sendable {
  private let request: SendEventRequest
  private let session: Session
  private let limit: Duration?
  private let follow: FollowOptions

  init(_ request: SendEventRequest, _ session: Session, _ global: GlobalOptions) {
    self.request = request
    self.session = session
    limit = global.timeout == nil ? GlobalOptions.timeoutDefault : global.limit
    var limited = global
    limited.timeout = limit ?? .zero
    follow = FollowOptions(global: limited, waits: false)
  }

  func run() async throws {
    try await follow.limited { try await self.wait() }
  }

  private func wait() async throws {
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
      }
      guard let widget = mirror[request.widgetID] else {
        throw CommandFailure(.notFound, "widget \"\(request.widgetID)\" was removed meanwhile")
      }
      guard case .map(let status)? = widget.data["status"], await isOfBundle(widget.kind) else {
        return told(answer, "done", .null)
      }
      guard case .map(let outcomes)? = status["$outcomes"],
        case .map(let outcome)? = outcomes["\(answer.sequence)"]
      else { continue }
      guard outcome["failed"] == .bool(true) else { return told(answer, "done", .map(outcome)) }
      throw failure(outcome)
    }
  }

  /// Whether a bundle declares the kind: only these tell outcomes.
  private func isOfBundle(_ kind: KindName) async -> Bool {
    let answer = try? await session.client.getKind(
      GetKindRequest(name: kind), options: session.options)
    return answer?.kind.provider.hasPrefix("bundle/") ?? true
  }

  private func told(_ answer: SendEventResponse, _ word: String, _ outcome: Value) {
    session.printer.print(
      .map([
        "sequence": .revision(answer.sequence), "revision": .revision(answer.revision),
        "outcome": outcome,
      ])
    ) { "\(request.widgetID) \(request.name.safeForTerminal) \(word) (event \(answer.sequence))\n" }
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
