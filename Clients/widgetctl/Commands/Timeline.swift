import ArgumentParser
import WidgetBar
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetProto

/// `timeline`: the entries of a widget, with their times.
struct TimelineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "timeline", abstract: "List the entries of a widget: what it shows, and when.",
    discussion: """
      The first entry is the current one, marked with `*`. A schedule has no last entry, so the \
      command lists only the first entries. `--limit` sets their number.

      Examples:
        widgetctl timeline clock
        widgetctl timeline clock --limit 5 --start 2026-03-29T00:50:00Z
        widgetctl timeline train --text
      """)

  @Argument(help: "The widget.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @Option(
    help: ArgumentHelp("List at most this many entries, 1 to 1000. Default: 60.", valueName: "n"),
    transform: { try parseWhole($0, "1 to 1000") })
  var limit: Int?

  @Option(
    help: ArgumentHelp(
      "Begin with the entry that is current at this time, such as 2026-03-29T00:50:00Z. Default: now.",
      valueName: "time"),
    transform: parseTime)
  var start: Timestamp?

  @Flag(help: "List the text that the widget shows at each entry, instead of the entry's values.")
  var text = false

  @Option(
    help: "The family of the text; needs --text. Default: the widget's family.",
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var family: Family?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if let limit, !(1...1_000).contains(limit) { throw ValidationError("--limit is 1 to 1000") }
    if family != nil, !text { throw ValidationError("--family needs --text") }
  }

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.getTimeline(
      GetTimelineRequest(
        id: id, limit: limit ?? 0, startTime: start, includeContent: text, contentFamily: family),
      options: session.options)
    let painter = session.printer.painter
    let provider =
      session.printer.format == .table && !answer.scheduled
      ? await provider(session) : .unknown
    var page = TimelineText(answer, showsText: text, painter, provider)
    if session.printer.format == .table, text, answer.entries.contains(where: { $0.content == nil })
    {
      page.advice = await advice(session)
    }
    session.printer.print(answer.document(of: id)) { page.text(of: id, width: Terminal.width) }
  }

  /// The reason why entries have no content, and a family that has content.
  private func advice(_ session: Session) async -> String {
    let request = GetWidgetRequest(id: id, contentFamily: family)
    var kinds = KindNames()
    guard
      let widget = try? await session.client.getWidget(request, options: session.options).widget,
      (try? await kinds.look(for: [widget], session)) != nil
    else { return "" }
    return kinds.advice(for: widget, family: family, option: "--family")
      ?? "The kind \"\(widget.kind)\" has no content."
  }

  private func provider(_ session: Session) async -> TimelineText.Provider {
    let request = GetWidgetRequest(id: id, readMask: .idsOnly)
    do throws(ClientError) {
      let widget = try await session.client.getWidget(request, options: session.options).widget
      let kind = try await session.client.getKind(
        GetKindRequest(name: widget.kind), options: session.options
      ).kind
      return TimelineText.Provider(kind)
    } catch {
      return error.reason == "KIND_NOT_FOUND" ? .none : .unknown
    }
  }
}

/// The text of a timeline, for people.
struct TimelineText {
  private let answer: GetTimelineResponse
  private let showsText: Bool
  private let painter: Painter
  private let provider: Provider
  /// The reason why entries have no content. Empty if they have content, or if the reason is
  /// unknown.
  var advice = ""

  /// The provider of the widget's kind, which sets new timelines.
  enum Provider: Equatable {
    case connected
    /// The provider has no session.
    case away(String)
    /// No program provides the kind.
    case none
    /// The daemon could not be asked.
    case unknown

    init(_ kind: RegisteredKind) {
      self =
        kind.isProviderConnected
        ? .connected : kind.isAttended ? .away(kind.provider) : .none
    }
  }

  init(
    _ answer: GetTimelineResponse, showsText: Bool, _ painter: Painter, _ provider: Provider
  ) {
    self.provider = provider
    self.answer = answer
    self.showsText = showsText
    self.painter = painter
  }

  func text(of id: WidgetID, width: Int?) -> String {
    guard let status = answer.status else {
      return "\(id) has no timeline, and its kind has no schedule; add one of them\n"
    }
    var table = Table(
      "", "DATE", "SCORE", showsText ? "TEXT" : "VALUES", dispensable: ["SCORE"])
    for shown in answer.entries {
      let entry = shown.entry
      let isCurrent = entry.date == status.current?.date
      table.add(
        .init(isCurrent ? "*" : ""), .init(RFC3339.text(entry.date), isCurrent ? .good : .plain),
        .init(entry.score == 0 ? "" : Value.double(entry.score).plainText),
        .init(
          showsText
            ? TimelineText.words(shown.content, at: entry.date) : TimelineText.values(entry),
          reason: showsText ? TimelineText.problems(of: shown.content).first : nil, lead: "! "))
    }
    var text = table.text(width: width, painter)
    if answer.entries.isEmpty { text = "no entries\n" }
    if !advice.isEmpty { text += painter.paint(advice, .bad) + "\n" }
    if answer.more { text += "… and more; to list them, use --limit or --start\n" }
    if !status.problem.isEmpty {
      text += painter.paint(status.problem.safeForTerminal, .bad) + "\n"
    }
    if answer.policy != nil || status.refreshTime != nil { text += next(status.refreshTime) + "\n" }
    if let time = status.staleTime {
      text += "The widget is stale from \(RFC3339.text(time)) on.\n"
    }
    return text
  }

  /// The source of the next timeline, and its time.
  private func next(_ refreshTime: Timestamp?) -> String {
    switch (provider, refreshTime) {
    case (.none, _):
      "No program provides the kind, so nobody is asked for a new timeline. The last entry stays."
    case (.away(let name), _):
      "The provider \"\(name.safeForTerminal)\" is away. It is asked for a new timeline when it returns."
    case (.connected, let time?):
      "The provider is asked for a new timeline at \(RFC3339.text(time))."
    case (.unknown, let time?): "A new timeline is due at \(RFC3339.text(time))."
    case (.connected, nil) where answer.policy == .never:
      "The provider is asked for a new timeline when somebody refreshes the widget."
    case (.connected, nil), (.unknown, nil): "A new timeline is due."
    }
  }

  static func values(_ entry: TimelineEntry) -> String {
    entry.values.entries.map(\.line).joined(separator: "  ")
  }

  /// A content in one line, as in a bar, at a date. The failures follow: `! title: text: no such
  /// key`.
  static func words(_ content: Content?, at date: Timestamp) -> String {
    guard let content else { return "(no content)" }
    let dates = DateText(now: date)
    let text = BarReader(dateText: { dates.text(of: $0) }).text(of: content)
    let words = [text] + problems(of: content).map { "! \($0)" }
    return words.allSatisfy(\.isEmpty)
      ? "(no text)" : words.filter { !$0.isEmpty }.joined(separator: " ")
  }

  private static func problems(of content: Content?) -> [String] {
    guard let content else { return [] }
    let absences = content.nodes.filter { $0.role == .image }.compactMap { node in
      PictureFile.absence(of: node).map { "\(node.id.onOneLine): \($0.onOneLine)" }
    }
    return content.failures.map(\.reason) + absences
  }
}

extension GetTimelineResponse {
  func document(of id: WidgetID) -> Value {
    var map: ValueMap = [
      "id": .string(id.rawValue), "revision": .revision(revision), "scheduled": .bool(scheduled),
      "more": .bool(more),
      "entries": .list(entries.map(\.document)),
    ]
    if let policy { map["policy"] = .string(policy.name) }
    if let status { map["status"] = status.document }
    return .map(map)
  }
}

extension ShownEntry {
  var document: Value {
    var map = entry.documentMap
    if let content { map["content"] = content.document }
    return .map(map)
  }
}

extension TimelineEntry {
  fileprivate var documentMap: ValueMap {
    var map: ValueMap = ["date": .string(RFC3339.text(date)), "values": .map(values)]
    if score != 0 { map["score"] = .double(score) }
    if let duration { map["duration"] = .duration(duration) }
    return map
  }
}

extension Timeline {
  /// The fields of a declared timeline, beside those of the status.
  func added(to status: ValueMap) -> ValueMap {
    var map = status
    map["entries"] = .list(entries.map { .map($0.documentMap) })
    map["policy"] = .string(policy.name)
    if let refreshTime { map["refreshTime"] = .string(RFC3339.text(refreshTime)) }
    if let staleTime { map["staleTime"] = .string(RFC3339.text(staleTime)) }
    return map
  }
}

extension TimelineStatus {
  var document: Value { .map(documentMap) }

  var documentMap: ValueMap {
    var map = ValueMap()
    if let current { map["current"] = .map(current.documentMap) }
    if let nextTime { map["nextTime"] = .string(RFC3339.text(nextTime)) }
    if let refreshTime { map["refreshTime"] = .string(RFC3339.text(refreshTime)) }
    if let staleTime { map["staleTime"] = .string(RFC3339.text(staleTime)) }
    if !problem.isEmpty { map["problem"] = .string(problem) }
    return map
  }
}
