public import WidgetModel
import WidgetYAML

/// The user's file of settings, after somebody has tried to read it.
public enum SettingsFile: Hashable, Sendable {
  case text(String)
  /// The reason why nobody can read it, with the next step. It names the file.
  case unreadable(String)

  /// - Parameter path: of the file, for the reason.
  public init(_ bytes: [UInt8], path: String) {
    if let text = String(validating: bytes, as: UTF8.self) {
      self = .text(text)
    } else {
      self = .unreadable(
        "\(path) is not well-formed UTF-8; save it as UTF-8, or "
          + SettingsFile.removal(at: path))
    }
  }

  /// The next step for a file that cannot be used.
  ///
  /// - Parameter path: of the file, in the folder of the bundle, which has the bundle's id as name.
  public static func removal(at path: String) -> String {
    removal(bundle: path.split(separator: "/").dropLast().last.map(String.init) ?? "ID")
  }

  static func removal(bundle: String) -> String {
    "remove it and set each value again with `widgetctl bundle set \(bundle)`"
  }
}

/// The content of the user's file of settings: a JSON object.
public struct UserSettings: Hashable, Sendable {
  /// The values, also those that no version takes.
  public private(set) var values: ValueMap = [:]
  /// The values that cannot be read, in the order of the file. They do not affect the others.
  public private(set) var unreadable: [Unreadable] = []

  /// A value with a mistake.
  public struct Unreadable: Hashable, Sendable {
    public let name: String
    /// The value as it is written.
    public let text: String
    public let mistake: BundleProblem
  }

  static let emptyMessage = "the file is empty"

  /// Linear in the length of the text.
  ///
  /// - Throws: the first mistake that leaves no value certain.
  public init(_ text: String) throws(BundleProblem) {
    guard text.contains(where: { !$0.isWhitespace }) else {
      throw BundleProblem(line: 1, column: 1, message: UserSettings.emptyMessage)
    }
    let members: [JSONReader.Member]?
    do throws(JSONReader.Failure) { members = try JSONReader.members(of: text) } catch {
      let mistake = JSONMistake(error, in: text)
      // The host reads only a file of this name, so YAML is no way out.
      let comments = "JSON has no comments"
      throw BundleProblem(
        line: mistake.place.line, column: mistake.place.column, message: mistake.message,
        hint: mistake.hint.hasPrefix(comments) ? comments : mistake.hint)
    }
    guard let members else {
      throw BundleProblem(line: 1, column: 1, message: "this is not a JSON object")
    }
    var entries: [ValueMap.Entry] = []
    var places = PlaceCounter(text)
    for member in members {
      places.advance(to: member.range.lowerBound)
      var message: String?
      if let mistake = member.mistake {
        places.advance(to: mistake.offset)
        message = mistake.reason
      } else {
        do throws(DataDocument.Failure) {
          entries.append(.init(key: member.key, value: try DataDocument.untagged(member.value)))
        } catch { message = "\(error)" }
      }
      guard let message else { continue }
      unreadable.append(
        Unreadable(
          name: member.key, text: places.text(in: member.range),
          mistake: BundleProblem(line: places.line, column: places.column, message: message)))
    }
    values = ValueMap(entries)
  }

  /// The text of a file with these values; nil if there are none.
  public static func text(of values: ValueMap, and unreadable: [Unreadable]) -> String? {
    let members =
      values.entries.map { "\(JSONWriter.quoted($0.key)):\(JSONWriter.compact($0.value))" }
      + unreadable.map { "\(JSONWriter.quoted($0.name)):\($0.text)" }
    return members.isEmpty ? nil : "{\(members.joined(separator: ","))}\n"
  }
}

/// Finds the places of growing offsets. Linear in the text for all of them.
private struct PlaceCounter {
  private let bytes: [UInt8]
  private var offset = 0
  /// From 1; columns in Unicode scalars.
  private(set) var line = 1
  private(set) var column = 1

  init(_ text: String) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    bytes = Array(text.utf8.dropFirst(text.utf8.starts(with: mark) ? mark.count : 0))
  }

  mutating func advance(to end: Int) {
    while offset < end {
      let byte = bytes[offset]
      offset += 1
      if byte == UInt8(ascii: "\n") {
        (line, column) = (line + 1, 1)
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }

  func text(in range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
