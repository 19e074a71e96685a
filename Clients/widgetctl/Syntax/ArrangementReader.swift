import WidgetModel

/// Reads an arrangement and collects every mistake in it.
///
/// A part with a mistake is left out, and the parts beside it are still read. A mistake that
/// follows from another one is not reported.
struct ArrangementReader {
  private typealias Content = LiveArrangement.Content
  private typealias Box = LiveArrangement.Box
  private typealias Entry = LiveArrangement.Entry

  /// The mistakes so far, with paths from the top of the document.
  private(set) var problems: [FieldFailure] = []

  private static let entryKeys = ["id", "labels", "kind", "title", "family", "order", "width"]
  private static let boxKeys = ["columns", "rows", "width"]
  private static let rootKeys = ["columns", "rows", "rest"]

  /// The arrangement. Nil if `problems` says why there is none.
  mutating func read(_ document: Value) -> LiveArrangement? {
    guard case .map(let map) = document else {
      note(FieldFailure("", "must be a map with `columns` or `rows`"))
      return nil
    }
    note(map.unknownFields(ArrangementReader.rootKeys), in: "")
    let content = boxes(map, "", depth: 0)
    var showsRest = true
    switch text(map, "rest", "") {
    case nil, "show"?: break
    case "hide"?: showsRest = false
    default: note(FieldFailure("rest", "must be show or hide"))
    }
    guard problems.isEmpty, let content else { return nil }
    let arrangement = LiveArrangement(root: Box(content), showsRest: showsRest)
    checkSize(of: arrangement, map["rows"] == nil ? "columns" : "rows")
    return problems.isEmpty ? arrangement : nil
  }

  private mutating func checkSize(of arrangement: LiveArrangement, _ name: String) {
    let entries = arrangement.entries
    if entries.isEmpty { note(FieldFailure(name, "names no widget; write its id")) }
    if entries.count > LiveArrangement.entriesMax {
      note(
        FieldFailure(
          "", "has \(entries.count) entries; at most \(LiveArrangement.entriesMax) are possible"))
    }
    let feeds = arrangement.feeds.count
    if feeds > LiveArrangement.feedsMax {
      note(
        FieldFailure(
          "",
          "takes \(feeds) watches for its families; at most \(LiveArrangement.feedsMax) are "
            + "possible, so leave out some `family`"))
    }
  }

  // MARK: - Boxes

  private mutating func boxes(_ map: ValueMap, _ path: String, depth: Int) -> Content? {
    guard depth < LiveArrangement.depthMax else {
      note(FieldFailure("", "nests deeper than \(LiveArrangement.depthMax) levels"), in: path)
      return nil
    }
    let names = ["columns", "rows"].filter { map[$0] != nil }
    if names.isEmpty { note(FieldFailure("", "needs columns or rows"), in: path) }
    if names.count > 1 {
      note(
        FieldFailure("rows", "there are columns already; put one of them into the other"), in: path)
    }
    var contents: [Content] = []
    for name in names {
      let isColumns = name == "columns"
      var boxes: [Box] = []
      for (index, value) in list(map, name, path).enumerated() {
        let place = ArrangementReader.join(path, "\(name)[\(index)]")
        if let box = box(value, place, isColumn: isColumns, depth: depth + 1) { boxes.append(box) }
      }
      contents.append(isColumns ? .columns(boxes) : .rows(boxes))
    }
    return contents.first
  }

  private mutating func box(_ value: Value, _ path: String, isColumn: Bool, depth: Int) -> Box? {
    switch value {
    case .string(let text): return id(text, path).map { Box(.entry(Entry(id: $0))) }
    case .map(let map):
      let isNested = map["columns"] != nil || map["rows"] != nil
      let unknown = map.unknownFields(
        isNested ? ArrangementReader.boxKeys : ArrangementReader.entryKeys,
        hints: isNested ? [] : ["columns", "rows"])
      note(unknown, in: path)
      let width = width(map, path, isColumn: isColumn)
      let content =
        isNested
        ? boxes(map, path, depth: depth)
        : entry(map, path, mayBeMisspelt: !unknown.isEmpty).map { .entry($0) }
      return content.map { Box($0, width: width) }
    default:
      note(
        FieldFailure("", "must be a widget's id, or a map with id, labels, kind, columns or rows"),
        in: path)
      return nil
    }
  }

  private mutating func width(
    _ map: ValueMap, _ path: String, isColumn: Bool
  ) -> LiveArrangement.Width? {
    switch map["width"] {
    case nil, .null?: return nil
    case _ where !isColumn:
      note(
        FieldFailure("width", "is for entries in columns; in rows, all have the full width"),
        in: path)
      return nil
    case .int(let count)? where (1...10_000).contains(count): return .cells(Int(count))
    case .string(let text)? where text.hasSuffix("%"):
      if let share = ArrangementReader.share(text.dropLast()) { return .share(share) }
    default: break
    }
    note(
      FieldFailure("width", "must be a number of columns of the terminal, or a share such as 40%"),
      in: path)
    return nil
  }

  /// Reads `40` or `33.25` as hundredths of a percent, 1 to 100 percent.
  private static func share(_ text: Substring) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let digits = parts.count > 1 ? parts[1] : "0"
    guard let whole = Int(parts[0]), (1...100).contains(whole), (1...2).contains(digits.count),
      digits.allSatisfy({ $0.isASCII && $0.isNumber }), let rest = Int(digits)
    else { return nil }
    let share = whole * 100 + (digits.count == 1 ? rest * 10 : rest)
    return share <= LiveArrangement.wholeShare ? share : nil
  }

  // MARK: - Entries

  private mutating func entry(
    _ map: ValueMap, _ path: String, mayBeMisspelt: Bool
  ) -> Entry? {
    let before = problems.count
    var entry = Entry()
    entry.title = text(map, "title", path)
    if let text = text(map, "id", path) {
      entry.id = id(text, ArrangementReader.join(path, "id"))
    }
    if let text = text(map, "labels", path) {
      do throws(SyntaxFailure) { entry.selector.labels = try SelectorSyntax.parse(text) } catch {
        note(FieldFailure("labels", "\(error)"), in: path)
      }
    }
    readKinds(map, path, &entry)
    let hasID = map["id"].map { $0 != .null } ?? false
    if hasID, let other = ["labels", "kind"].first(where: { map[$0].map { $0 != .null } ?? false })
    {
      note(FieldFailure(other, "id names one widget; leave this out, or the id"), in: path)
    }
    if !hasID, entry.selector.isEverything, !mayBeMisspelt, problems.count == before {
      note(FieldFailure("", "names no widget; write id, or labels or kind"), in: path)
    }
    if let name = text(map, "family", path) {
      entry.family = Family(name: name)
      if entry.family == nil { note(FieldFailure("family", "must be \(Family.names)"), in: path) }
    }
    if let name = text(map, "order", path) {
      if let order = LiveArrangement.Order(rawValue: name), !hasID {
        entry.order = order
      } else {
        note(
          FieldFailure("order", hasID ? "is for labels and kind" : "must be position or id"),
          in: path)
      }
    }
    return entry
  }

  private mutating func readKinds(_ map: ValueMap, _ path: String, _ entry: inout Entry) {
    var names: [(place: String, value: Value)] = []
    if case .list(let values)? = map["kind"] {
      names = values.enumerated().map { ("kind[\($0.offset)]", $0.element) }
    } else if let value = map["kind"], value != .null {
      names = [("kind", value)]
    }
    for (place, value) in names {
      guard case .string(let name) = value else {
        note(FieldFailure(place, "must be text; put it in quotes"), in: path)
        continue
      }
      if let kind = KindName(name) {
        entry.selector.kinds.append(kind)
      } else {
        note(FieldFailure(place, "\"\(name)\" is not a kind"), in: path)
      }
    }
  }

  private mutating func id(_ text: String, _ path: String) -> WidgetID? {
    if let id = WidgetID(text) { return id }
    note(
      FieldFailure(
        "",
        "is not an id: it has 1 to 128 characters of a-z, A-Z, 0-9 and . _ - / :"
          + (text.contains("=") ? "; write {labels: \"\(text)\"} to select by labels" : "")),
      in: path)
    return nil
  }

  // MARK: - Values

  private mutating func text(_ map: ValueMap, _ name: String, _ path: String) -> String? {
    do throws(FieldFailure) { return try map.text(name) } catch {
      note(error, in: path)
      return nil
    }
  }

  private mutating func list(_ map: ValueMap, _ name: String, _ path: String) -> [Value] {
    do throws(FieldFailure) { return try map.list(name) { $0 } } catch {
      note(error, in: path)
      return []
    }
  }

  private mutating func note(_ failures: [FieldFailure], in path: String) {
    for failure in failures { note(failure, in: path) }
  }

  private mutating func note(_ failure: FieldFailure, in path: String = "") {
    problems.append(
      FieldFailure(ArrangementReader.join(path, failure.path), failure.reason))
  }

  private static func join(_ outer: String, _ inner: String) -> String {
    outer.isEmpty || inner.isEmpty ? outer + inner : "\(outer).\(inner)"
  }
}
