import CYAML

/// A list or an object in brackets, or a quoted text inside one, whose end is missing.
///
/// libyaml stops where the text no longer fits, which can be many lines below. If a closing bracket
/// is missing, the next one closes the inner list or object in the place of the outer one. So the
/// first closing bracket that is indented less than the line of its partner shows the mistake, and
/// so does the first line that is indented less than the lines above it, and a bracket in the place
/// of a key. If a closing quote is missing, the next quote ends the text, directly in front of
/// another text.
struct MissingEnd {
  /// The place of the opening bracket or quote.
  let place: YAMLPlace
  let message: String
  /// The next step in YAML.
  let hint: String
  /// The next step in JSON, where the other brackets are in order.
  let jsonHint: String

  /// Nil if no end is missing, or if another mistake comes first.
  ///
  /// - Parameter limit: the place of a failure. A bracket or quote behind it is not its cause.
  init?(in text: String, before limit: YAMLPlace) {
    guard let found = EndScan(text, before: limit).missingEnd(), found.place.isBefore(limit) else {
      return nil
    }
    self = found
  }

  /// - Parameters:
  ///   - end: where the closing bracket is missing, beginning with a blank. May be empty.
  ///   - alternative: what can be done instead. Default: remove the bracket.
  fileprivate init(of bracket: EndScan.Bracket, _ end: String, or alternative: String? = nil) {
    let start = bracket.isBrace ? "{" : "["
    let removal = "remove this \"\(start)\""
    let advice = "add \"\(bracket.close)\"\(end), or "
    place = bracket.place
    message = "\"\(start)\" is not closed"
    jsonHint = advice + removal
    hint =
      advice + (alternative ?? removal)
      + "; if the bracket is part of a text, put this text in quotes"
  }

  fileprivate init(ofQuoteAt place: YAMLPlace) {
    (self.place, message) = (place, "the closing quote is missing")
    (hint, jsonHint) = ("add it", "add it")
  }

  var words: (message: String, hint: String, place: YAMLPlace) { (message, hint, place) }

  /// The last closing bracket before a failure. Nil if there is none, or if a bracket is open.
  static func lastEnd(in text: String, before limit: YAMLPlace) -> YAMLPlace? {
    EndScan(text, before: limit).lastEnd()
  }
}

extension YAMLPlace {
  fileprivate func isBefore(_ other: YAMLPlace) -> Bool {
    (line, column) < (other.line, other.column)
  }
}

/// Reads the brackets of a text from the tokens of libyaml, which knows quotes and comments.
private struct EndScan {
  struct Bracket {
    let place: YAMLPlace
    let isBrace: Bool
    /// Whether a line inside the brackets is indented more than the line of the opening bracket.
    var isIndented = false

    var close: Unicode.Scalar { isBrace ? "}" : "]" }
  }

  /// The maximum number of open brackets. libyaml looks at each of them for each token, so the time
  /// would be quadratic.
  private static let depthMax = 64

  private let limit: YAMLPlace
  private let bytes: [UInt8]
  private let scalars: [Unicode.Scalar]
  /// The blanks and tabs at the beginning of each line.
  private let indents: [Substring]

  init(_ text: String, before limit: YAMLPlace) {
    // As in `YAMLReader`, because the places are compared.
    let text =
      text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    self.limit = limit
    bytes = EndScan.hidingSurrogates(of: text)
    scalars = Array(text.unicodeScalars)
    indents = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
      Substring($0.unicodeScalars.prefix { $0 == " " || $0 == "\t" })
    }
  }

  /// JSON writes a character beyond 16 bits as two escapes, which libyaml refuses. Escapes of the same
  /// length in their place keep the places of the brackets.
  private static func hidingSurrogates(of text: String) -> [UInt8] {
    var bytes = Array(text.utf8)
    var index = 0
    while index + 5 < bytes.count {
      guard bytes[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      // The bit 0x20 makes letters small, and keeps digits.
      if bytes[index + 1] == UInt8(ascii: "u"), (bytes[index + 2] | 0x20) == UInt8(ascii: "d"),
        "89abcdef".utf8.contains(bytes[index + 3] | 0x20)
      {
        for (offset, digit) in "0020".utf8.enumerated() { bytes[index + 2 + offset] = digit }
      }
      index += 2
    }
    return bytes
  }

  func missingEnd() -> MissingEnd? { scan { missingEnd(of: $0) } }

  func lastEnd() -> YAMLPlace? { scan { lastEnd(of: $0) } }

  private func scan<Found>(
    _ find: (UnsafeMutablePointer<yaml_parser_t>) -> Found?
  ) -> Found? {
    guard !bytes.isEmpty else { return nil }
    let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    defer {
      yaml_parser_delete(parser)
      parser.deallocate()
    }
    guard yaml_parser_initialize(parser) != 0 else { return nil }
    return bytes.withUnsafeBufferPointer { buffer in
      yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
      yaml_parser_set_input_string(parser, buffer.baseAddress, buffer.count)
      return find(parser)
    }
  }

  private func lastEnd(of parser: UnsafeMutablePointer<yaml_parser_t>) -> YAMLPlace? {
    var depth = 0
    var last: YAMLPlace?
    while depth <= EndScan.depthMax {
      var token = yaml_token_t()
      guard yaml_parser_scan(parser, &token) != 0 else { return nil }
      defer { yaml_token_delete(&token) }
      let place = YAMLReader.place(token.start_mark)
      guard place.isBefore(limit) else { return depth == 0 ? last : nil }
      switch token.type {
      case YAML_FLOW_SEQUENCE_START_TOKEN, YAML_FLOW_MAPPING_START_TOKEN: depth += 1
      case YAML_FLOW_SEQUENCE_END_TOKEN, YAML_FLOW_MAPPING_END_TOKEN:
        depth -= 1
        last = place
      case YAML_STREAM_END_TOKEN: return nil
      default: break
      }
    }
    return nil
  }

  private func missingEnd(of parser: UnsafeMutablePointer<yaml_parser_t>) -> MissingEnd? {
    var open: [Bracket] = []
    // The most probable bracket of the outermost list or object that is open.
    var suspect: MissingEnd?
    var previous = YAML_NO_TOKEN
    var line = 0
    while open.count <= EndScan.depthMax {
      var token = yaml_token_t()
      guard yaml_parser_scan(parser, &token) != 0 else {
        guard isBlockRefused(by: parser), let last = open.last else { return nil }
        let line = YAMLReader.place(parser.pointee.problem_mark).line
        guard last.place.line < line else { return nil }
        return suspect ?? MissingEnd(of: last, " somewhere above line \(line)")
      }
      defer { yaml_token_delete(&token) }
      let place = YAMLReader.place(token.start_mark)
      if let last = open.last, isPart(token) {
        suspect = suspect ?? missingEnd(of: last, before: token, previous)
        let indent = place.line > line ? indent(of: last, at: place) : nil
        if let indent, indent > 0 {
          open[open.count - 1].isIndented = true
        } else if indent != nil, last.isIndented, last.place.isBefore(limit) {
          suspect = suspect ?? MissingEnd(of: last, " before line \(place.line)")
        }
      }
      if isPart(token) { line = place.line }
      previous = token.type
      switch token.type {
      case YAML_FLOW_SEQUENCE_START_TOKEN: open.append(Bracket(place: place, isBrace: false))
      case YAML_FLOW_MAPPING_START_TOKEN: open.append(Bracket(place: place, isBrace: true))
      case YAML_SCALAR_TOKEN:
        if let last = open.last, place.isBefore(limit), isCut(token, in: last) {
          return MissingEnd(ofQuoteAt: place)
        }
      case YAML_FLOW_SEQUENCE_END_TOKEN, YAML_FLOW_MAPPING_END_TOKEN:
        let isBrace = token.type == YAML_FLOW_MAPPING_END_TOKEN
        guard let last = open.last, open.contains(where: { $0.isBrace == isBrace }) else {
          return nil
        }
        guard last.isBrace == isBrace else {
          return suspect ?? missingEnd(of: last, closedBy: isBrace ? "{}" : "[]", at: place)
        }
        if suspect == nil, last.place.isBefore(limit), isOutside(place, last) {
          suspect = MissingEnd(of: last, " before line \(place.line)")
        }
        open.removeLast()
        if open.isEmpty { suspect = nil }
      case YAML_DOCUMENT_START_TOKEN, YAML_DOCUMENT_END_TOKEN:
        if let last = open.last {
          return suspect ?? MissingEnd(of: last, " somewhere above line \(place.line)")
        }
      case YAML_STREAM_END_TOKEN:
        return open.last.map { suspect ?? MissingEnd(of: $0, "") }
      default: break
      }
    }
    return nil
  }

  /// A closing bracket of the other kind can also be one too many, or its partner can be missing.
  private func missingEnd(
    of bracket: Bracket, closedBy pair: String, at place: YAMLPlace
  ) -> MissingEnd {
    let (start, end) = (pair.prefix(1), pair.suffix(1))
    return MissingEnd(
      of: bracket, " before the \"\(end)\" in line \(place.line), column \(place.column)",
      or: "remove this \"\(end)\", or add its \"\(start)\"")
  }

  /// Whether a token begins a part of a list or an object.
  private func isPart(_ token: yaml_token_t) -> Bool {
    token.type == YAML_SCALAR_TOKEN || token.type == YAML_FLOW_SEQUENCE_START_TOKEN
      || token.type == YAML_FLOW_MAPPING_START_TOKEN
  }

  /// An object that has an opening bracket in the place of a key. libyaml has a token before each
  /// key and value.
  private func missingEnd(
    of bracket: Bracket, before token: yaml_token_t, _ previous: yaml_token_type_t
  ) -> MissingEnd? {
    let starts = [YAML_KEY_TOKEN, YAML_VALUE_TOKEN, YAML_ANCHOR_TOKEN, YAML_TAG_TOKEN]
    guard bracket.isBrace, bracket.place.isBefore(limit), token.type != YAML_SCALAR_TOKEN,
      !starts.contains(previous)
    else { return nil }
    let start = token.type == YAML_FLOW_MAPPING_START_TOKEN ? "{" : "["
    let place = YAMLReader.place(token.start_mark)
    return MissingEnd(
      of: bracket, " before the \"\(start)\" in line \(place.line), column \(place.column)")
  }

  /// The difference between the indentation of a line that begins at a place and the line of a
  /// bracket. Nil if another text begins the line, or if the two are not comparable.
  private func indent(of bracket: Bracket, at place: YAMLPlace) -> Int? {
    guard bracket.place.line < place.line, indents.indices.contains(place.line - 1) else {
      return nil
    }
    let (inner, outer) = (indents[place.line - 1], indents[bracket.place.line - 1])
    // The number of bytes is known. Characters would be counted for each line.
    guard place.column == inner.utf8.count + 1, inner.hasPrefix(outer) || outer.hasPrefix(inner)
    else { return nil }
    return inner.utf8.count - outer.utf8.count
  }

  /// Whether libyaml stopped at a block of text, which cannot begin inside brackets. Other characters
  /// are mistakes themselves.
  private func isBlockRefused(by parser: UnsafeMutablePointer<yaml_parser_t>) -> Bool {
    let index = Int(parser.pointee.problem_mark.index)
    guard parser.pointee.error == YAML_SCANNER_ERROR, let problem = parser.pointee.problem,
      String(cString: problem).contains("cannot start any token"), scalars.indices.contains(index)
    else { return false }
    return scalars[index] == "|" || scalars[index] == ">"
  }

  /// Whether a quoted text contains the end of its line, list or object, and another text follows
  /// directly: the quote at its end was meant as the beginning of that text.
  private func isCut(_ token: yaml_token_t, in bracket: Bracket) -> Bool {
    let (start, end) = (Int(token.start_mark.index), Int(token.end_mark.index))
    guard start < end, scalars.indices.contains(end),
      scalars[start] == "\"" || scalars[start] == "'",
      !scalars[end].properties.isWhitespace, !",:]}#".unicodeScalars.contains(scalars[end])
    else { return false }
    return token.start_mark.line < token.end_mark.line
      || scalars[start..<end].contains(bracket.close)
  }

  /// Whether a closing bracket begins its line, which is indented less than the line of the opening
  /// bracket. Blanks and tabs are not comparable.
  private func isOutside(_ end: YAMLPlace, _ start: Bracket) -> Bool {
    guard start.place.line < end.line, indents.indices.contains(end.line - 1) else { return false }
    let (outer, inner) = (indents[end.line - 1], indents[start.place.line - 1])
    return end.column == outer.count + 1 && outer.count < inner.count && inner.hasPrefix(outer)
  }
}
