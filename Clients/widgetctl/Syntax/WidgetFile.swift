import WidgetModel

/// A declared set of widgets, as `apply` reads it from documents.
///
/// A document is a list of widgets, `{set: NAME, widgets: [...]}`, or a single widget. A widget has
/// the fields that `get -o json` prints. Of these `position`, `revision` and the like are the
/// daemon's and are passed over, so that what was printed can be applied; a field of any other name
/// is an error. `applySet` says to which set a widget that was printed belongs: a file does not move
/// widgets from one set to another unless somebody says so.
struct WidgetFile: Hashable {
  /// The set's name, if a document says one.
  var set: String?
  var widgets: [WidgetSpec] = []
  /// Where each widget of `widgets` stands, and to which set it says it belongs.
  private var origins: [Origin] = []
  private var placeOfID: [WidgetID: String] = [:]

  private struct Origin: Hashable {
    /// `f.yaml: widgets[2]`
    var place: String
    /// Empty: to none.
    var set: String
  }

  /// The set of an apply that is named nowhere.
  static let setDefault = "default"

  /// The fields of a widget that are read, in the order in which messages name them.
  static let fields = [
    "id", "kind", "family", "labels", "visible", "enabled", "parameters", "data",
  ]
  /// Fields that are printed but belong to the daemon.
  static let passedOver: Set<String> = [
    "applySet", "createTime", "createdRevision", "error", "etag", "ownerUid", "position",
    "revision", "stale", "state", "updateTime",
  ]
  /// Fields beside `set` and `widgets` that `ls -o json` prints.
  private static let passedOverInSet: Set<String> = ["resumeToken", "revision"]

  /// Adds a document. Failures name the file and the path in it: `f.yaml: widgets[2].kind`.
  mutating func add(_ document: Value, name: String) throws(CommandFailure) {
    do throws(FieldFailure) { try add(document, of: name) } catch {
      let place = error.path.isEmpty ? "" : " \(error.path):"
      throw CommandFailure(.invalidArgument, "\(name):\(place) \(error.reason)")
    }
  }

  /// The set that is applied: `explicit`, else the documents', else that of the widgets, else
  /// "default".
  ///
  /// Throws if a widget says that it belongs to another one: it would be moved, and a later
  /// `--prune` of its old set would no longer know it. Only `explicit` moves widgets.
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

  private mutating func add(_ document: Value, of name: String) throws(FieldFailure) {
    switch document {
    case .list(let elements):
      try add(elements, of: name)
    case .map(let map)
    where map["widgets"] != nil || (map["kind"] == nil && map["id"] == nil):
      for key in map.keys
      where key != "set" && key != "widgets" && !WidgetFile.passedOverInSet.contains(key) {
        throw FieldFailure(key, "there is no such field; use set and widgets")
      }
      if let value = map["set"] {
        guard case .string(let name) = value else { throw FieldFailure("set", "must be text") }
        guard set == nil || set == name else {
          throw FieldFailure("set", "documents of one apply must name one set")
        }
        set = name
      }
      guard case .list(let elements)? = map["widgets"] else {
        throw FieldFailure("widgets", "must be a list of widgets")
      }
      try add(elements, of: name)
    case .map:
      try addWidget(document, place: name)
    default:
      throw FieldFailure("", "must be a list of widgets, or have a list named widgets")
    }
  }

  private mutating func add(_ elements: [Value], of name: String) throws(FieldFailure) {
    for (index, element) in elements.enumerated() {
      do throws(FieldFailure) {
        try addWidget(element, place: "\(name): widgets[\(index)]")
      } catch {
        throw error.inside("widgets[\(index)]")
      }
    }
  }

  private mutating func addWidget(_ value: Value, place: String) throws(FieldFailure) {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a widget: id, kind, …")
    }
    let spec = try WidgetFile.widget(map)
    if let id = spec.id, let first = placeOfID.updateValue(place, forKey: id) {
      throw FieldFailure("id", "\"\(id)\" is declared twice, first in \(first)")
    }
    widgets.append(spec)
    origins.append(Origin(place: place, set: try WidgetFile.text("applySet", map) ?? ""))
  }

  private static func widget(_ map: ValueMap) throws(FieldFailure) -> WidgetSpec {
    for key in map.keys where !fields.contains(key) && !passedOver.contains(key) {
      throw FieldFailure(
        key, "there is no such field; a widget has \(fields.joined(separator: ", "))")
    }
    guard let id = WidgetID(try required("id", map)) else {
      throw FieldFailure(
        "id",
        "must be 1 to 128 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a "
          + "letter or digit")
    }
    guard let kind = KindName(try required("kind", map)) else {
      throw FieldFailure(
        "kind",
        "must be 1 to 64 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a "
          + "letter or digit")
    }
    var spec = WidgetSpec(id: id, kind: kind)
    if let name = try text("family", map) {
      guard let family = Family(name: name) else {
        throw FieldFailure("family", "must be \(Family.names)")
      }
      spec.family = family
    }
    for entry in try object("labels", map).entries {
      guard case .string(let label) = entry.value else {
        throw FieldFailure("labels.\(entry.key)", "must be text; put it in quotes")
      }
      spec.labels[entry.key] = label
    }
    spec.isVisible = try bool("visible", map)
    spec.isEnabled = try bool("enabled", map)
    spec.parameters = try data("parameters", map)
    spec.data = try data("data", map)
    return spec
  }

  private static func text(_ name: String, _ map: ValueMap) throws(FieldFailure) -> String? {
    switch map[name] {
    case nil, .null?: return nil
    case .string(let text)?: return text
    default: throw FieldFailure(name, "must be text; put it in quotes")
    }
  }

  private static func required(_ name: String, _ map: ValueMap) throws(FieldFailure) -> String {
    guard let text = try text(name, map) else { throw FieldFailure(name, "is missing") }
    return text
  }

  private static func bool(_ name: String, _ map: ValueMap) throws(FieldFailure) -> Bool? {
    switch map[name] {
    case nil, .null?: return nil
    case .bool(let bool)?: return bool
    default: throw FieldFailure(name, "must be true or false")
    }
  }

  private static func object(_ name: String, _ map: ValueMap) throws(FieldFailure) -> ValueMap {
    switch map[name] {
    case nil, .null?: return [:]
    case .map(let entries)?: return entries
    default: throw FieldFailure(name, "must be an object of keys and values")
    }
  }

  private static func data(_ name: String, _ map: ValueMap) throws(FieldFailure) -> ValueMap {
    var entries: [ValueMap.Entry] = []
    for entry in try object(name, map).entries {
      do throws(DataDocument.Failure) {
        entries.append(.init(key: entry.key, value: try DataDocument.untagged(entry.value)))
      } catch {
        throw FieldFailure("\(name).\(entry.key)", "\(error)")
      }
    }
    return ValueMap(entries)
  }
}

/// What is wrong with a field of a document.
private struct FieldFailure: Error {
  let path: String
  let reason: String

  init(_ path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  func inside(_ outer: String) -> FieldFailure {
    FieldFailure(path.isEmpty ? outer : "\(outer).\(path)", reason)
  }
}

extension Family {
  /// All names, for help and errors.
  static let names = allCases.map(\.name).joined(separator: ", ")
}
