import WidgetExpression

/// How much memory the compiled expressions of one kind take, and may take.
///
/// The text of a kind says little about it: `matches('a{4999}')` is short, and takes 100 KiB.
final class KindMemory {
  /// Why an expression cannot be used.
  struct Refusal: Error {
    let message: String
  }

  private let bytesMax: Int
  private(set) var bytes = 0

  /// What a kind keeps beside each expression: its place in a plan, and what depends on it.
  private static let bytesBesideExpression = 256

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Whether an expression was refused because of the memory that it needs with those before it.
  var isExceeded: Bool { bytes > bytesMax }

  /// Compiles an expression and counts it.
  func compile(
    _ source: String, in environment: ExpressionEnvironment
  ) throws(Refusal) -> CompiledExpression {
    let expression: CompiledExpression
    do throws(ExpressionError) {
      expression = try CompiledExpression(source, in: environment)
    } catch {
      throw Refusal(message: error.rendered)
    }
    bytes += expression.memoryBytes + KindMemory.bytesBesideExpression
    guard !isExceeded else {
      throw Refusal(
        message: "the kind's expressions take more than \(bytesMax) bytes of memory "
          + "(kind_memory_bytes_max)")
    }
    return expression
  }
}
