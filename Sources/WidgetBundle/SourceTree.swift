import WidgetModel
import WidgetYAML

/// A part of a document, and its place.
///
/// A node has no aliases, no tags, and no keys that are not text, because JSON has none of them.
struct SourceNode {
  /// From 1, in Unicode scalars.
  var line: Int
  var column: Int
  var content: Content

  enum Content {
    /// `isPlain`: not in quotes, so that `5` is a number.
    case scalar(String, isPlain: Bool)
    case list([SourceNode])
    case map([Entry])
  }

  struct Entry {
    var key: String
    var line: Int
    var column: Int
    var value: SourceNode
  }

  /// Nothing: `key:` or `key: null`.
  var isNull: Bool {
    if case .scalar(let text, isPlain: true) = content {
      PlainScalar.value(text) == .null
    } else {
      false
    }
  }

  /// Whether the content is the same; the places do not matter.
  func isSame(as other: SourceNode) -> Bool {
    switch (content, other.content) {
    case (.scalar(let a, _), .scalar(let b, _)): a.hasSameBytes(as: b)
    case (.list(let a), .list(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
    case (.map(let a), .map(let b)):
      a.count == b.count
        && zip(a, b).allSatisfy { $0.key.hasSameBytes(as: $1.key) && $0.value.isSame(as: $1.value) }
    default: false
    }
  }

  /// The name of the content in messages.
  var words: String {
    switch content {
    case .scalar(let text, _): text.isEmpty ? "nothing" : "\"\(text.prefix(40))\""
    case .list: "a list"
    case .map: "an object"
    }
  }
}

/// Reads a document of JSON or YAML into a tree.
enum SourceReader {
  static let bytesMax = 1 << 20
  static let depthMax = 64
  static let nodesMax = 100_000

  /// The document; nil if the text is empty.
  ///
  /// - Parameter isJSON: whether the text must be JSON. Otherwise it may be YAML.
  static func read(_ text: String, isJSON: Bool = false) throws(BundleProblem) -> SourceNode? {
    try checkLength(text)
    if isJSON { try checkJSON(text) }
    return try read(text, isJSON: isJSON) { (text) throws(YAMLFailure) in
      try YAMLReader.document(
        of: text, .init(nodesMax: nodesMax, depthMax: depthMax, expandsAliases: false))
    }
  }

  /// One of several documents, by its number from 0; nil if there is none. Empty ones do not count.
  static func read(_ text: String, document: Int) throws(BundleProblem) -> SourceNode? {
    try checkLength(text)
    return try read(text) { (text) throws(YAMLFailure) in
      let documents = try YAMLReader.documents(
        of: text, .init(nodesMax: nodesMax, depthMax: depthMax, expandsAliases: true)
      ).filter { $0.content != .scalar("", isPlain: true) }
      return documents.indices.contains(document) ? documents[document] : nil
    }
  }

  private static func checkLength(_ text: String) throws(BundleProblem) {
    guard text.utf8.count > bytesMax else { return }
    throw BundleProblem(
      line: 1, column: 1,
      message: "the file has \(text.utf8.count) bytes; a bundle's has \(bytesMax) at most",
      hint: "put large data into separate files, and read these files with a source")
  }

  private static func read(
    _ text: String, isJSON: Bool = false, _ parse: (String) throws(YAMLFailure) -> YAMLNode?
  ) throws(BundleProblem) -> SourceNode? {
    let yaml =
      isJSON || looksLikeJSON(text) ? YAMLText(json: text, isStrict: isJSON) : YAMLText(text)
    let root: YAMLNode?
    do throws(YAMLFailure) { root = try parse(yaml.text) } catch {
      let words = error.words(in: yaml.text)
      throw problem(at: yaml.original(words.place), words.message, hint: words.hint)
    }
    return try root.map { (root) throws(BundleProblem) in try node(root, in: yaml) }
  }

  private static func problem(
    at place: YAMLPlace, _ message: String, hint: String
  ) -> BundleProblem {
    BundleProblem(line: place.line, column: place.column, message: message, hint: hint)
  }

  // MARK: - JSON

  private static func looksLikeJSON(_ text: String) -> Bool {
    let first = firstByte(of: text)
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// The first byte of the content: not of a byte order mark, and no blank.
  private static func firstByte(of text: String) -> UInt8? {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    return text.utf8.dropFirst(text.utf8.starts(with: mark) ? mark.count : 0)
      .first { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
  }

  /// YAML takes most of JSON with mistakes, with other values: `hello"` is a text with a quote.
  private static func checkJSON(_ text: String) throws(BundleProblem) {
    // An empty text has words of its own.
    guard firstByte(of: text) != nil else { return }
    do throws(JSONReader.Failure) { _ = try JSONReader.value(of: text, from: .program) } catch {
      let mistake = JSONMistake(error, in: text)
      // A text can be JSON without its first brace.
      let isJSON = looksLikeJSON(text) || firstByte(of: text) == UInt8(ascii: "\"")
      let hint = isJSON ? mistake.hint : "if the file is YAML, name it bundle.yaml"
      throw problem(at: mistake.place, mistake.message, hint: hint)
    }
  }

  // MARK: - YAML

  /// - Parameter text: the text with the node, for the places in the author's text. Nil if they are
  ///   the same.
  static func node(
    _ node: YAMLNode, in text: YAMLText? = nil
  ) throws(BundleProblem) -> SourceNode {
    func original(_ place: YAMLPlace) -> YAMLPlace { text?.original(place) ?? place }
    let content: SourceNode.Content
    switch node.content {
    case .scalar(let text, let isPlain):
      content = .scalar(text, isPlain: isPlain)
    case .sequence(let elements):
      content = .list(
        try elements.map { (element) throws(BundleProblem) in try self.node(element, in: text) })
    case .mapping(let entries):
      content = .map(
        try entries.map { (entry) throws(BundleProblem) in
          let place = original(entry.key.place)
          guard case .scalar(let key, _) = entry.key.content else {
            throw problem(at: place, "a key must be plain text", hint: "")
          }
          return SourceNode.Entry(
            key: key, line: place.line, column: place.column,
            value: try self.node(entry.value, in: text))
        })
    }
    let place = original(node.place)
    return SourceNode(line: place.line, column: place.column, content: content)
  }
}
