import Glibc
import Synchronization
public import WidgetExpression

/// The time zones that the system has, `/usr/share/zoneinfo`, for expressions.
///
/// A zone's file is read at its first use, and cached. Missing files are cached, too. The cache is
/// bounded, because any author of expressions can use any name.
public final class SystemTimeZones: Sendable {
  private let folder: String
  private let known = Mutex<[String: TimeZoneRules?]>([:])

  /// The maximum number of cached names. There are about 600 zones.
  private static let knownMax = 1_024
  /// The maximum size of a zone's file. Real files are much smaller.
  private static let fileBytesMax = 256 << 10

  public init(folder: String = "/usr/share/zoneinfo") { self.folder = folder }

  /// The rules of a zone such as "Europe/Berlin"; nil if there is no such zone.
  public func rules(_ name: String) -> TimeZoneRules? {
    guard SystemTimeZones.isName(name) else { return nil }
    if let known = known.withLock({ $0[name] }) { return known }
    let rules = SystemTimeZones.read("\(folder)/\(name)").flatMap { try? TimeZoneRules(tzif: $0) }
    known.withLock { known in
      if known.count >= SystemTimeZones.knownMax { known.removeAll() }
      known[name] = .some(rules)
    }
    return rules
  }

  /// Whether a name is a path inside the folder: parts of letters, digits and _ + - with slashes
  /// between them.
  private static func isName(_ name: String) -> Bool {
    guard (1...64).contains(name.utf8.count) else { return false }
    return name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty
        && part.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"),
            UInt8(ascii: "-"):
            true
          default: false
          }
        }
    }
  }

  private static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= fileBytesMax
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
      }
      guard read > 0 else { return nil }
      count += read
    }
    return bytes
  }
}
