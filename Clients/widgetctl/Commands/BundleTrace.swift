import ArgumentParser
import WidgetClient
import WidgetModel

/// `bundle trace`: follows the work of a bundle live.
struct BundleTraceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trace", abstract: "Follow the work of a bundle: sources, actions, nodes.",
    discussion: """
      The command prints a line for each event, reading, result, step and changed node of the \
      bundle's widgets, live. If a binding fails, the line of its node has the problem. The \
      command cuts long values, and leaves out headers, bodies and the values of queries. \
      widgetd-host traces only while a command like this one runs.

      On a terminal, or with -o table, the command prints lines of text. Otherwise, or with -o \
      json or jsonl, it prints one JSON object per line. It ends with Ctrl-C, with --timeout \
      (status 8), or when its output is closed. If no host runs at the start, it exits with status \
      7. If the host ends later, it prints a note and continues when a host runs again.

      Examples:
        widgetctl bundle trace feed
        widgetctl bundle trace feed --widget feed/top
        widgetctl bundle trace feed -o jsonl \\
          | jq -r 'select(.subject == "source").text'
      """)

  @Argument(help: "The bundle's id.", completion: bundleCompletion)
  var id: String

  @Option(
    help: ArgumentHelp("Only this widget; may be repeated.", valueName: "id"),
    completion: idCompletion, transform: parseID)
  var widget: [WidgetID] = []

  @OptionGroup var global: GlobalOptions

  /// The time for which the host traces after a request, and the interval of the command's
  /// requests.
  static let lease = Duration.seconds(10)
  static let renewal = Duration.seconds(3)

  func validate() throws {
    guard WidgetID("bundle/\(id)") != nil else {
      throw ValidationError(
        "\"\(id.prefix(80))\" cannot be a bundle's id; use 1 to 64 of a-z, 0-9 and -")
    }
  }

  func run() async throws {
    guard let subject = WidgetID("bundle/\(id)") else { return }
    let follow = FollowOptions(global: global, waits: false)
    let session = try follow.session()
    let format = global.output ?? (Terminal.outputIsTerminal ? .table : .jsonl)
    let painter = global.painter
    let only = Set(widget.map(\.rawValue))
    let host = await BundleHost.ask(global)
    if let problem = BundleTraceCommand.problem(of: host) {
      throw CommandFailure(.unavailable, problem)
    }
    try await BundleTraceCommand.check(subject, id, session)
    for widget in widget { try await BundleTraceCommand.check(widget, of: id, session) }
    let options = WatchEventsOptions(
      selector: Selector(ids: [subject]), names: ["traced"], retry: FollowOptions.retry)
    Output.endWithReader()
    try await follow.limited {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await BundleTraceCommand.renew(subject, session, global) }
        group.addTask {
          var notes = ConnectionNotes(follow)
          for try await frame in session.client.watchEvents(options) {
            try notes.note(frame)
            // Ask only after the watch is open, so that no line is lost.
            if case .opened = frame { try await BundleTraceCommand.ask(subject, session) }
            guard case .events(let batch) = frame else { continue }
            for event in batch.events {
              Output.write(TraceText.text(event.payload, only: only, format, painter))
            }
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }

  /// Why no host traces, and what to do. Nil if one may.
  static func problem(of host: BundleHost) -> String? {
    switch host {
    case .missing: "widgetd-host is not running; start it with `\(host.mend ?? "widgetd-host")`"
    case .silent(let process, _): process.words("widgetd-host")
    case .running, .returning, .unknown: nil
    }
  }

  /// Throws if the host does not have the bundle, and warns if the bundle has failed.
  private static func check(_ subject: WidgetID, _ id: String, _ session: Session) async throws {
    do throws(ClientError) {
      let answer = try await session.client.getWidget(
        GetWidgetRequest(id: subject), options: session.options)
      guard answer.widget.data["state"] == .string("failed"),
        case .string(let problem)? = answer.widget.data["problem"]
      else { return }
      Output.writeError("widgetctl: \(failed(problem))\n")
    } catch {
      guard error.reason == "WIDGET_NOT_FOUND" else { throw error }
      let bundles = await session.ids().filter { $0.hasPrefix("bundle/") }.map {
        String($0.dropFirst(7))
      }
      let next =
        id.closest(among: bundles).map { "did you mean \"\($0)\"?" }
        ?? "`widgetctl ls --kind bundle` lists the bundles that it runs"
      throw CommandFailure(.notFound, "widgetd-host runs no bundle \"\(id)\"; \(next)")
    }
  }

  /// The warning that a bundle has failed. Several problems have a line each.
  static func failed(_ problem: String) -> String {
    let lines = problem.split(whereSeparator: \.isNewline).map { String($0).safeForTerminal }
    return "the bundle has failed:"
      + (lines.count == 1 ? " \(lines[0])" : lines.map { "\n  \($0)" }.joined())
  }

  /// Throws if the trace can have no lines of a widget.
  private static func check(_ widget: WidgetID, of id: String, _ session: Session) async throws {
    let mask = try ReadMask(paths: ["id", "kind"])
    let kind: KindName
    do throws(ClientError) {
      kind = try await session.client.getWidget(
        GetWidgetRequest(id: widget, readMask: mask), options: session.options
      ).widget.kind
    } catch {
      guard error.reason == "WIDGET_NOT_FOUND" else { throw error }
      throw CommandFailure(
        .notFound,
        "there is no widget \"\(widget)\"; `widgetctl ls` lists the widgets. Without --widget, the "
          + "trace has all widgets of the bundle")
    }
    let provider = try? await session.client.getKind(
      GetKindRequest(name: kind), options: session.options
    ).kind.provider
    guard provider != "bundle/\(id)" else { return }
    throw CommandFailure(
      .invalidArgument,
      "widget \"\(widget)\" is of kind \"\(kind)\", which bundle \"\(id)\" does not declare; "
        + "`widgetctl describe \(kind)` shows which program does")
  }

  private static func ask(_ subject: WidgetID, _ session: Session) async throws(ClientError) {
    _ = try await session.client.sendEvent(
      SendEventRequest(
        widgetID: subject, name: "trace", payload: ["lease": .duration(lease)], force: true,
        client: "widgetctl"), options: session.options)
  }

  /// Repeats the request for the trace, and reports when the host ends or comes back.
  private static func renew(
    _ subject: WidgetID, _ session: Session, _ global: GlobalOptions
  ) async throws {
    var isAway = false
    while true {
      try await Task.sleep(for: renewal)
      // If the daemon is away, the stream reports that.
      guard
        let answer = try? await session.client.getWidget(
          GetWidgetRequest(id: subject), options: session.options)
      else { continue }
      if answer.widget.isStale != isAway {
        isAway = answer.widget.isStale
        var news = "widgetd-host is running again"
        if isAway {
          news = "widgetd-host has ended; waiting for a new one"
          if case .silent(let process, _) = await BundleHost.ask(global) {
            news = process.words("widgetd-host")
          }
        }
        Output.writeError("widgetctl: \(news)\n")
      }
      if !isAway { _ = try? await ask(subject, session) }
    }
  }
}

/// The lines of a trace, for people or programs.
enum TraceText {
  /// - Parameter only: the widgets to show; empty for all.
  static func text(
    _ payload: ValueMap, only: Set<String>, _ format: OutputFormat, _ painter: Painter
  ) -> String {
    var text = ""
    if case .list(let lines)? = payload["lines"] {
      for case .map(let line) in lines {
        guard only.isEmpty || only.contains(word("widget", line)) else { continue }
        text += format == .table ? row(line, painter) : JSONWriter.compact(.map(line)) + "\n"
      }
    }
    guard case .int(let dropped)? = payload["dropped"], dropped > 0 else { return text }
    let note: Value = .map(["dropped": .int(dropped)])
    return text
      + (format == .table
        ? "… \(dropped) more lines were left out\n" : JSONWriter.compact(note) + "\n")
  }

  /// `12:00:03.120  notes  source feed  sends a GET request to https://a.example/`
  private static func row(_ line: ValueMap, _ painter: Painter) -> String {
    var time = ""
    if case .timestamp(let instant)? = line["time"] { time = RFC3339.text(instant) }
    let clock = TraceText.clock(time)
    let widget = word("widget", line)
    let place = [widget, "\(word("subject", line)) \(word("name", line))"].filter { !$0.isEmpty }
      .joined(separator: "  ")
    let text = word("text", line)
    let isBad = text.hasPrefix("fails") || text.contains("problem: ")
    return "\(clock)  \(painter.paint(place.safeForTerminal, .header))  "
      + painter.paint(text.safeForTerminal, isBad ? .bad : .plain) + "\n"
  }

  /// The time of an RFC 3339 text: `12:00:03.120`.
  static func clock(_ time: String) -> String {
    let text = time.split(separator: "T").last?.prefix { $0 != "Z" } ?? ""
    let parts = text.split(separator: ".", maxSplits: 1)
    let fraction = parts.count > 1 ? String(parts[1].prefix(3)) : ""
    return (parts.first ?? "") + "." + fraction + String(repeating: "0", count: 3 - fraction.count)
  }

  private static func word(_ key: String, _ line: ValueMap) -> String {
    if case .string(let text)? = line[key] { text } else { "" }
  }
}
