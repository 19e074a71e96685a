/// Selects widgets. All conditions that are set must hold. The empty selector selects every widget,
/// including future ones.
public struct Selector: Hashable, Sendable {
  /// If not empty, the widget's id must be one of these.
  public var ids: [WidgetID] {
    get { idList }
    set { (idList, idSet) = (newValue, Set(newValue)) }
  }
  private var idList: [WidgetID]
  /// The same as a set, for look-ups.
  public private(set) var idSet: Set<WidgetID>
  /// If not empty, the widget's kind must be one of these.
  public var kinds: [KindName] {
    get { kindList }
    set { (kindList, kindSet) = (newValue, Set(newValue)) }
  }
  private var kindList: [KindName]
  /// The same as a set, for look-ups.
  private var kindSet: Set<KindName>
  /// If not empty, the widget's family must be one of these.
  public var families: [Family]
  /// All of these must hold.
  public var labels: [LabelRequirement]
  /// If not empty, this expression must be true for the widget. The store evaluates the expression;
  /// `matches` ignores it.
  public var expression: String

  public init(
    ids: [WidgetID] = [], kinds: [KindName] = [], families: [Family] = [],
    labels: [LabelRequirement] = [], expression: String = ""
  ) {
    idList = ids
    idSet = Set(ids)
    kindList = kinds
    kindSet = Set(kinds)
    self.families = families
    self.labels = labels
    self.expression = expression
  }

  /// The memory of `idSet`, in bytes (approximate). The texts are those of `ids`.
  public var idSetBytes: Int { idSet.count * 48 }

  /// Whether it selects every widget.
  public var isEverything: Bool {
    ids.isEmpty && kinds.isEmpty && families.isEmpty && labels.isEmpty && expression.isEmpty
  }

  /// Whether a change of labels or family can change the answer of `matches` for a widget. An id
  /// and a kind never change. An expression may depend on more.
  public var dependsOnState: Bool { !labels.isEmpty || !families.isEmpty }

  /// Whether the conditions, without the expression, hold for a widget with these properties.
  /// Linear in the number of families and label conditions.
  public func matches(id: WidgetID, kind: KindName, family: Family, labels: Labels) -> Bool {
    (idSet.isEmpty || idSet.contains(id))
      && (kinds.isEmpty || kindSet.contains(kind))
      && (families.isEmpty || families.contains(family))
      && self.labels.allSatisfy { $0.holds(for: labels) }
  }
}

/// One condition on a widget's labels.
public struct LabelRequirement: Hashable, Sendable {
  public enum Operator: UInt8, Hashable, Sendable, CaseIterable {
    /// The label exists, and its value is one of `values`.
    case isIn = 1
    /// The label is missing, or its value is none of `values`.
    case notIn
    /// The label exists.
    case exists
    /// The label is missing.
    case notExists
  }

  public var key: String
  public var `operator`: Operator
  public var values: [String] {
    get { valueList }
    set { (valueList, sortedValues) = (newValue, newValue.sortedByBytes) }
  }
  private var valueList: [String]
  /// Sorted for look-ups.
  private var sortedValues: [String]

  public init(key: String, operator: Operator, values: [String] = []) {
    self.key = key
    self.operator = `operator`
    valueList = values
    sortedValues = values.sortedByBytes
  }

  public func holds(for labels: Labels) -> Bool {
    let value = labels[key]
    return switch `operator` {
    case .isIn: value.map { sortedValues.containsBytes(of: $0) } ?? false
    case .notIn: value.map { !sortedValues.containsBytes(of: $0) } ?? true
    case .exists: value != nil
    case .notExists: value == nil
    }
  }
}
