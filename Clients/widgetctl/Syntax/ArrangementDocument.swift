import Glibc
import WidgetModel

/// The file format of arrangements: `--arrangement` reads it, and the key `w` writes it.
///
/// A box is the id of a widget, a map of an entry (`id`, or `labels` and `kind`), or a map with
/// `columns` or `rows` of boxes. docs/dashboard.md has the table of keys.
extension LiveArrangement {
  static let depthMax = 8
  static let entriesMax = 1000
  /// The most watches for other families.
  static let feedsMax = 16

  private static let entryKeys = ["id", "labels", "kind", "title", "family", "order", "width"]
  private static let boxKeys = ["columns", "rows", "width"]
  private static let rootKeys = ["columns", "rows", "rest"]

  /// The default file. Nil if the user has no home directory.
  static var standardPath: String? {
    if let folder = Terminal.environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/widgetd/dashboard.yaml"
    }
    return Terminal.environment("HOME").map { $0 + "/.config/widgetd/dashboard.yaml" }
  }

  /// Reads an arrangement. A failure shows the line, the column and what to write.
  init(text: String, name: String) throws(CommandFailure) {
    let documents = try DocumentReader.documents(text, name: name)
    guard documents.count == 1 else {
      throw CommandFailure(
        .invalidArgument,
        documents.isEmpty
          ? "\(name): is empty; write `rows: [ID, ID]`, or press w in `widgetctl dashboard`"
          : "\(name): has \(documents.count) documents; an arrangement is one")
    }
    do throws(FieldFailure) { try self.init(documents[0]) } catch {
      let places = DocumentPlaces(name: name, text: text, document: 0)
      throw CommandFailure(.invalidArgument, places.message(error.path, error.reason))
    }
  }

  private init(_ document: Value) throws(FieldFailure) {
    guard case .map(let map) = document else {
      throw FieldFailure("", "must be a map with `columns` or `rows`")
    }
    try map.onlyHas(LiveArrangement.rootKeys)
    root = Box(try LiveArrangement.boxes(map, depth: 0))
    switch try map.text("rest") {
    case nil, "show"?: showsRest = true
    case "hide"?: showsRest = false
    default: throw FieldFailure("rest", "must be show or hide")
    }
    let entries = entries
    guard !entries.isEmpty else {
      throw FieldFailure(map["rows"] == nil ? "columns" : "rows", "names no widget; write its id")
    }
    guard entries.count <= LiveArrangement.entriesMax else {
      throw FieldFailure(
        "", "has \(entries.count) entries; at most \(LiveArrangement.entriesMax) are possible")
    }
    guard feeds.count <= LiveArrangement.feedsMax else {
      throw FieldFailure(
        "",
        "takes \(feeds.count) watches for its families; at most \(LiveArrangement.feedsMax) are "
          + "possible, so leave out some `family`")
    }
  }

  private static func boxes(_ map: ValueMap, depth: Int) throws(FieldFailure) -> Content {
    let isColumns = map["columns"] != nil
    guard isColumns != (map["rows"] != nil) else {
      throw FieldFailure(
        isColumns ? "rows" : "",
        isColumns
          ? "columns are there already; put one of them into the other" : "needs columns or rows")
    }
    guard depth < depthMax else {
      throw FieldFailure("", "nests deeper than \(depthMax) levels")
    }
    let name = isColumns ? "columns" : "rows"
    let boxes = try map.list(name) { (value) throws(FieldFailure) in
      try box(value, isColumn: isColumns, depth: depth + 1)
    }
    return isColumns ? .columns(boxes) : .rows(boxes)
  }

  private static func box(
    _ value: Value, isColumn: Bool, depth: Int
  ) throws(FieldFailure) -> Box {
    switch value {
    case .string(let text):
      return Box(.entry(Entry(id: try id(text, at: ""))))
    case .map(let map):
      let width = try width(map)
      if width != nil, !isColumn {
        throw FieldFailure(
          "width", "is for what stands in columns; in rows all have the full width")
      }
      if map["columns"] != nil || map["rows"] != nil {
        try map.onlyHas(boxKeys)
        return Box(try boxes(map, depth: depth), width: width)
      }
      return Box(.entry(try entry(map)), width: width)
    default:
      throw FieldFailure(
        "", "must be a widget's id, or a map with id, labels, kind, columns or rows")
    }
  }

  private static func id(_ text: String, at path: String) throws(FieldFailure) -> WidgetID {
    guard let id = WidgetID(text) else {
      throw FieldFailure(
        path,
        "is no id: it has 1 to 128 characters of a-z, A-Z, 0-9 and . _ - / :"
          + (text.contains("=") ? "; write {labels: \"\(text)\"} to select by labels" : ""))
    }
    return id
  }

  private static func entry(_ map: ValueMap) throws(FieldFailure) -> Entry {
    try map.onlyHas(entryKeys + ["columns", "rows"])
    var entry = Entry()
    entry.title = try map.text("title")
    if let text = try map.text("id") { entry.id = try id(text, at: "id") }
    if let text = try map.text("labels") {
      do throws(SyntaxFailure) { entry.selector.labels = try SelectorSyntax.parse(text) } catch {
        throw FieldFailure("labels", "\(error)")
      }
    }
    let kinds: [String]
    if case .list? = map["kind"] {
      kinds = try map.list("kind") { (value) throws(FieldFailure) in
        guard case .string(let text) = value else { throw FieldFailure("", "must be text") }
        return text
      }
    } else {
      kinds = try map.text("kind").map { [$0] } ?? []
    }
    for name in kinds {
      guard let kind = KindName(name) else { throw FieldFailure("kind", "\"\(name)\" is no kind") }
      entry.selector.kinds.append(kind)
    }
    guard (entry.id == nil) != entry.selector.isEverything else {
      throw FieldFailure(
        entry.id == nil ? "" : map["labels"] == nil ? "kind" : "labels",
        entry.id == nil
          ? "names no widget; write id, or labels or kind"
          : "id names one widget; leave this out, or the id")
    }
    if let name = try map.text("family") {
      guard let family = Family(name: name) else {
        throw FieldFailure("family", "must be \(Family.names)")
      }
      entry.family = family
    }
    if let name = try map.text("order") {
      guard let order = Order(rawValue: name), entry.id == nil else {
        throw FieldFailure(
          "order", entry.id == nil ? "must be position or id" : "is for labels and kind")
      }
      entry.order = order
    }
    return entry
  }

  private static func width(_ map: ValueMap) throws(FieldFailure) -> Width? {
    switch map["width"] {
    case nil, .null?: return nil
    case .int(let count)? where (1...10_000).contains(count): return .cells(Int(count))
    case .string(let text)? where text.hasSuffix("%"):
      if let share = Int(text.dropLast()), (1...100).contains(share) { return .percent(share) }
    default: break
    }
    throw FieldFailure(
      "width", "must be a number of columns of the terminal, or a share such as 40%")
  }

  // MARK: - Writing

  /// The arrangement as a file.
  var text: String {
    "# The arrangement of `widgetctl dashboard`; docs/dashboard.md explains the keys.\n"
      + YAMLWriter.document(document)
  }

  private var document: Value {
    var map = ValueMap()
    if case .map(let content) = LiveArrangement.document(of: root) {
      map = content
    } else {
      map["rows"] = .list([LiveArrangement.document(of: root)])
    }
    if case .entry = root.content { map = ["rows": .list([.map(map)])] }
    map["rest"] = .string(showsRest ? "show" : "hide")
    return .map(map)
  }

  private static func document(of box: Box) -> Value {
    var map = ValueMap()
    switch box.content {
    case .columns(let boxes): map["columns"] = .list(boxes.map(document))
    case .rows(let boxes): map["rows"] = .list(boxes.map(document))
    case .entry(let entry):
      if let id = entry.id, entry.title == nil, entry.family == nil, box.width == nil {
        return .string(id.rawValue)
      }
      if let id = entry.id { map["id"] = .string(id.rawValue) }
      if let title = entry.title { map["title"] = .string(title) }
      if let family = entry.family { map["family"] = .string(family.name) }
    }
    switch box.width {
    case .cells(let count)?: map["width"] = .int(Int64(count))
    case .percent(let share)?: map["width"] = .string("\(share)%")
    case nil: break
    }
    return .map(map)
  }
}

/// The file of an arrangement.
struct ArrangementFile: Hashable, Sendable {
  let path: String

  enum Outcome: Hashable, Sendable {
    case written
    /// The file exists, and may not be replaced.
    case exists
    case failed(String)
  }

  /// Writes the file atomically. Makes its folder if that is missing.
  func write(_ text: String, replaces: Bool) -> Outcome {
    guard let folder = ArrangementFile.folder(of: path) else { return .failed("has no folder") }
    if let problem = ArrangementFile.make(folder) { return .failed(problem) }
    // Write the target of a symbolic link, not the link.
    let target: String
    if let found = realpath(path, nil) {
      defer { free(found) }
      guard replaces else { return .exists }
      target = String(cString: found)
    } else {
      target = path
    }
    let temporary = "\(target).\(getpid()).new"
    let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard file >= 0 else { return .failed(String(cString: strerror(errno))) }
    var failure: CInt = 0
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(file, rest.baseAddress, rest.count)
        if count > 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno != EINTR {
          failure = errno
          return
        }
      }
    }
    if close(file) != 0, failure == 0 { failure = errno }
    if failure == 0, rename(temporary, target) != 0 { failure = errno }
    guard failure == 0 else {
      unlink(temporary)
      return .failed(String(cString: strerror(failure)))
    }
    return .written
  }

  private static func folder(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes a folder and its parents. Returns the error, or nil.
  private static func make(_ folder: String) -> String? {
    if mkdir(folder, 0o755) == 0 || errno == EEXIST { return nil }
    guard errno == ENOENT, let outer = self.folder(of: folder), outer != folder else {
      return String(cString: strerror(errno))
    }
    if let problem = make(outer) { return problem }
    return mkdir(folder, 0o755) == 0 || errno == EEXIST ? nil : String(cString: strerror(errno))
  }
}
