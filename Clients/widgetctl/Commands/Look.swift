import ArgumentParser
import WidgetClient
import WidgetModel
import WidgetTimers

/// `ls`: lists widgets.
struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List widgets, in display order.",
    discussion: """
      The command prints a table. With --field, it has a column for each field. With -o json or \
      yaml, it prints one object with the store's revision and the list of widgets. With -o jsonl, it prints one widget per line. It reads the \
      list in pages, which can have different revisions. `watch --once` prints the state at \
      exactly one revision. If a named widget does not exist, it lists the others and exits with \
      status 3. If none of them exists, it prints nothing. It also exits with status 3 if a named \
      widget lacks a value of --field that its kind does not declare.

      If a widget has failed, its STATE has "error", and its DATA begins with ! and the reason: an \
      error, a wrong timeline, a failed activity, or an expression of its content that fails. If \
      a widget is stale, its DATA has ↻ and the reason.

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
    // The reasons need fields that --field leaves out.
    var providers: ProviderFacts?
    if session.printer.format == .table, fields.paths.isEmpty {
      var facts = ProviderFacts()
      await facts.look(for: widgets.map(\.widget), session)
      providers = facts
    }
    let missing = try await session.missing(ids, beside: Set(found.map(\.widget.id)))
    let isNoted = !(selection.isEmpty && ids.isEmpty)
    if Session.hasOutput(found: found.count, missing: missing.count) {
      session.printer.print(
        list: widgets.map {
          $0.widget.document(etag: $0.etag, mask: mask, stored: $0.storedTimeline)
        },
        around: { .map(["revision": .revision(revision), "widgets": $0]) }
      ) {
        if failing, widgets.isEmpty, !found.isEmpty, session.printer.width != nil {
          return "no widget has failed\n"
        }
        guard fields.paths.isEmpty else {
          return session.printer.table(
            of: fields.paths, in: widgets, mask: mask, isNoted: isNoted)
        }
        return session.printer.table(
          of: widgets.map(\.widget), mask: mask, reasons: true, providers: providers,
          isNoted: isNoted)
      }
    }
    let existing = ids.filter { !missing.contains($0) }
    if found.isEmpty, !selection.isEmpty, ids.isEmpty || !existing.isEmpty {
      await selection.noteNothing(of: existing, in: session)
    } else {
      await selection.noteFailures(of: ids, in: session)
    }
    await session.warnOfStore()
    await FollowOptions.noteMissing(
      of: ids, among: Set(ids).subtracting(missing), waits: false, session)
    let hasDoubts = await FieldOptions.noteDoubts(
      about: fields.paths, of: ids, waits: false, session)
    if ids.isEmpty, !found.isEmpty {
      await FieldOptions.noteAbsence(
        of: FieldOptions.lacking(fields.paths, in: found.map(\.widget)),
        in: selection.selector(), waits: false, session)
    }
    guard missing.isEmpty, !hasDoubts else { throw ExitStatus.notFound }
  }
}

extension Session {
  /// The ids of widgets that do not exist.
  ///
  /// - Parameter found: ids of widgets that exist. A selection may have left out others.
  func missing(
    _ ids: [WidgetID], beside found: Set<WidgetID>
  ) async throws(ClientError) -> Set<WidgetID> {
    let others = Set(ids).subtracting(found)
    guard !others.isEmpty else { return [] }
    let there = try await list(Selector(ids: Array(others)), mask: .idsOnly).widgets
    return others.subtracting(there.map(\.widget.id))
  }

  /// Whether a command about named widgets has output. If none of them exists, errors are all that it
  /// prints.
  static func hasOutput(found: Int, missing: Int) -> Bool { missing == 0 || found > 0 }

  /// All pages, in position order. A widget that moved meanwhile is in the list once, in its last
  /// state.
  func list(
    _ selector: Selector, mask: ReadMask = .all, family: Family? = nil, isRedacted: Bool = false
  ) async throws(ClientError) -> (widgets: [TaggedWidget], revision: Revision) {
    // The place in the list orders the widgets if the mask leaves out their positions.
    var widgets: [WidgetID: (tagged: TaggedWidget, place: Int)] = [:]
    var place = 0
    var request = ListWidgetsRequest(
      selector: selector, pageSize: 1000, readMask: mask, contentFamily: family,
      isRedacted: isRedacted)
    var revision: Revision = 0
    try await ListPages.read(options) { (token, options) throws(ClientError) in
      request.pageToken = token
      let page = try await client.listWidgets(request, options: options)
      for tagged in page.widgets {
        place += 1
        widgets[tagged.widget.id] = (tagged, place)
      }
      revision = page.revision
      return page.nextPageToken
    }
    let sorted = widgets.values.sorted {
      ($0.tagged.widget.position, $0.place) < ($1.tagged.widget.position, $1.place)
    }
    return (sorted.map(\.tagged), revision)
  }
}

extension Printer {
  /// A table of widgets. On a terminal, a message if there are none.
  ///
  /// - Parameters:
  ///   - mask: the requested fields.
  ///   - reasons: whether the data of a failed widget begins with the reason.
  ///   - providers: with them, the data of a stale widget begins with the reason, too.
  ///   - isNoted: whether a note on standard error says that there are none.
  func table(
    of widgets: [Widget], mask: ReadMask = .all, reasons: Bool = false,
    providers: ProviderFacts? = nil, isNoted: Bool = false
  ) -> String {
    if widgets.isEmpty, width != nil { return isNoted ? "" : "no widgets\n" }
    return Table.of(
      widgets, now: .wallClock(), mask: mask, reasons: reasons, providers: providers
    ).text(width: width, painter)
  }

  /// A table of the fields of `--field`. On a terminal, a message if there are no widgets, unless a
  /// note on standard error says so.
  func table(
    of paths: [String], in widgets: [TaggedWidget], mask: ReadMask, isNoted: Bool = false
  ) -> String {
    if widgets.isEmpty, width != nil { return isNoted ? "" : "no widgets\n" }
    let rows = widgets.map {
      (
        widget: $0.widget,
        document: $0.widget.document(etag: $0.etag, mask: mask, stored: $0.storedTimeline)
      )
    }
    return Table.of(fields: paths, rows, now: .wallClock()).text(width: width, painter)
  }
}

/// The option for the fields of a widget.
struct FieldOptions: ParsableArguments {
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp(
      """
      Only this field of each widget; may be repeated: data.KEY, parameters.KEY, or a field's \
      name, such as data, labels, state, position. Tables and `get` also show labels.KEY, and a \
      part of a value: data.status.save.state, data.load[0]. JSON has the whole value. In tables \
      and `get`, error is every failure of the widget, also of its content, timeline or activity.
      """, valueName: "path"), completion: fieldCompletion)
  var paths: [String] = []

  func validate() throws { _ = try mask() }

  /// The read mask for a command that prints widgets. A document has all that a file for `apply` has.
  func mask(for format: OutputFormat, adding needed: [String] = []) throws -> ReadMask {
    guard paths.isEmpty, format != .table else {
      return try mask(adding: needed + self.needed(for: format))
    }
    let names = ReadMask.Field.allCases.filter { $0 != .owners }.map(\.rawValue)
    return try ReadMask(paths: names)
  }

  /// The fields that a format needs beside those that `--field` names: a table shows all failures as
  /// the error.
  func needed(for format: OutputFormat) -> [String] {
    format == .table && paths.contains("error") ? Widget.failurePaths : []
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
      let nearest =
        error.path.closest(among: FieldOptions.names).map { "did you mean \"\($0)\"? " } ?? ""
      throw ValidationError(
        "--field \(error.path): a widget has no such field; \(nearest)use data.KEY, parameters.KEY, "
          + "labels.KEY or one of " + FieldOptions.names.joined(separator: ", "))
    }
  }

  /// The widget for a line of `watch`. If only parts of a value are wanted, it has these parts, each
  /// under its path.
  static func projected(_ widget: Widget, _ paths: [String]) -> Widget {
    var widget = widget
    widget.data = projected(widget.data, "data", paths)
    widget.parameters = projected(widget.parameters, "parameters", paths)
    return widget
  }

  private static func projected(_ map: ValueMap, _ scope: String, _ paths: [String]) -> ValueMap {
    guard !paths.isEmpty, !paths.contains(scope) else { return map }
    let keys = paths.compactMap { $0[...].droppingPrefix(scope + ".").map(String.init) }
    guard keys.contains(where: { map[$0] == nil }) else {
      // The failures need data that was not asked for.
      return paths.contains("error")
        ? ValueMap(map.entries.filter { keys.contains($0.key) }) : map
    }
    return ValueMap(
      keys.compactMap { key in
        ValuePath(key).value(in: map).map { ValueMap.Entry(key: key, value: $0) }
      })
  }

  /// The fields of a widget's presence in documents.
  private static let ofPresence = ["state", "visible", "enabled"]
  /// All names of whole fields.
  static let names = ReadMask.Field.allCases.map(\.rawValue) + ofPresence

  /// The paths of a read mask that cover a path.
  private static func fields(_ path: String) -> [String] {
    for scope in ["data.", "parameters."] {
      guard let rest = path[...].droppingPrefix(scope), !rest.isEmpty else { continue }
      return ValuePath(String(rest)).keys.map { scope + $0 }
    }
    if let label = path[...].droppingPrefix("labels."), !label.isEmpty { return ["labels"] }
    return [ofPresence.contains(path) ? "presence" : snakeCase(path)]
  }

  /// `createTime` as `create_time`; the part after a dot is a key and does not change.
  static func snakeCase(_ path: String) -> String {
    guard !path.contains(".") else { return path }
    return path.reduce(into: "") { text, character in
      text += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
  }

  /// `create_time` as `createTime`.
  static func camelCase(_ path: String) -> String {
    let words = path.split(separator: "_")
    guard !path.contains("."), let first = words.first else { return path }
    return first
      + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
