import WidgetBundle
import WidgetModel
import WidgetProto
import WidgetTimeZones

/// A declared set of widgets and kinds, as `apply` reads it from documents.
///
/// A document is a list of widgets, `{set: NAME, kinds: [...], widgets: [...]}`, or a single widget.
/// Kinds and widgets can have the short form of bundles, which `DeclaredSet` reads.
///
/// A widget has the fields that `get -o json` prints. `position`, `revision` and similar fields
/// belong to the daemon. They are ignored, so that printed widgets can be applied. A field of any
/// other name is an error. `applySet` is the set of a printed widget. A file moves widgets from one
/// set to another only on request.
struct WidgetFile: Hashable {
  /// The set's name, if a document says one.
  var set: String?
  var widgets: [WidgetSpec] = []
  /// Whether a document declares widgets, if only that there are none.
  private(set) var declaresWidgets = false
  /// nil if no document declares kinds.
  private(set) var kinds: [Kind]?
  /// The kinds that have the short form.
  private(set) var shortKinds: Set<KindName> = []
  /// Where each widget and kind stands, and to which set it says it belongs.
  private var origins: [Origin] = []
  private var placeOfID: [WidgetID: String] = [:]

  private struct Origin: Hashable {
    /// `f.yaml: widgets[2]`
    var place: String
    /// Empty: to none.
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

  /// Whose the kinds are that every daemon has.
  private static let builtInProvider = "widgetd"
  /// The set of an apply that names no set.
  static let setDefault = "default"

  /// The fields of a widget that are read, in the order in which messages name them.
  static let fields = [
    "id", "kind", "family", "labels", "visible", "enabled", "parameters", "data", "timeline",
  ]
  /// Fields that are printed but belong to the daemon.
  static let passedOver: Set<String> = [
    "activity", "applySet", "content", "createTime", "createdRevision", "error", "etag", "ownerUid",
    "position", "revision", "stale", "state", "updateTime",
  ]
  /// Fields beside `set` and `widgets` that `ls -o json` prints.
  private static let passedOverInSet: Set<String> = ["resumeToken", "revision"]

  /// Adds a document. Failures name the file and the path in it: `f.yaml: widgets[2].kind`.
  ///
  /// - Parameter places: the places of fields in the document; with them, failures show the line.
  mutating func add(
    _ document: Value, name: String, places: DocumentPlaces? = nil
  ) throws(CommandFailure) {
    self.places = places
    do throws(FieldFailure) { try add(document, of: name) } catch {
      if let places {
        throw CommandFailure(.invalidArgument, places.message(error.path, error.reason))
      }
      let place = error.path.isEmpty ? "" : " \(error.path):"
      throw CommandFailure(.invalidArgument, "\(name):\(place) \(error.reason)")
    }
  }

  /// Whether a document has the short form: the names of kinds or widgets in front of them, or kinds
  /// with handlers or with a node as content.
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
      if case .map? = kind["content"] { return true }
      return ["on", "let", "sources", "actions"].contains { kind[$0] != nil }
    }
  }

  /// Adds a document in the short form.
  ///
  /// - Parameter warn: Called with each possible mistake.
  mutating func addShort(
    _ places: DocumentPlaces, name: String, warn: (String) -> Void
  ) throws(CommandFailure) {
    let document: DeclaredSet
    do throws(InvalidBundle) {
      document = try DeclaredSet.read(
        places.text, document: places.document, timeZones: SystemTimeZones().rules)
    } catch {
      let text = BundleText.problems(error, file: places.name)
      throw CommandFailure(.invalidArgument, String(text.dropLast()))
    }
    if !document.remarks.isEmpty { warn(BundleText.remarks(document.remarks, file: places.name)) }
    self.places = places
    do throws(FieldFailure) {
      try add(set: document.name)
      for (kind, path) in zip(document.kinds ?? [], document.kindPaths) {
        try add(kind, .init(place: "\(name): \(path)", set: ""), .init(places: places, path: path))
      }
      if document.kinds != nil, kinds == nil { kinds = [] }
      shortKinds.formUnion((document.kinds ?? []).map(\.name))
      declaresWidgets = declaresWidgets || document.widgets != nil
      for (spec, path) in zip(document.widgets ?? [], document.widgetPaths) {
        do throws(FieldFailure) {
          try add(
            spec, .init(place: "\(name): \(path)", set: ""), .init(places: places, path: path))
        } catch {
          throw error.inside(path)
        }
      }
    } catch {
      throw CommandFailure(.invalidArgument, places.message(error.path, error.reason))
    }
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

  /// Where the widget or the kind of an error is declared.
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

  private mutating func add(_ document: Value, of name: String) throws(FieldFailure) {
    switch document {
    case .list(let elements):
      try add(elements, of: name)
    case .map(let map) where map["bundle"] != nil && map["id"] == nil:
      throw FieldFailure(
        "bundle", "this is a bundle; install it with `widgetctl bundle install`")
    case .map(let map)
    where map["widgets"] != nil || map["kinds"] != nil
      || (map["kind"] == nil && map["id"] == nil):
      for key in map.keys
      where !["set", "kinds", "widgets"].contains(key)
        && !WidgetFile.passedOverInSet.contains(key)
      {
        throw FieldFailure(key, "unknown field; use set, kinds and widgets")
      }
      if let value = map["set"] {
        guard case .string(let name) = value else { throw FieldFailure("set", "must be text") }
        try add(set: name)
      }
      if let value = map["kinds"] {
        guard case .list(let elements) = value else {
          throw FieldFailure("kinds", "must be kinds by name, or a list of kinds")
        }
        try add(kinds: elements, of: name)
        if map["widgets"] == nil { return }
      }
      guard case .list(let elements)? = map["widgets"] else {
        throw FieldFailure("widgets", "must be widgets by id, or a list of widgets")
      }
      try add(elements, of: name)
    case .map:
      try addWidget(document, place: name, path: "")
    default:
      throw FieldFailure("", "must be a list of widgets, or have a list named widgets")
    }
  }

  private mutating func add(kinds elements: [Value], of name: String) throws(FieldFailure) {
    kinds = kinds ?? []
    for (index, element) in elements.enumerated() {
      let path = "kinds[\(index)]"
      let (kind, provider) = try Kind.read(element, at: path)
      // Printed files have the built-in kinds too.
      if provider == WidgetFile.builtInProvider { continue }
      try add(
        kind, Origin(place: "\(name): \(path)", set: provider), Position(places: places, path: path)
      )
    }
  }

  private mutating func add(_ elements: [Value], of name: String) throws(FieldFailure) {
    declaresWidgets = true
    for (index, element) in elements.enumerated() {
      do throws(FieldFailure) {
        try addWidget(element, place: "\(name): widgets[\(index)]", path: "widgets[\(index)]")
      } catch {
        throw error.inside("widgets[\(index)]")
      }
    }
  }

  private mutating func addWidget(
    _ value: Value, place: String, path: String
  ) throws(FieldFailure) {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a widget: id, kind, …")
    }
    declaresWidgets = true
    let spec = try WidgetFile.widget(map)
    try add(
      spec, Origin(place: place, set: try map.text("applySet") ?? ""),
      Position(places: places, path: path))
  }

  private static func widget(_ map: ValueMap) throws(FieldFailure) -> WidgetSpec {
    for key in map.keys where !fields.contains(key) && !passedOver.contains(key) {
      throw FieldFailure(
        key, "unknown field; a widget has \(fields.joined(separator: ", "))")
    }
    guard let id = WidgetID(try map.required("id")) else {
      throw FieldFailure(
        "id",
        "must be 1 to 128 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a "
          + "letter or digit")
    }
    guard let kind = KindName(try map.required("kind")) else {
      throw FieldFailure(
        "kind",
        "must be 1 to 64 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a "
          + "letter or digit")
    }
    var spec = WidgetSpec(id: id, kind: kind)
    if let name = try map.text("family") {
      guard let family = Family(name: name) else {
        throw FieldFailure("family", "must be \(Family.names)")
      }
      spec.family = family
    }
    for entry in try map.object("labels").entries {
      guard case .string(let label) = entry.value else {
        throw FieldFailure("labels.\(entry.key)", "must be text; put it in quotes")
      }
      spec.labels[entry.key] = label
    }
    spec.isVisible = try map.bool("visible")
    spec.isEnabled = try map.bool("enabled")
    spec.parameters = try map.data("parameters")
    spec.data = try map.data("data")
    if map["timeline"] != nil {
      do throws(FieldFailure) {
        spec.timeline = try TimelineDocument.timeline(try map.object("timeline"))
      } catch {
        throw error.path == "timeline" ? error : error.inside("timeline")
      }
    }
    return spec
  }
}

extension Family {
  /// All names, for help and errors.
  static let names = allCases.map(\.name).joined(separator: ", ")
}
