/// One structured entry for the journal: fields in the order of their addition, in journald's
/// encoding. A field may appear more than once.
public struct JournalEntry: Sendable {
  /// The encoded fields.
  private(set) var bytes: [UInt8] = []
  public private(set) var fieldCount = 0

  /// The maximum number of fields of an entry. journald refuses entries with more.
  public static let fieldsMax = 1_024
  /// The maximum size of all fields together, in bytes.
  public static let bytesMax = 4 << 20

  public init() {}

  /// Adds a field. Returns false, and adds nothing, if the entry would exceed `fieldsMax` or
  /// `bytesMax`.
  @discardableResult
  public mutating func append(_ name: Name, _ value: String) -> Bool {
    let valueBytes = value.utf8.count
    // The size of the longer form: the name, a line break, a length, the value, a line break.
    let fieldBytesMax = name.text.utf8.count + MemoryLayout<UInt64>.size + valueBytes + 2
    guard fieldCount < JournalEntry.fieldsMax,
      bytes.count + fieldBytesMax <= JournalEntry.bytesMax
    else { return false }
    bytes += name.text.utf8
    if value.utf8.contains(UInt8(ascii: "\n")) {
      bytes.append(UInt8(ascii: "\n"))
      withUnsafeBytes(of: UInt64(valueBytes).littleEndian) { bytes += $0 }
    } else {
      bytes.append(UInt8(ascii: "="))
    }
    bytes += value.utf8
    bytes.append(UInt8(ascii: "\n"))
    fieldCount += 1
    return true
  }
}

extension JournalEntry {
  /// The name of a field: 1 to 64 of `A` to `Z`, `0` to `9` and `_`, beginning with a letter. Names
  /// that begin with `_` are for fields that journald itself adds. It drops them from other
  /// programs.
  public struct Name: Sendable, Hashable {
    public let text: String

    /// An unchanged name; nil if journald would drop it.
    public init?(_ text: String) {
      guard (1...Name.bytesMax).contains(text.utf8.count),
        text.utf8.allSatisfy(Name.isValid), let first = text.utf8.first, Name.isLetter(first)
      else { return nil }
      self.text = text
    }

    private init(valid text: String) { self.text = text }

    /// A name from any text. Small letters become capitals, and bytes that names cannot have become
    /// `_`. If the result does not begin with a letter, or has a special meaning
    /// (systemd.journal-fields(7)), the prefix and a `_` come in front. The name is cut to 64
    /// bytes.
    public init(from key: String, prefix: Name) {
      var bytes = key.utf8.map { byte in
        let capital = (0x61...0x7A).contains(byte) ? byte - 0x20 : byte
        return Name.isValid(capital) ? capital : UInt8(ascii: "_")
      }
      let name = String(decoding: bytes, as: UTF8.self)
      if Name(String(name.prefix(Name.bytesMax))) == nil || Name.isReserved(name) {
        bytes = Array(prefix.text.utf8) + [UInt8(ascii: "_")] + bytes
      }
      text = String(decoding: bytes.prefix(Name.bytesMax), as: UTF8.self)
    }

    public static let bytesMax = 64

    /// The text for people.
    public static let message = Name(valid: "MESSAGE")
    /// The priority of syslog(3), 0 (emergency) to 7 (debug).
    public static let priority = Name(valid: "PRIORITY")
    /// The short name of the program, which `journalctl` shows before the message.
    public static let syslogIdentifier = Name(valid: "SYSLOG_IDENTIFIER")
    /// The place in the source code.
    public static let codeFile = Name(valid: "CODE_FILE")
    public static let codeLine = Name(valid: "CODE_LINE")
    public static let codeFunction = Name(valid: "CODE_FUNC")

    /// Whether a name has a meaning for the journal, or for a program that reads it.
    private static func isReserved(_ name: String) -> Bool {
      reserved.contains(name) || reservedBeginnings.contains { name.hasPrefix($0) }
    }

    private static let reserved: Set<String> = [
      "MESSAGE", "MESSAGE_ID", "PRIORITY", "ERRNO", "TID", "DOCUMENTATION", "UNIT", "USER_UNIT",
      "INVOCATION_ID", "USER_INVOCATION_ID",
    ]
    private static let reservedBeginnings = ["CODE_", "SYSLOG_", "OBJECT_", "COREDUMP_"]

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

    private static func isValid(_ byte: UInt8) -> Bool {
      isLetter(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
    }
  }
}
