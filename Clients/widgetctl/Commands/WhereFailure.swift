import WidgetClient
import WidgetExpression
import WidgetModel

/// The widgets for which an expression of `--where` fails. For the daemon, a failure counts as
/// false, so `WhereCheck` evaluates the expression again.
struct WhereFailure: Hashable, Sendable {
  /// The widgets for which the expression was evaluated, and for which it failed.
  var widgets = 0
  var failed = 0
  /// An example: the first widget for which it failed, and the reason. A widget that only lacks a
  /// value is the example if there is no other one. Of these, the example is the widget whose
  /// evaluation came furthest, with a field of a similar name if there is one.
  var id: WidgetID?
  var reason = ""
  /// Whether the evaluation ended before the last widget.
  var isPartial = false

  /// The longest time for the note, which is less important than the command.
  private static let timeMax = Duration.seconds(2)
  /// An expression that costs less is far below usual limits of the daemon.
  private static let cheapCost = 100

  /// The options of calls for the note.
  static func limited(_ options: CallOptions) -> CallOptions {
    var options = options
    options.timeout = options.timeout.map { min($0, timeMax) } ?? timeMax
    return options
  }

  /// Asks the daemon for the widgets that the rest of a selection selects.
  ///
  /// - Parameters:
  ///   - changed: Selected widgets that the command has changed. They count, but the expression is
  ///     not evaluated for them again.
  ///   - sparesLacks: See `WhereCheck.failure`.
  ///   - isRedacted: Whether the reason has no values.
  static func of(
    _ condition: String, _ others: Selector, changed: Set<WidgetID> = [], sparesLacks: Bool,
    isRedacted: Bool, in session: Session
  ) async -> WhereFailure? {
    // A field with a similar name is only known with all fields.
    guard let expression = try? EvalCommand.compile(condition),
      let mask = try? ReadMask(paths: paths(of: expression, hasAllFields: !sparesLacks))
    else { return nil }
    let deadline = ContinuousClock.now + timeMax
    var options = limited(session.options)
    var check = WhereCheck(expression, changed: changed, isRedacted: isRedacted)
    var request = ListWidgetsRequest(selector: others, pageSize: 500, readMask: mask)
    do throws(ClientError) {
      try await ListPages.read(options) { (token, options) throws(ClientError) in
        request.pageToken = token
        let page = try await session.client.listWidgets(request, options: options)
        check.evaluate(page.widgets.map(\.widget), until: deadline)
        return check.isPartial ? "" : page.nextPageToken
      }
    } catch {
      // The widgets of the pages before are still worth a note.
      check.isPartial = true
    }
    var budget: Int?
    // An expression that is cheap and selects something is within the limit.
    if !sparesLacks || check.costMost > cheapCost {
      options.timeout = options.timeout.map { min($0, deadline - ContinuousClock.now) }
      let stats = try? await session.client.getStats(GetStatsRequest(), options: options)
      budget = stats?.limits["selector_cost_max"].flatMap { Int(exactly: $0) }
    }
    return check.failure(budget: budget, sparesLacks: sparesLacks)
  }

  /// The fields of widgets that an expression reads.
  ///
  /// - Parameter hasAllFields: whether all fields of data and parameters belong to them, if the
  ///   expression reads one.
  static func paths(
    of expression: CompiledExpression, hasAllFields: Bool = false
  ) -> [String] {
    var paths: Set = ["id"]
    for reference in expression.references {
      var key: String?
      if case .field(let name)? = reference.path.first { key = name }
      switch (reference.variable, key) {
      case ("status", _): paths.insert("data.status")
      case ("widget", "visible"?), ("widget", "enabled"?): paths.insert("presence")
      case ("widget", let key?): paths.insert(key)
      case ("widget", nil):
        paths.formUnion(["family", "labels", "presence", "stale", "error", "activity"])
      case (let variable, let key?):
        paths.insert(hasAllFields ? variable : "\(variable).\(key)")
      case (let variable, nil): paths.insert(variable)
      }
    }
    return paths.sorted()
  }

  var text: String {
    if !isPartial, widgets == 1 {
      return "the expression fails for widget \"\(id?.rawValue ?? "")\", which is therefore not "
        + "selected: \(reason)"
    }
    let isOne = failed == 1
    let count =
      if isPartial {
        "at least \(isOne ? "1 widget" : "\(failed) widgets")"
      } else if failed == widgets {
        "all \(failed) widgets"
      } else {
        "\(failed) of \(widgets) widgets"
      }
    return "the expression fails for \(count), which \(isOne ? "is" : "are") therefore not selected"
      + "; for example \"\(id?.rawValue ?? "")\": \(reason)"
  }
}

/// The evaluation of an expression for many widgets, up to a total cost.
struct WhereCheck {
  /// The maximum number of widgets.
  static let widgetsMax = 2_000
  /// The maximum cost for all widgets, in steps of evaluation.
  static let costMax = 2_000_000

  /// The reason of a failure.
  private struct Failure {
    var reason: String
    /// Whether the widget only lacks a value.
    var isLack = false
    /// The place where the evaluation of a widget that lacks a value ended.
    var offset = 0
    /// Whether a field of the widget has a similar name.
    var isCorrected = false

    /// Whether it is a better example.
    func isBefore(_ other: Failure) -> Bool {
      guard isLack == other.isLack else { return other.isLack }
      guard offset == other.offset else { return offset > other.offset }
      return isCorrected && !other.isCorrected
    }
  }

  /// The evaluation for one widget.
  private struct Evaluation {
    let id: WidgetID
    let cost: Int
    let failure: Failure?
  }

  private let expression: CompiledExpression
  private let isRedacted: Bool
  private let changedCount: Int
  /// The changed widgets, and those for which the expression was evaluated.
  private var seen: Set<WidgetID>
  private var evaluations: [Evaluation] = []
  /// The places at which a field with a similar name was found.
  private var correctedOffsets: Set<Int> = []
  /// The remaining searches for a similar name.
  private var searchesLeft = 200
  private var widgetsLeft = widgetsMax
  private var costLeft: Int
  /// Whether the expression was not evaluated for all widgets.
  var isPartial = false

  init(
    _ expression: CompiledExpression, changed: Set<WidgetID> = [], isRedacted: Bool = false,
    costMax: Int = WhereCheck.costMax
  ) {
    (self.expression, self.isRedacted, costLeft) = (expression, isRedacted, costMax)
    (seen, changedCount) = (changed, changed.count)
  }

  /// The cost of the most expensive evaluation.
  var costMost: Int { evaluations.map(\.cost).max() ?? 0 }

  /// Evaluates the expression for more widgets, until a limit is reached or the time is over.
  mutating func evaluate(_ widgets: [Widget], until deadline: ContinuousClock.Instant? = nil) {
    for widget in widgets {
      let isLate = deadline.map { $0 <= ContinuousClock.now } ?? false
      guard !isPartial, !isLate, widgetsLeft > 0, costLeft > 0 else {
        isPartial = true
        return
      }
      widgetsLeft -= 1
      guard seen.insert(widget.id).inserted else { continue }
      evaluate(widget)
    }
  }

  private mutating func evaluate(_ widget: Widget) {
    let bindings = SlotBindings(EvalCommand.bindings(of: widget))
    var left = costLeft
    var failure: Failure?
    do throws(EvaluationError) {
      let value = try expression.evaluate(bindings, spending: &left)
      switch value {
      case .bool: break
      default:
        failure = Failure(reason: "the result is \(value.kind.shortName), not true or false")
      }
    } catch {
      let reason = isRedacted ? error.quotedReason : error.quoted
      switch error.reason {
      // The rest of the cost was too little, and nobody knows how much it would have been.
      case .costExceeded: (isPartial, left) = (true, -1)
      case .noSuchKey, .indexOutOfRange:
        let meant = corrected(error, bindings)
        failure = Failure(
          reason: meant?.quoted ?? reason, isLack: true, offset: error.offset,
          isCorrected: meant != nil)
      default: failure = Failure(reason: reason)
      }
    }
    evaluations.append(Evaluation(id: widget.id, cost: costLeft - left, failure: failure))
    costLeft = left
  }

  /// The error with the similar name. Nil if there is none, or if an earlier widget had one at the
  /// same place.
  private mutating func corrected(
    _ error: EvaluationError, _ bindings: SlotBindings
  ) -> EvaluationError? {
    guard !isRedacted, searchesLeft > 0, !correctedOffsets.contains(error.offset) else {
      return nil
    }
    searchesLeft -= 1
    let meant = expression.corrected(error, bindings)
    if meant != nil { correctedOffsets.insert(error.offset) }
    return meant
  }

  /// The widgets for which the expression fails. Nil if there are none.
  ///
  /// - Parameters:
  ///   - budget: the daemon's maximum cost of one evaluation. Nil if it is unknown.
  ///   - sparesLacks: whether a widget that lacks a value of the expression does not count as
  ///     failed. A selection often has widgets of other kinds, without the value.
  func failure(budget: Int?, sparesLacks: Bool = false) -> WhereFailure? {
    var result = WhereFailure(widgets: evaluations.count + changedCount, isPartial: isPartial)
    var shown: Failure?
    for evaluation in evaluations {
      var failure = evaluation.failure
      if let budget, evaluation.cost > budget {
        failure = Failure(
          reason: "it costs more than selector_cost_max of the daemon, \(budget) steps")
      }
      guard let failure, !(failure.isLack && sparesLacks) else { continue }
      result.failed += 1
      guard shown.map(failure.isBefore) ?? true else { continue }
      (result.id, result.reason, shown) = (evaluation.id, failure.reason, failure)
    }
    return result.failed > 0 ? result : nil
  }
}
