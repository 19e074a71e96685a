import WidgetExpression
public import WidgetModel

/// A selector with its compiled expression.
struct Selection {
  let selector: Selector
  /// nil if the selector has no expression.
  let predicate: SelectionPredicate?
  /// The maximum cost of the expression for one record.
  let costMax: Int
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
    return !isUnusable && predicate?.holds(for: record, atMost: costMax) ?? true
  }

  /// Whether the selection contains a record. Takes the cost of the test from a budget. The result
  /// is right even if the budget is spent.
  func picks(_ record: Record, spending budget: inout Int) -> Bool {
    budget -= costOfLook
    guard
      selector.matches(
        id: record.id, kind: record.kind, family: record.family, labels: record.labels)
    else { return false }
    return !isUnusable && holds(for: record, spending: &budget)
  }

  /// Whether the expression is true for a record, if there is one. Takes its cost from a budget.
  func holds(for record: Record, spending budget: inout Int) -> Bool {
    predicate?.holds(for: record, atMost: costMax, spending: &budget) ?? true
  }

  /// The cost of a test of one record, without the expression. A step of an expression costs 1. Ids
  /// and kinds are in sets.
  private var costOfLook: Int {
    1 + (selector.families.count + selector.labels.count) / 4
  }

  /// The cost of a test of one event, without the expression. A test looks up each label.
  var costOfEvent: Int { 1 + selector.families.count / 4 + selector.labels.count / 2 }

  /// The maximum cost of a test of one record.
  var costOfTestMax: Int {
    costOfLook + (predicate == nil ? 0 : min(max(0, costMax), .max / 2))
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
  /// The data keys and parameters that the expression reads; nil for all.
  private var dataKeys: Set<String>? = []
  private var parameters: Set<String>? = []
  private var readsStatus = false
  private var readsWidget = false
  /// Whether the expression reads data, the status, or parameters.
  private var readsMaps: Bool { dataKeys?.isEmpty != true || parameters?.isEmpty != true }
  /// The approximate memory, in bytes.
  let memoryBytes: Int

  /// - Parameter bytesMax: The maximum of `memoryBytes`.
  /// - Throws: the mistake in the expression, with its place, or the limit of its memory.
  init(
    _ source: String, bytesMax: Int, timeZones: WidgetStore.TimeZones?
  ) throws(StoreError) {
    var environment = ExpressionEnvironment(
      variables: SelectionPredicate.variables, timeZones: timeZones)
    // Only patterns can be much larger than their text, so their compilation ends at the limit.
    environment.limits.patternBytesMax = bytesMax
    let tooLarge = StoreError.quotaExceeded(limit: "selector_memory_bytes_max", maximum: bytesMax)
    do throws(ExpressionError) {
      expression = try CompiledExpression(
        NullText.comparingEmpty("widget.error", in: source), in: environment)
    } catch {
      if error.problems.contains(where: { $0.reason == .tooLarge }) { throw tooLarge }
      throw .invalid(field: "selector.expression", description: error.rendered)
    }
    memoryBytes = expression.memoryBytes + SelectionPredicate.ownBytes
    guard memoryBytes <= bytesMax else { throw tooLarge }
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

  /// The object itself, the names that it reads, and its place in tables, in bytes.
  private static let ownBytes = 512

  /// Whether the expression is true for a record. False if the expression fails or costs more than
  /// `costMax`. Looks up only the fields that the expression reads.
  func holds(for record: Record, atMost costMax: Int) -> Bool {
    var budget = Int.max
    return holds(for: record, atMost: costMax, spending: &budget)
  }

  /// The same, but takes the cost from a budget.
  func holds(for record: Record, atMost costMax: Int, spending budget: inout Int) -> Bool {
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
    // The removed keys of a replaced record are not known.
    if readsMaps, record.replacedRevision > cursor { return true }
    return concerns(dataKeys, record.data) || concerns(parameters, record.parameters)
  }
}

/// Compiled predicates by their text. The cache only saves time: without it the results are the
/// same.
///
/// It has two parts: the expressions of open streams, and the recent ones of calls.
final class PredicateCache {
  /// The expressions of open streams. Each has the number of streams that use it.
  private var kept: [String: Kept] = [:]
  /// Recent expressions, and the errors of those that cannot be compiled.
  private var recent: [String: Result<SelectionPredicate, StoreError>] = [:]
  /// The memory of the recent ones, in bytes.
  private(set) var recentBytes = 0
  /// The limit that the recent ones were compiled with.
  private var bytesMax = 0

  private struct Kept {
    let predicate: SelectionPredicate
    var count: Int
  }

  private static let countMax = 256
  /// The maximum memory of the recent expressions.
  static let recentBytesMax = 2 << 20
  /// The memory of an error beside its text.
  private static let errorBytes = 512

  func predicate(
    _ source: String, _ limits: StoreLimits, _ timeZones: WidgetStore.TimeZones?
  ) throws(StoreError) -> SelectionPredicate {
    if let known = kept[source] { return known.predicate }
    if limits.selectorMemoryBytesMax != bytesMax { forgetRecent() }
    bytesMax = limits.selectorMemoryBytesMax
    if let known = recent[source] { return try known.get() }
    let made = Result { () throws(StoreError) in
      try SelectionPredicate(source, bytesMax: bytesMax, timeZones: timeZones)
    }
    let bytes =
      switch made {
      case .success(let predicate): predicate.memoryBytes
      case .failure(let error): PredicateCache.errorBytes + "\(error)".utf8.count
      }
    if recent.count >= PredicateCache.countMax
      || recentBytes + bytes + source.utf8.count > PredicateCache.recentBytesMax
    {
      forgetRecent()
    }
    recent[source] = made
    recentBytes += bytes + source.utf8.count
    return try made.get()
  }

  func forgetRecent() {
    recent = [:]
    recentBytes = 0
  }

  /// Keeps an expression for one more stream.
  func keep(_ source: String, _ predicate: SelectionPredicate) {
    kept[source, default: Kept(predicate: predicate, count: 0)].count += 1
  }

  /// Keeps an expression for one stream less. Returns its memory in bytes.
  func drop(_ source: String) -> Int {
    guard let known = kept[source] else { return 0 }
    if known.count > 1 { kept[source]?.count -= 1 } else { kept[source] = nil }
    return known.predicate.memoryBytes
  }

  /// The number of different expressions of open streams.
  var keptCount: Int { kept.count }
}

extension WidgetStore {
  func selection(_ selector: Selector) -> Selection {
    let predicate = predicate(of: selector)
    return Selection(
      selector: selector, predicate: predicate, costMax: limits.selectorCostMax,
      isUnusable: predicate == nil && !selector.expression.isEmpty)
  }

  private func predicate(of selector: Selector) -> SelectionPredicate? {
    guard !selector.expression.isEmpty else { return nil }
    return try? predicates.predicate(selector.expression, limits, timeZones)
  }

  // MARK: - Memory

  /// The memory of a selector's compiled expression, in bytes (approximate).
  public func expressionBytes(of selector: Selector) -> Int {
    predicate(of: selector)?.memoryBytes ?? 0
  }

  /// Keeps the compiled expression of a selector for an open stream, until `dropExpression`.
  public func keepExpression(of selector: Selector) {
    predicate(of: selector).map { predicates.keep(selector.expression, $0) }
  }

  /// Drops the compiled expression of a stream's selector. Returns its memory in bytes.
  @discardableResult
  public func dropExpression(of selector: Selector) -> Int {
    selector.expression.isEmpty ? 0 : predicates.drop(selector.expression)
  }

  /// Forgets the compiled expressions of past calls.
  public func forgetRecentExpressions() { predicates.forgetRecent() }

  /// Refuses a selector whose expression cannot be compiled or is too long or
  /// too large.
  public func checkExpression(of selector: Selector) throws(StoreError) {
    guard !selector.expression.isEmpty else { return }
    guard selector.expression.utf8.count <= limits.selectorExpressionBytesMax else {
      throw .quotaExceeded(
        limit: "selector_expression_bytes_max", maximum: limits.selectorExpressionBytesMax)
    }
    _ = try predicates.predicate(selector.expression, limits, timeZones)
  }
}
