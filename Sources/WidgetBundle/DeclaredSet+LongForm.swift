public import WidgetModel
public import WidgetYAML

/// Kinds and widgets in the long form.
extension DeclaredSet {
  /// Reads a document of the long form: a set, a list of widgets, or a widget.
  ///
  /// - Parameters:
  ///   - document: the document's value, by the rules of its format.
  ///   - lines: the lines of the file, for messages.
  ///   - tree: the same document with the places of its parts; nil if it has no places. Called once,
  ///     if the document has a mistake.
  /// - Throws: all mistakes in the document. A mistake without a place has line 0.
  public static func readLong(
    _ document: Value, lines: SourceLines, tree: () -> YAMLNode?
  ) throws(InvalidBundle) -> DeclaredSet {
    let (set, problems) = readLong(SourceNode(document), lines)
    if let set, problems.isEmpty { return set }
    if let tree = tree(), let node = try? SourceReader.node(tree) {
      let placed = readLong(node, lines).problems
      if !placed.isEmpty { throw InvalidBundle(placed, lines) }
    }
    throw InvalidBundle(problems, lines)
  }

  private static func readLong(
    _ node: SourceNode, _ lines: SourceLines
  ) -> (set: DeclaredSet?, problems: [BundleProblem]) {
    let reading = Reading(lines, form: .long, timeZones: nil)
    let set = BundleFileReader(reading, hasHost: false).readLong(Item(node: node, path: ""))
    return (set, reading.problems)
  }
}

extension BundleFileReader {
  /// The owner of the kinds that every daemon has. `describe` prints them too.
  private static let builtInProvider = "widgetd"

  fileprivate func readLong(_ item: Item) -> DeclaredSet? {
    var set = DeclaredSet()
    switch item.node.content {
    case .list: read(widgets: item, path: "widgets", isFile: true, into: &set)
    case .map(let entries):
      let keys = Set(entries.map(\.key))
      if keys.contains("bundle"), !keys.contains("id") {
        reading.report(
          item, "this is a bundle", hint: "install it with `widgetctl bundle install FILE`")
      } else if keys.contains("widgets") || keys.contains("kinds")
        || keys.isDisjoint(with: ["kind", "id"])
      {
        readSet(item, keys, into: &set)
      } else if let kind = entries.first(where: { $0.key == "kind" }), !keys.contains("id"),
        kind.value.isGroup
      {
        reading.report(
          line: kind.line, column: kind.column, item.path,
          "\"kind\" is the name of a kind, not \(kind.value.words)",
          hint: "did you mean \"kinds\"?")
      } else if let object = reading.object(item, .widget) {
        add(object, path: "", to: &set)
      }
    case .scalar:
      reading.report(
        item, "expected a set, a list of widgets or a widget, not \(item.node.words)",
        hint: "declare kinds: or widgets:")
    }
    return set
  }

  private func readSet(_ item: Item, _ keys: Set<String>, into set: inout DeclaredSet) {
    guard let object = reading.object(item, .set) else { return }
    set.name = reading.text(object["set"])
    if let item = object["kinds"] { read(kinds: item, into: &set) }
    if let item = object["widgets"] {
      read(widgets: item, path: item.path, into: &set)
    } else if !object.has("kinds"), !object.misspells(["kinds", "widgets"]) {
      reading.report(item, "there is nothing in it", hint: "declare kinds: or widgets:")
    }
  }

  // MARK: - Kinds

  private func read(kinds item: Item, into set: inout DeclaredSet) {
    set.kinds = []
    guard case .list = item.node.content else {
      reading.report(
        item, "expected kinds by name, or a list of kinds, not \(item.node.words)",
        hint: "write kinds: {NAME: {…}}")
      return
    }
    let declared = named(item, key: "name", .kind, of: "kinds").filter { named in
      provider(named.item) != BundleFileReader.builtInProvider
    }
    let context = BundleContext(
      permissions: Permissions(), services: [:], widgetIDs: [], transforms: [:], hasHost: false)
    let kinds = read(declared) { name, item in
      KindReader(reading, name, context).readLong(item).map { (kind: $0, item: item) }
    }
    set.kinds = kinds.map {
      DeclaredKind(kind: $0.kind, path: $0.item.path, provider: provider($0.item))
    }
  }

  private func provider(_ item: Item) -> String {
    reading.object(item, .kind)?.printedText("provider") ?? ""
  }

  // MARK: - Widgets

  /// - Parameter isFile: whether the list is the whole document.
  private func read(
    widgets item: Item, path: String, isFile: Bool = false, into set: inout DeclaredSet
  ) {
    set.widgets = []
    guard case .list(let elements) = item.node.content else {
      reading.report(
        item, "expected widgets by id, or a list of widgets, not \(item.node.words)",
        hint: "write widgets: {ID: {kind: NAME}}")
      return
    }
    for (index, element) in elements.enumerated() {
      let item = Item(node: element, path: "\(path)[\(index)]")
      guard case .map = element.content else {
        reading.report(
          item, "expected an object, not \(element.words)",
          hint: "write {id: ID, kind: NAME}"
            + (isFile ? ", or begin the file with kinds: or widgets:" : ""))
        continue
      }
      guard let object = reading.object(item, .widget) else { continue }
      add(object, path: item.path, to: &set)
    }
  }

  private func add(_ object: Object, path: String, to set: inout DeclaredSet) {
    guard let idItem = object["id"] else {
      reading.reportMissing("id", of: object, "the id is missing", hint: "add id: ID")
      return
    }
    guard let id = reading.text(idItem) else { return }
    let named = Named(name: id, nameItem: idItem, item: object.item)
    guard let spec = widget(named, kinds: [], []) else { return }
    let declared = DeclaredWidget(
      spec: spec, path: path, set: object.printedText("applySet"))
    set.widgets = (set.widgets ?? []) + [declared]
  }
}

extension SourceNode {
  /// Whether the node is an object or a list.
  fileprivate var isGroup: Bool {
    if case .scalar = content { false } else { true }
  }
}
