import Foundation
import Testing
import WidgetModel

/// The reference of docs/content.md has exactly the types of nodes, with their properties and
/// events.
struct ContentDocumentationTests {
  private static var page: String {
    get throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      return try String(contentsOf: root.appending(path: "docs/content.md"), encoding: .utf8)
    }
  }

  /// The text from a line to the next heading.
  private static func section(after line: String) throws -> [Substring] {
    let lines = try page.split(separator: "\n")
    let start = try #require(lines.firstIndex { $0 == line }, "no \(line)") + 1
    return Array(lines[start...].prefix { !$0.hasPrefix("#") })
  }

  private static func rows(_ lines: [Substring]) -> [String] {
    lines.filter { $0.hasPrefix("| `") }.map(String.init)
  }

  private static func rows(_ properties: [NodeProperty]) -> [String] {
    properties.map { property in
      let unit =
        if let unit = property.unit, unit != .points { ", in \(unit)" } else { "" }
      // The default can depend on the node. The description then has it.
      let isInSummary = property.summary.contains("Default: ")
      let value = isInSummary ? "" : property.defaultValue.map(text) ?? ""
      return
        "| `\(property.name)` | \(property.type.words)\(unit) | \(value) | \(property.summary) |"
    }
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .bool(let flag): "\(flag)"
    case .int(let number): "\(number)"
    case .double(let number): "\(Int(number))"
    case .string(let text): text
    default: "\(value)"
    }
  }

  @Test(arguments: NodeType.allCases)
  func `a type of node is there with all its properties`(type: NodeType) throws {
    let section = try Self.section(after: "### \(type.name)")
    let rows = Self.rows(type.properties)
    #expect(Self.rows(section) == rows, "the rows should be:\n\(rows.joined(separator: "\n"))")
  }

  @Test(arguments: NodeType.allCases)
  func `a type of node is there with all its events`(type: NodeType) throws {
    let told = try Self.section(after: "### \(type.name)").filter { $0.hasPrefix("Event") }
    let events = type.events.map { event in
      let details = event.payload.map { "`\($0.name)`, \($0.type)" }.joined(separator: ", and ")
      return "`\(event.name)`" + (details.isEmpty ? "" : " with \(details)")
    }
    let word = events.count > 1 ? "Events" : "Event"
    let line = "\(word): \(events.joined(separator: "; "))."
    #expect(told == (events.isEmpty ? [] : [line[...]]), "the line should be:\n\(line)")
  }

  @Test func `sentences name the types that stay as wide as their content`() throws {
    let property = try #require(NodeType.stack.property("crossAlign"))
    let list = try #require(
      property.summary.firstMatch(of: /else start for (?<types>[a-z, ]+), and fill/)
    ).output.types
    let told = list.replacing(" and ", with: ", ").split(separator: ", ")
    let meant = NodeType.allCases.filter { !$0.role.fillsColumn }.map { "\($0.name)s" }
    #expect(Set(told) == Set(meant.map { $0[...] }), "the summary of stack's crossAlign")
    let sentence = list.prefix(1).uppercased() + list.dropFirst() + " stay as wide as their content"
    #expect(try Self.page.contains(sentence), "docs/content.md, Vertical stacks: \(sentence)")
  }

  @Test func `the page has the properties of all nodes, and only types that exist`() throws {
    #expect(
      Self.rows(try Self.section(after: "## Types of nodes")) == Self.rows(NodeType.common))
    let headings = try Self.page.split(separator: "\n").filter { $0.hasPrefix("### ") }
    #expect(headings == NodeType.allCases.map { "### \($0.name)" })
  }
}
