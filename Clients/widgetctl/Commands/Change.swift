import ArgumentParser
import WidgetClient
import WidgetModel

/// `add`: creates a widget.
struct AddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a widget.",
    discussion: """
      \(Assignment.help) If the kind declares a field as string, the command takes the value as text, \
      except null.

      Examples:
        widgetctl add clock
        widgetctl add clock text=12:00 --id clock -l panel=top
        widgetctl add gauge percent=0 --id cpu --family small \\
          --param max=100 --hidden
        widgetctl add clock --recommendation tokyo
      """)

  @Argument(help: "The widget's kind.", completion: kindCompletion, transform: parseKind)
  var kind: KindName

  @Argument(
    help: ArgumentHelp("Data values.", valueName: "key=value"), completion: newDataCompletion,
    transform: parseAssignment)
  var data: [Assignment] = []

  @Option(
    help: "The widget's id. Default: the daemon chooses one; the command prints it.",
    transform: parseID)
  var id: WidgetID?

  @OptionGroup var options: NewWidgetOptions

  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("A parameter; may be repeated.", valueName: "key=value"),
    transform: parseAssignment)
  var parameters: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      """
      Take the parameters from this recommendation of the kind. `gallery` lists recommendations. \
      --param changes single parameters.
      """, valueName: "name"))
  var recommendation: String?

  @Option(
    name: .customLong("data"),
    help: ArgumentHelp(
      "A data value; the same as without --data. May be repeated.", valueName: "key=value"),
    transform: parseAssignment)
  var namedData: [Assignment] = []

  @Flag(help: "Create the widget hidden.")
  var hidden = false

  @Flag(help: "Create the widget disabled: it takes no events.")
  var disabled = false

  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try refuseRepeated((data + namedData).keys, parameters.keys, options.labels.keys)
  }

  func run() async throws {
    var spec = WidgetSpec(
      id: id, kind: kind, family: options.family, labels: options.labels.labels,
      isVisible: hidden ? false : nil, isEnabled: disabled ? false : nil)
    let session = try global.session()
    if let recommendation {
      spec.parameters = try await session.recommended(
        recommendation, of: kind, changing: try parameters.values())
    }
    let chosen = spec
    let answer = try await session.change(
      data: data + namedData, parameters: parameters, of: { kind }
    ) { (data, parameters) async throws(ClientError) in
      var spec = chosen
      spec.data = data
      for entry in parameters.entries { spec.parameters[entry.key] = entry.value }
      return try await session.client.createWidget(
        CreateWidgetRequest(
          widget: spec, requestID: global.requestId ?? "", transition: transition.transition),
        options: session.options)
    }
    Output.warn(answer.warnings + FailureWarnings.warnings([answer.widget]))
    session.printer.print(answer.widget.document(etag: answer.etag)) {
      "\(answer.widget.id) added\n"
    }
  }
}

/// `set`: changes a widget's data and other fields.
struct SetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change a widget's data, parameters, labels or status.",
    discussion: """
      The command makes one change. Values that it does not name stay, unless --replace is given. \
      \(Assignment.help) If the kind declares a field as string, the command takes the value as text, \
      except null.

      Examples:
        widgetctl set clock text=12:01
        widgetctl set cpu percent=37 history:='[12,30,37]' --unset note
        widgetctl set cpu --label panel=top --unset-label draft
        widgetctl set cpu percent=0 --etag "$(widgetctl get cpu --field etag)"
        widgetctl set feed --error 'FETCH_FAILED:the server does not answer'
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @Argument(
    help: ArgumentHelp("Data values.", valueName: "key=value"), completion: dataCompletion,
    transform: parseAssignment)
  var data: [Assignment] = []

  @Option(
    name: .customLong("unset"),
    help: ArgumentHelp("Remove a data value; may be repeated.", valueName: "key"))
  var unsetData: [String] = []

  @Flag(help: "Remove all data values that the command does not name.")
  var replace = false

  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("Set a parameter; may be repeated.", valueName: "key=value"),
    transform: parseAssignment)
  var parameters: [Assignment] = []

  @Option(
    name: .customLong("unset-param"),
    help: ArgumentHelp("Remove a parameter; may be repeated.", valueName: "key"))
  var unsetParameters: [String] = []

  @Option(
    name: [.customShort("l", allowingJoined: true), .customLong("label")],
    help: ArgumentHelp("Set a label; may be repeated.", valueName: "key=value"),
    transform: parseLabel)
  var labels: [LabelAssignment] = []

  @Option(
    name: .customLong("unset-label"),
    help: ArgumentHelp("Remove a label; may be repeated.", valueName: "key"))
  var unsetLabels: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      Give data.KEY, parameters.KEY or labels.KEY back to the bundle or set that declares it; may be \
      repeated. `get ID --owners` shows the fields with an owner.
      """, valueName: "field"))
  var release: [String] = []

  @Flag(inversion: .prefixedNo, help: "Mark the widget stale (its data may be old), or fresh.")
  var stale: Bool?

  @Option(
    help: ArgumentHelp("Set the widget's error.", valueName: "reason:message"),
    transform: SetCommand.parseError)
  var error: WidgetError?

  @Flag(
    help: """
      Remove all errors of the widget, also those of failed reducers. A failure that happens again \
      sets its error again. If a widget of a bundle has failures and other errors, only the other \
      errors are removed.
      """)
  var clearError = false

  @Option(help: "Change the widget only if it still has this etag; otherwise exit with status 5.")
  var etag: String?

  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  /// `REASON:MESSAGE`.
  @Sendable static func parseError(_ text: String) throws -> WidgetError {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else { throw ValidationError("write REASON:MESSAGE") }
    return WidgetError(reason: String(parts[0]), message: String(parts[1].trimmed))
  }

  func validate() throws {
    guard error == nil || !clearError else {
      throw ValidationError("--error and --clear-error contradict each other")
    }
    try refuseContradiction(data.keys, unset: unsetData, "--unset")
    try refuseContradiction(parameters.keys, unset: unsetParameters, "--unset-param")
    try refuseContradiction(labels.keys, unset: unsetLabels, "--unset-label")
    let isEmpty =
      data.isEmpty && unsetData.isEmpty && !replace && parameters.isEmpty
      && unsetParameters.isEmpty && labels.isEmpty && unsetLabels.isEmpty && stale == nil
      && error == nil && !clearError && release.isEmpty
    guard !isEmpty else { throw ValidationError("nothing to set; name at least one key=value") }
  }

  func run() async throws {
    let session = try global.session()
    var answer = try await session.change(
      data: data, parameters: parameters, of: { await session.kind(of: id) }
    ) { (data, parameters) async throws(ClientError) in
      var patch = WidgetPatch(
        setData: data, unsetData: unsetData, replaceData: replace,
        setParameters: parameters, unsetParameters: unsetParameters,
        setLabels: labels.labels, unsetLabels: unsetLabels, isStale: stale, releases: release)
      if clearError { patch.error = .some(nil) } else if let error { patch.error = .some(error) }
      return try await session.client.updateWidget(
        UpdateWidgetRequest(
          id: id, patch: patch, etag: etag ?? "", requestID: global.requestId ?? "",
          transition: transition.transition), options: session.options)
    }
    if clearError { answer = try await ReducerErrors.clear(after: answer, id, global, session) }
    let released = await SetCommand.released(release, of: id, session)
    if !answer.changed, let widget = answer.widget {
      for note in SetCommand.absent(unsetData, widget.data, "data value")
        + SetCommand.absent(unsetParameters, widget.parameters, "parameter")
        + SetCommand.absent(unsetLabels, ChangeText.map(widget.labels), "label")
      {
        Output.writeError("widgetctl: widget \"\(id)\" has no \(note)\n")
      }
    }
    Output.warn(FailureWarnings.warnings([answer.widget].compactMap(\.self)))
    let owned = answer.changed ? "" : await SetCommand.owned(paths, of: id, session)
    session.printer.print(answer.widget?.document(etag: answer.etag) ?? .null) {
      "\(id) \(answer.changed ? "updated" : "unchanged") (revision \(answer.revision))\n" + released
        + owned
    }
  }

  /// The missing names among the names to unset: `data value "percnt"; did you mean "percent"?`
  static func absent(_ names: [String], _ map: ValueMap, _ what: String) -> [String] {
    names.filter { map[$0] == nil }.map { name in
      let nearest = name.closest(among: map.keys).map { "; did you mean \"\($0)\"?" } ?? ""
      return "\(what) \"\(name)\"\(nearest)".safeForTerminal
    }
  }

  /// The fields that the command sets.
  private var paths: [String] {
    data.keys.map { FieldOwner.Part.data.path($0) }
      + parameters.keys.map { FieldOwner.Part.parameters.path($0) }
      + labels.keys.map { FieldOwner.Part.labels.path($0) }
  }

  /// The set fields that had their values already, and still follow a bundle or set, for people.
  private static func owned(
    _ paths: [String], of id: WidgetID, _ session: Session
  ) async -> String {
    guard !paths.isEmpty, session.printer.format == .table,
      let mask = try? ReadMask(paths: ["owners"]),
      let answer = try? await session.client.getWidget(
        GetWidgetRequest(id: id, readMask: mask), options: session.options)
    else { return "" }
    return paths.compactMap { owned($0, owners: answer.owners) }.map { "\($0)\n" }.joined()
  }

  static func owned(_ path: String, owners: [FieldOwner]) -> String? {
    let owner = owners.first { $0.path == path && !$0.isAside }
    guard let owner, owner.isManaged else { return nil }
    let text =
      "  \(path) has this value already, so it still follows "
      + "\(owner.ownerName(Facts.name(ofUser:))); to own it, set another value"
    return text.safeForTerminal
  }

  /// The results for released fields, for people.
  private static func released(
    _ paths: [String], of id: WidgetID, _ session: Session
  ) async -> String {
    guard !paths.isEmpty, session.printer.format == .table,
      let mask = try? ReadMask(paths: ["owners", "data", "parameters", "labels"]),
      let answer = try? await session.client.getWidget(
        GetWidgetRequest(id: id, readMask: mask), options: session.options)
    else { return "" }
    return paths.map { released($0, in: answer.widget, owners: answer.owners) + "\n" }.joined()
  }

  static func released(_ path: String, in widget: Widget, owners: [FieldOwner]) -> String {
    if path == FieldOwner.position {
      return "the next change of the file or set moves \(widget.id) to its place"
    }
    let field = owners.first { $0.path == path } ?? FieldOwner(path: path, owner: "")
    let value = field.value(in: widget).map(JSONWriter.compact) ?? "not set"
    let ending =
      field.owner.isEmpty
      ? "no bundle and no set declares it, so it has no owner"
      : "it follows \(field.ownerName(Facts.name(ofUser:)))"
    return "  \(path) is \(value); \(ending)".safeForTerminal
  }
}

/// `move`: changes a widget's place.
struct MoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Change a widget's place in the order.",
    discussion: """
      Examples:
        widgetctl move clock --first
        widgetctl move cpu --after clock --transition spring:300ms
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @Flag(help: "Move the widget before all others.")
  var first = false

  @Flag(help: "Move the widget after all others.")
  var last = false

  @Option(
    help: ArgumentHelp("Move the widget directly before this one.", valueName: "id"),
    completion: idCompletion, transform: parseID)
  var before: WidgetID?

  @Option(
    help: ArgumentHelp("Move the widget directly after this one.", valueName: "id"),
    completion: idCompletion, transform: parseID)
  var after: WidgetID?

  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws { _ = try destination() }

  private func destination() throws -> MoveDestination {
    var destinations: [MoveDestination] = []
    if first { destinations.append(.first) }
    if last { destinations.append(.last) }
    if let before { destinations.append(.before(before)) }
    if let after { destinations.append(.after(after)) }
    guard destinations.count == 1, let destination = destinations.first else {
      throw ValidationError("use exactly one of --first, --last, --before, --after")
    }
    return destination
  }

  func run() async throws {
    let session = try global.session()
    // Only the output for people reports whether the widget moved. A widget that does not move
    // keeps its revision.
    let before =
      session.printer.format == .table
      ? try await session.client.getWidget(
        GetWidgetRequest(id: id, readMask: .idsOnly), options: session.options
      ).widget.revision : 0
    let answer = try await session.client.moveWidget(
      MoveWidgetRequest(
        id: id, destination: try destination(), requestID: global.requestId ?? "",
        transition: transition.transition), options: session.options)
    session.printer.print(answer.widget.document(etag: answer.etag)) {
      answer.widget.revision == before
        ? "nothing changed\n" : "\(id) moved (revision \(answer.widget.revision))\n"
    }
  }
}
