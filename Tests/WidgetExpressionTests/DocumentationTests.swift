import Foundation
import Testing

@testable import WidgetExpression

/// The examples of docs/expressions.md give the documented results.
struct DocumentationTests {
  private static var page: String {
    get throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      return try String(contentsOf: root.appending(path: "docs/expressions.md"), encoding: .utf8)
    }
  }

  @Test func `every example of the reference gives what is written beside it`() throws {
    var count = 0
    for line in try Self.page.split(separator: "\n") {
      guard let arrow = line.range(of: "// =>") else { continue }
      guard !line.hasPrefix("Every line") else { continue }
      let source = String(line[..<arrow.lowerBound])
      let expected = line[arrow.upperBound...].trimmingCharacters(in: .whitespaces)
      count += 1
      if expected.hasPrefix("error ") {
        #expect(Sample.reason(source) == String(expected.dropFirst(6)), "\(source)")
      } else {
        let result = try Result { try Sample.value(source) }.get(source)
        #expect(try result == Sample.value(expected), "\(source)")
      }
    }
    #expect(count > 120)
  }

  @Test func `every function and macro is on the page`() throws {
    let page = try Self.page
    let table = FunctionTable.standard
    let names = table.names(isMember: true) + table.names(isMember: false)
    for name in names + MacroKind.allCases.map(\.rawValue) {
      #expect(page.contains(name + "("), "\(name)")
    }
  }

  @Test func `every reason is on the page`() throws {
    let page = try Self.page
    let reasons =
      ExpressionError.Reason.allCases.map(\.rawValue)
      + EvaluationError.Reason.allCases.map(\.rawValue).filter { $0 != "UNCHECKED" }
    for reason in reasons { #expect(page.contains("`\(reason)`"), "\(reason)") }
  }

  @Test func `the error shown on the page is the one given`() throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression("data.lod[0] > 0.8", in: Sample.environment)
    }
    #expect(try Self.page.contains(try #require(error).rendered))
  }
}

extension Result {
  /// The value; a failure is reported with its expression.
  fileprivate func get(_ source: String) throws -> Success {
    do {
      return try get()
    } catch {
      Issue.record("\(source): \(error)")
      throw error
    }
  }
}
