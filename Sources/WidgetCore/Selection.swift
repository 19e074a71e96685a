import WidgetExpression
public import WidgetModel

/// A selector as the store applies it: with its expression compiled.
struct Selection {
  let selector: Selector
  /// nil if the selector has no expression. One that cannot be compiled picks nothing.
  let predicate: SelectionPredicate?

  /// Whether it picks a record. A selector's conditions are looked at before its expression.
  func picks(_ record: Record) -> Bool {
    guard
      selector.matches(
        id: record.id, kind: record.kind, family: record.family, labels: record.labels)
    else { return false }
    return predicate?.holds(for: record) ?? true
  }

  /// Whether a record that changed after the cursor may have been picked before, or not.
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
  /// What an expression can read of a widget.
  private static func variables() -> [ExpressionVariable] {
    var widget: [String: ExpressionType] = [
      "id": .string, "kind": .string, "family": .string, "labels": .map(.string, .string),
    ]
    for name in ["visible", "enabled", "stale"] { widget[name] = .bool }
    widget["error"] = .string
    return [
      ExpressionVariable("data", .map(.string, .dyn)),
      ExpressionVariable("parameters", .map(.string, .dyn)),
      ExpressionVariable("status", .map(.string, .dyn)),
      ExpressionVariable("widget", .record(RecordType(widget))),
    ]
  }

  /// nil for one that cannot be compiled.
  private let expression: CompiledExpression?
  let costMax: Int
  /// What it gives, if it is neither true nor false.
  var otherType: ExpressionType? {
    switch expression?.resultType {
    case .bool, .dyn, nil: nil
    case let type?: type
    }
  }
  /// The data keys and parameters that it reads; nil for all.
  private var dataKeys: Set<String>? = []
  private var parameters: Set<String>? = []
  private var readsWidget = false

  /// - Throws: what is wrong with the expression, with the place.
  convenience init(
    _ source: String, costMax: Int, timeZones: WidgetStore.TimeZones?
  ) throws(ExpressionError) {
    let expression = try CompiledExpression(
      source,
      in: ExpressionEnvironment(
        variables: SelectionPredicate.variables(), timeZones: timeZones))
    self.init(expression, costMax: costMax)
  }

  /// - Parameter expression: nil for one that picks nothing.
  init(_ expression: CompiledExpression?, costMax: Int) {
    self.expression = expression
    self.costMax = costMax
    for reference in expression?.references ?? [] {
      var key: String?
      if case .field(let name)? = reference.path.first { key = name }
      switch reference.variable {
      case "data":
        if let key { dataKeys?.insert(key) } else { dataKeys = nil }
      case "status": dataKeys?.insert(ContentCompiler.statusKey)
      case "parameters":
        if let key { parameters?.insert(key) } else { parameters = nil }
      default: readsWidget = true
      }
    }
  }

  /// Whether it is true of a record. What fails, or costs too much, is not.
  func holds(for record: Record) -> Bool {
    guard let expression else { return false }
    let bindings = SlotBindings([
      .map(ExpressionMap(RecordMap(record.data))),
      .map(ExpressionMap(RecordMap(record.parameters))),
      record.data[ContentCompiler.statusKey].map { ExpressionValue($0) }
        ?? ExpressionValue([:] as ValueMap),
      readsWidget ? SelectionPredicate.widget(record) : .null,
    ])
    guard case .bool(true)? = try? expression.evaluate(bindings, budget: costMax) else {
      return false
    }
    return true
  }

  func mayHaveChanged(for record: Record, since cursor: Revision) -> Bool {
    func concerns(_ keys: Set<String>?, _ map: RevisedMap) -> Bool {
      guard let keys else { return !map.changedKeys(since: cursor).isEmpty }
      return !keys.isEmpty && map.changedKeys(since: cursor).contains { keys.contains($0) }
    }
    if readsWidget,
      record.labelsRevision > cursor || record.statusRevision > cursor
        || record.presenceRevision > cursor
    {
      return true
    }
    return concerns(dataKeys, record.data) || concerns(parameters, record.parameters)
  }

  private static func widget(_ record: Record) -> ExpressionValue {
    let labels = record.labels.entries.map {
      ValueMap.Entry(key: $0.key, value: .string($0.value))
    }
    return ExpressionValue(
      [
        "id": .string(record.id.rawValue), "kind": .string(record.kind.rawValue),
        "family": .string(record.family.name), "labels": .map(ValueMap(labels)),
        "visible": .bool(record.presence.isVisible), "enabled": .bool(record.presence.isEnabled),
        "stale": .bool(record.isStale), "error": .string(record.error?.reason ?? ""),
      ] as ValueMap)
  }
}

/// The predicates that were compiled, by their text. A cache: it changes how long things take, and
/// nothing else.
final class PredicateCache {
  private static let countMax = 256
  private var byText: [String: SelectionPredicate] = [:]

  func predicate(
    _ source: String, _ limits: StoreLimits, _ timeZones: WidgetStore.TimeZones?
  ) -> SelectionPredicate {
    if let known = byText[source], known.costMax == limits.selectorCostMax { return known }
    let made =
      (try? SelectionPredicate(source, costMax: limits.selectorCostMax, timeZones: timeZones))
      ?? SelectionPredicate(nil, costMax: limits.selectorCostMax)
    if byText.count >= PredicateCache.countMax { byText = [:] }
    byText[source] = made
    return made
  }
}

extension WidgetStore {
  func selection(_ selector: Selector) -> Selection {
    Selection(
      selector: selector,
      predicate: selector.expression.isEmpty
        ? nil : predicates.predicate(selector.expression, limits, timeZones))
  }

  /// Refuses a selector whose expression cannot be used.
  public func checkExpression(of selector: Selector) throws(StoreError) {
    guard !selector.expression.isEmpty else { return }
    guard selector.expression.utf8.count <= limits.selectorExpressionBytesMax else {
      throw .quotaExceeded(
        limit: "selector_expression_bytes_max", maximum: limits.selectorExpressionBytesMax)
    }
    let predicate: SelectionPredicate
    do throws(ExpressionError) {
      predicate = try SelectionPredicate(
        selector.expression, costMax: limits.selectorCostMax, timeZones: timeZones)
    } catch {
      throw .invalid(field: "selector.expression", description: error.rendered)
    }
    if let type = predicate.otherType {
      throw .invalid(
        field: "selector.expression",
        description: "The expression gives \(type). Write one that is true or false.")
    }
  }
}
