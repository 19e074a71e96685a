public import WidgetModel

/// A type of D-Bus, as signatures write it: `s`, `a{sv}`, `(ii)`.
///
/// See the D-Bus specification, "Type System".
public indirect enum BusType: Hashable, Sendable, CustomStringConvertible {
  /// A type without parts, by its letter: `s`, `u`, `o`.
  case basic(UInt8)
  case variant
  case array(BusType)
  /// An array of entries, each with a basic key.
  case dictionary(UInt8, BusType)
  case structure([BusType])

  /// The longest signature, in bytes.
  public static let signatureBytesMax = 255
  /// The maximum depth of nested types.
  static let depthMax = 32

  /// The letters of basic types, without file descriptors, which a bundle can neither send nor use.
  private static let letters = Array("ybnqiuxtdsog".utf8)

  /// The complete types of a signature, in order; nil if it is not a signature.
  public static func types(of signature: String) -> [BusType]? {
    guard signature.utf8.count <= signatureBytesMax else { return nil }
    var rest = Array(signature.utf8)[...]
    var types: [BusType] = []
    while !rest.isEmpty {
      guard let type = next(&rest, depth: 0) else { return nil }
      types.append(type)
    }
    return types
  }

  private static func next(_ rest: inout ArraySlice<UInt8>, depth: Int) -> BusType? {
    guard depth < depthMax, let letter = rest.popFirst() else { return nil }
    switch letter {
    case UInt8(ascii: "v"): return .variant
    case UInt8(ascii: "a"):
      guard rest.first == UInt8(ascii: "{") else {
        return next(&rest, depth: depth + 1).map { .array($0) }
      }
      rest.removeFirst()
      guard let key = rest.popFirst(), letters.contains(key),
        let value = next(&rest, depth: depth + 1), rest.popFirst() == UInt8(ascii: "}")
      else { return nil }
      return .dictionary(key, value)
    case UInt8(ascii: "("):
      var members: [BusType] = []
      while let letter = rest.first, letter != UInt8(ascii: ")") {
        guard let member = next(&rest, depth: depth + 1) else { return nil }
        members.append(member)
      }
      guard rest.popFirst() != nil, !members.isEmpty else { return nil }
      return .structure(members)
    default: return letters.contains(letter) ? .basic(letter) : nil
    }
  }

  /// Whether a message can have the value as this type. It mirrors the writer of messages.
  public func takes(_ value: Value) -> Bool {
    switch (self, value) {
    case (.basic(let letter), _): BusType.takes(value, letter)
    case (.variant, .bool), (.variant, .int), (.variant, .double), (.variant, .string),
      (.variant, .bytes):
      true
    case (.variant, .list(let list)): list.allSatisfy { takes($0) }
    case (.variant, .map(let map)): map.entries.allSatisfy { takes($0.value) }
    case (.array(.basic(UInt8(ascii: "y"))), .bytes): true
    case (.array(let element), .list(let list)): list.allSatisfy { element.takes($0) }
    case (.dictionary(let key, let element), .map(let map)):
      map.entries.allSatisfy { entry in
        let name: Value =
          "sog".utf8.contains(key)
          ? .string(entry.key) : Int64(entry.key).map { .int($0) } ?? .string(entry.key)
        return BusType.takes(name, key) && element.takes(entry.value)
      }
    case (.structure(let members), .list(let list)):
      list.count == members.count && zip(members, list).allSatisfy { $0.takes($1) }
    case (.variant, _), (.array, _), (.dictionary, _), (.structure, _): false
    }
  }

  private static func takes(_ value: Value, _ letter: UInt8) -> Bool {
    switch (letter, value) {
    case (UInt8(ascii: "s"), .string(let text)): return !text.utf8.contains(0)
    case (UInt8(ascii: "o"), .string(let text)): return BusName.isPath(text)
    case (UInt8(ascii: "g"), .string(let text)): return !text.utf8.contains(0)
    case (UInt8(ascii: "b"), .bool), (UInt8(ascii: "d"), .double), (UInt8(ascii: "d"), .int):
      return true
    default: break
    }
    let number: Int64? =
      switch value {
      case .int(let number): number
      case .double(let number): Int64(exactly: number)
      default: nil
      }
    guard let number else { return false }
    return switch letter {
    case UInt8(ascii: "y"): UInt8(exactly: number) != nil
    case UInt8(ascii: "n"): Int16(exactly: number) != nil
    case UInt8(ascii: "q"): UInt16(exactly: number) != nil
    case UInt8(ascii: "i"): Int32(exactly: number) != nil
    case UInt8(ascii: "u"): UInt32(exactly: number) != nil
    case UInt8(ascii: "t"): number >= 0
    case UInt8(ascii: "x"): true
    default: false
    }
  }

  public var description: String {
    switch self {
    case .basic(let letter): String(UnicodeScalar(letter))
    case .variant: "v"
    case .array(let element): "a\(element)"
    case .dictionary(let key, let value): "a{\(String(UnicodeScalar(key)))\(value)}"
    case .structure(let members): "(\(members.map(\.description).joined()))"
    }
  }
}

/// The names of D-Bus. See the D-Bus specification, "Valid Names".
public enum BusName {
  static let bytesMax = 255

  /// Whether it is the name of a service, such as `org.freedesktop.UPower`. A unique name, such as
  /// `:1.5`, is not one: it does not identify a service.
  public static func isService(_ text: String) -> Bool {
    isDotted(text, allowing: [UInt8(ascii: "_"), UInt8(ascii: "-")])
  }

  /// Whether it means all services with a prefix: `org.mpris.MediaPlayer2.*`.
  public static func isPattern(_ text: String) -> Bool {
    text.hasSuffix(".*") && isService(String(text.dropLast(2)))
  }

  public static func isInterface(_ text: String) -> Bool {
    isDotted(text, allowing: [UInt8(ascii: "_")])
  }

  /// Whether it is the name of a method, a signal or a property.
  public static func isMember(_ text: String) -> Bool {
    text.utf8.count <= bytesMax && isElement(text.utf8[...], allowing: [UInt8(ascii: "_")])
  }

  public static func isPath(_ text: String) -> Bool {
    guard text != "/" else { return true }
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return text.utf8.count <= 4_096 && text.hasPrefix("/")
      && parts.dropFirst().allSatisfy { part in
        !part.isEmpty && part.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
      }
  }

  private static func isDotted(_ text: String, allowing others: [UInt8]) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return text.utf8.count <= bytesMax && parts.count >= 2
      && parts.allSatisfy { isElement($0, allowing: others) }
  }

  private static func isElement(_ part: Substring.UTF8View, allowing others: [UInt8]) -> Bool {
    guard let first = part.first, !(0x30...0x39).contains(first) else { return false }
    return part.allSatisfy { isLetterOrDigit($0) || others.contains($0) }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }
}

extension Permissions {
  /// Whether the permissions allow a service. A pattern needs the same pattern, or a shorter one.
  public func allowsBus(_ name: String) -> Bool {
    dbus.contains { allowed in
      guard BusName.isPattern(allowed) else { return allowed == name }
      // The prefix includes the dot: org.mpris.* is no permission for org.mprisx.
      return name.hasPrefix(allowed.dropLast())
    }
  }
}
