import WidgetExpression
public import WidgetModel

/// A selector with its compiled expression.
struct Selection {
  let selector: Selector
  /// nil if the selector has no expression.
  let predicate: SelectionPredicate?
  /// Whether the selector's expression cannot be compiled. Requests with such a selector are
  /// refused, so only direct callers of the store can have one.
  let isUnusable: Bool

  /// Whether the selection contains a record. Checks the selector's conditions before its
  /// expression.
  func picks(_ record: Record) -> Bool {
    guard
      selector.matches(
        id: record.id, kind: record.kind, family: record.family, labels: record.labels)
    else { return false }
    return !isUnusable && predicate?.holds(for: record) ?? true
  }

  /// Whether the selection contains a record. Takes the cost of the test from a budget. The result
  /// is right even if the budget is spent.
  func picks(_ record: Record, spending budget: inout Int) -> Bool {
    budget -= costOfLook
    guard
      selector.matches(
        id: record.id, kind: record.kind, family: record.family, labels: record.labels)
    else { return false }
    return !isUnusable && predicate?.holds(for: record, spending: &budget) ?? true
  }

  /// The cost of a test of one record, without the expression. A step of an expression costs 1.
  private var costOfLook: Int {
    1 + (selector.kinds.count + selector.families.count + selector.labels.count) / 4
      + selector.ids.count / 64
  }

  /// Whether the answer of `picks` may have changed for a record after the cursor.
  func mayHaveChanged(for record: Record, since cursor: Revision) -> Bool {
    if selector.dependsOnState,
      record.labelsRevision > cursor || record.statusRevision > cursor
    {
      return true
    }
    return predicate?.mayHaveChanged(for: record, since: cursor) ?? false
  }
}

/// The expression of a selector. Pure: the same record always gives the same answer.
final class SelectionPredicate {
  private static let variables = [
    ExpressionVariable("data", .map(.string, .dyn)),
    ExpressionVariable("parameters", .map(.string, .dyn)),
    ExpressionVariable("status", .map(.string, .dyn)),
    ExpressionVariable("widget", WidgetVariable.typeWithState),
  ]

  private let expression: CompiledExpression
  private let costMax: Int
  /// The data keys and parameters that the expression reads; nil for all.
  private var dataKeys: Set<String>? = []
  private var parameters: Set<String>? = []
  private var readsStatus = false
  private var readsWidget = false

  /// - Throws: the mistake in the expression, with its place.
  init(
    _ source: String, costMax: Int, timeZones: WidgetStore.TimeZones?
  ) throws(StoreError) {
    self.costMax = costMax
    do throws(ExpressionError) {
      expression = try CompiledExpression(
        NullText.comparingEmpty("widget.error", in: source),
        in: ExpressionEnvironment(
          variables: SelectionPredicate.variables, timeZones: timeZones))
    } catch {
      throw .invalid(field: "selector.expression", description: error.rendered)
    }
    switch expression.resultType {
    case .bool, .dyn: break
    case let type:
      throw .invalid(
        field: "selector.expression",
        description: "The expression gives \(type). Write one that is true or false.")
    }
    for reference in expression.references {
      var key: String?
      if case .field(let name)? = reference.path.first { key = name }
      switch reference.variable {
      case "data":
        if let key { dataKeys?.insert(key) } else { dataKeys = nil }
      case "status":
        readsStatus = true
        dataKeys?.insert(ContentCompiler.statusKey)
      case "parameters":
        if let key { parameters?.insert(key) } else { parameters = nil }
      default: readsWidget = true
      }
    }
  }

  /// Whether the expression is true for a record. False if the expression fails or costs too much.
  /// Looks up only the fields that the expression reads.
  func holds(for record: Record) -> Bool {
    var budget = Int.max
    return holds(for: record, spending: &budget)
  }

  /// The same, but takes the cost from a budget.
  func holds(for record: Record, spending budget: inout Int) -> Bool {
    func map(_ keys: Set<String>?, _ map: RevisedMap) -> ExpressionValue {
      keys?.isEmpty == true ? .null : .map(ExpressionMap(RecordMap(map)))
    }
    let status =
      readsStatus ? record.data[ContentCompiler.statusKey] ?? .map([:]) : .null
    let bindings = SlotBindings([
      map(dataKeys, record.data), map(parameters, record.parameters), ExpressionValue(status),
      readsWidget ? WidgetVariable.valueWithState(of: record) : .null,
    ])
    var own = costMax
    defer { budget -= costMax - max(0, own) }
    guard case .bool(true)? = try? expression.evaluate(bindings, spending: &own) else {
      return false
    }
    return true
  }

  /// Whether a field that the expression reads changed after the cursor.
  func mayHaveChanged(for record: Record, since cursor: Revision) -> Bool {
    func concerns(_ keys: Set<String>?, _ map: RevisedMap) -> Bool {
      guard keys?.isEmpty != true else { return false }
      let changed = map.changedKeys(since: cursor)
      return keys.map { keys in changed.contains { keys.contains($0) } } ?? !changed.isEmpty
    }
    if readsWidget,
      record.labelsRevision > cursor || record.statusRevision > cursor
        || record.presenceRevision > cursor
    {
      return true
    }
    return concerns(dataKeys, record.data) || concerns(parameters, record.parameters)
  }
}

/// Compiled predicates by their text, and the errors of those that cannot be compiled. The cache
/// only saves time: without it the results are the same.
final class PredicateCache {
  private static let countMax = 256
  private var byText: [String: Result<SelectionPredicate, StoreError>] = [:]
  /// The cost limit that the predicates were compiled with.
  private var costMax = 0

  func predicate(
    _ source: String, _ limits: StoreLimits, _ timeZones: WidgetStore.TimeZones?
  ) throws(StoreError) -> SelectionPredicate {
    if limits.selectorCostMax != costMax || byText.count >= PredicateCache.countMax { byText = [:] }
    costMax = limits.selectorCostMax
    if let known = byText[source] { return try known.get() }
    let made = Result { () throws(StoreError) in
      try SelectionPredicate(source, costMax: limits.selectorCostMax, timeZones: timeZones)
    }
    byText[source] = made
    return try made.get()
  }
}

extension WidgetStore {
  func selection(_ selector: Selector) -> Selection {
    guard !selector.expression.isEmpty else {
      return Selection(selector: selector, predicate: nil, isUnusable: false)
    }
    let predicate = try? predicates.predicate(selector.expression, limits, timeZones)
    return Selection(selector: selector, predicate: predicate, isUnusable: predicate == nil)
  }

  /// Refuses a selector whose expression cannot be compiled or is too long.
  public func checkExpression(of selector: Selector) throws(StoreError) {
    guard !selector.expression.isEmpty else { return }
    guard selector.expression.utf8.count <= limits.selectorExpressionBytesMax else {
      throw .quotaExceeded(
        limit: "selector_expression_bytes_max", maximum: limits.selectorExpressionBytesMax)
    }
    _ = try predicates.predicate(selector.expression, limits, timeZones)
  }
}
