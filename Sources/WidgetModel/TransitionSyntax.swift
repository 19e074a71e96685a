/// Transition hints: `CURVE[:DETAIL,…]`, where a detail is a duration, `response=SECONDS` or
/// `damping=NUMBER`: `spring`, `opacity:250ms`, `spring:500ms,response=0.4,damping=0.8`.
public enum TransitionSyntax {
  public static let help =
    "How to animate the change: \(TransitionSyntax.names); with an optional duration: spring:400ms."

  public static let names = "none, linear, ease-in, ease-out, ease-in-out, spring or opacity"

  public static func parse(_ text: String) throws(SyntaxFailure) -> Transition {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, let curve = Transition.Curve(name: String(name)) else {
      throw SyntaxFailure("\"\(text)\" is not a transition; use one of \(names)")
    }
    var transition = Transition(curve: curve)
    guard parts.count == 2 else { return transition }
    for detail in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
      if let number = number(detail, after: "response="), number > 0 {
        transition.springResponse = number
      } else if let number = number(detail, after: "damping="), number > 0 {
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

  private static func number(_ detail: Substring, after name: String) -> Double? {
    detail.hasPrefix(name) ? Double(detail.dropFirst(name.count)) : nil
  }

  /// The transition in the form that `parse` reads.
  public static func text(_ transition: Transition) -> String {
    var details: [String] = []
    if let duration = transition.duration { details.append(DurationSyntax.seconds(duration)) }
    if transition.springResponse > 0 { details.append("response=\(transition.springResponse)") }
    if transition.springDamping > 0 { details.append("damping=\(transition.springDamping)") }
    let list = details.joined(separator: ",")
    return transition.curve.name + (list.isEmpty ? "" : ":\(list)")
  }
}

extension Transition.Curve {
  /// The written form: `ease-in`.
  public var name: String {
    switch self {
    case .unspecified: "default"
    case .none: "none"
    case .linear: "linear"
    case .easeIn: "ease-in"
    case .easeOut: "ease-out"
    case .easeInOut: "ease-in-out"
    case .spring: "spring"
    case .opacity: "opacity"
    }
  }

  /// The curve with this name, in any letter case, with `_`, `-` or nothing between words.
  public init?(name text: String) {
    func plain(_ text: String) -> String {
      text.lowercased().filter { $0 != "-" && $0 != "_" }
    }
    let wanted = plain(text)
    guard let found = Self.allCases.first(where: { plain($0.name) == wanted }) else { return nil }
    self = found
  }
}

/// The problem of a text that people write.
public struct SyntaxFailure: Error, Hashable, CustomStringConvertible {
  public let reason: String
  public init(_ reason: String) { self.reason = reason }
  public var description: String { reason }
}
