/// The rest of an evaluation's budget. Every step of the evaluator, every element visited and every
/// byte made costs 1; 16 bytes read cost 1. The budget bounds both time and memory.
struct CostMeter {
  /// The cost of an error that an operator or a macro hides: the words of its message.
  static let hiddenErrorCost = 20

  private(set) var remaining: Int

  init(budget: Int) { remaining = max(0, budget) }

  mutating func charge(_ amount: Int) throws(ExpressionFailure) {
    remaining -= amount
    if remaining < 0 {
      remaining = 0
      throw ExpressionFailure(
        .costExceeded,
        "the evaluation costs more than its budget; read less data, or raise the budget")
    }
  }

  /// Ends the evaluation if the next work costs at least this amount, and the rest is smaller.
  mutating func require(_ amount: Int) throws(ExpressionFailure) {
    if remaining < amount { try charge(amount) }
  }

  /// Charges the cost of reading text of this size.
  mutating func chargeRead(_ bytes: Int) throws(ExpressionFailure) { try charge(bytes >> 4 + 1) }
}
