import ArgumentParser
import WidgetClient
import WidgetExpression
import WidgetModel
import WidgetTimeZones
import WidgetTimers

/// `eval`: evaluates an expression.
struct EvalCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "eval", abstract: "Evaluate an expression.",
    discussion: """
      Expressions are CEL. The expression can read `now`. --data FILE gives the variable `data`; \
      --parameters and --event do the same for theirs. Each file has a JSON or YAML object. \
      `event` can have the fields `name`, `node`, `row`, `rows`, `payload` and `time`. A text in \
      `time`, such as 2026-01-31T12:00:00Z, becomes a timestamp. If the event has \
      `payload.values`, as a form's event has, the expression can also read `nodes`.

      With --widget, the command asks a daemon for the data and parameters of this widget. \
      Without --widget, it needs no daemon. With --widget, the expression can also read `status`, \
      and `widget` with `stale` and `error`, like --where of other commands. `entry` is then the \
      current entry of the widget's timeline. A variable that no option gives has no value: for \
      an empty `data`, give --data a file with {}.

      With --widget, the command checks the expression with the types and fields that the widget's \
      kind declares. So it refuses a misspelt field, and a comparison of a double with an int by \
      ==. If --event names an event that the kind declares, the command also checks `payload`, and \
      adds its defaults. The names under `status` and `nodes` are not checked. Without --widget, \
      or if the kind is not registered, fields can have any type.

      If the expression has a mistake or its evaluation fails, the command prints the place and \
      exits with status 10. Put `--` before an expression \
      that begins with a minus sign.

      Examples:
        widgetctl eval '"load: " + formatPercent(0.42)'
        widgetctl eval 'data.load.map(x, x * 100.0)' --data load.json
        widgetctl eval 'data.percent > 80.0' --widget cpu
        widgetctl eval 'widget.stale || widget.error != null' --widget cpu
        widgetctl eval 'formatDate(now, "%H:%M", "Asia/Tokyo")'
      """)

  @Argument(help: "The expression; - reads it from standard input.")
  var expression: String

  @Option(
    help: ArgumentHelp(
      "A file with the object `data`; - is standard input.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var data: String?

  @Option(
    help: ArgumentHelp("A file with the object `parameters`.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var parameters: String?

  @Option(
    help: ArgumentHelp("A file with the object `event`.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var event: String?

  @Option(
    help: ArgumentHelp("Take data, parameters and `widget` from this widget.", valueName: "id"),
    completion: idCompletion, transform: parseID)
  var widget: WidgetID?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if widget != nil, data != nil || parameters != nil {
      throw ValidationError("--widget has data and parameters; leave out --data and --parameters")
    }
    guard [expression, data, parameters, event].filter({ $0 == "-" }).count <= 1 else {
      throw ValidationError("standard input can be read once only; name files for the others")
    }
  }

  func run() async throws {
    let source = expression == "-" ? try Input.text("-") : expression
    let session = widget == nil ? global.session(socketPath: "") : try global.session()
    var bindings: [ExpressionValue?] = [
      try object(data).map { ExpressionValue($0) },
      try object(parameters).map { ExpressionValue($0) }, nil, nil,
      .timestamp(Timestamp.wallClock()), nil, nil,
    ]
    var kind: Kind?
    if let widget {
      let found = try await session.client.getWidget(
        GetWidgetRequest(id: widget), options: session.options
      ).widget
      bindings = EvalCommand.bindings(of: found)
      kind = await declaredKind(found.kind, session)
    }
    var eventName: String?
    if let event = try object(event) {
      bindings[2] = ExpressionValue(EvalCommand.event(event, of: kind))
      bindings.append(EvalCommand.nodes(of: event))
      eventName = EvalCommand.name(of: event)
    }
    let result = try EvalCommand.evaluate(
      source, SlotBindings(bindings), of: kind, event: eventName)
    session.printer.print(result) {
      if case .string(let text) = result {
        return (Terminal.outputIsTerminal ? text.safeForTerminal : text) + "\n"
      }
      return JSONWriter.compact(result) + "\n"
    }
  }

  /// The kind of the widget. Nil if it is not registered, or cannot be read.
  private func declaredKind(_ name: KindName, _ session: Session) async -> Kind? {
    do throws(ClientError) {
      return try await session.client.getKind(
        GetKindRequest(name: name), options: global.optionalCall
      ).kind.kind
    } catch {
      if let note = EvalCommand.note(error, about: name) {
        Output.writeError("widgetctl: \(note.safeForTerminal)\n")
      }
      return nil
    }
  }

  /// The note that the types are not checked. Nil for a kind that is not registered, because it
  /// declares no types.
  static func note(_ error: ClientError, about kind: KindName) -> String? {
    guard error.reason != "KIND_NOT_FOUND" else { return nil }
    return "the types that the kind \"\(kind)\" declares are not checked: "
      + CommandFailure(error).message
  }

  /// The object in a file; nil if no file is named.
  private func object(_ name: String?) throws -> ValueMap? {
    guard let name else { return nil }
    let label = name == "-" ? "standard input" : name
    let documents = try DocumentReader.documents(try Input.text(name), name: label)
    guard documents.count == 1, case .map(let map) = documents[0] else {
      throw CommandFailure(
        .invalidArgument, "\(label): must be one object, such as {\"load\": [0.5]}")
    }
    var entries: [ValueMap.Entry] = []
    for entry in map.entries {
      do throws(DataDocument.Failure) {
        entries.append(.init(key: entry.key, value: try DataDocument.untagged(entry.value)))
      } catch {
        throw CommandFailure(.invalidArgument, "\(label): \(entry.key): \(error)")
      }
    }
    return ValueMap(entries)
  }

  /// The variables of `compile`, in its order; without an event and its nodes.
  static func bindings(of widget: Widget) -> [ExpressionValue?] {
    var state = WidgetVariable.values(of: widget)
    state["stale"] = .bool(widget.isStale)
    state["error"] = .string(widget.error?.reason ?? "")
    return [
      ExpressionValue(widget.data), ExpressionValue(widget.parameters), nil,
      ExpressionValue(state), .timestamp(Timestamp.wallClock()),
      ExpressionValue(widget.data["status"] ?? .map([:])), entry(widget.timeline?.current),
    ]
  }

  /// The variable `event` of an object in a file, which has the time as text.
  ///
  /// - Parameter kind: The widget's kind. If it declares the event, the details get their declared
  ///   types and defaults, as in the daemon.
  static func event(_ object: ValueMap, of kind: Kind? = nil) -> ValueMap {
    var event = object
    if case .string(let text)? = object["time"], let time = RFC3339.timestamp(text) {
      event["time"] = .timestamp(time)
    }
    guard let details = details(of: name(of: object), in: kind) else { return event }
    var payload: ValueMap = [:]
    switch object["payload"] {
    case .map(let map)?: payload = map
    case nil: break
    default: return event
    }
    for field in details {
      if let given = payload[field.name] {
        payload[field.name] = field.type.fitted(given) ?? given
      } else if let value = field.defaultValue {
        payload[field.name] = value
      }
    }
    event["payload"] = .map(payload)
    return event
  }

  /// The name of an event in a file. Nil if there is none.
  private static func name(of event: ValueMap) -> String? {
    if case .string(let name)? = event["name"] { name } else { nil }
  }

  /// The details of an event. Nil if the kind does not declare the event.
  private static func details(of event: String?, in kind: Kind?) -> [Field]? {
    kind?.events.first(where: { $0.name == event })?.payload
  }

  /// The variable `nodes`: the values of a submitted form; null for other events.
  static func nodes(of event: ValueMap) -> ExpressionValue {
    guard case .map(let payload)? = event["payload"], case .map(let values)? = payload["values"]
    else { return .null }
    return ExpressionValue(
      ValueMap(values.entries.map { .init(key: $0.key, value: .map(["value": $0.value])) }))
  }

  /// The variable `entry`. Without an entry, its date and its score are null.
  private static func entry(_ entry: TimelineEntry?) -> ExpressionValue {
    var map = entry?.values ?? [:]
    map["date"] = entry.map { .timestamp($0.date) } ?? .null
    map["score"] = entry.map { .double($0.score) } ?? .null
    return ExpressionValue(map)
  }

  /// Compiles an expression that can read the same variables as expressions of kinds.
  ///
  /// - Parameters:
  ///   - kind: The widget's kind, with the types of the fields. Nil for fields of any type.
  ///   - event: The name of the event.
  static func compile(
    _ source: String, of kind: Kind? = nil, event: String? = nil
  ) throws(ExpressionError) -> CompiledExpression {
    try CompiledExpression(
      NullText.comparingEmpty("widget.error", in: source),
      in: ExpressionEnvironment(
        variables: variables(of: kind, event: event), timeZones: SystemTimeZones().rules))
  }

  private static func variables(of kind: Kind?, event: String?) -> [ExpressionVariable] {
    func record(_ fields: [Field]?) -> ExpressionType {
      guard let kind, let fields else { return .dyn }
      return .record(RecordType(fields, isOpen: kind.isOpen))
    }
    let ofEntries = [Field(name: "date", type: .timestamp), Field(name: "score", type: .double)]
    let entry = kind.flatMap { $0.hasEntries ? ofEntries + $0.entry : nil }
    let payload = record(details(of: event, in: kind))
    return [
      ExpressionVariable("data", record(kind?.data)),
      ExpressionVariable("parameters", record(kind?.parameters)),
      ExpressionVariable("event", EventVariable.type(payload: payload)),
      ExpressionVariable("widget", widgetType), ExpressionVariable("now", .timestamp),
      ExpressionVariable("status"), ExpressionVariable("entry", record(entry)),
      ExpressionVariable("nodes"),
    ]
  }

  /// The type of `widget`, which has two more fields than in expressions of kinds.
  private static let widgetType = ExpressionType.record(
    RecordType(WidgetVariable.fields.merging(["stale": .bool, "error": .string]) { _, new in new }))

  /// The options that give values to variables.
  private static let options: [(variable: String, option: String)] = [
    ("data", "--data FILE or --widget ID"), ("parameters", "--parameters FILE or --widget ID"),
    ("event", #"--event FILE, with an object such as {"name": "press", "payload": {"n": 1}}"#),
    ("nodes", #"--event FILE, with a form's values: {"payload": {"values": {"title": "Tea"}}}"#),
    ("widget", "--widget ID"), ("status", "--widget ID"), ("entry", "--widget ID"),
  ]

  /// The option for a variable without a value, such as `; give --widget ID`. Empty for other errors.
  private static func advice(about error: EvaluationError) -> String {
    guard error.reason == .unboundVariable,
      let option = options.first(where: { error.message.contains("'\($0.variable)'") })?.option
    else { return "" }
    return "; give \(option)"
  }

  /// Evaluates an expression that can read the same variables as expressions of kinds.
  ///
  /// - Parameters:
  ///   - kind: See `compile`.
  ///   - event: See `compile`.
  static func evaluate(
    _ source: String, _ bindings: SlotBindings, of kind: Kind? = nil, event: String? = nil
  ) throws(CommandFailure) -> Value {
    let compiled: CompiledExpression
    do throws(ExpressionError) { compiled = try compile(source, of: kind, event: event) } catch {
      throw CommandFailure(.invalidArgument, error.rendered)
    }
    let result: ExpressionValue
    do throws(EvaluationError) { result = try compiled.evaluate(bindings) } catch {
      let shown = compiled.corrected(error, bindings) ?? error
      throw CommandFailure(.invalidArgument, shown.rendered(adding: advice(about: error)))
    }
    guard let value = Value(result) else {
      throw CommandFailure(
        .invalidArgument,
        "the result cannot be written as JSON: it has a uint above the largest int, or two keys "
          + "with the same text")
    }
    return value
  }
}
