import WidgetBundle
import WidgetModel

@testable import WidgetExpression

/// CEL: an evaluation stays within its budget and gives the same result again. A printed expression
/// reads back the same. The first byte chooses whether types are checked.
func fuzzExpressions(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let environment = choice & 1 == 0 ? checked : unchecked
  let expression: CompiledExpression
  do {
    expression = try CompiledExpression(
      String(decoding: input.dropFirst(), as: UTF8.self), in: environment)
  } catch {
    return require(!error.rendered.isEmpty, "an error without words")
  }
  do throws(EvaluationError) {
    let result = try expression.evaluateWithCost(bindings, budget: 5_000)
    require(result.cost <= 5_000, "the cost is \(result.cost)")
    let again = try expression.evaluate(bindings, budget: result.cost)
    require(again == result.value, "the second value is another one: \(again)")
  } catch {
    require(!error.rendered.isEmpty, "an error without words")
  }
  do {
    let printed = try CompiledExpression(expression.formatted, in: environment)
    guard let tree = expression.tree, let again = printed.tree else { return }
    require(again.hasSameStructure(as: tree), "printed as \(expression.formatted)")
    require(printed.formatted == expression.formatted, "printed again as \(printed.formatted)")
  } catch {
    // Parentheses and escapes can exceed the limits of length and depth.
    require(
      error.reason == .tooComplex,
      "printed as \(expression.formatted), which is refused: \(error.rendered)")
  }
}

private let checked = ExpressionEnvironment(variables: [
  ExpressionVariable(
    "data",
    .record(
      RecordType([
        "load": .list(.double), "name": .string, "cpu": .map(.string, .double), "items": .anyList,
        "free": .int,
      ]))),
  ExpressionVariable("theme", .map(.string, .dyn)), ExpressionVariable("event", .dyn),
  ExpressionVariable("now", .timestamp),
])
private let unchecked: ExpressionEnvironment = {
  var result = checked
  result.isChecked = false
  return result
}()

private let bindings: [String: ExpressionValue] = [
  "data": ExpressionValue([
    "load": .list([.double(1.5), .double(2)]), "name": .string("web"),
    "cpu": .map(["total": .double(0.5)]), "items": .list([.map(["n": .int(2)])]), "free": .int(7),
  ]),
  "theme": ExpressionValue(["accent": .string("#f80")]), "event": ExpressionValue(["x": .int(1)]),
  "now": .timestamp(Timestamp(nanosecondsSinceEpoch: 1_795_271_400_000_000_000)),
]

/// Bundles and declared sets, as YAML or JSON.
func fuzzBundles(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  do throws(InvalidBundle) { _ = try BundleReader.read(text) } catch {
    require(!error.problems.isEmpty && !error.description.isEmpty, "a refusal without words")
  }
  do throws(InvalidBundle) { _ = try BundleReader.read(text, isJSON: true) } catch {
    require(!error.problems.isEmpty && !error.description.isEmpty, "a refusal without words")
  }
  do throws(InvalidBundle) { _ = try DeclaredSet.read(text) } catch {
    require(!error.problems.isEmpty && !error.description.isEmpty, "a refusal without words")
  }
}

/// JSON of people is stricter than JSON of programs: programs may write all JSON that people may
/// write, with the same value.
func fuzzJSON(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  let program = try? JSONReader.value(of: bytes, from: .program)
  let person = try? JSONReader.value(of: bytes, from: .person)
  require(person == nil || person == program, "a person's JSON is another value for a program")
  _ = try? JSONReader.values(of: String(decoding: bytes, as: UTF8.self))
}
