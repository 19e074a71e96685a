import Foundation
import Testing
import WidgetExpression

@testable import WidgetTimeZones

@Suite struct `The system's time zones` {
  @Test func `the system's time zones are found by name`() throws {
    let zones = SystemTimeZones()
    let tokyo = try #require(zones.rules("Asia/Tokyo"))
    let expression = try CompiledExpression(
      "timestamp('2026-01-02T03:04:05Z').getHours('Asia/Tokyo')",
      in: ExpressionEnvironment(timeZones: zones.rules))
    #expect(try expression.evaluate([:] as [String: ExpressionValue]) == .int(12))
    #expect(zones.rules("Asia/Tokyo") == tokyo)
  }

  @Test(arguments: [
    "", "Nowhere/None", "..", "../passwd", "/etc/passwd", "Asia/../../etc/passwd", "Asia", "Asia/",
    "tzdata.zi", "zone.tab", "Europe/Berlin\0", String(repeating: "A", count: 100_000),
  ])
  func `a text that names no time zone gives no zone`(name: String) {
    #expect(SystemTimeZones().rules(name) == nil)
  }

  @Test func `files that are links out, pipes, empty or damaged are no zones`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "zones-\(getpid())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data().write(to: URL(filePath: folder + "/Empty"))
    try Data("TZif2 and then nonsense".utf8).write(to: URL(filePath: folder + "/Damaged"))
    try Data(count: 1 << 20).write(to: URL(filePath: folder + "/Huge"))
    #expect(mkfifo(folder + "/Pipe", 0o600) == 0)
    let zones = SystemTimeZones(folder: folder)
    for name in ["Empty", "Damaged", "Huge", "Pipe", "Missing"] {
      #expect(zones.rules(name) == nil, "\(name)")
    }
  }
}
