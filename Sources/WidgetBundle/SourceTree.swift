import WidgetModel
import Yams

/// A part of a document, and where it stands.
///
/// YAML's nodes without what JSON has no word for: aliases, tags, keys that are not text.
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

  /// The same content, wherever it stands.
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

  /// What people call it.
  var words: String {
    switch content {
    case .scalar(let text, _): text.isEmpty ? "nothing" : "\"\(text.prefix(40))\""
    case .list: "a list"
    case .map: "an object"
    }
  }
}

/// Reads a document of JSON or YAML into a tree.
///
/// Yams reads YAML; what it would not survive, or would take for ever over, is kept from it: see
/// `refusal`. Its own limit of a thousand levels bounds how deep it calls itself.
struct SourceReader {
  static let bytesMax = 1 << 20
  static let depthMax = 64
  static let nodesMax = 100_000

  private var count = 0

  /// The document; nil if there is nothing in it.
  static func read(_ text: String) throws(BundleProblem) -> SourceNode? {
    if let problem = refusal(of: text) { throw problem }
    let root: Yams.Node?
    do {
      let parser = try Parser(
        yaml: looksLikeJSON(text) ? joiningSurrogates(text) : text, resolver: .basic,
        encoding: .utf8)
      root = try parser.singleRoot()
    } catch let error as YamlError {
      throw problem(for: error, in: text)
    } catch {
      throw BundleProblem(line: 1, column: 1, message: "this is neither JSON nor YAML")
    }
    guard let root else { return nil }
    var reader = SourceReader()
    return try reader.node(root, depth: 0)
  }

  // MARK: - What is not given to Yams

  private static func refusal(of text: String) -> BundleProblem? {
    let bytes = text.utf8
    guard bytes.count <= bytesMax else {
      return BundleProblem(
        line: 1, column: 1,
        message: "the file has \(bytes.count) bytes; a bundle's has \(bytesMax) at most",
        hint: "keep large data in files of their own, and read them with a source")
    }
    // An anchor that is used makes the document a graph, and keys that are such parts take Yams time
    // that doubles with each of them. Bundles do not need that: neither sign may be there with the other.
    var anchor: Int?
    var alias: Int?
    var previous: UInt8 = 0x0A
    var pending: (sign: UInt8, offset: Int)?
    for (offset, byte) in bytes.enumerated() {
      if byte == 0 {
        return problem(
          at: offset, in: text, "there is a NUL character", hint: "a bundle is plain text")
      }
      if let (sign, place) = pending {
        pending = nil
        if isNameByte(byte) {
          if sign == UInt8(ascii: "&") { anchor = anchor ?? place } else { alias = alias ?? place }
        }
      }
      if byte == UInt8(ascii: "&") || byte == UInt8(ascii: "*"), canPrecedeToken(previous) {
        pending = (byte, offset)
      }
      previous = byte
    }
    guard anchor != nil, let alias else { return nil }
    return problem(
      at: alias, in: text, "anchors and aliases (&name, *name) are not taken in a bundle",
      hint: "write it out where it is needed; text that looks like both goes into another file")
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), 0x80...:
      true
    default: false
    }
  }

  /// White space, line ends (also those of YAML 1.1, and a byte order mark, by their last byte), and
  /// the signs after which a token can follow at once.
  private static func canPrecedeToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20, 0x09, 0x0A, 0x0D, 0x85, 0xA8, 0xA9, 0xBF, UInt8(ascii: "["), UInt8(ascii: "{"),
      UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "?"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func problem(
    at offset: Int, in text: String, _ message: String, hint: String
  ) -> BundleProblem {
    let before = text.utf8.prefix(offset)
    let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
    let start = before.lastIndex(of: 0x0A).map { before.index(after: $0) } ?? before.startIndex
    let column = before[start...].reduce(1) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
    return BundleProblem(line: line, column: column, message: message, hint: hint)
  }

  // MARK: - JSON

  private static func looksLikeJSON(_ text: String) -> Bool {
    let first = text.utf8.first { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// JSON writes what is beyond 16 bits as two escapes, which YAML does not know: `\ud83d\ude00` is
  /// its `\U0001f600`.
  private static func joiningSurrogates(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
        result.append(bytes[index])
        index += 1
        continue
      }
      if let high = unit(bytes, at: index), (0xD800..<0xDC00).contains(high),
        let low = unit(bytes, at: index + 6), (0xDC00..<0xE000).contains(low)
      {
        let code = 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
        let digits = String(code, radix: 16)
        result += "\\U\(String(repeating: "0", count: 8 - digits.count))\(digits)".utf8
        index += 12
      } else {
        result += bytes[index...index + 1]
        index += 2
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func unit(_ bytes: [UInt8], at index: Int) -> UInt32? {
    guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"),
      bytes[index + 1] == UInt8(ascii: "u")
    else { return nil }
    return UInt32(String(decoding: bytes[index + 2..<index + 6], as: UTF8.self), radix: 16)
  }

  // MARK: - Yams

  private static func problem(for error: YamlError, in text: String) -> BundleProblem {
    switch error {
    case .scanner(_, let problem, let mark, _),
      .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      let (line, column) = (max(1, mark.line), max(1, mark.column))
      let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      let rest = line <= lines.count ? lines[line - 1].unicodeScalars.dropFirst(column - 1) : nil
      let words = YAMLWords.translated(problem, at: rest?.first.map { Character($0) })
      return BundleProblem(line: line, column: column, message: words.message, hint: words.hint)
    case .duplicatedKeysInMapping(let duplicates, let context):
      let names = duplicates.map { "\"\($0.prefix(64))\"" }.joined(separator: ", ")
      return BundleProblem(
        line: max(1, context.mark.line), column: max(1, context.mark.column),
        message: "keys are there twice: \(names)", hint: "keep one of each")
    case .reader(let problem, let offset, _, _):
      return BundleProblem(
        line: 1, column: 1, message: problem + (offset.map { " (at byte \($0))" } ?? ""),
        hint: "write control characters in text as escapes, such as \"\\u001b\"")
    default:
      return BundleProblem(line: 1, column: 1, message: "this is neither JSON nor YAML: \(error)")
    }
  }

  /// Lists and objects have their own tags, said or not.
  private static func isImplicit(_ tag: String, _ node: Yams.Node) -> Bool {
    switch node {
    case .sequence: tag == "tag:yaml.org,2002:seq"
    case .mapping: tag == "tag:yaml.org,2002:map"
    default: false
    }
  }

  private mutating func node(_ node: Yams.Node, depth: Int) throws(BundleProblem) -> SourceNode {
    let (line, column) = (node.mark?.line ?? 1, node.mark?.column ?? 1)
    let problem = { (message: String, hint: String) in
      BundleProblem(line: line, column: column, message: message, hint: hint)
    }
    count += 1
    guard count <= SourceReader.nodesMax else {
      throw problem(
        "there are more than \(SourceReader.nodesMax) values", "make the bundle smaller")
    }
    guard depth <= SourceReader.depthMax else {
      throw problem("this nests deeper than \(SourceReader.depthMax) levels", "")
    }
    // What is in quotes has the tag of text.
    let tag = node.tag.description
    guard ["", "!", "tag:yaml.org,2002:str"].contains(tag) || SourceReader.isImplicit(tag, node)
    else {
      throw problem("tags such as \(tag.prefix(64)) are not taken in a bundle", "leave it out")
    }
    let content: SourceNode.Content
    switch node {
    case .scalar(let scalar):
      content = .scalar(scalar.string, isPlain: scalar.style == .plain || scalar.style == .any)
    case .sequence(let sequence):
      var elements: [SourceNode] = []
      for element in sequence { elements.append(try self.node(element, depth: depth + 1)) }
      content = .list(elements)
    case .mapping(let mapping):
      var entries: [SourceNode.Entry] = []
      for (key, value) in mapping {
        guard case .scalar(let scalar) = key, let place = key.mark else {
          throw problem("a key must be plain text", "")
        }
        entries.append(
          .init(
            key: scalar.string, line: place.line, column: place.column,
            value: try self.node(value, depth: depth + 1)))
      }
      content = .map(entries)
    case .alias:
      throw problem("anchors and aliases (&name, *name) are not taken in a bundle", "")
    }
    return SourceNode(line: line, column: column, content: content)
  }
}
