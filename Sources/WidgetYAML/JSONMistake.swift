package import WidgetModel

/// A mistake in a text of JSON: its place, and words for the author.
package struct JSONMistake: Hashable {
  package let message: String
  /// The next step. Empty if the cause is not certain.
  package let hint: String
  package let place: YAMLPlace

  /// Linear in the length of the text.
  package init(_ failure: JSONReader.Failure, in text: String) {
    self = JSONScan(text, failure).mistake()
  }

  fileprivate init(_ message: String, hint: String, at place: YAMLPlace) {
    (self.message, self.hint, self.place) = (message, hint, place)
  }
}

/// The brackets and quotes around a failure of `JSONReader`.
///
/// The text before the failure is valid, so its brackets are certain. All brackets of the text are
/// counted too, because their numbers tell whether an opening or a closing one is missing. A text
/// in quotes ends in its line, so a missing quote disturbs the count of one line only.
private struct JSONScan {
  private static let quote = UInt8(ascii: "\"")
  private static let newline = UInt8(ascii: "\n")

  private let text: String
  private let bytes: [UInt8]
  private let failure: JSONReader.Failure
  /// The offsets of the brackets that are open before the failure.
  private var open: [Int] = []
  /// The offset of the last bracket before the failure that closed all others.
  private var lastEnd: Int?
  /// The last text in quotes before the failure.
  private var lastText: Range<Int>?
  /// The number of opening braces or brackets minus the number of closing ones.
  private var braces = 0
  private var brackets = 0

  init(_ text: String, _ failure: JSONReader.Failure) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let all = Array(text.utf8)
    bytes = all.starts(with: mark) ? Array(all.dropFirst(mark.count)) : all
    self.text = text
    self.failure = failure
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let isBefore = index < failure.offset
      switch byte {
      case JSONScan.quote:
        let end = JSONScan.endOfText(index + 1, bytes)
        if isBefore { lastText = index..<end }
        index = end
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        if byte == UInt8(ascii: "{") { braces += 1 } else { brackets += 1 }
        if isBefore { open.append(index) }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if byte == UInt8(ascii: "}") { braces -= 1 } else { brackets -= 1 }
        if isBefore, open.popLast() != nil, open.isEmpty { lastEnd = index }
      default: break
      }
      index += 1
    }
  }

  /// The offset behind the next quote, or the end of the line if it has none.
  private static func endOfText(_ start: Int, _ bytes: [UInt8]) -> Int {
    var index = start
    while index < bytes.count, bytes[index] != newline, bytes[index] != UInt8(ascii: "\r") {
      if bytes[index] == quote { return index + 1 }
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(index, bytes.count)
  }

  private var stop: Int { failure.offset }
  private var next: UInt8? { stop < bytes.count ? bytes[stop] : nil }

  private func isNext(oneOf characters: String) -> Bool {
    next.map { characters.utf8.contains($0) } ?? false
  }

  private func place(_ offset: Int) -> YAMLPlace {
    let before = bytes[..<min(offset, bytes.count)]
    let start = before.lastIndex(of: JSONScan.newline).map { $0 + 1 } ?? 0
    return YAMLPlace(
      line: before.count { $0 == JSONScan.newline } + 1,
      column: before[start...].count { $0 & 0xC0 != 0x80 } + 1)
  }

  private func words(_ offset: Int) -> String {
    let place = place(offset)
    return "\(place.line):\(place.column)"
  }

  func mistake() -> JSONMistake {
    let found: JSONMistake? =
      missingQuote() ?? missingBrace() ?? surplusEnd() ?? missingStart() ?? missingEnd()
      ?? wrongEnd()
    return found ?? JSONMistake(failure.reason, hint: hint, at: place(stop))
  }

  private var hint: String {
    if isNext(oneOf: "#/") {
      return "JSON has no comments; use the key \"//\", or if the file is YAML, name it .yaml"
    }
    switch failure.site {
    case .key where isNext(oneOf: "}]"), .value where isNext(oneOf: "}]"):
      let last = bytes[..<stop].last { !" \t\r\n".utf8.contains($0) }
      return last == UInt8(ascii: ",") ? "remove the comma before it" : ""
    case .key where isNext(oneOf: "{["):
      return open.last.map { "the \"{\" at \(words($0)) is open" } ?? ""
    case .key: return next == nil ? "" : "JSON has double quotes around keys"
    case .value where isNext(oneOf: ".+-0123456789"):
      return "a number of JSON begins with a digit, or with - and a digit"
    case .value where ["true", "false", "null"].contains(word.lowercased()):
      return "write \(word.lowercased())"
    case .value where isNext(oneOf: "~"): return "write null"
    case .value: return next == nil || isNext(oneOf: ",:") ? "" : "put text in double quotes"
    case .colon, .comma, .end, .quote, .rest: return ""
    }
  }

  /// The letters at the place of the failure.
  private var word: String {
    let rest = bytes[min(stop, bytes.count)...]
    return String(decoding: rest.prefix { (0x61...0x7A).contains($0 | 0x20) }, as: UTF8.self)
  }

  // MARK: - Quotes

  private func missingQuote() -> JSONMistake? {
    switch failure.site {
    case .quote:
      guard next == nil || isNext(oneOf: "\r\n"), let lastText else { return nil }
      return JSONMistake(
        "the closing quote is missing", hint: "add it", at: place(lastText.lowerBound))
    case .key where lacksQuote(before: ":"):
      return JSONMistake(
        "the opening quote of the key is missing", hint: "add it", at: place(stop))
    case .value where lacksQuote(before: ",]}\r\n"):
      // The reader has taken a minus as the begin of a number.
      let start = stop > 0 && bytes[stop - 1] == UInt8(ascii: "-") ? stop - 1 : stop
      return JSONMistake("the opening quote is missing", hint: "add it", at: place(start))
    case .comma where lastText?.upperBound != stop && lacksQuote(before: ",]}\r\n"):
      // A number begins the text: `1.0.0"`.
      let before = bytes[..<stop].lastIndex { " \t\r\n:,[".utf8.contains($0) }
      return JSONMistake(
        "the opening quote is missing", hint: "add it", at: place(before.map { $0 + 1 } ?? stop))
    case .colon, .comma, .end:
      guard let lastText, lastText.upperBound == stop, next != nil,
        !isNext(oneOf: " \t\r\n,:[]{}\"")
      else { return nil }
      return JSONMistake(
        "this follows a closing quote directly",
        hint: "the closing quote of the text before it is missing, or a quote inside that text "
          + "needs a \\ before it", at: place(stop))
    case .key, .value, .rest: return nil
    }
  }

  /// Whether the line has a closing quote for the text at the failure.
  private func lacksQuote(before ends: String) -> Bool {
    guard next != nil, !isNext(oneOf: "{}[],:\"") else { return false }
    let end = JSONScan.endOfText(stop, bytes)
    guard end > stop, bytes[end - 1] == JSONScan.quote else { return false }
    let following = bytes[end...].first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    return following.map { ends.utf8.contains($0) } ?? true
  }

  // MARK: - Brackets

  /// A text that is a value has a `:` after it.
  private func missingBrace() -> JSONMistake? {
    guard next == UInt8(ascii: ":"), failure.site != .key, failure.site != .rest, let lastText,
      lastText.upperBound <= stop,
      bytes[lastText.upperBound..<stop].allSatisfy({ " \t\r\n".utf8.contains($0) })
    else { return nil }
    return JSONMistake(
      "a value belongs here, but the \":\" after this text makes it a key",
      hint: "is a \"{\" missing before it?", at: place(lastText.lowerBound))
  }

  /// More text after the last bracket.
  private func surplusEnd() -> JSONMistake? {
    guard open.isEmpty, let lastEnd, failure.site == .end || failure.site == .value else {
      return nil
    }
    let message =
      switch (braces, brackets) {
      case (-1, 0): "there is one \"}\" too many"
      case (0, -1): "there is one \"]\" too many"
      default: failure.reason
      }
    return JSONMistake(
      message, hint: "all brackets are closed at \(words(lastEnd))", at: place(stop))
  }

  /// There are more closing brackets than opening ones.
  private func missingStart() -> JSONMistake? {
    guard failure.site != .rest, failure.site != .quote, min(braces, brackets) < 0,
      max(braces, brackets) <= 0
    else { return nil }
    let (start, end) = braces < 0 ? ("{", "}") : ("[", "]")
    guard isNext(oneOf: end), isEndWrong else {
      return JSONMistake(
        failure.reason, hint: "there is a \"\(end)\" without its \"\(start)\"", at: place(stop))
    }
    return JSONMistake(
      "this \"\(end)\" has no \"\(start)\"",
      hint: "remove it, or add the \"\(start)\" that it closes", at: place(stop))
  }

  /// There are more opening brackets than closing ones.
  private func missingEnd() -> JSONMistake? {
    guard failure.site != .rest, failure.site != .quote, failure.site != .value || next == nil,
      min(braces, brackets) >= 0, max(braces, brackets) > 0,
      let missing = MissingEnd(in: text, before: place(stop))
    else { return nil }
    return JSONMistake(missing.message, hint: missing.jsonHint, at: missing.place)
  }

  private func wrongEnd() -> JSONMistake? {
    guard isEndWrong, let last = open.last, let next else { return nil }
    let (start, end) = (Unicode.Scalar(bytes[last]), Unicode.Scalar(next))
    return JSONMistake(
      "this \"\(end)\" cannot close the \"\(start)\" at \(words(last))", hint: "", at: place(stop))
  }

  /// Whether the failure is at a closing bracket of the other kind.
  private var isEndWrong: Bool {
    guard let last = open.last else { return isNext(oneOf: "}]") }
    return isNext(oneOf: bytes[last] == UInt8(ascii: "{") ? "]" : "}")
  }
}
