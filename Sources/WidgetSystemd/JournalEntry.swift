/// One structured entry for the journal: fields in the order they were added, encoded as journald
/// reads them. A field may appear more than once.
public struct JournalEntry: Sendable {
  /// The encoded fields.
  private(set) var bytes: [UInt8] = []
  public private(set) var fieldCount = 0

  /// The most fields of an entry; journald takes no entry with more.
  public static let fieldsMax = 1_024
  /// The most bytes of all fields together.
  public static let bytesMax = 4 << 20

  public init() {}

  /// Adds a field. Returns false, and adds nothing, if the entry would get larger than `fieldsMax`
  /// or `bytesMax` allow.
  @discardableResult
  public mutating func append(_ name: Name, _ value: String) -> Bool {
    let valueBytes = value.utf8.count
    // The name, a line break, a length, the value, a line break: the longer one of both forms.
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
  /// that begin with `_` are for what journald itself finds out, and it drops them from others.
  public struct Name: Sendable, Hashable {
    public let text: String

    /// A name as it is; nil if journald would drop it.
    public init?(_ text: String) {
      guard (1...Name.bytesMax).contains(text.utf8.count),
        text.utf8.allSatisfy(Name.isValid), let first = text.utf8.first, Name.isLetter(first)
      else { return nil }
      self.text = text
    }

    private init(valid text: String) { self.text = text }

    /// A name made of any text: small letters become capitals, and every byte that no name has
    /// becomes `_`. If the result begins with no letter, or is a name with a meaning of its own
    /// (systemd.journal-fields(7)), it gets the prefix and a `_` in front. It is cut to 64 bytes.
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
    /// Where in the source the entry was made.
    public static let codeFile = Name(valid: "CODE_FILE")
    public static let codeLine = Name(valid: "CODE_LINE")
    public static let codeFunction = Name(valid: "CODE_FUNC")

    /// Whether the journal, or a program that reads it, takes a name to mean something.
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
