import WidgetBundle
import WidgetModel
import WidgetYAML

/// Reads files of declared widgets: JSON or YAML, either with any number of documents.
///
/// Text that starts with `{` or `[` is tried as JSON first, so that JSON's own rules and error
/// positions hold for it. YAML's plain scalars are typed as YAML 1.2's core schema says (`yes` and
/// `no` are text); a whole number is an int and `1.0` a double, as in JSON.
enum DocumentReader {
  /// The maximum number of nodes of a document with all aliases expanded.
  static let nodesMax = 100_000
  static let depthMax = 64

  /// The documents of the text. Failures start with `name`, the name of the file.
  static func documents(_ text: String, name: String) throws(CommandFailure) -> [Value] {
    let first = text.utf8.first { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
    let looksLikeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    if looksLikeJSON || name.hasSuffix(".json") {
      do throws(JSONReader.Failure) { return try JSONReader.values(of: text) } catch {
        let mistake = JSONMistake(error, in: text)
        let refusal = failure(mistake.message, mistake.hint, at: mistake.place, name, text)
        guard !name.hasSuffix(".json") else { throw refusal }
        // YAML's flow style starts the same way. Only JSON has quotes around every key.
        let next = text.utf8.lazy.filter { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }.dropFirst()
          .first
        let isPlainMap = first == UInt8(ascii: "{") && next != UInt8(ascii: "\"")
        do throws(CommandFailure) { return try yaml(text, name: name) } catch {
          throw isPlainMap ? error : refusal
        }
      }
    }
    return try yaml(text, name: name)
  }

  /// The nodes of a text's documents, without those that are empty.
  static func nodes(_ text: String) throws(YAMLFailure) -> [YAMLNode] {
    try YAMLReader.documents(
      of: text, .init(nodesMax: nodesMax, depthMax: depthMax, expandsAliases: true)
    ).filter { $0.content != .scalar("", isPlain: true) }
  }

  private static func yaml(_ text: String, name: String) throws(CommandFailure) -> [Value] {
    do throws(YAMLFailure) {
      return try nodes(text).map { (node) throws(YAMLFailure) in try value(of: node) }
        .filter { $0 != .null }
    } catch {
      let words = error.words(in: text)
      throw failure(words.message, words.hint, at: words.place, name, text)
    }
  }

  private static func failure(
    _ message: String, _ hint: String, at place: YAMLPlace, _ name: String, _ text: String
  ) -> CommandFailure {
    let reason = hint.isEmpty ? message : "\(message); \(hint)"
    return CommandFailure(
      .invalidArgument, DocumentPlaces.message(reason, name: name, at: place, in: text))
  }

  private static func value(of node: YAMLNode) throws(YAMLFailure) -> Value {
    switch node.content {
    case .scalar(let text, let isPlain):
      guard isPlain else { return .string(text) }
      guard let value = PlainScalar.value(text) else {
        throw YAMLFailure(
          place: node.place, reason: .value("\(text) is outside 64 bits; put it in quotes"))
      }
      return value
    case .sequence(let elements):
      return .list(try elements.map { (element) throws(YAMLFailure) in try value(of: element) })
    case .mapping(let entries):
      return .map(
        ValueMap(
          try entries.map { (entry) throws(YAMLFailure) in
            guard case .scalar(let key, _) = entry.key.content else {
              throw YAMLFailure(place: entry.key.place, reason: .value("a key must be plain text"))
            }
            return ValueMap.Entry(key: key, value: try value(of: entry.value))
          }))
    }
  }
}
