import Foundation
import SeededRandom
import Testing
import WidgetModel

@testable import WidgetExpression

/// Random expressions never crash, stay within their budget, and read back as they are printed.
///
/// `WIDGETD_CEL_SEED` runs another seed; a failure names the seed and the expression.
struct FuzzTests {
  private static let seed =
    ProcessInfo.processInfo.environment["WIDGETD_CEL_SEED"].flatMap { UInt64($0) } ?? 20_261_121

  private static let words = [
    "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*", "/", "%", "!", "<", "<=", "==",
    "!=", "&&", "||", "in", "true", "false", "null", "1", "2u", "1.5", "0", "-1", "'a'", "\"b\"",
    "b'c'", "r'\\d+'", "data", "load", "event", "now", "x", "y", "size", "has", "all", "exists",
    "map",
    "filter", "matches", "format", "'%s %d'", "string", "int", "duration", "'1h'", "timestamp",
    "sortBy", "math.greatest", "cel.bind", "`a-b`", "'日本'", "fold", "if", "\n", "//c\n",
    "9223372036854775807",
  ]

  @Test func `random words are an expression or an error`() {
    var generator = SeededGenerator(seed: Self.seed)
    var unchecked = Sample.environment
    unchecked.isChecked = false
    for round in 0..<10_000 {
      let length = Int.random(in: 1...16, using: &generator)
      let source = (0..<length).map { _ in Self.words.randomElement(using: &generator) ?? "" }
        .joined(separator: Bool.random(using: &generator) ? " " : "")
      let environment = round % 2 == 0 ? unchecked : Sample.environment
      guard let expression = try? CompiledExpression(source, in: environment) else { continue }
      check(expression, environment)
    }
  }

  @Test func `random bytes are an expression or an error`() {
    var generator = SeededGenerator(seed: Self.seed &+ 1)
    for _ in 0..<20_000 {
      let length = Int.random(in: 0...24, using: &generator)
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let source = String(decoding: bytes, as: UTF8.self)
      do {
        _ = try CompiledExpression(source, in: Sample.environment)
      } catch {
        #expect(!error.rendered.isEmpty)
      }
    }
  }

  @Test func `random trees are evaluated within their budget and read back as printed`() {
    var generator = SeededGenerator(seed: Self.seed &+ 2)
    var unchecked = Sample.environment
    unchecked.isChecked = false
    for _ in 0..<2_000 {
      let source = Self.tree(5, &generator)
      do {
        check(try CompiledExpression(source, in: unchecked), unchecked)
      } catch {
        Issue.record("seed \(Self.seed): \(error.rendered)")
      }
    }
  }

  @Test func `the result has the type that the checker said`() {
    var generator = SeededGenerator(seed: Self.seed &+ 3)
    var evaluated = 0
    for _ in 0..<30_000 {
      let source = Self.tree(2, &generator)
      guard let expression = try? CompiledExpression(source, in: Sample.environment),
        let value = try? expression.evaluate(Sample.bindings, budget: 5_000)
      else { continue }
      evaluated += 1
      // CEL lets null stand for a time.
      #expect(
        Self.conforms(value, expression.resultType) || value == .null,
        "seed \(Self.seed): \(source) is \(expression.resultType), gave \(value)")
    }
    #expect(evaluated > 500)
  }

  /// Whether a value is of a type, elements too.
  private static func conforms(_ value: ExpressionValue, _ type: ExpressionType) -> Bool {
    guard type.admits(value.kind) else { return false }
    switch (value, type) {
    case (.list(let list), .list(let element)):
      return list.allSatisfy { conforms($0, element) || $0 == .null }
    case (.map(let map), .map(let key, let element)):
      return map.entries.allSatisfy {
        conforms($0.key, key) && (conforms($0.value, element) || $0.value == .null)
      }
    default: return true
    }
  }

  private func check(_ expression: CompiledExpression, _ environment: ExpressionEnvironment) {
    let seed = Self.seed
    do throws(EvaluationError) {
      let result = try expression.evaluateWithCost(Sample.bindings, budget: 5_000)
      #expect(result.cost <= 5_000, "seed \(seed): \(expression.source)")
      // The evaluation is deterministic.
      let again = try expression.evaluate(Sample.bindings, budget: result.cost)
      #expect(again == result.value, "seed \(seed): \(expression.source)")
    } catch {
      #expect(!error.rendered.isEmpty)
    }
    do {
      let printed = try CompiledExpression(expression.formatted, in: environment)
      let (tree, printedTree) = (try #require(expression.tree), try #require(printed.tree))
      #expect(
        printedTree.hasSameStructure(as: tree),
        "seed \(seed): \(expression.source) printed as \(expression.formatted)")
      #expect(printed.formatted == expression.formatted)
    } catch {
      Issue.record(
        "seed \(seed): \(expression.source) printed as \(expression.formatted): \(error)")
    }
  }

  /// A random expression as text, with parentheses where they cannot matter too.
  private static func tree(_ depth: Int, _ generator: inout SeededGenerator) -> String {
    func part() -> String { tree(depth - 1, &generator) }
    func pick(_ options: [String]) -> String { options.randomElement(using: &generator) ?? "" }
    guard depth > 0, Int.random(in: 0..<8, using: &generator) > 0 else {
      return pick([
        "1", "-1", "2u", "1.5", "-2.5", "'a'", "'Ärger'", "b'\\xff'", "true", "false", "null", "x",
        "y",
        "event", "data.load", "data.items", "now", "duration('1h')", "int", "-9223372036854775808",
        "9223372036854775807", "1e308", ".event", "r'[a-z]+'", "data.`disk-free`",
      ])
    }
    switch Int.random(in: 0..<17, using: &generator) {
    case 0...2:
      let operation = pick(["+", "-", "*", "/", "%"])
      return "(\(part()) \(operation) \(part()) \(operation) \(part()))"
    case 3, 4:
      return "(\(part()) \(pick(["==", "!=", "<", "<=", ">", ">=", "in"])) \(part()))"
    case 5: return "(\(part()) && \(part()) || \(part()))"
    case 6: return "(\(part()) ? \(part()) : \(part()) ? \(part()) : \(part()))"
    case 7: return "\(pick(["!", "-", "!!", "- -"]))(\(part()))"
    case 8: return "[\(part()), \(part())]"
    case 9: return "{\(part()): \(part()), 'k': \(part())}"
    case 10: return "(\(part()))[\(part())]"
    case 11: return "(\(part())).\(pick(["k", "n", "load", "`a-b`"]))"
    case 12: return "has((\(part())).\(pick(["k", "n"])))"
    case 13:
      return
        "(\(part())).\(pick(["all", "exists", "exists_one", "map", "filter", "sortBy"]))(x, \(part()))"
    case 14:
      return
        "(\(part())).\(pick(["all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry"]))(x, y, \(part()))"
    case 15: return "cel.bind(\(pick(["x", "y"])), \(part()), \(part()))"
    default:
      return pick([
        "size(\(part()))", "string(\(part()))", "type(\(part()))", "int(\(part()))",
        "dyn(\(part()))",
        "(\(part())).matches(\(part()))", "(\(part())).format([\(part())])", "(\(part())).fold()",
        "(\(part())).replace(\(part()), 'b')", "(\(part())).split(\(part()))", "(\(part())).sort()",
        "(\(part())).distinct()", "(\(part())).reverse()", "math.greatest(\(part()), \(part()))",
        "formatNumber(\(part()))", "formatBytes(\(part()))", "formatRelative(\(part()), now)",
        "(\(part())).getHours(\(part()))", "(\(part())).substring(\(part()))",
        "timestamp(\(part()))",
      ])
    }
  }
}
