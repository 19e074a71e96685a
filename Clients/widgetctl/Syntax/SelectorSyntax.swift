import WidgetModel

/// Label selectors in the syntax of kubectl: requirements with commas between them. All
/// requirements must hold.
///
/// | written | holds if the label |
/// | --- | --- |
/// | `a=b`, `a==b` | is `b` |
/// | `a!=b` | is not there or not `b` |
/// | `a in (x,y)` | is one of these |
/// | `a notin (x,y)` | is not there or none of these |
/// | `a` | is there |
/// | `!a` | is not there |
enum SelectorSyntax {
  static let help = "Only widgets with these labels: 'a=b,c!=d,e in (x,y),f,!g'."

  /// Throws the problem, in words.
  static func parse(_ text: String) throws(SyntaxFailure) -> [LabelRequirement] {
    var result: [LabelRequirement] = []
    for part in try parts(of: text) { result.append(try requirement(part)) }
    return result
  }

  /// Splits at commas outside parentheses.
  private static func parts(of text: String) throws(SyntaxFailure) -> [Substring] {
    var parts: [Substring] = []
    var start = text.startIndex
    var isInside = false
    for index in text.indices {
      switch text[index] {
      case "(" where isInside: throw SyntaxFailure("\"\(text)\": parentheses cannot be nested")
      case "(": isInside = true
      case ")" where !isInside:
        throw SyntaxFailure("\"\(text)\": a ) has no (; add it, or remove the )")
      case ")": isInside = false
      case "," where !isInside:
        parts.append(text[start..<index])
        start = text.index(after: index)
      default: break
      }
    }
    guard !isInside else { throw SyntaxFailure("\"\(text)\": a ) is missing") }
    parts.append(text[start...])
    return parts
  }

  private static func requirement(_ part: Substring) throws(SyntaxFailure) -> LabelRequirement {
    let part = part.trimmed
    guard !part.isEmpty else { throw SyntaxFailure("a requirement is empty; remove the comma") }
    if part.last == ")", let open = part.firstIndex(of: "(") {
      let words = part[..<open].split(separator: " ")
      guard words.count == 2, words[1] == "in" || words[1] == "notin" else {
        throw SyntaxFailure("\"\(part)\" is not KEY in (A,B) or KEY notin (A,B)")
      }
      let inside = part[part.index(after: open)...].dropLast()
      let values = inside.split(separator: ",", omittingEmptySubsequences: false).map {
        String($0.trimmed)
      }
      return LabelRequirement(
        key: try key(words[0]), operator: words[1] == "in" ? .isIn : .notIn, values: values)
    }
    if part.first == "!", !part.contains("=") {
      return LabelRequirement(key: try key(part.dropFirst().trimmed), operator: .notExists)
    }
    guard let equals = part.firstIndex(of: "=") else {
      return LabelRequirement(key: try key(part), operator: .exists)
    }
    var name = part[..<equals]
    var value = part[part.index(after: equals)...]
    let isNegated = name.last == "!"
    if isNegated { name = name.dropLast() }
    if !isNegated, value.first == "=" { value = value.dropFirst() }
    return LabelRequirement(
      key: try key(name.trimmed), operator: isNegated ? .notIn : .isIn,
      values: [String(value.trimmed)])
  }

  /// The hint for a selection of nothing: a requirement of the empty value is probably unfinished.
  /// Nil if there is none.
  static func hint(about labels: [LabelRequirement]) -> String? {
    labels.first { $0.operator == .isIn && $0.values == [""] }.map {
      "\($0.key)= selects widgets whose label \($0.key) is empty; write \($0.key)=VALUE, or only "
        + "\($0.key) for any value"
    }
  }

  private static func key(_ text: Substring) throws(SyntaxFailure) -> String {
    guard !text.isEmpty, !text.contains(where: { " !=()<>".contains($0) }) else {
      throw SyntaxFailure(
        "\"\(text)\" is not a label; write 'a=b,c!=d,e in (x,y),f,!g', or for any label "
          + "--where 'widget.labels[\"KEY\"] == \"VALUE\"'")
    }
    return String(text)
  }
}

extension Substring {
  /// The text without spaces at both ends.
  var trimmed: Substring {
    var result = drop { $0 == " " }
    while result.last == " " { result = result.dropLast() }
    return result
  }
}
