import ArgumentParser
import Testing

@testable import widgetctl

/// The advice for expressions that the shell or the argument parser has taken apart.
struct ExpressionUsageTests {
  private static let quotes = "put the whole expression in quotes: widgetctl eval '1 + 2'"
  private static let minus =
    "put -- before an expression that begins with a minus sign: widgetctl eval -- '-1 + 2'"

  @Test(arguments: [["eval", "1", "+", "2"], ["eval", "data.n >", "1"]])
  func `an expression in several words gets the advice to write quotes`(
    arguments: [String]
  ) throws {
    let error = try #require(throws: (any Error).self) { try Widgetctl.parseAsRoot(arguments) }
    #expect(
      ExpressionUsage.advice(about: Widgetctl.message(for: error), arguments) == Self.quotes)
  }

  @Test(
    arguments: [
      ("Unknown option '-5'", ["eval", "-5"], ExpressionUsageTests.minus),
      (
        "Missing expected argument '<expression>'", ["eval", "-data.n"],
        ExpressionUsageTests.minus
      ),
      ("Unknown option '-('", ["eval", "-(1 + 2)", "--widget", "w"], ExpressionUsageTests.minus),
      ("Unknown option '-x'", ["eval", "1", "-x"], nil),
      ("Missing expected argument '<expression>'", ["eval"], nil),
      ("2 unexpected arguments: 'a', 'b'", ["ls", "a", "b"], nil),
      ("Unknown option '-5'", ["get", "-5"], nil),
      ("Missing expected argument '<expression>'", ["eval", "--", "-5"], nil),
    ] as [(String, [String], String?)])
  func `an expression with a minus sign gets the advice to write two of them`(
    message: String, arguments: [String], advice: String?
  ) {
    #expect(ExpressionUsage.advice(about: message, arguments) == advice)
  }
}
