import Glibc
import Testing
import WidgetBundle

/// What is published about the format is what the reader goes by.
@Suite struct SchemaTests {
  private static let root = #filePath.split(separator: "/").dropLast(3)
    .reduce(into: "") { $0 += "/" + $1 }

  private func file(_ path: String) throws -> String {
    let file = try #require(fopen("\(SchemaTests.root)/\(path)", "r"), "\(path) is missing")
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `the published schema is that of the reader`() throws {
    // To renew it: widgetctl bundle schema > docs/bundle.schema.json
    #expect(try file("docs/bundle.schema.json") == BundleSchema.text)
  }

  @Test(arguments: ObjectShape.all.indices)
  func `the reference has every key of every object`(index: Int) throws {
    let shape = ObjectShape.all[index]
    let text = try file("docs/bundles.md")
    let heading = "\n### \(shape.name)\n"
    let start = try #require(text.firstRange(of: heading), "no section \(shape.name)")
    let section = text[start.upperBound...].prefix(while: { _ in true })
    let end = section.firstRange(of: "\n##")?.lowerBound ?? section.endIndex
    #expect(section[..<end].contains(shape.table), "the table should be:\n\(shape.table)")
  }

  @Test func `every key is in one object only once`() {
    for shape in ObjectShape.all {
      #expect(Set(shape.keys).count == shape.keys.count, "\(shape.name)")
      #expect(shape.entries.allSatisfy { $0.summary.hasSuffix(".") }, "\(shape.name)")
    }
  }
}
