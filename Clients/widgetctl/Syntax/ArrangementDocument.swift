import Glibc
import WidgetModel

/// The file format of arrangements: `--arrangement` reads it, and the key `w` writes it.
///
/// A box is the id of a widget, a map of an entry (`id`, or `labels` and `kind`), or a map with
/// `columns` or `rows` of boxes. docs/dashboard.md has the table of keys.
extension LiveArrangement {
  static let depthMax = 8
  static let entriesMax = 1000
  /// The maximum number of watches for other families.
  static let feedsMax = 16
  /// The maximum number of mistakes of a file in a message. The message counts the others.
  static let problemsMax = 20

  /// The default file. Nil if the user has no home directory.
  static var standardPath: String? {
    if let folder = Terminal.environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/widgetd/dashboard.yaml"
    }
    return Terminal.environment("HOME").map { $0 + "/.config/widgetd/dashboard.yaml" }
  }

  /// Reads an arrangement. A failure has all mistakes, each with its line, its column and what to write.
  init(text: String, name: String) throws(CommandFailure) {
    let documents = try DocumentReader.documents(text, name: name)
    guard documents.count == 1 else {
      throw CommandFailure(
        .invalidArgument,
        documents.isEmpty
          ? "\(name) is empty; write `rows: [ID, ID]`, or press w in `widgetctl dashboard`"
          : "\(name) has \(documents.count) documents; an arrangement is one")
    }
    var reader = ArrangementReader()
    guard let arrangement = reader.read(documents[0]) else {
      let places = DocumentPlaces(name: name, text: text, document: 0)
      throw CommandFailure(
        .invalidArgument, places.message(reader.problems, most: LiveArrangement.problemsMax))
    }
    self = arrangement
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
    case .share(let share)?:
      let rest = share % 100
      let digits =
        rest == 0 ? "" : rest % 10 == 0 ? ".\(rest / 10)" : ".\(rest < 10 ? "0" : "")\(rest)"
      map["width"] = .string("\(share / 100)\(digits)%")
    case nil: break
    }
    return .map(map)
  }
}
