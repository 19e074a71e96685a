import ArgumentParser
import WidgetClient
import WidgetModel

/// `ls`: lists widgets.
struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List widgets, in display order.",
    discussion: """
      The command prints a table. With -o json or yaml, it prints one object with the store's \
      revision and the list of widgets. With -o jsonl, it prints one widget per line. It reads the \
      list in pages, which can have different revisions. `watch --once` prints the state at \
      exactly one revision. If a named widget does not exist, it lists the others and exits with \
      status 3.

      If a widget has failed, its STATE has "error", and its DATA begins with ! and the reason: an \
      error, a wrong timeline, a failed activity, or an expression of its content that fails.

      Examples:
        widgetctl ls
        widgetctl ls clock cpu
        widgetctl ls -l 'panel=top,!draft' --kind clock
        widgetctl ls --failing
        widgetctl ls --field data.percent
        widgetctl ls -o json | jq -r '.widgets[].id'
      """, aliases: ["list"])

  @Argument(
    help: "Only the widgets with these ids.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID] = []

  @Flag(help: "Only widgets that have failed.")
  var failing = false

  @OptionGroup var selection: SelectorOptions
  @OptionGroup var fields: FieldOptions
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    try await selection.checkKinds(in: session)
    var mask = try fields.mask(for: session.printer.format)
    let selector = selection.selector(ids: ids)
    // The list is sorted here, by position.
    let asked = try fields.mask(
      for: session.printer.format, adding: ["position"] + (failing ? Widget.failurePaths : []))
    let (found, revision) = try await fields.asking(for: asked) {
      (known) async throws(ClientError) in
      mask = known == asked ? mask : known
      return try await session.list(selector, mask: known)
    }
    let widgets = failing ? found.filter(\.widget.hasFailed) : found
    if found.isEmpty, ids.isEmpty, !selection.isEmpty { await selection.noteNothing(in: session) }
    session.printer.print(
      list: widgets.map {
        $0.widget.document(etag: $0.etag, mask: mask, stored: $0.storedTimeline)
      },
      around: { .map(["revision": .revision(revision), "widgets": $0]) }
    ) {
      failing && widgets.isEmpty && !found.isEmpty && session.printer.width != nil
        ? "no widget has failed\n"
        : session.printer.table(
          of: widgets.map { FieldOptions.projected($0.widget, fields.paths) }, mask: mask,
          reasons: true)
    }
    await session.warnOfStore()
    // The selection may leave out widgets that exist.
    let others = Set(ids).subtracting(found.map(\.widget.id))
    guard !others.isEmpty else { return }
    let there = try await session.list(Selector(ids: Array(others)), mask: .idsOnly).widgets
    let missing = others.subtracting(there.map(\.widget.id))
    guard !missing.isEmpty else { return }
    await FollowOptions.noteMissing(
      of: ids, among: Set(ids).subtracting(missing), waits: false, session)
    throw ExitStatus.notFound
  }
}

extension Session {
  /// All pages, in position order. A widget that moved while they were read is in the list once, as
  /// it was read last.
  func list(
    _ selector: Selector, mask: ReadMask = .all, family: Family? = nil, isRedacted: Bool = false
  ) async throws(ClientError) -> (widgets: [TaggedWidget], revision: Revision) {
    // The place in the list orders the widgets if the mask leaves out their positions.
    var widgets: [WidgetID: (tagged: TaggedWidget, place: Int)] = [:]
    var place = 0
    var request = ListWidgetsRequest(
      selector: selector, pageSize: 1000, readMask: mask, contentFamily: family,
      isRedacted: isRedacted)
    while true {
      let page = try await client.listWidgets(request, options: options)
      for tagged in page.widgets {
        place += 1
        widgets[tagged.widget.id] = (tagged, place)
      }
      guard !page.nextPageToken.isEmpty else {
        let sorted = widgets.values.sorted {
          ($0.tagged.widget.position, $0.place) < ($1.tagged.widget.position, $1.place)
        }
        return (sorted.map(\.tagged), page.revision)
      }
      request.pageToken = page.nextPageToken
    }
  }
}

extension Printer {
  /// A table of widgets. On a terminal, a message if there are none.
  ///
  /// - Parameters:
  ///   - mask: the requested fields.
  ///   - reasons: whether the data of a failed widget begins with the reason.
  func table(of widgets: [Widget], mask: ReadMask = .all, reasons: Bool = false) -> String {
    if widgets.isEmpty, width != nil { return "no widgets\n" }
    return Table.of(widgets, now: Terminal.now, mask: mask, reasons: reasons)
      .text(width: width, painter)
  }
}

/// `get`: shows one widget.
struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Show one widget, or single values of it.",
    discussion: """
      With --field, the table format has only the values, one per line: text as it is, all other \
      values as JSON. If a data key or parameter is missing, the command exits with status 3.

      On a terminal, the command escapes control characters in text. In a pipe or a file, it \
      prints the text unchanged, for programs. If a program prints the text to a terminal, use \
      --escape.

      Examples:
        widgetctl get clock
        widgetctl get clock -o yaml
        widgetctl get cpu --field data.percent
        widgetctl get clock --field data.text --escape | less
        widgetctl get clock --owners
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

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
  }

  func run() async throws {
    let session = try global.session()
    if owners { return try await showOwners(session) }
    var mask = try fields.mask(for: session.printer.format)
    let answer = try await fields.asking(for: mask) { (known) async throws(ClientError) in
      mask = known
      return try await session.client.getWidget(
        GetWidgetRequest(id: id, readMask: known), options: session.options)
    }
    let document = answer.widget.document(
      etag: answer.etag, mask: mask, stored: answer.storedTimeline)
    var values: [String] = []
    if session.printer.format == .table, !fields.paths.isEmpty {
      do throws(CommandFailure) {
        for path in fields.paths {
          values.append(
            try GetCommand.text(
              of: path, in: document, id: id, escapes: escape || Terminal.outputIsTerminal))
        }
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
    session.printer.print(document) {
      fields.paths.isEmpty
        ? session.printer.table(of: [answer.widget]) + GetCommand.problems(of: answer.widget)
        : values.joined(separator: "\n") + "\n"
    }
    await session.warnOfStore()
  }

  /// A line for each problem of a widget: its error, its staleness, and failed parts of its content.
  static func problems(of widget: Widget, now: Timestamp = Terminal.now) -> String {
    let lines =
      widget.failures(DateText(now: now)) + widget.statusFailures
      + (widget.content?.problemLines(tellsAll: false) ?? [])
    return lines.map { "  \($0)\n" }.joined().safeLines
  }

  private func showOwners(_ session: Session) async throws {
    let mask = try ReadMask(paths: ["owners", "data", "parameters", "labels", "apply_set"])
    let answer = try await session.client.getWidget(
      GetWidgetRequest(id: id, readMask: mask), options: session.options)
    let document: Value = .map([
      "id": .string(id.rawValue), "owners": .list(answer.owners.map(\.document)),
    ])
    session.printer.print(document) {
      guard !answer.owners.isEmpty else {
        return GetCommand.noOwners(of: id, in: answer.widget.applySet) + "\n"
      }
      var table = Table("FIELD", "VALUE", "OWNER", "DECLARED")
      for field in answer.owners {
        table.add(
          .init(field.path), .init(field.text(in: answer.widget, of: answer.owners)),
          .init(field.ownerName(Facts.name(ofUser:))),
          .init(
            field.declared.map {
              JSONWriter.compact($0)
                + (field.isAside
                  ? " set aside, it does not fit the kind" : " by \(field.manager)")
            } ?? ""))
      }
      return table.text(width: session.printer.width, session.printer.painter)
    }
  }

  /// Why no field of a widget has an owner.
  static func noOwners(of id: WidgetID, in applySet: String) -> String {
    let start = "no field of \(id) has an owner: "
    if applySet.isEmpty {
      return start + "no bundle and no set declares the widget"
    }
    if let bundle = RemoveCommand.bundle(of: applySet) {
      return start
        + "the bundle \"\(bundle)\" declares no data, parameters or labels of the widget"
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
    for scope in ["data", "parameters"] {
      guard let key = path[...].droppingPrefix(scope + "."), !key.isEmpty else { continue }
      let entries: ValueMap = if case .map(let map)? = map[scope] { map } else { [:] }
      guard let entry = ValuePath(String(key)).value(in: entries) else {
        throw CommandFailure(
          .notFound,
          "widget \"\(id)\" has no \(path)"
            + nearest(to: String(key), in: entries, scope, of: id))
      }
      value = entry
    }
    switch value {
    case nil, .null?: return ""
    case .string(let text)?: return escapes ? text.safeForTerminal : text
    case let value?: return JSONWriter.compact(value)
    }
  }
}

/// The option that says what of a widget is wanted.
struct FieldOptions: ParsableArguments {
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp(
      """
      Only this field of each widget; may be repeated: data.KEY, parameters.KEY, or a field's \
      name, such as data, labels, state, position. Tables and `get` also show a part of a value: \
      data.status.save.state, data.load[0]. JSON has the whole value.
      """, valueName: "path"))
  var paths: [String] = []

  func validate() throws { _ = try mask() }

  /// The read mask for a command that prints widgets. A document has all that a file for `apply` has.
  func mask(for format: OutputFormat, adding needed: [String] = []) throws -> ReadMask {
    guard paths.isEmpty, format != .table else { return try mask(adding: needed) }
    let names = ReadMask.Field.allCases.filter { $0 != .owners }.map(\.rawValue)
    return try ReadMask(paths: names)
  }

  /// Calls `ask` with the mask. If the daemon is older and does not know a field that `--field` does
  /// not name, calls it again without the field.
  func asking<Answer>(
    for mask: ReadMask, _ ask: (ReadMask) async throws(ClientError) -> Answer
  ) async throws(ClientError) -> Answer {
    var mask = mask
    while true {
      do throws(ClientError) { return try await ask(mask) } catch {
        let known = mask.paths.filter { $0 != error.unknownReadMaskPath }
        guard paths.isEmpty, !known.isEmpty, known.count < mask.paths.count,
          let smaller = try? ReadMask(paths: known)
        else { throw error }
        mask = smaller
      }
    }
  }

  /// The read mask, with the needed fields added.
  func mask(adding needed: [String] = []) throws -> ReadMask {
    guard !paths.isEmpty else { return .all }
    do throws(ReadMask.UnknownPath) {
      return try ReadMask(paths: paths.flatMap(FieldOptions.fields) + needed)
    } catch {
      let names = ReadMask.Field.allCases.map(\.rawValue) + FieldOptions.ofPresence
      let nearest = error.path.closest(among: names).map { "did you mean \"\($0)\"? " } ?? ""
      throw ValidationError(
        "--field \(error.path): a widget has no such field; \(nearest)use data.KEY, parameters.KEY "
          + "or one of " + names.joined(separator: ", "))
    }
  }

  /// The widget for a table: of values of which only parts are wanted it has the parts, each under its path.
  static func projected(_ widget: Widget, _ paths: [String]) -> Widget {
    var widget = widget
    widget.data = projected(widget.data, "data", paths)
    widget.parameters = projected(widget.parameters, "parameters", paths)
    return widget
  }

  private static func projected(_ map: ValueMap, _ scope: String, _ paths: [String]) -> ValueMap {
    let keys = paths.compactMap { $0[...].droppingPrefix(scope + ".").map(String.init) }
    guard !paths.contains(scope), keys.contains(where: { map[$0] == nil }) else { return map }
    return ValueMap(
      keys.compactMap { key in
        ValuePath(key).value(in: map).map { ValueMap.Entry(key: key, value: $0) }
      })
  }

  /// The fields of a widget's presence in documents.
  private static let ofPresence = ["state", "visible", "enabled"]

  /// The paths of a read mask that cover a path.
  private static func fields(_ path: String) -> [String] {
    for scope in ["data.", "parameters."] {
      guard let rest = path[...].droppingPrefix(scope), !rest.isEmpty else { continue }
      return ValuePath(String(rest)).keys.map { scope + $0 }
    }
    return [ofPresence.contains(path) ? "presence" : snakeCase(path)]
  }

  /// `createTime` as `create_time`; the part after a dot is a key and does not change.
  static func snakeCase(_ path: String) -> String {
    guard !path.contains(".") else { return path }
    return path.reduce(into: "") { text, character in
      text += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
  }

  /// The reverse.
  static func camelCase(_ path: String) -> String {
    let words = path.split(separator: "_")
    guard !path.contains("."), let first = words.first else { return path }
    return first
      + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
