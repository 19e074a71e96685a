import Testing
import WidgetModel

@testable import WidgetExpression

/// Hostile expressions end in an error or a result, in bounded time, stack and memory.
struct LimitTests {
  private static let count = 100_000

  /// Limits that allow long sources, so that the other limits stop them.
  private static let wide: ExpressionEnvironment = {
    var environment = Sample.environment
    environment.limits.sourceBytesMax = 10_000_000
    environment.limits.nodesMax = 1_000_000
    return environment
  }()

  private static func repeated(_ text: String) -> String { String(repeating: text, count: count) }

  @Test(arguments: [
    ("parentheses", "(", "1", ")"), ("open parentheses", "(", "", ""), ("lists", "[", "", "]"),
    ("maps", "{1:", "1", "}"), ("nots", "!", "true", ""), ("minuses", "-", "1", ""),
    ("spaced minuses", "- ", "x", ""), ("calls", "size(", "'a'", ")"),
    ("methods", "", "'a'", ".trim()"),
    ("fields", "", "event", ".a"), ("indexes", "", "event", "[0]"),
    ("comparisons", "1 < ", "1", ""),
    ("conditions", "", "true", " ? true : true "), ("inner conditions", "true ? ", "1", ""),
    ("macros", "[1].map(x, ", "x", ")"), ("messages", "a{b:", "1", "}"),
    ("bindings", "cel.bind(x, 1, ", "x", ")"),
  ])
  func `nesting of any kind ends in a result or an error`(
    name: String, before: String, middle: String, after: String
  ) {
    let source = Self.repeated(before) + middle + Self.repeated(after)
    #expect(Sample.reason(source) == "TOO_COMPLEX", "\(name) beyond the length")
    let reason = Sample.reason(source, in: Self.wide)
    let isRow = name == "conditions"
    #expect(isRow ? reason == nil : reason != nil, "\(name): \(reason ?? "none")")
  }

  @Test(arguments: [
    ("1", " + 1", "100001"), ("'a'.size()", " - 0", "1"), ("2", " * 1", "2"),
    ("true", " && true", "true"),
    ("false", " || false", "false"), ("1 == 2 ? 1 : 2", " + 0", "2"),
  ])
  func `a chain of a hundred thousand operators is evaluated`(
    first: String, rest: String, result: String
  ) throws {
    let expression = try CompiledExpression(first + Self.repeated(rest), in: Self.wide)
    #expect(try expression.evaluate(Sample.bindings) == Sample.value(result))
  }

  @Test func `the depth that is allowed can be evaluated in a small stack's worth of frames`()
    throws
  {
    var environment = Sample.environment
    environment.limits.depthMax = 10_000
    let depth = 199
    for (before, middle, after) in [
      ("[", "1", "]"), ("-(", "1", ")"), ("size([", "1", "])"), ("[1].map(x, ", "1", ")"),
      ("true ? (", "1", ") : 2"), ("cel.bind(x, 1, ", "1", ")"), ("{1: ", "1", "}"),
      ("1 + 2 * (", "1", ")"),
      ("true || false && 1 < 2 + 3 * (", "1", ")"),
      // The checker has more frames for these, because it does not note a use of their values.
      ("(", "data.name", " == null)"), ("(null != ", "data.name", ")"), ("type(", "data.name", ")"),
      ("size(", "data.name", ")"), ("(", "data.cpu", ".size())"), ("(", "data.cpu", " == {})"),
      ("(data.cpu == null) == (", "true", ")"), ("{'a': ", "data.cpu", "}.exists(k, k == 'a')"),
      ("cel.bind(c, data.cpu, c == (", "{}", "))"), ("has(data.cpu.total) ? (", "1", ") : 2"),
    ] {
      for levels in [depth / 8, depth / 2, depth] {
        let source =
          String(repeating: before, count: levels) + middle
          + String(repeating: after, count: levels)
        let reason = Sample.reason(source, in: environment)
        #expect(reason == nil || !["COST_EXCEEDED", "SYNTAX"].contains(reason), "\(before)")
      }
    }
  }

  @Test(arguments: [
    "siz(1) + ", "datum.siz(1) + ", "maths.abs(1) + ", "data.lod + ", "1 + 'a' + ",
  ])
  func `thousands of mistakes are reported as ten`(mistake: String) throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression(String(repeating: mistake, count: 3_000) + "1", in: Sample.environment)
    }
    #expect(try #require(error).problems.count == 10)
  }

  @Test func `an expression at a limit is accepted, and one above it is refused`() throws {
    var environment = Sample.environment
    environment.limits.depthMax = 5
    #expect(Sample.reason("((((1))))", in: environment) == nil)
    #expect(Sample.reason("(((((1)))))", in: environment) == "TOO_COMPLEX")
    #expect(Sample.reason("-(-(-(-1)))", in: environment) == nil)
    environment.limits = ExpressionLimits()
    environment.limits.nodesMax = 3
    #expect(Sample.reason("1 + 2", in: environment) == nil)
    #expect(Sample.reason("1 + 2 + 3", in: environment) == "TOO_COMPLEX")
    environment.limits = ExpressionLimits()
    environment.limits.sourceBytesMax = 5
    #expect(Sample.reason("1 + 2", in: environment) == nil)
    #expect(Sample.reason("1 + 2 ", in: environment) == "TOO_COMPLEX")
    environment.limits = ExpressionLimits()
    environment.limits.patternBytesMax = 10_000
    let pattern = "'b'.matches('[^a]{50}')"
    #expect(Sample.reason(pattern, in: environment) == nil)
    // The size of one pattern depends on the allocator.
    let many = Array(repeating: pattern, count: 8).joined(separator: " || ")
    #expect(Sample.reason(many, in: environment) == "TOO_LARGE")
    environment.limits = ExpressionLimits()
    environment.limits.valueDepthMax = 3
    #expect(Sample.reason("[[[event]]]", in: environment) == "TOO_DEEP")
    #expect(Sample.reason("[[event]]", in: environment) == nil)
    #expect(Sample.reason("[[[[1]]]] == [] || true", in: environment) == "TOO_DEEP")
  }

  @Test func `the cost is as documented, and a budget with one step less is too small`() throws {
    let expression = try CompiledExpression("'ab' + event.text", in: Sample.environment)
    let bindings: [String: ExpressionValue] = ["event": ExpressionValue(["text": .string("cde")])]
    let (value, cost) = try expression.evaluateWithCost(bindings)
    #expect(value == "abcde")
    // Four steps, five bytes.
    #expect(cost == 9)
    #expect(try expression.evaluate(bindings, budget: cost) == "abcde")
    #expect(throws: EvaluationError.self) { try expression.evaluate(bindings, budget: cost - 1) }
    #expect(throws: EvaluationError.self) { try expression.evaluate(bindings, budget: -5) }
    // Two more steps and, as text grows in place, the three bytes added and one.
    let row = try CompiledExpression("'ab' + event.text + event.text", in: Sample.environment)
    #expect(try row.evaluateWithCost(bindings).cost == 15)
  }

  private static let large: [String: ExpressionValue] = [
    "event": .list((0..<2_000).map { .int($0) }), "data": ExpressionValue(Sample.data),
  ]

  @Test(arguments: [
    "event.all(a, event.all(b, event.all(c, a + b + c >= 0)))",
    "event.map(a, event.map(b, event.map(c, c)))",
    "event.exists(a, event.exists(b, 1 / 0 == a))",
    "event.filter(a, a in event.map(b, b + 5000))",
    "event.map(a, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' + string(a)).map(t, t + t + t + t).map(t, t + t + t + t).join('')",
    "event.map(a, event + event).flatten()",
    "cel.bind(a, event + event, cel.bind(b, a + a + a + a, cel.bind(c, b + b + b + b, c + c + c + c + c + c + c + c + c)))",
    "lists.range(900000).map(x, [x, x])", "lists.range(9223372036854775807)",
    "event.all(x, event.all(y, !string(x).matches('(.*)*q' + string(y))))",
    "event.sortBy(x, event.map(y, y).size() - x)",
    "event.map(x, 0.1 * 3.0).map(x, '%.99f'.format([x])).map(x, x + x).join().split('').distinct().size() > 0 && event.all(x, event.map(y, y * 1).distinct().size() > 0)",
    "event.all(x, event == event + [] && !(event != event))",
    "event.exists(x, 'a'.matches('(?:(?:){1000}){1000}' + string(x)))",
    "event.transformMap(i, v, event.transformMap(j, w, w))",
    "event.map(x, {'a': event}).map(m, '%s'.format([m])).size()",
  ])
  func `an expensive expression ends at its budget`(source: String) throws {
    var environment = Self.wide
    environment.limits.depthMax = 200
    let expression = try CompiledExpression(source, in: environment)
    let error = #expect(throws: EvaluationError.self) {
      try expression.evaluate(Self.large, budget: 100_000)
    }
    #expect(error?.reason == .costExceeded)
    // No macro or operator hides the error.
    let hidden = try CompiledExpression(
      "[1].exists(q, dyn(\(source)) == 1 || true) || true", in: environment)
    let again = #expect(throws: EvaluationError.self) {
      try hidden.evaluate(Self.large, budget: 100_000)
    }
    #expect(again?.reason == .costExceeded)
  }

  @Test func `text that doubles in nested macros is limited by the produced bytes`() throws {
    var source = "'0123456789'"
    for _ in 0..<25 { source = "[\(source)].map(x, x + x)[0]" }
    #expect(Sample.reason(source) == "COST_EXCEEDED")
    var parts = "event"
    for _ in 0..<40 { parts = "cel.bind(x, \(parts), x + x)" }
    let expression = try CompiledExpression(parts, in: Sample.environment)
    let error = #expect(throws: EvaluationError.self) {
      try expression.evaluate(["event": "0123456789"] as [String: ExpressionValue])
    }
    #expect(error?.reason == .costExceeded)
  }

  @Test func `a value that would be too deep is refused`() throws {
    var source = "[1]"
    for _ in 0..<30 { source = "cel.bind(x, \(source), [[[x]]])" }
    #expect(Sample.reason(source) == "TOO_DEEP")
  }

  @Test(arguments: ["é", "日本", "\u{1F1E9}\u{1F1EA}", "e\u{301}"])
  func `positions in text are code points in every script`(text: String) throws {
    let expression = try CompiledExpression("event.size()", in: Sample.environment)
    let size = try expression.evaluate(["event": .string(text)] as [String: ExpressionValue])
    #expect(size == .int(Int64(text.unicodeScalars.count)))
  }
}
