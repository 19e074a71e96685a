/// A constant in a valid expression that is probably a mistake, such as a misspelt locale.
public struct ExpressionDoubt: Hashable, Sendable {
  /// The problem and the next step, for people: one line without a full stop.
  public let message: String
  /// The offset in the source, in UTF-8 bytes.
  public let offset: Int
  /// Whether the expression fails wherever the constant is used.
  public let alwaysFails: Bool
}

/// The constants of formatDate() and parseDate(): a pattern or style, a time zone, and a locale.
/// Also the time zone of the parts of a time.
extension Checker {
  mutating func doubtDate(_ name: String, _ arguments: [Typed], at node: Int) {
    guard environment.isChecked, case .call(_, nil, let nodes, _) = tree[node] else { return }
    for (index, argument) in arguments.enumerated().dropFirst() {
      guard case .string(let text)? = builder.constant(argument.code) else { continue }
      let offset = tree.offsets[nodes[index]]
      switch index {
      case 1: doubtPattern(text, isRead: name == "parseDate", at: offset)
      case 2: doubtZone(text, at: offset)
      default: doubtLocale(text, at: offset)
      }
    }
  }

  /// The constant zone of a part of a time: `now.getHours("Europe/Berlin")`.
  mutating func doubtPart(_ arguments: [Typed], at node: Int) {
    guard environment.isChecked, arguments.count == 2,
      case .call(_, _?, let nodes, _) = tree[node], let zone = nodes.first,
      case .string(let text)? = builder.constant(arguments[1].code)
    else { return }
    doubtZone(text, at: tree.offsets[zone])
  }

  private mutating func doubtPattern(_ text: String, isRead: Bool, at offset: Int) {
    if let message = DatePattern.problem(text, isRead: isRead) {
      doubts.append(ExpressionDoubt(message: message, offset: offset, alwaysFails: true))
    }
    guard DateLocale.english.pattern(ofStyle: text) == nil, !text.contains("%"), !text.isEmpty
    else { return }
    let shown = SyntaxPrinter.quotedStart(of: text)
    let hint =
      Suggestion.closest(to: text, among: DateLocale.styleNames).map { "did you mean \"\($0)\"?" }
      ?? "styles are short, medium, long, full, time and time-seconds, or a date and a time: \"long time\""
    doubts.append(
      ExpressionDoubt(
        message:
          "\(shown) is not a style and has no field such as %H, so it stays as it is; \(hint)",
        offset: offset, alwaysFails: false))
  }

  /// An unknown zone is never a failure, because the machine that evaluates may have more time
  /// zones.
  private mutating func doubtZone(_ text: String, at offset: Int) {
    guard environment.timeZones != nil else { return }
    let context = FunctionContext(
      meter: CostMeter(budget: 0), timeZones: environment.timeZones, valueDepthMax: 0)
    do { _ = try context.rules(of: text) } catch {
      doubts.append(ExpressionDoubt(message: error.message, offset: offset, alwaysFails: false))
    }
  }

  private mutating func doubtLocale(_ text: String, at offset: Int) {
    guard DateLocale.named(text) == nil else { return }
    let message =
      "no dates in the language \(SyntaxPrinter.quotedStart(of: text)); there are "
      + DateLocale.languages
    doubts.append(ExpressionDoubt(message: message, offset: offset, alwaysFails: true))
  }
}
