import WidgetModel

/// Transition hints: `CURVE[:DETAIL,…]`, where a detail is a duration, `response=SECONDS` or
/// `damping=NUMBER`: `spring`, `opacity:250ms`, `spring:500ms,response=0.4,damping=0.8`.
enum TransitionSyntax {
  static let help =
    "How to animate the change: \(TransitionSyntax.names), with a duration if wanted (spring:400ms)."

  static let names = "none, linear, ease-in, ease-out, ease-in-out, spring or opacity"

  static func parse(_ text: String) throws(SyntaxFailure) -> Transition {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, let curve = Transition.Curve(name: String(name)) else {
      throw SyntaxFailure("\"\(text)\" is no transition; use one of \(names)")
    }
    var transition = Transition(curve: curve)
    guard parts.count == 2 else { return transition }
    for detail in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
      if let number = detail.droppingPrefix("response=").flatMap(Double.init), number > 0 {
        transition.springResponse = number
      } else if let number = detail.droppingPrefix("damping=").flatMap(Double.init), number > 0 {
        transition.springDamping = number
      } else if let duration = DurationSyntax.parse(String(detail)), duration >= .zero {
        transition.duration = duration
      } else {
        throw SyntaxFailure(
          "\"\(detail)\" is neither \(DurationSyntax.hint), nor response=SECONDS, nor "
            + "damping=NUMBER")
      }
    }
    return transition
  }

  /// The transition as `parse` reads it.
  static func text(_ transition: Transition) -> String {
    var details: [String] = []
    if let duration = transition.duration { details.append(DurationSyntax.seconds(duration)) }
    if transition.springResponse > 0 { details.append("response=\(transition.springResponse)") }
    if transition.springDamping > 0 { details.append("damping=\(transition.springDamping)") }
    let list = details.joined(separator: ",")
    return transition.curve.name + (list.isEmpty ? "" : ":\(list)")
  }
}

extension Substring {
  /// What follows the prefix; nil if it is not there.
  func droppingPrefix(_ prefix: String) -> Substring? {
    hasPrefix(prefix) ? dropFirst(prefix.count) : nil
  }
}
