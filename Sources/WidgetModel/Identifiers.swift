/// The name of one widget, unique among all widgets.
///
/// 1 to 128 characters of `a-z A-Z 0-9 . _ - / :`, beginning with a letter or digit: safe in a
/// shell, a path and a URL. It is a separate type, so that it cannot be confused with a kind or a
/// key.
public struct WidgetID: Hashable, Sendable, CustomStringConvertible {
  public static let lengthMax = 128
  public let rawValue: String

  /// Returns nil if the text is not a valid id.
  public init?(_ rawValue: String) {
    guard rawValue.isIdentifier(lengthMax: WidgetID.lengthMax) else { return nil }
    self.rawValue = rawValue
  }

  public var description: String { rawValue }
}

/// The name of a kind of widget. The same characters as in an id, 1 to 64 of them.
public struct KindName: Hashable, Sendable, CustomStringConvertible {
  public static let lengthMax = 64
  public let rawValue: String

  /// Returns nil if the text is not a valid kind name.
  public init?(_ rawValue: String) {
    guard rawValue.isIdentifier(lengthMax: KindName.lengthMax) else { return nil }
    self.rawValue = rawValue
  }

  private init(literal: StaticString) { rawValue = "\(literal)" }

  /// The kind that explains kinds, which every daemon has.
  public static let help = KindName(literal: "help")
  /// The kind of activities without another kind, which every daemon has.
  public static let activity = KindName(literal: "activity")
  /// The kind that shows the most relevant of several widgets, which every daemon has.
  public static let smartStack = KindName(literal: "smart-stack")

  public var description: String { rawValue }
}

/// The store's version: increases by exactly one with every commit. 0 is the empty store.
public typealias Revision = UInt64

extension String {
  /// Whether this is 1 to `lengthMax` characters of `a-z A-Z 0-9 . _ - / :`, beginning with a
  /// letter or digit.
  public func isIdentifier(lengthMax: Int) -> Bool {
    var first = true
    guard (1...lengthMax).contains(utf8.count) else { return false }
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        break
      case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "/"),
        UInt8(ascii: ":"):
        if first { return false }
      default: return false
      }
      first = false
    }
    return true
  }
}
