import WidgetExpression
import WidgetModel
import WidgetYAML

/// The places of fields in a file, for messages that show the line of a mistake.
///
/// It parses the file a second time, so use it only to make a message.
struct DocumentPlaces: Hashable {
  /// The name of the file in messages.
  let name: String
  let text: String
  /// The number of the document in the file, from 0. Empty documents do not count.
  let document: Int

  /// A step of the path to a field.
  private enum Step {
    case key(String)
    case index(Int)
  }

  /// The message with the line and the column of the field in front, and the line itself below it.
  ///
  /// - Parameter path: the path in the form of messages: `widgets[1].labels.room`,
  ///   `kinds[0].data[n]`. If the file does not have the field, the message shows the object around
  ///   it.
  func message(_ path: String, _ reason: String) -> String {
    let described = path.isEmpty ? reason : "\(path): \(reason)"
    guard let place = place(of: path) else { return "\(name): \(described)" }
    // A mistake in an expression shows the expression already.
    return DocumentPlaces.message(
      described, name: name, at: place, in: reason.contains("\n") ? "" : text)
  }

  /// The message with its place in front, and the line below it if the text has that line.
  static func message(
    _ reason: String, name: String, at place: YAMLPlace, in text: String
  ) -> String {
    let message = "\(name):\(place.line):\(place.column): \(reason)"
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    guard lines.indices.contains(place.line - 1), !lines[place.line - 1].isEmpty else {
      return message
    }
    let excerpt = SourceExcerpt.text(
      line: String(lines[place.line - 1]), number: place.line, column: place.column)
    return message + "\n"
      + excerpt.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
  }

  /// The messages of several failures, in the order of the file.
  ///
  /// - Parameter most: The maximum number of messages. The last line counts the others.
  func message(_ failures: [FieldFailure], most: Int) -> String {
    let placed = failures.map { (failure: $0, place: place(of: $0.path)) }
    let order = placed.indices.sorted { first, second in
      let places = [first, second].map { index in
        placed[index].place.map { [$0.line, $0.column] } ?? [0, 0]
      }
      return places[0] == places[1]
        ? first < second : places[0].lexicographicallyPrecedes(places[1])
    }
    var messages = order.prefix(most).map { index in
      message(placed[index].failure.path, placed[index].failure.reason)
    }
    if order.count > most { messages.append("… and \(order.count - most) more mistakes") }
    return messages.joined(separator: "\n")
  }

  private func place(of path: String) -> YAMLPlace? {
    guard var node = root() else { return nil }
    var place = node.place
    var steps = DocumentPlaces.steps(path)[...]
    while let step = steps.popFirst() {
      switch (step, node.content) {
      case (.index(let index), .sequence(let elements)) where elements.indices.contains(index):
        node = elements[index]
        place = node.place
      case (.key(let name), .mapping(let mapping)):
        // `steps` has split keys with dots, so join them again.
        var names = [name]
        for case .key(let part) in steps.prefix(8) {
          names.append("\(names[names.count - 1]).\(part)")
        }
        guard let count = names.indices.last(where: { entry(names[$0], mapping) != nil }),
          let entry = entry(names[count], mapping)
        else {
          // The protocol's messages have this level, and files do not.
          if name == "properties" { continue }
          return place
        }
        steps = steps.dropFirst(count)
        place = entry.key.place
        node = entry.value
      // A list of widgets needs no name.
      case (.key("widgets"), .sequence): continue
      default: return place
      }
    }
    return place
  }

  private func entry(_ name: String, _ entries: [YAMLNode.Entry]) -> YAMLNode.Entry? {
    let names = [name, FieldOptions.camelCase(name)]
    return entries.first { entry in
      if case .scalar(let key, _) = entry.key.content { names.contains(key) } else { false }
    }
  }

  /// The document with the places of its parts. Nil if YAML's rules cannot read it.
  func root() -> YAMLNode? {
    if let roots = try? DocumentReader.nodes(text), roots.indices.contains(document) {
      return roots[document]
    }
    // Several JSON values one after the other are not YAML, but each of them is. Blanks in front of it
    // keep its place.
    guard let range = DocumentPlaces.jsonValue(document, in: Array(text.utf8)) else { return nil }
    let bytes = text.utf8.enumerated().compactMap { index, byte -> UInt8? in
      guard index < range.upperBound else { return nil }
      return index >= range.lowerBound || byte == 0x0A ? byte : 0x20
    }
    return (try? DocumentReader.nodes(String(decoding: bytes, as: UTF8.self)))?.first
  }

  /// The bytes of an object or list among several, the first being number 0.
  private static func jsonValue(_ number: Int, in bytes: [UInt8]) -> Range<Int>? {
    var (found, depth, start) = (0, 0, 0)
    var (isInText, isEscaped) = (false, false)
    for (index, byte) in bytes.enumerated() {
      if isInText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInText = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInText = true
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        if depth == 0 { start = index }
        depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        guard depth == 0 else { continue }
        if found == number { return start..<(index + 1) }
        found += 1
      default: break
      }
    }
    return nil
  }

  /// `a.b[1].c[d]` as `a`, `b`, 1, `c`, `d`.
  private static func steps(_ path: String) -> [Step] {
    path.split { ".[]".contains($0) }.map { part in
      Int(part).map { .index($0) } ?? .key(String(part))
    }
  }
}
