import WidgetExpression
import WidgetModel

/// The rules of a kind for its widgets, ready for checks.
///
/// Made once, when the kind is registered, and equal to it.
struct KindSchema {
  let kind: Kind
  let reducers: KindReducers
  let content: KindContent
  /// The schedule of the kind; nil for none.
  let schedule: KindSchedule?
  /// The problem of the schedule. `applyKinds` refuses a kind that has one.
  let scheduleProblem: KindSchedule.Problem?
  /// The approximate memory of the kind, in bytes, as quotas count it.
  let memoryBytes: Int
  /// Whether its expressions exceed `kind_memory_bytes_max`. Then a part of it has a problem.
  let exceedsMemory: Bool
  private let forms: FormInputs
  private let parameters: [String: Field]
  private let data: [String: Field]
  private let events: [String: EventType]

  init(
    _ kind: Kind, limits: StoreLimits = StoreLimits(), timeZones: WidgetStore.TimeZones? = nil
  ) {
    self.kind = kind
    let memory = KindMemory(bytesMax: limits.kindMemoryBytesMax)
    reducers = KindReducers(kind, memory, timeZones: timeZones)
    forms = FormInputs(kind)
    content = KindContent(kind, memory, limits: limits, timeZones: timeZones)
    var (schedule, problem) = (KindSchedule?.none, KindSchedule.Problem?.none)
    if let declared = kind.schedule {
      do throws(KindSchedule.Problem) {
        schedule = try KindSchedule(declared, of: kind, memory, timeZones: timeZones)
      } catch {
        problem = error
      }
    }
    (self.schedule, scheduleProblem) = (schedule, problem)
    memoryBytes = KindSchema.copiesOfText * kind.costBytes + memory.bytes
    exceedsMemory = memory.isExceeded
    let named = { (fields: [Field]) in
      Dictionary(fields.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    (parameters, data) = (named(kind.parameters), named(kind.data))
    events = Dictionary(
      kind.events.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The registered copy, the stored copy, and the plans of nodes and fields.
  private static let copiesOfText = 3

  /// Whether content compiled for a former version of the kind is still valid in every family.
  func showsAlike(_ former: KindSchema) -> Bool {
    // Empty means all families.
    Set(kind.families) == Set(former.kind.families) && kind.content == former.kind.content
      && kind.isOpen == former.kind.isOpen && kind.entry == former.kind.entry
      && kind.schedule == former.kind.schedule && reactions == former.reactions
      && types(.data) == former.types(.data) && types(.parameters) == former.types(.parameters)
  }

  /// The types of the fields, for compiling expressions.
  private func types(_ part: Part) -> [String: FieldType] { fields(part).mapValues(\.type) }

  /// The events that nodes take because a reducer handles them, by node.
  private var reactions: [String: Set<String>] {
    kind.reducers.reduce(into: [:]) { $0[$1.nodeID, default: []].insert($1.event) }
  }

  /// One of a widget's two maps.
  enum Part: String {
    case parameters, data

    /// The word for one of its fields in messages.
    var singular: String { self == .parameters ? "parameter" : "data field" }
    var other: Part { self == .parameters ? .data : .parameters }
  }

  private func fields(_ part: Part) -> [String: Field] { part == .parameters ? parameters : data }

  func field(_ key: String, of part: Part) -> Field? {
    // A dictionary treats canonically equivalent keys as one.
    fields(part)[key].flatMap { $0.name.hasSameBytes(as: key) ? $0 : nil }
  }

  // MARK: - Widgets

  /// A new widget of this kind, with the declared types and defaults.
  func fitted(_ spec: WidgetSpec, path: String) throws(StoreError) -> WidgetSpec {
    var spec = spec
    if spec.family == nil, let first = kind.families.first, !kind.families.contains(.medium) {
      spec.family = first
    }
    try check(spec.family, path: "\(path).family")
    spec.parameters = try fitted(spec.parameters, .parameters, path: "\(path).parameters")
    spec.data = try fitted(spec.data, .data, path: "\(path).data")
    try checkRequired(spec.parameters, path: "\(path).parameters")
    spec.parameters = withDefaults(spec.parameters, .parameters)
    spec.data = withDefaults(spec.data, .data)
    return spec
  }

  /// A set's spec for an existing widget: the widget gets exactly the parameters of the spec, and
  /// defaults for the others.
  func fittedAgain(_ spec: WidgetSpec, path: String) throws(StoreError) -> WidgetSpec {
    var spec = spec
    try check(spec.family, path: "\(path).family")
    spec.parameters = try fitted(spec.parameters, .parameters, path: "\(path).parameters")
    spec.data = try fitted(spec.data, .data, path: "\(path).data")
    try checkRequired(spec.parameters, path: "\(path).parameters")
    spec.parameters = withDefaults(spec.parameters, .parameters)
    return spec
  }

  /// A manager's spec for an existing widget, with the declared types, but without defaults.
  func fittedOnly(_ spec: WidgetSpec, path: String) throws(StoreError) -> WidgetSpec {
    var spec = spec
    try check(spec.family, path: "\(path).family")
    spec.parameters = try fitted(spec.parameters, .parameters, path: "\(path).parameters")
    spec.data = try fitted(spec.data, .data, path: "\(path).data")
    return spec
  }

  /// The effect of a patch on a widget. A key with a default never disappears: unsetting it sets
  /// the default.
  func fitted(_ patch: WidgetPatch, path: String) throws(StoreError) -> WidgetPatch {
    var patch = patch
    patch.setData = try fitted(patch.setData, .data, path: "\(path).set_data")
    patch.setParameters = try fitted(
      patch.setParameters, .parameters, path: "\(path).set_parameters")
    for field in kind.parameters where field.isRequired && patch.setParameters[field.name] == .null
    {
      throw .invalid(
        field: "\(path).set_parameters[\(field.name)]",
        description: "It is required by kind \"\(kind.name)\", so it cannot be null.")
    }
    for key in patch.unsetParameters where patch.setParameters[key] == nil {
      guard parameters[key]?.isRequired != true else {
        throw .invalid(
          field: "\(path).unset_parameters",
          description: "\"\(key)\" is required by kind \"\(kind.name)\"; set it instead.")
      }
    }
    if patch.replaceData {
      patch.setData = withDefaults(patch.setData, .data)
    } else {
      patch.setData = withDefaults(patch.setData, .data, only: patch.unsetData)
    }
    patch.setParameters = withDefaults(
      patch.setParameters, .parameters, only: patch.unsetParameters)
    return patch
  }

  /// The values of a timeline's entry, with the declared types and defaults.
  func fitted(entry values: ValueMap, path: String) throws(StoreError) -> ValueMap {
    var result = values
    for pair in values.entries {
      guard let field = kind.entry.first(where: { $0.name.hasSameBytes(as: pair.key) }) else {
        if kind.isOpen { continue }
        throw .invalid(
          field: "\(path)[\(pair.key)]",
          description: "Kind \"\(kind.name)\" has no such field in `entry`; "
            + hint(pair.key, among: kind.entry.map(\.name)))
      }
      result[pair.key] = try fitted(pair.value, field, path: "\(path)[\(pair.key)]")
    }
    for field in kind.entry where result[field.name] == nil {
      if let value = field.defaultValue { result[field.name] = value }
    }
    return result
  }

  /// A timeline whose entries have only the declared fields. A value that does not fit becomes the
  /// default, and its name is in `lostValues`.
  func conforming(_ timeline: Timeline) -> Timeline {
    var result = timeline
    for index in timeline.entries.indices {
      var values = timeline.entries[index].values
      for pair in values.entries {
        let field = kind.entry.first { $0.name.hasSameBytes(as: pair.key) }
        if field == nil, kind.isOpen { continue }
        let value = field?.type.fitted(pair.value)
        if value == nil, pair.value != .null { result.lose(pair.key) }
        values[pair.key] = value
      }
      for field in kind.entry where values[field.name] == nil {
        if let value = field.defaultValue { values[field.name] = value }
      }
      result.entries[index].values = values
    }
    return result
  }

  /// An instance for a preview, without a widget: with the declared types and defaults.
  func fittedAsPreview(_ spec: WidgetSpec) throws(StoreError) -> WidgetSpec {
    var spec = spec
    if spec.family == nil, let first = kind.families.first, !kind.families.contains(.medium) {
      spec.family = first
    }
    try check(spec.family, path: "family")
    spec.parameters = try fitted(spec.parameters, .parameters, path: "parameters")
    spec.data = try fitted(spec.data, .data, path: "data")
    try checkRequired(spec.parameters, path: "parameters")
    spec.parameters = withDefaults(spec.parameters, .parameters)
    spec.data = withDefaults(spec.data, .data)
    return spec
  }

  /// A sample instance: with defaults, and without required parameters.
  func fittedAsSample(_ spec: WidgetSpec) throws(StoreError) -> WidgetSpec {
    var spec = spec
    if spec.family == nil, let first = kind.families.first, !kind.families.contains(.medium) {
      spec.family = first
    }
    try check(spec.family, path: "family")
    spec.parameters = withDefaults(spec.parameters, .parameters)
    spec.data = withDefaults(spec.data, .data)
    return spec
  }

  /// An event's payload, with the declared types and defaults.
  ///
  /// - Parameter node: the type of the node that the event is about; nil for none.
  func fitted(_ draft: EventDraft, on node: NodeType? = nil) throws(StoreError) -> EventDraft {
    guard let type = events[draft.name] ?? node?.event(draft.name) else {
      if events.isEmpty || kind.isOpen { return draft }
      throw .invalid(
        field: "name",
        description: "Widgets of kind \"\(kind.name)\" take no event \"\(draft.name)\"; "
          + hint(
            draft.name, among: kind.events.map(\.name) + (node?.events.map(\.name) ?? [])))
    }
    var draft = draft
    var payload = draft.payload
    let declared = Dictionary(
      type.payload.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for entry in draft.payload.entries {
      guard let field = declared[entry.key], field.name.hasSameBytes(as: entry.key) else {
        if kind.isOpen { continue }
        throw .invalid(
          field: "payload[\(entry.key)]",
          description: "Event \"\(type.name)\" has no such detail; "
            + hint(entry.key, among: type.payload.map(\.name)))
      }
      payload[entry.key] = try fitted(entry.value, field, path: "payload[\(entry.key)]")
    }
    for field in type.payload where field.isRequired || payload[field.name] == nil {
      if field.isRequired, payload[field.name] ?? .null == .null {
        throw .invalid(
          field: "payload[\(field.name)]",
          description: "Event \"\(type.name)\" needs it, of type \(field.type).")
      }
      if let value = field.defaultValue { payload[field.name] = value }
    }
    draft.payload = payload
    return draft
  }

  /// Checks a submission to a form that a reducer handles. Providers check their own forms.
  func checkForm(_ draft: EventDraft, on node: NodeType?) throws(StoreError) {
    guard node == .form, draft.name == "submit",
      reducers.answer(draft.name, on: draft.nodeID),
      let (name, words) = forms.complaint(about: draft.payload, of: draft.nodeID)
    else { return }
    throw .invalid(field: "payload[values][\(name)]", description: words)
  }

  /// The patch that makes a widget of the `former` kind fit this kind; nil if the widget fits.
  ///
  /// - A value that fits stays. If it is the former default and nobody owns it, it becomes the new
  ///   default.
  /// - A value that does not fit becomes the value that its manager declares, or else the default.
  /// - A missing value becomes the default.
  /// - A value that the kind does not declare is removed.
  /// - A value that was set aside is restored if it fits the kind again.
  func conforming(_ record: Record, former: KindSchema? = nil) -> WidgetPatch? {
    var patch = WidgetPatch()
    (patch.setData, patch.unsetData) = conforming(
      record.data.map, .data, record.ownership)
    (patch.setParameters, patch.unsetParameters) = conforming(
      record.parameters.map, .parameters, record.ownership)
    if let former {
      for (key, value) in newDefaults(.data, former)
      where record.data[key] == former.data[key]?.defaultValue && patch.setData[key] == nil
        && record.ownership?[FieldOwner.Part.data.path(key)] == nil
      {
        patch.setData[key] = value
      }
      for (key, value) in newDefaults(.parameters, former)
      where record.parameters[key] == former.parameters[key]?.defaultValue
        && patch.setParameters[key] == nil
        && record.ownership?[FieldOwner.Part.parameters.path(key)] == nil
      {
        patch.setParameters[key] = value
      }
    }
    patch.restoreValues(of: record, for: self)
    return patch == WidgetPatch() ? nil : patch
  }

  /// The values of a widget that do not fit the kind, in order of the fields. Null, the former
  /// default and values that a manager declares do not count.
  func losses(of record: Record, former: KindSchema?) -> [LostField] {
    var lost: [LostField] = []
    for (part, map) in [
      (FieldOwner.Part.data, record.data.map), (.parameters, record.parameters.map),
    ] {
      for entry in map.entries where entry.value != .null {
        let path = part.path(entry.key)
        let owner = record.ownership?[path]
        guard refuses(entry.value, part, entry.key),
          former?.field(entry.key, of: part)?.defaultValue != entry.value,
          owner?.isManaged != true
        else { continue }
        // A field whose value is set aside has a default, which is no loss.
        guard record.ownership?[aside: path] == nil else { continue }
        let isSetAside = record.setsAside(entry.value, part, entry.key, former: former)
        lost.append(LostField(widgetID: record.id, path: path, isSetAside: isSetAside))
      }
    }
    return lost
  }

  /// Whether the kind does not declare the field, or declares it with a type that the value does
  /// not fit.
  func refuses(_ value: Value, _ part: FieldOwner.Part, _ key: String) -> Bool {
    !declares(part, key) || isMisfit(value, part, key)
  }

  func defaultValue(of key: String, _ part: FieldOwner.Part) -> Value? {
    field(key, of: part)?.defaultValue
  }

  /// Whether widgets of the kind may have the field.
  func declares(_ part: FieldOwner.Part, _ key: String) -> Bool {
    part == .labels || kind.isOpen || field(key, of: part) != nil
  }

  /// The value that is set aside, fitted to the kind. Nil if it does not fit.
  func returning(_ entry: FieldOwner, _ part: FieldOwner.Part, _ key: String) -> Value? {
    guard entry.isAside, let value = entry.declared, declares(part, key) else { return nil }
    return field(key, of: part).map { $0.type.fitted(value) } ?? value
  }

  /// The defaults that differ from those of a former kind.
  private func newDefaults(_ part: Part, _ former: KindSchema) -> [(String, Value)] {
    fields(part).compactMap { key, field in
      guard let value = field.defaultValue, let old = former.field(key, of: part)?.defaultValue,
        old != value
      else { return nil }
      return (key, value)
    }
  }

  /// Whether the kind declares a field with a type that a widget's value does not fit.
  func isMisfit(_ value: Value, _ part: FieldOwner.Part, _ key: String) -> Bool {
    guard let field = field(key, of: part) else { return false }
    return field.type.fitted(value) == nil
  }

  /// The value that a field's manager declares while somebody else owns the field; nil if the value
  /// does not fit the kind.
  func declaredFitting(_ entry: FieldOwner, _ part: FieldOwner.Part, _ key: String) -> Value? {
    guard !entry.manager.isEmpty, let declared = entry.declared else { return nil }
    return field(key, of: part)?.type.fitted(declared)
  }

  private func field(_ key: String, of part: FieldOwner.Part) -> Field? {
    switch part {
    case .data: field(key, of: Part.data)
    case .parameters: field(key, of: Part.parameters)
    case .labels: nil
    }
  }

  private func conforming(
    _ map: ValueMap, _ part: Part, _ ownership: Ownership?
  ) -> (set: ValueMap, unset: [String]) {
    let owned = part == .data ? FieldOwner.Part.data : .parameters
    var set: ValueMap = [:]
    var unset: [String] = []
    for entry in map.entries {
      guard let field = field(entry.key, of: part) else {
        if !kind.isOpen { unset.append(entry.key) }
        continue
      }
      if let value = field.type.fitted(entry.value) {
        if value != entry.value { set[entry.key] = value }
      } else if let owner = ownership?[owned.path(entry.key)],
        let value = declaredFitting(owner, owned, entry.key)
      {
        set[entry.key] = value
      } else if let value = field.defaultValue {
        set[entry.key] = value
      } else {
        unset.append(entry.key)
      }
    }
    for (key, field) in fields(part) where map[key] == nil {
      if let value = field.defaultValue { set[key] = value }
    }
    return (set, unset)
  }

  // MARK: - Parts

  /// Throws if the kind does not support a family.
  func check(_ family: Family?, path: String) throws(StoreError) {
    guard let family, !kind.families.isEmpty, !kind.families.contains(family) else { return }
    let names = kind.families.map(\.name).joined(separator: ", ")
    throw .invalid(
      field: path,
      description: "Kind \"\(kind.name)\" does not support \(family.name); use one of: \(names).")
  }

  private func fitted(
    _ map: ValueMap, _ part: Part, path: String
  ) throws(StoreError) -> ValueMap {
    var result = map
    for entry in map.entries {
      guard let field = field(entry.key, of: part) else {
        if kind.isOpen { continue }
        let names = (part == .parameters ? kind.parameters : kind.data).map(\.name)
        throw .invalid(
          field: "\(path)[\(entry.key)]",
          description: "Kind \"\(kind.name)\" has no such \(part.singular); "
            + (self.field(entry.key, of: part.other).map { _ in
              "it has a \(part.other.singular) of this name."
            } ?? hint(entry.key, among: names)))
      }
      let value = try fitted(entry.value, field, path: "\(path)[\(entry.key)]")
      if value != entry.value { result[entry.key] = value }
    }
    return result
  }

  private func fitted(
    _ value: Value, _ field: Field, path: String
  ) throws(StoreError) -> Value {
    if let fitted = field.type.fitted(value) {
      guard field.choices.isEmpty || fitted == .null || field.choices.contains(fitted) else {
        throw .invalid(field: path, description: "Use one of: \(field.choiceWords).")
      }
      return fitted
    }
    throw .invalid(
      field: path, description: "Expected a value of type \(field.type), not \(value.typeName).")
  }

  private func checkRequired(_ map: ValueMap, path: String) throws(StoreError) {
    for field in kind.parameters where field.isRequired && (map[field.name] ?? .null) == .null {
      throw .invalid(
        field: "\(path)[\(field.name)]",
        description: "Kind \"\(kind.name)\" needs it, of type \(field.type)."
          + (field.summary.isEmpty ? "" : " \(field.summary)"))
    }
  }

  /// The map with defaults for the missing keys, of all fields or of some.
  private func withDefaults(
    _ map: ValueMap, _ part: Part, only keys: [String]? = nil
  ) -> ValueMap {
    var result = map
    let wanted =
      keys.map { $0.compactMap { field($0, of: part) } } ?? Array(fields(part).values)
    for field in wanted where result[field.name] == nil {
      if let value = field.defaultValue { result[field.name] = value }
    }
    return result
  }

  private func hint(_ name: String, among names: [String]) -> String {
    if let closest = name.closest(among: names) { return "did you mean \"\(closest)\"?" }
    guard !names.isEmpty else { return "it has none." }
    let listed = names.prefix(12).joined(separator: ", ")
    return "there is: \(listed)\(names.count > 12 ? ", …" : "")."
  }
}

extension Timeline {
  /// Remembers the name of a value that did not fit.
  fileprivate mutating func lose(_ name: String) {
    guard lostValues.count < Timeline.lostValuesMax,
      !lostValues.contains(where: { $0.hasSameBytes(as: name) })
    else { return }
    lostValues.append(name)
    lostValues.sort { $0.precedesByBytes($1) }
  }
}

extension Field {
  /// The choices, for people.
  fileprivate var choiceWords: String {
    choices.map { ExpressionValue($0).text ?? $0.typeName }.joined(separator: ", ")
  }
}

extension NodeType {
  /// The event of this name that users cause on such nodes.
  fileprivate func event(_ name: String) -> EventType? { events.first { $0.name == name } }
}
