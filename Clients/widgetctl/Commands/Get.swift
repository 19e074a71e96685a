import ArgumentParser
import WidgetClient
import WidgetModel
import WidgetTimers

/// `get`: shows widgets, or values of them.
struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Show widgets, or single values of them.",
    discussion: """
      With --field, the table format has only the values, one per line: text as it is, all other \
      values as JSON. The field error has a line for each failure of the widget, like `ls`: an \
      error, a wrong timeline, a failed activity, or an expression of its content that fails. Each field \
      of each widget has at least one line. The line of a text that is not set, such as error without \
      a failure, is empty. A timeline, an activity or content that the widget lacks is null.

      If a widget, a data key, a parameter or a label is missing, the command exits with status 3 in \
      each format. It still shows the other widgets. With -o json or yaml, several ids give an \
      object with the list of widgets.

      On a terminal, the command escapes control characters in text. In a pipe or a file, it \
      prints the text unchanged, for programs. If a program prints the text to a terminal, use \
      --escape.

      Examples:
        widgetctl get clock
        widgetctl get clock -o yaml
        widgetctl get clock cpu
        widgetctl get cpu --field data.percent
        widgetctl get clock --field data.text --escape | less
        widgetctl get clock --field error
        widgetctl get clock --owners
      """)

  @Argument(help: "The widgets' ids.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID]

  @Flag(
    help: """
      Show the owners of the data keys, parameters and labels that a bundle or a set declares. The \
      owner is the bundle or set, or the user or program that has changed the field later.
      """)
  var owners = false

  @Flag(
    help: """
      Escape control characters in the text of --field, even if the output is not a terminal. Use \
      it if a program prints the text to a terminal.
      """)
  var escape = false

  @OptionGroup var fields: FieldOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard !escape || !fields.paths.isEmpty else {
      throw ValidationError("--escape is for the text of --field; add --field PATH")
    }
    guard !owners || fields.paths.isEmpty else {
      throw ValidationError("--owners shows a fixed list of fields; leave out --field")
    }
    guard !owners || ids.count == 1 else {
      throw ValidationError("--owners is for one widget; give one id")
    }
  }

  func run() async throws {
    let session = try global.session()
    if owners, let id = ids.first { return try await showOwners(of: id, session) }
    let named = try await NamedWidgets(ids, socket: global.socket) { try await read($0, session) }
    var providers = ProviderFacts()
    if session.printer.format == .table, fields.paths.isEmpty {
      await providers.look(for: named.found.map(\.widget), session)
    }
    if Session.hasOutput(found: named.found.count, missing: named.failures.count) {
      show(named.found, providers, session.printer)
    }
    await session.warnOfStore()
    try named.end(session.printer.format)
  }

  /// The result of a read: a widget with its further fields.
  private struct Found {
    let widget: Widget
    let document: Value
    /// The texts of the fields of `--field`.
    let values: [String]
    /// The owners of the fields, if the answer has them.
    var owners: [FieldOwner] = []
  }

  private func show(_ found: [Found], _ providers: ProviderFacts, _ printer: Printer) {
    let now = Timestamp.wallClock()
    func kept(_ widget: Widget) -> Widget {
      widget.keepingPromises(at: now, providers.staleness(of: widget))
    }
    func table() -> String {
      guard fields.paths.isEmpty else {
        return found.flatMap(\.values).map { $0 + "\n" }.joined()
      }
      guard !found.isEmpty else { return "" }
      return printer.table(of: found.map { kept($0.widget) })
        + found.map {
          GetCommand.problems(
            of: kept($0.widget), providers, owners: $0.owners, namesWidget: found.count > 1)
        }.joined()
    }
    if ids.count == 1, let only = found.first {
      printer.print(only.document, table: table)
    } else {
      printer.print(
        list: found.map(\.document), around: { .map(["widgets": $0]) }, table: table)
    }
  }

  private func read(_ id: WidgetID, _ session: Session) async throws -> Found {
    var mask = try fields.mask(for: session.printer.format)
    // Only the owners say which values are set aside, and the other fields come without them.
    let needed = ReadMask.Field.allCases.filter { $0 != .storedTimeline }.map(\.rawValue)
    let asked =
      session.printer.format == .table && fields.paths.isEmpty
      ? try ReadMask(paths: needed) : mask
    let answer = try await fields.asking(for: asked) { (known) async throws(ClientError) in
      mask = known
      return try await session.client.getWidget(
        GetWidgetRequest(id: id, readMask: known), options: session.options)
    }
    let document = answer.widget.document(
      etag: answer.etag, mask: mask, stored: answer.storedTimeline)
    guard !fields.paths.isEmpty else {
      return Found(widget: answer.widget, document: document, values: [], owners: answer.owners)
    }
    let format = session.printer.format
    let told =
      format == .table && fields.paths.contains("error")
      ? await answer.widget.keepingPromises(at: .wallClock(), session) : answer.widget
    do throws(CommandFailure) {
      let values = try GetCommand.values(
        of: fields.paths, in: document, of: told, format: format,
        escapes: escape || Terminal.outputIsTerminal)
      return Found(widget: answer.widget, document: document, values: values)
    } catch {
      // Reads the whole widget, to suggest the nearest name.
      let whole = try await session.client.getWidget(
        GetWidgetRequest(id: id), options: session.options
      ).widget.document(etag: "")
      for path in fields.paths {
        _ = try GetCommand.text(of: path, in: whole, id: id, escapes: true)
      }
      throw error
    }
  }

  /// The texts of the fields of `--field`. Other formats than the table have none, but a missing value
  /// is a failure in each format.
  ///
  /// - Parameters:
  ///   - document: the widget's document, which has the fields.
  ///   - widget: has the failures for the field error.
  static func values(
    of paths: [String], in document: Value, of widget: Widget, format: OutputFormat, escapes: Bool
  ) throws(CommandFailure) -> [String] {
    let values = try paths.map { (path) throws(CommandFailure) in
      path == "error"
        ? errorText(of: widget)
        : try text(of: path, in: document, id: widget.id, escapes: escapes)
    }
    return format == .table ? values : []
  }

  /// A line for each failure, in the words of `ls`. Empty if nothing has failed.
  static func errorText(of widget: Widget, now: Timestamp = .wallClock()) -> String {
    let dates = DateText(now: now)
    return widget.failures.map { $0.words { "for \(dates.age(of: $0))" } }.joined(separator: "\n")
  }

  /// A line for each problem of a widget: its errors, its staleness, failed parts of its content,
  /// pictures that are missing, and values that are set aside.
  ///
  /// - Parameter namesWidget: Whether each line begins with the widget's id.
  static func problems(
    of widget: Widget, _ providers: ProviderFacts = ProviderFacts(), owners: [FieldOwner] = [],
    now: Timestamp = .wallClock(), namesWidget: Bool = false
  ) -> String {
    let asides = owners.filter(\.isAside).map { AsideValues.Entry(widget: widget.id, field: $0) }
    let dates = DateText(now: now)
    let lines =
      widget.failures(dates, providers) + widget.statusFailures
      + (widget.content?.problemLines(tellsAll: false, dates) ?? [])
      + (widget.content.map { PictureFile.problemLines(of: $0) } ?? []) + asides.map(\.words)
    let start = namesWidget ? "  \(widget.id): " : "  "
    return lines.map { "\(start)\($0)\n" }.joined().safeLines
  }

  private func showOwners(of id: WidgetID, _ session: Session) async throws {
    let mask = try ReadMask(
      paths: ["owners", "data", "parameters", "labels", "presence", "apply_set"])
    let answer = try await session.client.getWidget(
      GetWidgetRequest(id: id, readMask: mask), options: session.options)
    let document: Value = .map([
      "id": .string(id.rawValue), "owners": .list(answer.owners.map(\.document)),
    ])
    session.printer.print(document) {
      guard !answer.owners.isEmpty else {
        return GetCommand.noOwners(of: id, in: answer.widget.applySet) + "\n"
      }
      var table = Table(
        "FIELD", "VALUE", "OWNER", "DECLARED", dispensable: ["DECLARED", "VALUE"])
      for field in answer.owners {
        table.add(
          .init(field.path), .init(field.text(in: answer.widget, of: answer.owners)),
          .init(field.isManaged ? field.owner : field.ownerName(Facts.name(ofUser:))),
          .init(
            field.declared.map {
              JSONWriter.compact($0)
                + (field.isAside
                  ? " set aside, because it does not fit the kind" : " by \(field.manager)")
                // Another set has taken the widget since.
                + (field.isAside || field.manager == answer.widget.applySet ? "" : ", earlier")
            } ?? ""))
      }
      return table.text(width: session.printer.width, session.printer.painter)
    }
  }

  /// The reason why no field of a widget has an owner.
  static func noOwners(of id: WidgetID, in applySet: String) -> String {
    let start = "no field of \(id) has an owner: "
    if applySet.isEmpty {
      return start + "no bundle and no set declares the widget"
    }
    if let bundle = RemoveCommand.bundle(of: applySet) {
      return start
        + "bundle \(bundle) declares no data, parameters or labels of the widget"
    }
    return start
      + "the set \(JSONWriter.quoted(applySet)) was applied without --own, so it replaces what "
      + "others set; `widgetctl apply --own` records owners"
  }

  /// `; did you mean data.items?`, `; it has data.items and data.n`
  private static func nearest(
    to key: String, in entries: ValueMap, _ scope: String, of id: WidgetID
  )
    -> String
  {
    let start = ValuePath(key).keys.first ?? key
    guard entries[start] == nil else { return "" }
    if let near = start.closest(among: entries.keys) { return "; did you mean \(scope).\(near)?" }
    return entries.isEmpty ? "" : "; `widgetctl get \(id) --field \(scope)` shows what it has"
  }

  /// The fields whose value is text, so that a missing value is empty text.
  private static let texts: Set = ["applySet", "error", "etag"]

  /// The value that a field's path names, as text.
  ///
  /// - Parameter escapes: whether control characters become escapes.
  static func text(
    of path: String, in document: Value, id: WidgetID, escapes: Bool
  ) throws(CommandFailure) -> String {
    guard case .map(let map) = document else { return "" }
    var value = map[FieldOptions.camelCase(path)]
    if path == "presence" {
      value = .map(["visible": map["visible"] ?? .null, "enabled": map["enabled"] ?? .null])
    }
    if path == "stale" { value = value ?? .bool(false) }
    if FieldOptions.camelCase(path) == "storedTimeline" { value = map["timeline"] }
    for scope in ["data", "parameters", "labels"] {
      guard let key = path[...].droppingPrefix(scope + "."), !key.isEmpty else { continue }
      let entries: ValueMap = if case .map(let map)? = map[scope] { map } else { [:] }
      guard let entry = ValuePath(String(key)).value(in: entries) else {
        throw CommandFailure(
          .notFound,
          "widget \"\(id)\" has no \(path)"
            + nearest(to: String(key), in: entries, scope, of: id))
      }
      guard entry != .null else { return "null" }
      value = entry
    }
    switch value {
    case nil, .null?: return texts.contains(FieldOptions.camelCase(path)) ? "" : "null"
    case .string(let text)?: return escapes ? text.safeForTerminal : text
    case let value?: return JSONWriter.compact(value)
    }
  }
}
