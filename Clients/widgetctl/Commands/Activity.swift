import ArgumentParser
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetTimers

/// `activity`: widgets that show a task while it lasts.
struct ActivityCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "activity", abstract: "Show a task as a widget while the task runs.",
    discussion: """
      An activity is a widget with a start and an end. Its attributes (--param, --title) do not \
      change. Its state (--set, --status, --progress) changes, and has at most 4096 bytes. The \
      daemon ends the activity after its lifetime (8 h), and removes the widget some time after \
      the end (4 h). `widgetctl run --activity` shows a command as an activity.

      Examples:
        widgetctl activity start backup --title Backup --stale-after 5m
        widgetctl activity update backup --progress 0.4 \\
          --status 'copying photos' --stale-after 5m
        widgetctl activity end backup --outcome succeeded --dismiss 10m
        widgetctl activity list
      """,
    subcommands: [
      ActivityStartCommand.self, ActivityUpdateCommand.self, ActivityEndCommand.self,
      ActivityListCommand.self,
    ])
}

/// The state of an activity, as options.
struct StateOptions: ParsableArguments {
  @Option(help: "The present step of the task: the data value `status`.")
  var status: String?

  @Option(
    help: "The finished part, 0 to 1 or a percentage such as 40%: the data value `progress`.",
    transform: parseProgress)
  var progress: Double?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp("A data value; may be repeated.", valueName: "key=value"),
    transform: parseAssignment)
  var data: [Assignment] = []

  func validate() throws { try refuseRepeated(data.keys) }

  /// The values. `--set` comes last.
  func values() throws(CommandFailure) -> ValueMap { all(with: try data.values()) }

  /// The values, with these values of `--set`.
  func all(with data: ValueMap) -> ValueMap {
    var values = ValueMap()
    if let status { values["status"] = .string(status) }
    if let progress { values["progress"] = .double(progress) }
    for entry in data.entries { values[entry.key] = entry.value }
    return values
  }
}

@Sendable func parseProgress(_ text: String) throws -> Double {
  guard let progress = ProgressLine.progress(text) else {
    throw ValidationError("write a number from 0 to 1, or a percentage such as 40%")
  }
  return progress
}

/// The option for the stale time of activities.
struct StaleOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Mark the widget stale if no update comes within this time. Default: never.",
      valueName: "duration"),
    transform: parseDuration)
  var staleAfter: Duration?
}

/// The option for the relevance of an activity.
struct ScoreOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The relevance in a smart stack, 0 to 1000000. The stack shows the widget with the highest \
      score. The score counts until the activity ends. Default: 0 for a new activity, else \
      unchanged.
      """, valueName: "number"), transform: { try parseNumber($0, "0 to 1000000") })
  var score: Double?

  func validate() throws {
    guard let score, !(0...TimelineEntry.scoreMax).contains(score) else { return }
    throw ValidationError("--score is 0 to 1000000")
  }

  /// A timeline with the score. Its entry is always current, because its date has passed on every
  /// clock.
  var timeline: Timeline? {
    score.map { Timeline(entries: [TimelineEntry(date: .epoch, score: $0)], policy: .never) }
  }
}

/// `activity start`.
struct ActivityStartCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "start", abstract: "Start an activity.",
    discussion: """
      The command prints the id and what happened, such as `activity-3 started`. With -o json, \
      the id is `.id`. The id of an ended activity can be used again. \(Assignment.help)

      Examples:
        widgetctl activity start --title 'Building' --family inline
        widgetctl activity start backup --title Backup --lifetime 2h --stale-after 5m
        widgetctl activity start trip --kind train --param line=S1 --set platform=2
      """)

  @Argument(
    help: "The widget's id. Default: the daemon chooses one; the command prints it.",
    transform: parseID)
  var id: WidgetID?

  @Option(help: "The name of the task: the parameter `title`.")
  var title: String?

  @Option(
    help: "The widget's kind. Default: activity.", completion: kindCompletion, transform: parseKind)
  var kind: KindName = .activity

  @OptionGroup var options: NewWidgetOptions

  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("An attribute; may be repeated.", valueName: "key=value"),
    transform: parseAssignment)
  var parameters: [Assignment] = []

  @OptionGroup var state: StateOptions
  @OptionGroup var score: ScoreOption
  @OptionGroup var stale: StaleOption

  @Option(
    help: ArgumentHelp(
      "The time after which the daemon ends the activity. Default: 8h. Maximum: 8h.",
      valueName: "duration"),
    transform: parseDuration)
  var lifetime: Duration?

  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws { try refuseRepeated(parameters.keys, options.labels.keys) }

  func run() async throws {
    let session = try global.session()
    let answer = try await session.change(
      data: state.data, parameters: parameters, of: { kind }
    ) { (data, parameters) async throws(ClientError) in
      var attributes = ValueMap()
      if let title { attributes["title"] = .string(title) }
      for entry in parameters.entries { attributes[entry.key] = entry.value }
      let spec = WidgetSpec(
        id: id, kind: kind, family: options.family, labels: options.labels.labels,
        parameters: attributes, data: state.all(with: data), timeline: score.timeline)
      return try await session.client.startActivity(
        StartActivityRequest(
          widget: spec, lifetime: lifetime, staleAfter: stale.staleAfter,
          requestID: global.requestId ?? "", transition: transition.transition),
        options: session.options)
    }
    Output.warn(answer.warnings + FailureWarnings.warnings([answer.widget]))
    session.printer.print(answer.widget.document(etag: answer.etag)) {
      "\(answer.widget.id) started\n"
    }
  }
}

/// `activity update`.
struct ActivityUpdateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Change the state of an activity.",
    discussion: """
      Values that the command does not name stay. The update makes the widget fresh, and sets its \
      stale time again. \(Assignment.help)

      Examples:
        widgetctl activity update backup --progress 40%
        widgetctl activity update backup --score 5
        widgetctl activity update backup --status 'copying photos' \\
          --unset progress --stale-after 5m
        widgetctl activity update "$WIDGETD_ACTIVITY" --progress 0.5
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @OptionGroup var state: StateOptions

  @Option(
    name: .customLong("unset"),
    help: ArgumentHelp("Remove a data value; may be repeated.", valueName: "key"))
  var unset: [String] = []

  @OptionGroup var score: ScoreOption
  @OptionGroup var stale: StaleOption
  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try refuseContradiction(state.data.keys, unset: unset, "--unset")
  }

  func run() async throws {
    let patch = StatePatch(setData: try state.values(), unsetData: unset)
    let session = try global.session()
    if let timeline = score.timeline, patch == StatePatch(), stale.staleAfter == nil {
      let scored = try await set(timeline, session)
      return session.printer.print(scored.widget?.document(etag: scored.etag) ?? .null) {
        "\(id) updated\n"
      }
    }
    var answer = try await session.change(
      data: state.data, parameters: [], of: { await session.kind(of: id) }
    ) { (data, _) async throws(ClientError) in
      try await session.client.updateActivity(
        UpdateActivityRequest(
          id: id, patch: StatePatch(setData: state.all(with: data), unsetData: unset),
          staleAfter: stale.staleAfter, requestID: global.requestId ?? "",
          transition: transition.transition), options: session.options)
    }
    if let timeline = score.timeline {
      let scored: UpdateWidgetResponse
      do { scored = try await set(timeline, session) } catch {
        let failure = CommandFailure(error)
        throw failure.saying("the state is updated, but not the score: \(failure.message)")
      }
      if let widget = scored.widget { (answer.widget, answer.etag) = (widget, scored.etag) }
    }
    session.printer.print(answer.widget.document(etag: answer.etag)) { "\(id) updated\n" }
  }

  private func set(
    _ timeline: Timeline, _ session: Session
  ) async throws(ClientError) -> UpdateWidgetResponse {
    try await session.client.updateWidget(
      UpdateWidgetRequest(id: id, patch: WidgetPatch(timeline: .some(timeline))),
      options: session.options)
  }
}

/// `activity end`.
struct ActivityEndCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "end", abstract: "End an activity.",
    discussion: """
      The widget shows its last state until the daemon removes it. \(Assignment.help)

      Examples:
        widgetctl activity end backup --outcome succeeded
        widgetctl activity end backup --outcome failed \\
          --status 'the disk is full' --dismiss 1h
        widgetctl activity end backup --dismiss now
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @Option(
    help: "The outcome: succeeded, failed or stopped. The data value `outcome`.",
    completion: .list(["succeeded", "failed", "stopped"]))
  var outcome: String?

  @OptionGroup var state: StateOptions

  @Option(
    name: .customLong("unset"),
    help: ArgumentHelp("Remove a data value; may be repeated.", valueName: "key"))
  var unset: [String] = []

  @OptionGroup var dismissal: DismissOption
  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try refuseContradiction(state.data.keys, unset: unset, "--unset")
  }

  func run() async throws {
    let session = try global.session()
    let answer = try await session.change(
      data: state.data, parameters: [], of: { await session.kind(of: id) }
    ) { (data, _) async throws(ClientError) in
      var values = state.all(with: data)
      if let outcome { values["outcome"] = .string(outcome) }
      return try await session.client.endActivity(
        EndActivityRequest(
          id: id, patch: StatePatch(setData: values, unsetData: unset),
          dismissal: dismissal.dismissal, requestID: global.requestId ?? "",
          transition: transition.transition), options: session.options)
    }
    let document =
      answer.widget?.document(etag: answer.etag)
      ?? .map(["id": .string(id.rawValue), "revision": .revision(answer.revision)])
    session.printer.print(document) {
      "\(id) ended\(answer.widget == nil ? " and removed" : "")\n"
    }
  }
}

/// The option that says how long an ended activity stays.
struct DismissOption: ParsableArguments {
  @Option(
    name: .customLong("dismiss"),
    help: ArgumentHelp(
      """
      The time of the widget's removal: now, default (4 h after the end), or a duration after the \
      end, such as 10m. Maximum: 4h.
      """, valueName: "when"),
    transform: DismissOption.parse)
  var dismissal: Activity.Dismissal = .standard

  @Sendable static func parse(_ text: String) throws -> Activity.Dismissal {
    switch text {
    case "now": return .immediate
    case "default": return .standard
    default:
      guard let duration = DurationSyntax.parse(text), duration >= .zero else {
        throw ValidationError("write now, default, or \(DurationSyntax.hint)")
      }
      return .after(duration)
    }
  }
}

/// `activity list`.
struct ActivityListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List activities, in display order.",
    discussion: """
      With -o json or yaml, the command prints one object with the store's revision and the list \
      of widgets, as `ls` does. TIME is the time since the start, or from the start to the end.

      Examples:
        widgetctl activity list
        widgetctl activity list --active -o json | jq -r '.widgets[].id'
      """, aliases: ["ls"])

  @Flag(help: "List only activities that have not ended.")
  var active = false

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    var selector = Selector()
    selector.expression = active ? "widget.activity.state == 'active'" : "has(widget.activity)"
    let (widgets, revision) = try await session.list(selector)
    let painter = session.printer.painter
    session.printer.print(
      list: widgets.map { $0.widget.document(etag: $0.etag) },
      around: { .map(["revision": .revision(revision), "widgets": $0]) }
    ) {
      guard !widgets.isEmpty || session.printer.width == nil else { return "no activities\n" }
      return Table.of(activities: widgets.map(\.widget), now: .wallClock())
        .text(width: session.printer.width, painter)
    }
  }
}

extension Table {
  /// ID STATE TIME PROGRESS TITLE STATUS, one row for each activity.
  static func of(activities widgets: [Widget], now: Timestamp) -> Table {
    var table = Table(
      "ID", "STATE", "TIME", "PROGRESS", "TITLE", "STATUS", yielding: "TITLE",
      dispensable: ["TIME", "TITLE", "PROGRESS", "STATUS"], state: "STATE")
    let failures = ["failed", "stopped"]
    for widget in widgets {
      guard let activity = widget.activity else { continue }
      let style: Style =
        switch (activity.state, widget.isStale) {
        case (.active, false): .good
        case (.ended, _): .plain
        case (.active, true), (.expired, _): .warning
        }
      let progress: String =
        if case .double(let part)? = widget.data["progress"], activity.state == .active {
          "\(Int((min(max(part, 0), 1) * 100).rounded()))%"
        } else { "" }
      let words = [activity.state == .active ? nil : widget.data["outcome"], widget.data["status"]]
      table.add(
        Cell(widget.id.rawValue),
        Cell(
          activity.state.name + (widget.isStale ? ",stale" : ""), style,
          ranking: failures + ["stale", "expired", "active"]),
        Cell(DurationSyntax.age((activity.endTime ?? now).duration(since: activity.startTime))),
        Cell(progress),
        // A table is as wide as its longest cell, also in a pipe.
        Cell(TextColumns.truncated(title(of: widget), to: 60)),
        Cell(
          words.compactMap { $0?.plainText }.joined(separator: ": "),
          keyword: failures.first { Value.string($0) == words[0] } ?? ""))
    }
    return table
  }

  private static func title(of widget: Widget) -> String {
    widget.parameters["title"]?.plainText ?? widget.kind.rawValue
  }
}

extension Activity {
  var document: Value {
    var map: ValueMap = [
      "state": .string(state.name), "startTime": .string(RFC3339.text(startTime)),
      "expireTime": .string(RFC3339.text(expireTime)),
    ]
    if let staleTime { map["staleTime"] = .string(RFC3339.text(staleTime)) }
    if let endTime { map["endTime"] = .string(RFC3339.text(endTime)) }
    if let dismissTime { map["dismissTime"] = .string(RFC3339.text(dismissTime)) }
    return .map(map)
  }
}
