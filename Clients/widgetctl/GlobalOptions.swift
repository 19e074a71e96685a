import ArgumentParser
import Synchronization
import WidgetClient
import WidgetModel

/// The format of the output.
enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
  /// For people: tables and sentences.
  case table
  /// One JSON text, indented.
  case json
  /// One JSON text on each line.
  case jsonl
  case yaml
}

/// Options that every command has. They may also stand before the command's name; see
/// `ArgumentOrder`.
struct GlobalOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      The daemon's socket. Default: $WIDGETD_SOCKET, $XDG_RUNTIME_DIR/widgetd/widgetd.sock, \
      /run/widgetd/widgetd.sock.
      """, valueName: "path"), completion: .file())
  var socket: String?

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      """
      The output format. With json and jsonl, errors are JSON too. Default: table; jsonl for \
      watch, events and bundle trace without a terminal.
      """, valueName: "format"))
  var output: OutputFormat?

  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      Give up a call to the daemon after this time: 500ms, 5s, 1m30s; 0 is no timeout. A command \
      may make several calls, and reads its files without a limit. Default: 30s; no timeout for \
      commands that follow changes, and for bar.
      """, valueName: "duration"),
    transform: parseDuration)
  var timeout: Duration?

  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      Id for a safe retry: within ten minutes, the daemon makes a change with this id only once.
      """, valueName: "id"))
  var requestId: String?

  @Flag(name: .shortAndLong, help: "Print progress on standard error.")
  var verbose = false

  @Flag(name: .customLong("no-color"), help: "Turn colours off. $NO_COLOR does the same.")
  var noColor = false

  /// The default maximum time of a call, without `--timeout`.
  static let timeoutDefault: Duration = .seconds(30)

  /// `--timeout`, where 0 means never.
  var limit: Duration? { timeout.flatMap { $0 > .zero ? $0 : nil } }

  /// The largest maximum time of a call without whose answer a command still works. Commands for
  /// bundles make such calls, because the files of bundles need no daemon. With a shorter time, the
  /// output would change on a busy machine.
  static let optionalTimeoutMax: Duration = .seconds(10)

  /// The maximum time of such calls: `--timeout`, up to `optionalTimeoutMax`.
  var optionalTimeout: Duration {
    min(limit ?? GlobalOptions.optionalTimeoutMax, GlobalOptions.optionalTimeoutMax)
  }

  /// The options of such calls.
  var optionalCall: CallOptions {
    CallOptions(
      timeout: optionalTimeout, silence: SilenceNote.silence(limit: optionalTimeout))
  }

  var painter: Painter {
    Painter(usesColour: !noColor && Terminal.outputIsTerminal && Terminal.wantsColour)
  }

  /// Finds the socket, without a connection.
  func session() throws(CommandFailure) -> Session {
    do throws(ClientError) {
      return session(socketPath: try SocketPath.discover(explicit: socket))
    } catch {
      throw CommandFailure(error)
    }
  }

  /// A session for calls that the command can do without. Nil if no socket is found.
  var optionalSession: Session? { (try? session())?.with(optionalCall) }

  func session(socketPath: String) -> Session {
    if verbose { Output.writeError("widgetctl: the socket is \(socketPath)\n") }
    return Session(
      client: WidgetClient(socketPath: socketPath),
      options: CallOptions(
        timeout: timeout == nil ? GlobalOptions.timeoutDefault : limit,
        silence: SilenceNote.silence(limit: timeout == nil ? GlobalOptions.timeoutDefault : limit),
        pendingChange: PendingChanges.note),
      printer: Printer(format: output ?? .table, painter: painter, width: Terminal.width))
  }
}

/// The note on standard error that the daemon does not answer yet. A command has one note, however many
/// calls wait.
enum SilenceNote {
  private static let isWritten = Mutex(false)

  /// - Parameter limit: The time after which the command gives up; nil for never.
  static func silence(limit: Duration?) -> CallOptions.Silence {
    CallOptions.Silence {
      let isFirst = isWritten.withLock { isWritten in
        defer { isWritten = true }
        return !isWritten
      }
      guard isFirst else { return }
      Output.writeError("widgetctl: \(words(limit: limit))\n")
    }
  }

  static func words(limit: Duration?) -> String {
    "the daemon does not answer yet; "
      + (limit.map { "waiting up to \(DurationSyntax.seconds($0))" } ?? "waiting for it")
      + "; `widgetctl doctor` finds out what is wrong"
  }
}

/// The tools of a command.
struct Session: Sendable {
  let client: WidgetClient
  let options: CallOptions
  let printer: Printer
}

extension Session {
  /// The same session with other options of its calls.
  func with(_ options: CallOptions) -> Session {
    Session(client: client, options: options, printer: printer)
  }

  /// Throws if the daemon cannot be reached, or does not answer soon.
  func checkAnswer() async throws(ClientError) {
    let limit = LivenessPolicy.attentive.answerMax
    var options = options
    options.timeout = options.timeout.map { min($0, limit) } ?? limit
    do throws(ClientError) {
      _ = try await client.getTheme(options: options)
    } catch {
      guard case .deadlineExceeded(limit, _) = error else { throw error }
      throw .unresponsive(socketPath: client.socketPath, answerMax: limit)
    }
  }
}

/// Prints a command's result in the requested format.
struct Printer: Hashable, Sendable {
  let format: OutputFormat
  let painter: Painter
  /// The columns of the terminal; nil if there is none.
  let width: Int?

  /// Whether errors are JSON, too.
  var writesJSON: Bool { format == .json || format == .jsonl }

  /// Prints a document, or its table in the table format.
  func print(_ document: @autoclosure () -> Value, table: () -> String) {
    Output.write(format == .table ? table() : text(document()))
  }

  /// Prints a list of documents: as one document around them, or with jsonl each on its line.
  func print(
    list: [Value], around: (_ list: Value) -> Value, table: () -> String
  ) {
    if format == .jsonl {
      Output.write(list.map { JSONWriter.compact($0) + "\n" }.joined())
    } else {
      print(around(.list(list)), table: table)
    }
  }

  private func text(_ document: Value) -> String {
    switch format {
    case .table, .json: JSONWriter.pretty(document) + "\n"
    case .jsonl: JSONWriter.compact(document) + "\n"
    case .yaml: YAMLWriter.document(document)
    }
  }
}

/// Options that pick widgets.
struct SelectorOptions: ParsableArguments {
  @Option(
    name: [.customShort("l", allowingJoined: true), .customLong("selector")],
    help: ArgumentHelp(SelectorSyntax.help, valueName: "labels"), transform: parseSelector)
  var labels: [[LabelRequirement]] = []

  @Option(
    name: .customLong("kind"), help: ArgumentHelp("Only widgets of this kind; may be repeated."),
    completion: kindCompletion, transform: parseKind)
  var kinds: [KindName] = []

  @Option(
    name: .customLong("family"),
    help: ArgumentHelp("Only widgets of this family; may be repeated: \(Family.names)."),
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var families: [Family] = []

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      """
      Only widgets for which this expression is true: 'data.percent > 90', 'widget.stale', \
      'status.feed.failed'.
      """, valueName: "expression"), transform: parseWhere)
  var condition: String?

  var isEmpty: Bool {
    labels.isEmpty && kinds.isEmpty && families.isEmpty && condition == nil
  }

  /// Whether a change of a widget can end its selection.
  var mayEnd: Bool { !(labels.isEmpty && families.isEmpty && condition == nil) }

  /// Prints on standard error that nothing was selected, why the expression fails, and which kinds
  /// are not registered.
  ///
  /// - Parameters:
  ///   - ids: The ids that the command names. Empty if it names none.
  ///   - ending: The consequence, appended to the message.
  ///   - isRedacted: See `noteFailures`.
  func noteNothing(
    of ids: [WidgetID] = [], in session: Session, _ ending: String = "", isRedacted: Bool = false
  ) async {
    Output.writeError("widgetctl: \(nothing(of: ids).safeForTerminal)\(ending)\n")
    if let hint = SelectorSyntax.hint(about: selector().labels) {
      Output.writeError("widgetctl: \(hint.safeForTerminal)\n")
    }
    await noteFailures(of: ids, in: session, isRedacted: isRedacted, sparesLacks: false)
    await noteUnregisteredKinds(in: session)
  }

  /// The message that nothing was selected.
  func nothing(of ids: [WidgetID]) -> String {
    "no \(ids.isEmpty ? "" : "named ")widget matches "
      + (condition.map { "--where '\($0)'" } ?? "the selection")
  }

  /// Prints on standard error for how many widgets the expression fails, with an example. It takes
  /// up to two seconds, so call it after the output.
  ///
  /// - Parameters:
  ///   - changed: The selected widgets that the command has changed, if the expression may now have
  ///     another result for them.
  ///   - isRedacted: Whether the note has no values of widgets.
  ///   - sparesLacks: Whether widgets that only lack a value do not count.
  func noteFailures(
    of ids: [WidgetID] = [], in session: Session, changed: Set<WidgetID> = [],
    isRedacted: Bool = false, sparesLacks: Bool = true
  ) async {
    guard let condition else { return }
    var others = selector(ids: ids)
    others.expression = ""
    guard
      let failure = await WhereFailure.of(
        condition, others, changed: changed, sparesLacks: sparesLacks, isRedacted: isRedacted,
        in: session)
    else { return }
    Output.writeError("widgetctl: \(failure.text.safeForTerminal)\n")
  }

  /// Throws if a kind of the selection neither is registered nor has widgets. For commands that do
  /// not wait for widgets.
  func checkKinds(in session: Session) async throws(CommandFailure) {
    guard !kinds.isEmpty, let registered = try? await session.kinds().kinds else { return }
    let names = registered.map(\.kind.name.rawValue)
    for kind in kinds where !names.contains(kind.rawValue) {
      let request = ListWidgetsRequest(
        selector: Selector(kinds: [kind]), pageSize: 1, readMask: .idsOnly)
      guard let found = try? await session.client.listWidgets(request, options: session.options),
        found.widgets.isEmpty
      else { continue }
      throw CommandFailure.missingKind(kind, among: names)
    }
  }

  /// Reports unregistered kinds on standard error. They may be intended or mistyped.
  func noteUnregisteredKinds(in session: Session) async {
    guard !kinds.isEmpty, let registered = try? await session.kinds().kinds else { return }
    let names = registered.map(\.kind.name.rawValue)
    for kind in kinds where !names.contains(kind.rawValue) {
      let next =
        kind.rawValue.closest(among: names).map { "did you mean \"\($0)\"?" }
        ?? "`widgetctl kinds` lists the kinds"
      Output.writeError("widgetctl: the kind \"\(kind)\" is not registered; \(next)\n")
    }
  }

  func selector(ids: [WidgetID] = []) -> Selector {
    Selector(
      ids: ids, kinds: kinds, families: families, labels: labels.flatMap(\.self),
      expression: condition ?? "")
  }
}

/// The option of commands whose change renderers may animate.
struct TransitionOptions: ParsableArguments {
  @Option(
    name: .long, help: ArgumentHelp(TransitionSyntax.help, valueName: "transition"),
    completion: .list(Transition.Curve.allCases.dropFirst().map(\.name)),
    transform: { text in try usage { () throws(SyntaxFailure) in try TransitionSyntax.parse(text) }
    }
  )
  var transition: Transition?
}

// Transforms of arguments: mistakes become usage errors.

/// Turns a syntax failure into a usage error of the argument parser.
func usage<T>(_ parse: () throws(SyntaxFailure) -> T) throws -> T {
  do { return try parse() } catch { throw ValidationError(error.reason) }
}

@Sendable func parseDuration(_ text: String) throws -> Duration {
  guard let duration = DurationSyntax.parse(text), duration >= .zero else {
    throw ValidationError("write \(DurationSyntax.hint)")
  }
  return duration
}

/// - Parameter range: the allowed numbers, in words, for the message.
@Sendable func parseWhole(_ text: String, _ range: String) throws -> Int {
  guard let number = Int(text) else { throw ValidationError("write a whole number, \(range)") }
  return number
}

/// - Parameter range: the allowed numbers, in words, for the message.
@Sendable func parseNumber(_ text: String, _ range: String) throws -> Double {
  guard let number = Double(text) else { throw ValidationError("write a number, \(range)") }
  return number
}

@Sendable func parseTime(_ text: String) throws -> Timestamp {
  guard let time = RFC3339.timestamp(text) else {
    throw ValidationError("write a time such as 2026-03-29T01:00:00Z")
  }
  return time
}

@Sendable func parseSelector(_ text: String) throws -> [LabelRequirement] {
  try usage { () throws(SyntaxFailure) in try SelectorSyntax.parse(text) }
}

/// An empty expression would select every widget.
@Sendable func parseWhere(_ text: String) throws -> String {
  guard text.contains(where: { !$0.isWhitespace }) else {
    throw ValidationError("the expression is empty; write one such as 'data.percent > 90'")
  }
  return text
}

@Sendable func parseFamily(_ text: String) throws -> Family {
  guard let family = Family(name: text) else {
    throw ValidationError("use one of \(Family.names)")
  }
  return family
}

@Sendable func parseKind(_ text: String) throws -> KindName {
  guard let kind = KindName(text) else {
    throw ValidationError(
      "a kind is 1 to 64 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or "
        + "digit")
  }
  return kind
}

@Sendable func parseID(_ text: String) throws -> WidgetID {
  guard let id = WidgetID(text) else {
    throw ValidationError(
      "an id is 1 to 128 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or "
        + "digit")
  }
  return id
}

@Sendable func parseAssignment(_ text: String) throws -> Assignment {
  try usage { () throws(SyntaxFailure) in try Assignment(text) }
}

@Sendable func parseLabel(_ text: String) throws -> LabelAssignment {
  try usage { () throws(SyntaxFailure) in try LabelAssignment(text) }
}

extension [Assignment] {
  /// The values, including the content of files. If several entries have the same key, the last one
  /// counts.
  func values() throws(CommandFailure) -> ValueMap {
    var entries: [ValueMap.Entry] = []
    for assignment in self {
      entries.append(.init(key: assignment.key, value: try assignment.value(reading: Input.text)))
    }
    return ValueMap(entries)
  }
}

extension [LabelAssignment] {
  var labels: Labels { Labels(map { (key: $0.key, value: $0.value) }) }
}

extension ReadMask {
  /// Only fields that are always sent.
  static let idsOnly = (try? ReadMask(paths: ["id"])) ?? .all
  /// The set of a widget.
  static let setsOnly = (try? ReadMask(paths: ["apply_set"])) ?? .all
  /// What `apply` without `--own` replaces: the set, the labels and the parameters.
  static let replacedOnly =
    (try? ReadMask(paths: ["apply_set", "labels", "parameters"])) ?? .all
  static let presenceOnly = (try? ReadMask(paths: ["presence"])) ?? .all
}
