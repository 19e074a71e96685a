import WidgetBundle
import WidgetModel
import WidgetProto
import WidgetTimeZones

/// A declared set of widgets and kinds, which `apply` reads from documents.
///
/// A document is a list of widgets, `{set: NAME, kinds: [...], widgets: [...]}`, or a single widget.
/// `DeclaredSet` reads it, in the short form of bundles or in the long form that `describe -o yaml`
/// prints.
///
/// A widget has the fields that `get -o json` prints. `position`, `revision` and similar fields
/// belong to the daemon. They are ignored, so that printed widgets can be applied. A field of any
/// other name is an error. `applySet` is the set of a printed widget. A file moves widgets from one
/// set to another only on request.
struct WidgetFile: Hashable {
  /// The set's name, if a document has one.
  var set: String?
  var widgets: [WidgetSpec] = []
  /// Whether a document declares widgets, even if the list is empty.
  private(set) var declaresWidgets = false
  /// nil if no document declares kinds.
  private(set) var kinds: [Kind]?
  /// The kinds that have the short form.
  private(set) var shortKinds: Set<KindName> = []
  /// The place of each widget and kind, and its own set.
  private var origins: [Origin] = []
  private var placeOfID: [WidgetID: String] = [:]

  private struct Origin: Hashable {
    /// `f.yaml: widgets[2]`
    var place: String
    /// Empty for no set.
    var set: String
  }

  /// The place of a declaration in its document: `widgets[2]`, or empty if it is the whole
  /// document.
  private struct Position: Hashable {
    let places: DocumentPlaces?
    let path: String
  }

  /// The positions of the widgets and of the kinds, in their order.
  private var widgetPositions: [Position] = []
  private var kindPositions: [Position] = []
  /// The places in the document that is being added.
  private var places: DocumentPlaces?
  /// The places in the first document that names the set.
  private var setPlaces: DocumentPlaces?

  /// The set of an apply that names no set.
  static let setDefault = "default"

  /// Whether a document has the short form: the names of kinds, widgets or fields in front of them, or
  /// kinds with handlers or with a node as content.
  static func isShort(_ document: Value) -> Bool {
    guard case .map(let map) = document, map["bundle"] == nil, map["id"] == nil else {
      return false
    }
    for key in ["kinds", "widgets"] {
      if case .map? = map[key] { return true }
    }
    guard case .list(let kinds)? = map["kinds"] else { return false }
    return kinds.contains { kind in
      guard case .map(let kind) = kind else { return false }
      let isNamed = ["content", "data", "entry", "events", "parameters", "recommendations"]
        .contains { key in if case .map? = kind[key] { true } else { false } }
      return isNamed || ["on", "let", "sources", "actions"].contains { kind[$0] != nil }
    }
  }

  /// Adds the documents of a file. Returns all mistakes, each with its line and a hint.
  ///
  /// - Parameters:
  ///   - name: the name of the file in messages.
  ///   - warn: Called with each possible mistake.
  mutating func add(
    _ documents: [Value], of text: String, name: String, warn: (String) -> Void
  ) -> [CommandFailure] {
    var failures: [CommandFailure] = []
    // Split once, because a file of JSON lines has a document on each line.
    let lines = SourceLines(text)
    for (index, document) in documents.enumerated() {
      guard failures.count < WidgetFile.failuresMax else {
        failures.append(
          CommandFailure(
            .invalidArgument,
            "\(name): the documents from number \(index + 1) on were not checked; correct the other "
              + "mistakes first"))
        break
      }
      let part = documents.count == 1 ? "" : ": document \(index + 1)"
      let places = DocumentPlaces(name: name, text: text, document: index)
      do throws(CommandFailure) {
        try add(document, places, lines, label: name + part, warn: warn)
      } catch { failures.append(error) }
    }
    return failures
  }

  /// The maximum number of documents whose mistakes are reported. To find the place of a mistake, the
  /// whole file is read again.
  static let failuresMax = 20

  /// - Parameter label: the name of the document in messages about several documents.
  private mutating func add(
    _ document: Value, _ places: DocumentPlaces, _ lines: SourceLines, label: String,
    warn: (String) -> Void
  ) throws(CommandFailure) {
    let isShort = WidgetFile.isShort(document)
    let declared: DeclaredSet
    do throws(InvalidBundle) {
      declared =
        isShort
        ? try DeclaredSet.read(
          places.text, document: places.document, timeZones: SystemTimeZones().rules)
        : try DeclaredSet.readLong(document, lines: lines) { places.root() }
    } catch {
      let text = BundleText.problems(error, file: places.name)
      throw CommandFailure(.invalidArgument, String(text.dropLast()))
    }
    if !declared.remarks.isEmpty { warn(BundleText.remarks(declared.remarks, file: places.name)) }
    self.places = places
    let mistakes = add(declared, label: label, isShort: isShort)
    guard mistakes.isEmpty else {
      throw CommandFailure(
        .invalidArgument, places.message(mistakes, most: DeclaredMistakes<WidgetSpec>.most))
    }
  }

  /// Adds the parts of a document. Returns those that contradict other parts.
  private mutating func add(
    _ declared: DeclaredSet, label: String, isShort: Bool
  ) -> [FieldFailure] {
    var mistakes: [FieldFailure] = []
    do throws(FieldFailure) { try add(set: declared.name) } catch { mistakes.append(error) }
    for kind in declared.kinds ?? [] {
      let origin = Origin(place: WidgetFile.place(label, kind.path), set: kind.provider)
      do throws(FieldFailure) {
        try add(kind.kind, origin, Position(places: places, path: kind.path))
      } catch { mistakes.append(error) }
    }
    if declared.kinds != nil, kinds == nil { kinds = [] }
    if isShort { shortKinds.formUnion((declared.kinds ?? []).map(\.kind.name)) }
    declaresWidgets = declaresWidgets || declared.widgets != nil
    for widget in declared.widgets ?? [] {
      let origin = Origin(place: WidgetFile.place(label, widget.path), set: widget.set)
      do throws(FieldFailure) {
        try add(widget.spec, origin, Position(places: places, path: widget.path))
      } catch {
        mistakes.append(error.inside(widget.path))
      }
    }
    return mistakes
  }

  /// `f.yaml: widgets[2]`
  private static func place(_ label: String, _ path: String) -> String {
    path.isEmpty ? label : "\(label): \(path)"
  }

  private mutating func add(set name: String?) throws(FieldFailure) {
    guard let name else { return }
    guard set == nil || set == name else {
      throw FieldFailure("set", "documents of one apply must name one set")
    }
    if set == nil { setPlaces = places }
    set = name
  }

  private mutating func add(
    _ kind: Kind, _ origin: Origin, _ position: Position
  ) throws(FieldFailure) {
    guard kinds?.contains(where: { $0.name == kind.name }) != true else {
      throw FieldFailure("\(position.path).name", "\"\(kind.name)\" is declared twice")
    }
    kinds = (kinds ?? []) + [kind]
    origins.append(origin)
    kindPositions.append(position)
  }

  private mutating func add(
    _ spec: WidgetSpec, _ origin: Origin, _ position: Position
  ) throws(FieldFailure) {
    if let id = spec.id, let first = placeOfID.updateValue(origin.place, forKey: id) {
      throw FieldFailure("id", "\"\(id)\" is declared twice, first in \(first)")
    }
    widgets.append(spec)
    widgetPositions.append(position)
    origins.append(origin)
  }

  /// The set that is applied: `explicit`, else the documents', else that of the widgets, else
  /// "default".
  ///
  /// Throws if a widget names another set: the apply would move the widget, and a later `--prune`
  /// of its old set would no longer know it. Only `explicit` moves widgets.
  func target(explicit: String?) throws(CommandFailure) -> String {
    if let explicit { return explicit }
    let ofWidgets = origins.first { !$0.set.isEmpty }?.set
    let target = set ?? ofWidgets ?? WidgetFile.setDefault
    if let other = origins.first(where: { !$0.set.isEmpty && $0.set != target }) {
      throw CommandFailure(
        .invalidArgument,
        "\(other.place): belongs to set \(JSONWriter.quoted(other.set)), others to "
          + "\(JSONWriter.quoted(target)); apply each set by itself, or give --set \(target) to "
          + "move it there")
    }
    return target
  }

  /// The refusal with the lines of the files. It names `widgets[2]` or `kinds[0]` of the request, which may
  /// come from several documents, or the id of a widget, the name of a kind, or the set.
  ///
  /// - Parameter isSetNamed: Whether the command line names the set, so that no line of a file does.
  func located(_ failure: CommandFailure, isSetNamed: Bool = false) -> CommandFailure {
    let lines = failure.violations.compactMap { violation -> String? in
      if violation.field == "apply_set", !isSetNamed {
        return setPlaces?.message("set", violation.description)
      }
      let list = violation.field.prefix { $0 != "[" }
      let rest = violation.field.dropFirst(list.count + 1)
      let positions = list == "widgets" ? widgetPositions : list == "kinds" ? kindPositions : []
      guard let end = rest.firstIndex(of: "]"), let index = Int(rest[..<end]),
        positions.indices.contains(index), let places = positions[index].places
      else { return nil }
      let position = positions[index]
      let inside = rest[rest.index(after: end)...].drop { $0 == "." }
      let path = [position.path, String(inside)].filter { !$0.isEmpty }.joined(separator: ".")
      return places.message(path, violation.description)
    }
    if !lines.isEmpty, lines.count == failure.violations.count {
      return failure.saying(lines.joined(separator: "\n"))
    }
    guard failure.violations.isEmpty, let position = position(of: failure.metadata),
      let places = position.places
    else { return failure }
    return failure.saying(places.message(position.path, failure.message))
  }

  /// The failure of a request that is too large to be sent, with the line of the largest field.
  func located(tooLarge failure: CommandFailure) -> CommandFailure {
    let fields = widgets.indices.compactMap { index -> (index: Int, field: LargestField)? in
      widgets[index].largestField.map { (index, $0) }
    }
    guard let (index, field) = fields.max(by: { $0.field.bytes < $1.field.bytes }),
      widgetPositions.indices.contains(index), let places = widgetPositions[index].places
    else { return failure }
    let path = [widgetPositions[index].path, field.path].filter { !$0.isEmpty }
      .joined(separator: ".")
    let entries = widgets[index].timeline?.entries.count ?? 0
    let what =
      field.path == "timeline.entries"
      ? "\(entries) entries are too many for one request; a timeline has at most "
        + "timeline_entries_max entries, which `widgetctl stats` lists"
      : "this value is too large for one request; a widget has at most widget_bytes_max bytes, "
        + "which `widgetctl stats` lists"
    return failure.saying(places.message(path, what))
  }

  /// The place of the declaration of an error's widget or kind.
  private func position(of metadata: [String: String]) -> Position? {
    if let id = metadata["widget_id"],
      let index = widgets.firstIndex(where: { $0.id?.rawValue == id })
    {
      return widgetPositions[index]
    }
    guard let name = metadata["kind"],
      let index = kinds?.firstIndex(where: { $0.name.rawValue == name }),
      kindPositions.indices.contains(index)
    else { return nil }
    return kindPositions[index]
  }
}

extension Family {
  /// All names, for help and errors.
  static let names = allCases.map(\.name).joined(separator: ", ")
}
