import Foundation
import Testing
import WidgetBundle

/// The published format is the format of the reader.
///
/// After an intended change: `WIDGETD_RECORD_GOLDEN=1 swift test --filter
/// WidgetBundleTests.SchemaTests`, look at `git diff docs`, and commit it.
@Suite(.serialized) struct SchemaTests {
  private static let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../../docs").standardized
  private static let isRecording =
    ProcessInfo.processInfo.environment["WIDGETD_RECORD_GOLDEN"] == "1"

  private func text(_ name: String) throws -> String {
    try String(contentsOf: SchemaTests.docs.appending(path: name), encoding: .utf8)
  }

  private func record(_ text: String, _ name: String) throws {
    guard SchemaTests.isRecording else { return }
    try text.write(
      to: SchemaTests.docs.appending(path: name), atomically: true, encoding: .utf8)
  }

  @Test func `the published schema is that of the reader`() throws {
    try record(BundleSchema.text, "bundle.schema.json")
    #expect(try text("bundle.schema.json") == BundleSchema.text)
  }

  @Test(arguments: ObjectShape.all.indices)
  func `the reference has every key of every object`(index: Int) throws {
    let shape = ObjectShape.all[index]
    var page = try text("bundles.md")
    let old = try #require(Self.tableRange(of: shape.name, in: page), "no table of \(shape.name)")
    if SchemaTests.isRecording {
      page.replaceSubrange(old, with: shape.table)
      try record(page, "bundles.md")
    } else {
      #expect(page[old] == shape.table, "the table should be:\n\(shape.table)")
    }
  }

  /// The table of keys in the section of an object.
  private static func tableRange(of name: String, in page: String) -> Range<String.Index>? {
    guard let heading = page.firstRange(of: "\n### \(name)\n") else { return nil }
    let rest = page[heading.upperBound...]
    let section = rest[..<(rest.firstRange(of: "\n##")?.lowerBound ?? rest.endIndex)]
    guard let start = section.firstRange(of: "| key |")?.lowerBound else { return nil }
    // The range includes the end of its last line.
    let blank = section[start...].firstRange(of: "\n\n")?.lowerBound
    return start..<(blank.map(page.index(after:)) ?? section.endIndex)
  }

  @Test func `every key is in one object only once`() {
    for shape in ObjectShape.all {
      #expect(Set(shape.keys).count == shape.keys.count, "\(shape.name)")
      #expect(shape.entries.allSatisfy { $0.summary.hasSuffix(".") }, "\(shape.name)")
    }
  }
}
