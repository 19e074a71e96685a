import WidgetClient
import WidgetModel

/// The text of the details box: the reasons for a widget's look, and its data.
///
/// A pure value: it reads no clock and asks no daemon.
struct LiveDetails {
  /// A line of text, and the token of its colour.
  struct Line: Hashable {
    let text: String
    var token = "color.text"
    var isHeading = false
  }

  let widget: Widget
  let nodes: NodeTable
  /// The widget's kind. Nil until the daemon has described it.
  var kind: RegisteredKind?
  /// The status widgets of the bundle and its host, if they exist.
  var bundle: Widget?
  var host: Widget?
  /// Whether the daemon is connected.
  var isConnected = true
  /// Nil if the daemon's store takes changes.
  var storeFailure: StoreFailure?
  /// The theme that defines the nodes' tokens.
  var theme = Theme.standard
  var dates: DateText
  /// Whether nodes with `privacy` are hidden. This hides the data of widgets with such nodes too.
  var isPrivate = false

  /// The maximum number of nodes that each part lists.
  static let nodesMax = 100
  /// The maximum number of rows of a wrapped line. The rest is cut off.
  static let rowsPerLineMax = 20

  var lines: [Line] {
    var lines = part(widget.data.isEmpty ? "Why it is empty" : "Why it shows a table", unregistered)
    lines += part("Why it is stale", staleness)
    lines += part("Error", errors)
    lines += part("Sources and actions", sources)
    let isHidden = isPrivate && hasPrivateNodes
    if !isHidden { lines += part("Problems of nodes", problems) }
    lines += part("Events", events)
    lines += part("Widget", facts)
    guard !isHidden else {
      lines += part("Data", [Line(text: "It is private; p shows it.", token: "color.secondary")])
      if lines.first?.text.isEmpty == true { lines.removeFirst() }
      return lines
    }
    lines += part("Data", document(widget.data))
    if !widget.parameters.isEmpty { lines += part("Parameters", document(widget.parameters)) }
    if lines.first?.text.isEmpty == true { lines.removeFirst() }
    return lines
  }

  private func part(_ title: String, _ lines: [Line]) -> [Line] {
    lines.isEmpty
      ? [] : [Line(text: ""), Line(text: title, token: "color.tint", isHeading: true)] + lines
  }

  private var hasPrivateNodes: Bool {
    (0..<nodes.indexEnd).contains { nodes[$0]?.node.properties["privacy"] == .bool(true) }
  }

  private func ago(_ time: Timestamp) -> String { "\(dates.age(of: time)) ago" }

  // MARK: - Why

  /// The line about a kind that is not registered, with the next step. Empty if the kind is
  /// registered.
  private var unregistered: [Line] {
    guard let problem = widget.kindProblem(dates) else { return [] }
    return [
      problem.prefix(1).uppercased() + problem.dropFirst() + ".",
      "`widgetctl apply -f FILE` registers a kind, `widgetctl bundle install` installs a bundle with "
        + "kinds.",
    ].map { Line(text: $0, token: "color.warning") }
  }

  /// The reason of the widget's staleness, and the next step. Empty if the widget is fresh.
  private var staleness: [Line] {
    var lines: [Line] = []
    func say(_ text: String) { lines.append(Line(text: text, token: "color.warning")) }
    if !isConnected { say("The daemon cannot be reached. This is the last state that it sent.") }
    if let storeFailure {
      say("The daemon has stored no change for \(dates.age(of: storeFailure.since)):")
      say(storeFailure.message)
    }
    guard widget.isStale else { return lines }
    let staleness = Staleness(widget: widget, kind: kind, bundle: bundle, host: host)
    let failed = staleness.oldSources
    for failure in failed {
      let since = failure.since.map { " for \(dates.age(of: $0))" } ?? ""
      say("\(failure.name) has failed\(since): \(failure.message)")
    }
    if !failed.isEmpty {
      say("A source that fails for its staleAfter (default: 30s) makes it stale.")
    }
    switch staleness.cause {
    case .sources: break
    case .silent(let name, let process):
      let age = dates.age(of: process.silence.since)
      say("\(name) (process \(process.silence.pid)) has not answered for \(age).")
      say(process.mend.map { "It is stopped. Continue it: \($0)" } ?? "Restart it.")
    case .hostEnded(let end):
      say("widgetd-host, which runs it, ended \(ago(end)).")
      say("Start it: \(staleness.hostStart)")
    case .noHost:
      say("No widgetd-host is known to run its bundle. Start one: \(staleness.hostStart)")
    case .bundle(let state, let problem):
      say("Its bundle \(Staleness.words(forState: state)).")
      if !problem.isEmpty { say(problem) }
    case .providerAway(let provider):
      say("No provider \"\(provider.onOneLine)\" is connected.")
      say("It became stale \(ago(widget.updateTime)) at the latest.")
      say("Start the provider's program.")
    case .providerSilent(let provider):
      say(
        "Its provider \"\(provider.onOneLine)\" is connected. The provider has marked it stale, or has "
          + "not updated the widget since the provider returned.")
      say("It became stale \(ago(widget.updateTime)) at the latest.")
      say("`widgetctl refresh \(widget.id)` asks the provider for new data.")
    case .provider(let provider):
      say(
        "Its kind is declared by \"\(provider.onOneLine)\". If that is a program, the "
          + "program does not run, has not updated the widget since it restarted, or has marked the "
          + "widget stale.")
      say("It became stale \(ago(widget.updateTime)) at the latest.")
      say(
        "Start the provider's program. If no program provides it, "
          + "`widgetctl set \(widget.id) --no-stale` removes the mark.")
    case .timeline(let since):
      say("Its timeline is out of date (\(ago(since))), and no other one has come.")
      say("`widgetctl timeline \(widget.id)` shows whether and when another one comes.")
    case .activitySilent:
      say("The program that started the activity is gone, or hangs: nobody has updated it in time.")
      say("It became stale \(ago(widget.updateTime)) at the latest.")
      say("`widgetctl activity end \(widget.id)` ends it.")
    case .activityExpired:
      say("The lifetime of the activity is over, and nobody has said how it went.")
      say("`widgetctl rm \(widget.id)` removes it.")
    case .mark, .unknown:
      let words = staleness.cause == .mark ? "has" : "may have"
      say("A program or user \(words) marked it stale, \(ago(widget.updateTime)) at the latest.")
      say("`widgetctl set \(widget.id) --no-stale` removes the mark.")
    }
    return lines
  }

  private var errors: [Line] {
    let others = widget.untoldFailures.compactMap { failure -> Line? in
      if case .error = failure { return nil }
      return Line(text: failure.words { "for \(dates.age(of: $0))" }, token: "color.error")
    }
    let reason = Staleness(widget: widget, kind: kind, bundle: bundle, host: host)
    let kept = widget.keepingPromises(at: dates.now, reason)
    let lines = (kept.error?.all ?? []).flatMap { error in
      [error.reason.onOneLine + (error.since.map { ", since \(ago($0))" } ?? "")]
        + error.message.split(whereSeparator: \.isNewline).map { String($0).onOneLine }
    }
    return lines.map { Line(text: $0, token: "color.error") } + others
  }

  private struct Status {
    let name: String
    let state: String
    let isFailed: Bool
    let since: Timestamp?
    let message: String
  }

  private var statuses: [Status] {
    guard case .map(let all)? = widget.data["status"] else { return [] }
    return all.entries.compactMap { entry in
      guard case .map(let map) = entry.value, let state = map["state"]?.plainText else {
        return nil
      }
      var since: Timestamp?
      if case .timestamp(let time)? = map["since"] { since = time }
      return Status(
        name: entry.key.onOneLine, state: state.onOneLine, isFailed: map["failed"] == .bool(true),
        since: since, message: map["message"]?.plainText.onOneLine ?? "")
    }
  }

  private var sources: [Line] {
    statuses.map { status in
      let since = status.since.map { ", \(ago($0))" } ?? ""
      let message = status.isFailed && !status.message.isEmpty ? ": \(status.message)" : ""
      return Line(
        text: "\(status.name): \(status.state)\(since)\(message)",
        token: status.isFailed ? "color.error" : "color.text")
    }
  }

  private func each(_ lines: (Node) -> [Line]) -> [Line] {
    var result: [Line] = []
    var count = 0
    for node in nodes.nodes {
      let more = lines(node)
      guard !more.isEmpty else { continue }
      count += 1
      guard count <= LiveDetails.nodesMax else {
        result.append(Line(text: "…", token: "color.secondary"))
        break
      }
      result += more
    }
    return result
  }

  private var problems: [Line] {
    each { node in
      let age = node.problemSince.map { " (for \(dates.age(of: $0)))" } ?? ""
      let told = node.problems.enumerated().map { index, line in
        Line(
          text: (index == 0 ? "\(node.id.onOneLine): " : "  ") + String(line).onOneLine + age,
          token: "color.error")
      }
      let unknown = node.unknownTokens(of: theme).map {
        Line(text: "\(node.id.onOneLine): \($0.description)".onOneLine, token: "color.error")
      }
      return told + unknown
    }
  }

  // MARK: - Events and data

  private var events: [Line] {
    guard widget.presence.isVisible, widget.presence.isEnabled else {
      return [
        Line(
          text: "none: it is \(widget.presence.state.name); "
            + "`widgetctl \(widget.presence.isVisible ? "enable" : "show") \(widget.id)` changes that",
          token: "color.warning")
      ]
    }
    var lines = each { node in
      node.events.isEmpty
        ? []
        : [
          Line(
            text: "\(node.id.onOneLine): \(node.events.map(\.onOneLine).joined(separator: ", "))")
        ]
    }
    if let kind {
      lines += kind.kind.events.map { event in
        let payload = event.payload.map(\.name).joined(separator: ", ")
        return Line(text: "the widget: " + event.name + (payload.isEmpty ? "" : " with \(payload)"))
      }
    }
    return lines.isEmpty ? [Line(text: "none", token: "color.secondary")] : lines
  }

  private var facts: [Line] {
    var lines = [
      Line(text: "id: \(widget.id)"), Line(text: "kind: \(widget.kind)"),
      Line(text: "family: \(widget.family.name)"),
      Line(text: "state: \(widget.presence.state.name)"),
    ]
    if let kind, !kind.provider.isEmpty { lines.append(Line(text: "provider: \(kind.provider)")) }
    if !widget.labels.isEmpty {
      lines.append(
        Line(
          text: "labels: "
            + widget.labels.entries.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")))
    }
    lines.append(
      Line(text: "revision: \(widget.revision), changed \(ago(widget.updateTime))"))
    return lines
  }

  private func document(_ data: ValueMap) -> [Line] {
    guard !data.isEmpty else { return [Line(text: "none", token: "color.secondary")] }
    return YAMLWriter.document(.map(data)).split(whereSeparator: \.isNewline).map {
      Line(text: String($0))
    }
  }
}
