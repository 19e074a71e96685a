/// The file that tells the host that a bundle was removed on purpose, so that the host removes its
/// widgets at once. Without the mark, the folder of a bundle may be away only for a moment.
///
/// `widgetctl bundle rm` makes the mark beside the bundle's folder. The host deletes the mark.
public enum BundleRemovalMark {
  /// Whether a text can be the id of a bundle, so that it is safe in a path.
  public static func canHave(_ id: String) -> Bool { BundleReader.isID(id) }

  /// How long an installation waits until the host has carried out earlier removals, so that former
  /// values do not come back.
  public static let waitMax = Duration.seconds(3)

  public static func name(of id: String) -> String { ".removed-\(id)" }

  /// The content of the file: `id 4f0c2d…`, and on the next line the target of a removed link.
  ///
  /// A copy of the file, for example from a backup, has the same random id. So a host tells a copy from
  /// a new removal, whatever the times of the files are. Older programs wrote only the target.
  public struct Record: Hashable, Sendable {
    /// The maximum size of the file, in bytes: a path and an id.
    public static let bytesMax = 4_096 + 64
    private static let prefix = Array("id ".utf8)

    /// Nil in a file of an older program.
    public let id: String?
    /// The path of the folder that the link led to; empty if there was no link.
    public let target: [UInt8]

    /// A new removal.
    public init(target: String = "") {
      id = String(UInt64.random(in: 0...UInt64.max), radix: 16)
      self.target = Array(target.utf8)
    }

    public init(_ bytes: [UInt8]) {
      guard bytes.starts(with: Record.prefix),
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
      else {
        id = nil
        target = bytes
        return
      }
      let word = String(decoding: bytes[Record.prefix.count..<end], as: UTF8.self)
      let isID = (1...16).contains(word.utf8.count) && word.allSatisfy(\.isHexDigit)
      id = isID ? word : nil
      target = Array(bytes[(end + 1)...])
    }

    public var bytes: [UInt8] {
      (id.map { Record.prefix + Array("\($0)\n".utf8) } ?? []) + target
    }
  }

  /// The problem of a bundle while the host removes its widgets and kinds.
  public static let problem = "the bundle is being removed"
}
