import ArgumentParser
import WidgetClient
import WidgetModel

/// `watch`: follows widgets.
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Follow widgets: the current state, then every change.",
    discussion: """
      On a terminal, or with -o table, the command prints one line per change. Otherwise, or with \
      -o json or jsonl, it prints each frame as one line with a JSON object. The frame's `type` is \
      opened, snapshot, synced, changes, event, gap, reset, disconnected or reconnected. After a \
      restart of the daemon, the command reconnects and resumes. It ends with Ctrl-C, with \
      --timeout (status 8), or when its output is closed.

      If a widget has failed, the table shows the reason after !, like `ls`. With -l, --family or \
      --where, a widget that has "left" is removed, or no longer selected. If no selected widget \
      has a value of --field, and no kind declares it, a note says so.

      With --once, the command prints the state at one revision, like `ls`, and with -o json also \
      the token for --resume. If a named widget does not exist, it prints the others and exits \
      with status 3. If none of them exists, it prints nothing. It also exits with status 3 if a \
      named widget lacks a value of --field that its kind does not declare. With --until, it exits \
      with status 0 as soon as the condition is true. If --until is repeated, all conditions must \
      be true at the same time. Without ids and selection, it then follows only the widgets of the \
      conditions.

      Conditions: \(Condition.help) A value that is not JSON is text. Numbers compare by value. \
      For a widget that does not exist, only `removed` is true.

      Examples:
        widgetctl watch
        widgetctl watch clock cpu --field data.text --field data.percent
        widgetctl watch -l panel=top -o jsonl --min-interval 100ms | jq -c .type
        widgetctl watch --until 'cpu.data.percent>=90' --timeout 10m
        widgetctl watch --until door:removed
      """)

  @Argument(
    help: "Only these widgets. They need not exist yet.", completion: idCompletion,
    transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions
  @OptionGroup var fields: FieldOptions

  @Flag(help: "Print the state now and end.")
  var once = false

  @Option(
    help: ArgumentHelp("End when this condition is true; may be repeated.", valueName: "condition"),
    transform: { text in try usage { () throws(SyntaxFailure) in try Condition(text) } })
  var until: [Condition] = []

  @Flag(help: "Also show the events of these widgets.")
  var events = false

  @Option(
    help: ArgumentHelp(
      "Minimum time between two change frames, at most 60s. Changes in between are merged.",
      valueName: "duration"),
    transform: parseMinInterval)
  var minInterval: Duration?

  @Option(
    help: ArgumentHelp(
      """
      Resume after the frame with this resumeToken, without a snapshot. Needs the same selection \
      and fields.
      """, valueName: "token"),
    transform: { text in
      guard let token = PaddedBase64.decode(text), !token.isEmpty else {
        throw ValidationError("use the resumeToken of a frame")
      }
      return token
    })
  var resume: [UInt8]?

  @Option(
    help: ArgumentHelp(
      """
      With JSON: also print frames of type upcoming, with up to this many next entries of each \
      timeline, at most 60. The reader then shows each entry at its date, and the daemon may leave \
      out the changes of these dates. Default: 0.
      """, valueName: "count"),
    transform: { try parseWhole($0, "0 to \(WatchWidgetsRequest.upcomingEntriesMax)") })
  var upcoming = 0

  @Flag(help: "Wait for the daemon if it is not running.")
  var wait = false

  @OptionGroup var privacy: RedactedOption
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if once, !until.isEmpty || resume != nil || events {
      throw ValidationError(
        "--once prints a state and ends; leave it out with --until, --resume and --events")
    }
    if privacy.redacted, events {
      throw ValidationError("--redacted has no events; leave out --events")
    }
    if privacy.redacted, !until.isEmpty {
      throw ValidationError("--until needs the data, which --redacted leaves out")
    }
    if resume != nil, !until.isEmpty {
      throw ValidationError("--until needs the state, which --resume leaves out")
    }
    if !(0...WatchWidgetsRequest.upcomingEntriesMax).contains(upcoming) {
      throw ValidationError(
        "--upcoming takes 0 to \(WatchWidgetsRequest.upcomingEntriesMax), not \(upcoming)")
    }
    for condition in until where !ids.isEmpty && !ids.contains(condition.id) {
      throw ValidationError("--until names \(condition.id), which is not among the ids to watch")
    }
  }

  func run() async throws {
    let watched =
      ids.isEmpty && selection.isEmpty ? Set(until.map(\.id)).sorted(by: <) : ids
    let paths = fields.paths
    let format = global.output ?? (once || Terminal.outputIsTerminal ? .table : .jsonl)
    let mask = try fields.mask(
      adding: until.flatMap(\.maskPaths) + fields.needed(for: format))
    let options = WatchOptions(
      selector: selection.selector(ids: watched), readMask: mask, minInterval: minInterval,
      includeEvents: events, resumeToken: resume ?? [], retry: FollowOptions.retry,
      upcomingEntries: once ? 0 : upcoming, isRedacted: privacy.redacted)
    let follow = FollowOptions(global: global, waits: wait)
    let session = try follow.session()
    let printer = WatchPrinter(
      format: format, mask: mask, painter: global.painter, width: Terminal.width,
      tellsContent: paths.isEmpty || paths.contains("content"), mayLeave: selection.mayEnd,
      projection: { FieldOptions.projected($0, paths) })
    Output.endWithReader()
    try await follow.limited {
      if once {
        try await selection.checkKinds(in: session)
        try await WatchCommand.printState(
          session, options, follow, mask: mask, paths: paths, ids: ids, selection)
      } else {
        try await WatchCommand.follow(
          session, options, follow, printer: printer, until: until, paths: paths,
          ids: ids.isEmpty ? until.filter { $0.test != .removed }.map(\.id) : ids, selection)
      }
    }
  }

  private static func follow(
    _ session: Session, _ options: WatchOptions, _ follow: FollowOptions, printer: WatchPrinter,
    until conditions: [Condition], paths: [String], ids: [WidgetID], _ selection: SelectorOptions
  ) async throws {
    // The widgets of a snapshot that is being read. Nil when it was read, or if none will come.
    var found: Set<WidgetID>? = options.resumeToken.isEmpty ? [] : nil
    // The values that no widget of the snapshot has so far.
    var lacking = options.isRedacted ? [] : paths
    var printer = printer
    var progress = ConnectionNotes(follow)
    // JSON output needs no state, unless a condition needs it.
    var mirror =
      printer.format == .table || !conditions.isEmpty ? WidgetMirror() : nil
    for try await frame in session.client.watch(options) {
      try progress.note(frame)
      let wasSynced = mirror?.isSynced ?? false
      // After --resume there is no state until the daemon has to send a snapshot.
      let hasState =
        switch frame {
        case .changes: wasSynced
        default: true
        }
      let difference = hasState ? try mirror?.apply(frame) : nil
      Output.write(
        printer.text(frame, difference: difference, mirror: mirror, isFirst: !wasSynced))
      if let mirror, mirror.isSynced, !conditions.isEmpty,
        conditions.allSatisfy({ $0.holds(for: mirror[$0.id]) })
      {
        return
      }
      switch frame {
      case .snapshot(let chunk):
        found?.formUnion(chunk.widgets.map(\.id))
        lacking = FieldOptions.lacking(lacking, in: chunk.widgets)
      case .synced:
        if let there = found {
          await FollowOptions.noteMissing(of: ids, among: there, waits: true, session)
          await noteDoubts(about: conditions.filter { there.contains($0.id) }, session)
          await FieldOptions.noteDoubts(
            about: options.isRedacted ? [] : paths, of: ids.filter(there.contains), waits: true,
            session)
          if ids.isEmpty, !there.isEmpty {
            await FieldOptions.noteAbsence(
              of: lacking, in: selection.selector(), waits: true, session)
          }
          if there.isEmpty, !selection.isEmpty {
            await selection.noteNothing(
              of: ids, in: session, " yet; waiting", isRedacted: options.isRedacted)
          } else {
            await selection.noteUnregisteredKinds(in: session)
            await selection.noteFailures(
              of: ids, in: session, isRedacted: options.isRedacted)
          }
        }
        found = nil
      default: break
      }
    }
  }

  /// Reports on standard error the conditions that may never hold.
  private static func noteDoubts(about conditions: [Condition], _ session: Session) async {
    for condition in conditions {
      guard
        let widget = try? await session.client.getWidget(
          GetWidgetRequest(id: condition.id), options: session.options
        ).widget
      else { continue }
      let kind = try? await session.client.getKind(
        GetKindRequest(name: widget.kind), options: session.options)
      if let doubt = condition.doubt(about: widget, kind?.kind.kind) {
        Output.writeError("widgetctl: \(doubt)\n")
      }
    }
  }

  private static func printState(
    _ session: Session, _ options: WatchOptions, _ follow: FollowOptions, mask: ReadMask,
    paths: [String], ids: [WidgetID], _ selection: SelectorOptions
  ) async throws {
    var progress = ConnectionNotes(follow)
    var mirror = WidgetMirror()
    for try await frame in session.client.watch(options) {
      try progress.note(frame)
      _ = try mirror.apply(frame)
      guard mirror.isSynced else { continue }
      let there = Set(mirror.widgets.map(\.id))
      await FollowOptions.noteMissing(of: ids, among: there, waits: false, session)
      let hasDoubts = await FieldOptions.noteDoubts(
        about: options.isRedacted ? [] : paths, of: ids.filter(there.contains), waits: false,
        session)
      if ids.isEmpty, !there.isEmpty, !options.isRedacted {
        await FieldOptions.noteAbsence(
          of: FieldOptions.lacking(paths, in: mirror.widgets), in: selection.selector(),
          waits: false, session)
      }
      let missing = try await session.missing(ids, beside: there)
      let (revision, token) = (mirror.revision, mirror.resumeToken)
      if Session.hasOutput(found: mirror.widgets.count, missing: missing.count) {
        session.printer.print(
          list: mirror.widgets.map { $0.document(mask: mask) },
          around: {
            .map([
              "revision": .revision(revision), "resumeToken": .string(PaddedBase64.encode(token)),
              "widgets": $0,
            ])
          }
        ) {
          let isNoted = !(selection.isEmpty && ids.isEmpty)
          return paths.isEmpty
            ? session.printer.table(
              of: mirror.widgets, mask: mask, reasons: true, isNoted: isNoted)
            : session.printer.table(
              of: paths, in: mirror.widgets.map { TaggedWidget(widget: $0) }, mask: mask,
              isNoted: isNoted)
        }
      }
      if mirror.widgets.isEmpty, !selection.isEmpty {
        await selection.noteNothing(of: ids, in: session, isRedacted: options.isRedacted)
      } else {
        await selection.noteFailures(of: ids, in: session, isRedacted: options.isRedacted)
      }
      guard missing.isEmpty, !hasDoubts else { throw ExitStatus.notFound }
      return
    }
  }
}

extension WidgetID {
  fileprivate static func < (a: WidgetID, b: WidgetID) -> Bool {
    a.rawValue.precedesByBytes(b.rawValue)
  }
}

/// The flag of commands that show widgets in public places.
struct RedactedOption: ParsableArguments {
  @Flag(
    help: """
      Get a redacted view, for a screen that everybody sees: the daemon sends neither private nodes \
      nor data.
      """)
  var redacted = false
}

/// The daemon refuses longer times.
@Sendable private func parseMinInterval(_ text: String) throws -> Duration {
  let interval = try parseDuration(text)
  guard interval <= .seconds(60) else {
    throw ValidationError("write at most 60s, such as 500ms")
  }
  return interval
}
