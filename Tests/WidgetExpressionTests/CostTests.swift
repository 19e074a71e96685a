import Testing
import WidgetModel

@testable import WidgetExpression

/// Each operation costs steps in proportion to the text and bytes that it reads.
struct CostTests {
  private static let length = 16_000
  private static let zeros = String(repeating: "0", count: length)
  /// One character of 16,000 bytes more than its letter.
  private static let accents = String(repeating: "\u{301}", count: length / 2)

  private func evaluated(
    _ source: String, _ event: ExpressionValue
  ) throws -> (result: Result<ExpressionValue, EvaluationError>, cost: Int) {
    let expression = try CompiledExpression(source, in: Sample.environment)
    var bindings = Sample.bindings
    bindings["event"] = event
    let budget = 1_000_000
    var rest = budget
    do throws(EvaluationError) {
      let value = try expression.evaluate(bindings, spending: &rest)
      return (.success(value), budget - rest)
    } catch { return (.failure(error), budget - rest) }
  }

  @Test(
    arguments: [
      ("int(event)", "", "1", length / 16), ("uint(event)", "", "1", length / 16),
      ("double(event)", "", "1", length), ("duration(event)", "", "1s", length),
      ("timestamp(event)", "2026-11-21T14:30:00.", "0Z", length),
    ] as [(String, String, String, Int)])
  func `a conversion costs the length of its text, and so does one that fails`(
    source: String, start: String, end: String, steps: Int
  ) throws {
    let short = try evaluated(source, .string(start + end))
    let long = try evaluated(source, .string(start + Self.zeros + end))
    #expect(try long.result.get() == short.result.get())
    #expect(long.cost == short.cost + steps)
    let failed = try evaluated(source, .string(start + Self.zeros + end + "?"))
    #expect(failed.cost - long.cost <= 1)
    #expect(throws: EvaluationError.self) { try failed.result.get() }
  }

  @Test(arguments: [
    "bool(event)", "int(event)", "uint(event)", "double(event)", "timestamp(event)",
    "duration(event)", "now.getHours(event)", "formatDate(now, '%Y', event)",
    "formatDate(now, '%Y', 'UTC', event)", "parseDate(event, '%Y')", "parseDate('1', event)",
  ])
  func `an error quotes a short text, also of one long character`(source: String) throws {
    let (result, _) = try evaluated(source, .string("e" + Self.accents))
    let error = #expect(throws: EvaluationError.self) { try result.get() }
    let message = try #require(error).message
    #expect((100..<400).contains(message.utf8.count), "\(source)")
  }

  @Test(
    arguments: [
      ("event.x == 'a' || true", 1), ("event.x == 'a' && false", 1),
      ("true || event.x == 'a'", 0), ("dyn(1) || true", 1),
      // Twice for each error that both hide.
      ("[1, 2, 3].exists(n, int(event) == n || n == 3)", 5),
      ("[1, 2, 3].exists(n, n == 3 ? true : int(event) == n)", 2),
      ("[1, 2, 3].all(n, n != 3 && int(event) != n)", 4),
    ] as [(String, Int)])
  func `an error that is hidden costs 20 steps`(source: String, errors: Int) throws {
    // The same expression with a value that does not fail.
    let right = source.replacing("event.x", with: "'xy'").replacing("int(event)", with: "int('9')")
      .replacing("dyn(1)", with: "dyn(false)")
    let (failing, plain) = (try evaluated(source, "x"), try evaluated(right, "x"))
    #expect(try failing.result.get() == plain.result.get())
    #expect((errors * 20 - 8...errors * 20 + 8).contains(failing.cost - plain.cost))
  }

  @Test func `bytes in hexadecimal cost the length of the bytes and of the text`() throws {
    let text = String(repeating: "x", count: Self.length)
    let cost = try evaluated("'%x'.format([event])", .string(text)).cost
    #expect(try cost == evaluated("'%x'.format([event])", "").cost + 3 * Self.length)
  }

  @Test(arguments: 1...20)
  func `a part is found in text that nearly has it everywhere`(length: Int) throws {
    let part = String(repeating: "a", count: length - 1) + "b"
    let text = String(repeating: "a", count: 50)
    #expect(try Sample.value("'\(text)'.contains('\(part)')") == false)
    #expect(try Sample.value("'\(text)b'.contains('\(part)')") == true)
    let rest = try Sample.value("'\(text)b\(text)'.replace('\(part)', '').size()")
    #expect(rest == .int(Int64(101 - length)))
  }

  private static let nine =
    "{'a': 0, 'b': 0, 'c': 0, 'd': 0, 'e': 0, 'f': 0, 'g': 0, 'h': 0, 'i': 9}"

  @Test(arguments: [
    "event in \(nine)", "\(nine)[event]", "event in theme", "theme[event]", "{event: 1}.size()",
    "cel.bind(m, \(nine), event in m)",
  ])
  func `a look-up in a map costs the length of its key`(source: String) throws {
    let long = String(repeating: "x", count: Self.length)
    let cost = try evaluated(source, .string(long)).cost
    #expect(try cost == evaluated(source, "x").cost + Self.length / 16)
    #expect(try evaluated("\(Self.nine)[event]", "i").result.get() == 9)
  }

  private static let comparisons = ["==", "!=", "<", "<=", ">", ">="]

  @Test(arguments: comparisons, [true, false])
  func `a comparison costs the length of its texts or bytes`(
    comparison: String, isText: Bool
  ) throws {
    func cost(_ length: Int) throws -> Int {
      let value =
        isText
        ? ExpressionValue.string(String(repeating: "x", count: length))
        : .bytes([UInt8](repeating: 120, count: length))
      return try evaluated("event \(comparison) event", value).cost
    }
    #expect(try cost(Self.length) == cost(1) + Self.length / 16)
  }

  @Test(arguments: ["event.sort()", "event.sortBy(x, x)"], [true, false])
  func `a sort costs the length of its keys for each level`(source: String, isText: Bool) throws {
    func cost(_ length: Int) throws -> Int {
      let values = (UInt8(0)..<4).map { byte in
        isText
          ? ExpressionValue.string(String(repeating: "\(byte)", count: length))
          : .bytes([UInt8](repeating: byte, count: length))
      }
      return try evaluated(source, .list(values)).cost
    }
    // Four keys have three levels.
    #expect(try cost(Self.length) == cost(1) + 4 * 3 * (Self.length / 16))
  }

  @Test(arguments: [
    ("b''", "b'a'", "<"), ("b'a'", "b''", ">"), ("b'ab'", "b'b'", "<"), ("b'b'", "b'ab'", ">"),
    ("b'ab'", "b'ab'", "<="), ("b'\\xff'", "b'\\x01'", ">"), ("b'ab'", "b'abc'", "<"),
  ])
  func `bytes are ordered by their first difference`(a: String, b: String, order: String) throws {
    #expect(try Sample.value("\(a) \(order) \(b)") == true)
  }

  @Test(arguments: ["has(event.NAME)", "event.NAME"])
  func `a long field costs the length of its name`(source: String) throws {
    let long = source.replacing("NAME", with: String(repeating: "x", count: Self.length))
    let event = ExpressionValue(["a": .int(1)])
    #expect(
      try evaluated(long, event).cost
        == evaluated(source.replacing("NAME", with: "x"), event).cost + Self.length / 16)
  }
}
