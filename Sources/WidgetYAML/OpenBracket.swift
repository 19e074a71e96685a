import CYAML

/// A bracket or brace that begins a list or an object without an end.
///
/// libyaml stops where the text no longer fits, which can be many lines below. If a closing bracket
/// is missing, the next one closes the inner list or object in the place of the outer one. So the
/// first closing bracket that is indented less than the line of its partner shows the mistake.
struct OpenBracket {
  /// The place of the bracket.
  let place: YAMLPlace
  private let isBrace: Bool
  /// The line before which the end is missing; nil at the end of the text.
  private let line: Int?

  /// Nil if all brackets have their partners, or if a closing bracket has none.
  init?(in text: String) {
    guard let found = BracketScan(text).missingEnd() else { return nil }
    self = found
  }

  fileprivate init(_ bracket: BracketScan.Bracket, before line: Int?) {
    (place, isBrace, self.line) = (bracket.place, bracket.isBrace, line)
  }

  var words: (message: String, hint: String, place: YAMLPlace) {
    let (open, close) = isBrace ? ("{", "}") : ("[", "]")
    let end = line.map { $0 > place.line ? " before line \($0)" : "" } ?? ""
    return (
      "\"\(open)\" is not closed",
      "add \"\(close)\"\(end), or put a text with brackets in quotes", place
    )
  }
}

extension YAMLFailure {
  /// The bracket or brace of a text that has no end, for readers of JSON: the message, a hint and the
  /// place. Nil if all have one.
  public static func missingBracket(
    in text: String
  ) -> (message: String, hint: String, place: YAMLPlace)? {
    OpenBracket(in: text)?.words
  }
}

/// Reads the brackets of a text from the tokens of libyaml, which knows quotes and comments.
private struct BracketScan {
  struct Bracket {
    let place: YAMLPlace
    let isBrace: Bool
  }

  private let text: String
  /// The number of blanks at the beginning of each line.
  private let indents: [Int]

  init(_ text: String) {
    // As in `YAMLReader`, because the places are compared.
    self.text =
      text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    indents = self.text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
      $0.unicodeScalars.prefix { $0 == " " || $0 == "\t" }.count
    }
  }

  private func indent(ofLine line: Int) -> Int? {
    indents.indices.contains(line - 1) ? indents[line - 1] : nil
  }

  func missingEnd() -> OpenBracket? {
    let bytes = Array(text.utf8)
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
      return missingEnd(of: parser)
    }
  }

  private func missingEnd(of parser: UnsafeMutablePointer<yaml_parser_t>) -> OpenBracket? {
    var open: [Bracket] = []
    var suspect: OpenBracket?
    while true {
      var token = yaml_token_t()
      guard yaml_parser_scan(parser, &token) != 0 else {
        let line = YAMLReader.place(parser.pointee.problem_mark).line
        guard let last = open.last, last.place.line < line else { return nil }
        return suspect ?? OpenBracket(last, before: line)
      }
      let (type, place) = (token.type, YAMLReader.place(token.start_mark))
      yaml_token_delete(&token)
      switch type {
      case YAML_FLOW_SEQUENCE_START_TOKEN: open.append(Bracket(place: place, isBrace: false))
      case YAML_FLOW_MAPPING_START_TOKEN: open.append(Bracket(place: place, isBrace: true))
      case YAML_FLOW_SEQUENCE_END_TOKEN, YAML_FLOW_MAPPING_END_TOKEN:
        let isBrace = type == YAML_FLOW_MAPPING_END_TOKEN
        guard let last = open.last, open.contains(where: { $0.isBrace == isBrace }) else {
          return nil
        }
        guard last.isBrace == isBrace else {
          return suspect ?? OpenBracket(last, before: place.line)
        }
        if suspect == nil, isOutside(place, last) {
          suspect = OpenBracket(last, before: place.line)
        }
        open.removeLast()
      case YAML_DOCUMENT_START_TOKEN, YAML_DOCUMENT_END_TOKEN:
        if let last = open.last { return suspect ?? OpenBracket(last, before: place.line) }
        // The indentation of this document has no meaning for the next one.
        suspect = nil
      case YAML_STREAM_END_TOKEN:
        return open.last.map { suspect ?? OpenBracket($0, before: nil) }
      default: break
      }
    }
  }

  /// Whether a closing bracket begins its line, which is indented less than the line of the opening
  /// bracket.
  private func isOutside(_ end: YAMLPlace, _ start: Bracket) -> Bool {
    guard start.place.line < end.line, let outer = indent(ofLine: end.line),
      let inner = indent(ofLine: start.place.line)
    else { return false }
    return end.column == outer + 1 && outer < inner
  }
}
