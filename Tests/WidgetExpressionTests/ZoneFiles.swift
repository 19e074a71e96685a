import Foundation
import WidgetExpression

/// The system's time zone database, for tests alone.
enum ZoneFiles {
  static let folder = "/usr/share/zoneinfo"

  static func bytes(_ name: String) -> [UInt8]? {
    guard !name.contains(".."), let data = FileManager.default.contents(atPath: "\(folder)/\(name)")
    else { return nil }
    return [UInt8](data)
  }

  @Sendable static func rules(_ name: String) -> TimeZoneRules? {
    bytes(name).flatMap { try? TimeZoneRules(tzif: $0) }
  }
}
