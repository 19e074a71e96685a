import WidgetExpression
import WidgetModel

/// The rules of a kind for its widgets, ready for checks.
///
/// A schema is made once, when the kind is registered, and never changes. This is a class, because a
/// command about a kind reads the schema for each of its widgets: a copy of the parts takes longer than
/// most of the reads.
final class KindSchema: Sendable {
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
  private let parameters: DeclaredFields
  private let data: DeclaredFields
  private let entry: DeclaredFields
  private let events: [String: DeclaredEvent]

  /// Compiles a kind at once.
  convenience init(
    _ kind: Kind, limits: StoreLimits = StoreLimits(), timeZones: WidgetStore.TimeZones? = nil
  ) {
    var compilation = Compilation(kind, limits: limits, timeZones: timeZones)
    while compilation.step() {}
    self.init(compilation)
  }

  /// The schema of a kind whose compilation has ended.
  init(_ compilation: Compilation) {
    let kind = compilation.kind
    self.kind = kind
    reducers = compilation.reducers.reducers
    forms = FormInputs(kind)
    content = compilation.content.content
    (schedule, scheduleProblem) = (compilation.schedule, compilation.scheduleProblem)
    memoryBytes = compilation.memoryBytes
    exceedsMemory = compilation.memory.isExceeded
    parameters = DeclaredFields(
      kind.parameters, of: .parameters(of: kind.name), isOpen: kind.isOpen)
    data = DeclaredFields(kind.data, of: .data(of: kind.name), isOpen: kind.isOpen)
    entry = DeclaredFields(kind.entry, of: .entry(of: kind.name), isOpen: kind.isOpen)
    events = Dictionary(
      kind.events.map { ($0.name, DeclaredEvent($0, isOpen: kind.isOpen)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// The compilation of a kind, in steps.
  struct Compilation {
    let kind: Kind
    fileprivate let memory: KindMemory
    fileprivate var reducers: KindReducers.Compilation
    fileprivate var content: KindContent.Compilation
    fileprivate var schedule: KindSchedule?
    fileprivate var scheduleProblem: KindSchedule.Problem?
    private let timeZones: WidgetStore.TimeZones?
    private let textBytes: Int
    private var isDone = false

    init(_ kind: Kind, limits: StoreLimits, timeZones: WidgetStore.TimeZones?) {
      self.kind = kind
      self.timeZones = timeZones
      textBytes = KindSchema.copiesOfText * kind.costBytes
      memory = KindMemory(bytesMax: limits.kindMemoryBytesMax)
      reducers = KindReducers.Compilation(kind, memory, timeZones: timeZones)
      content = KindContent.Compilation(kind, memory, limits: limits, timeZones: timeZones)
    }

    /// Compiles one expression, or a few that belong together. Returns false at the end.
    mutating func step() -> Bool {
      if reducers.step() || content.step() { return true }
      if let declared = kind.schedule, !isDone {
        do throws(KindSchedule.Problem) {
          schedule = try KindSchedule(declared, of: kind, memory, timeZones: timeZones)
        } catch {
          scheduleProblem = error
        }
      }
      isDone = true
      return false
    }

    /// The approximate memory of the kind so far, in bytes, as quotas count it.
    var memoryBytes: Int { textBytes + memory.bytes }
  }

  /// The registered copy, the stored copy, and the plans of nodes and fields.
  private static let copiesOfText = 3

  /// Whether content compiled for a former version of the kind is still valid in every family.
  func showsAlike(_ former: KindSchema) -> Bool {
    // Empty means all families.
    Set(kind.families) == Set(former.kind.families) && kind.content == former.kind.content
      && kind.isOpen == former.kind.isOpen && kind.entry == former.kind.entry
      && kind.schedule == former.kind.schedule && reactions == former.reactions
      && data.types == former.data.types && parameters.types == former.parameters.types
  }

  /// The events that nodes take because a reducer handles them, by node.
  private var reactions: [String: Set<String>] {
    kind.reducers.reduce(into: [:]) { $0[$1.nodeID, default: []].insert($1.event) }
  }

  /// The declared fields of a part; nil for labels, which kinds do not declare.
  private func fields(of part: FieldOwner.Part) -> DeclaredFields? {
    switch part {
    case .data: data
    case .parameters: parameters
    case .labels: nil
    }
  }

  func field(_ key: String, of part: FieldOwner.Part) -> Field? { fields(of: part)?[key] }

  // MARK: - Widgets

  /// The defaults that a kind adds to a spec, and its checks beside types.
  struct Fitting: OptionSet {
    let rawValue: Int

    /// A family, if the kind does not support `medium`.
    static let family = Fitting(rawValue: 1)
    /// The types of parameters and data.
    static let types = Fitting(rawValue: 2)
    /// Required parameters must be set.
    static let required = Fitting(rawValue: 4)
    static let parameterDefaults = Fitting(rawValue: 8)
    static let dataDefaults = Fitting(rawValue: 16)

    /// For a new widget, or a preview.
    static let new: Fitting = [.family, .types, .required, .parameterDefaults, .dataDefaults]
    /// A set's spec for an existing widget: the widget gets exactly the parameters of the spec, and
    /// defaults for the others.
    static let again: Fitting = [.types, .required, .parameterDefaults]
    /// A manager's spec for an existing widget, without defaults.
    static let only: Fitting = [.types]
    /// A sample instance, which needs no parameters.
    static let sample: Fitting = [.family, .parameterDefaults, .dataDefaults]
  }

  /// A widget's spec, completed by its kind.
  ///
  /// - Parameter path: The place of the spec in the request; empty for the request itself.
  func fitted(
    _ spec: WidgetSpec, _ fitting: Fitting, path: String = ""
  ) throws(StoreError) -> WidgetSpec {
    func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
    var spec = spec
    if fitting.contains(.family), spec.family == nil, let first = kind.families.first,
      !kind.families.contains(.medium)
    {
      spec.family = first
    }
    try check(spec.family, path: place("family"))
    if fitting.contains(.types) {
      spec.parameters = try fitted(spec.parameters, .parameters, path: place("parameters"))
      spec.data = try fitted(spec.data, .data, path: place("data"))
    }
    if fitting.contains(.required) {
      try parameters.checkRequired(spec.parameters, path: place("parameters"))
    }
    if fitting.contains(.parameterDefaults) {
      spec.parameters = parameters.withDefaults(spec.parameters)
    }
    if fitting.contains(.dataDefaults) { spec.data = data.withDefaults(spec.data) }
    return spec
  }

  /// The effect of a patch on a widget. A key with a default never disappears: unsetting it sets
  /// the default.
  func fitted(_ patch: WidgetPatch, path: String) throws(StoreError) -> WidgetPatch {
    var patch = patch
    patch.setData = try fitted(patch.setData, .data, path: "\(path).set_data")
    patch.setParameters = try fitted(
      patch.setParameters, .parameters, path: "\(path).set_parameters")
    for field in parameters.list
    where field.isRequired && patch.setParameters[field.name] == .null {
      throw .invalid(
        field: "\(path).set_parameters[\(field.name)]",
        description: "Kind \"\(kind.name)\" requires this field, so it cannot be null.")
    }
    for key in patch.unsetParameters where patch.setParameters[key] == nil {
      guard parameters[key]?.isRequired != true else {
        throw .invalid(
          field: "\(path).unset_parameters",
          description: "\"\(key)\" is required by kind \"\(kind.name)\"; set it instead.")
      }
    }
    patch.setData = data.withDefaults(
      patch.setData, only: patch.replaceData ? nil : patch.unsetData)
    patch.setParameters = parameters.withDefaults(
      patch.setParameters, only: patch.unsetParameters)
    return patch
  }

  /// The values of a timeline's entry, with the declared types and defaults.
  func fitted(
    entry values: ValueMap, path: @autoclosure () -> String
  ) throws(StoreError) -> ValueMap {
    entry.withDefaults(try entry.fitted(values, path: path()))
  }

  /// A timeline whose entries have only the declared fields. A value that does not fit becomes the
  /// default, and is set aside. A value that was set aside is restored if it fits again. A default
  /// of the `former` kind is not set aside.
  func conforming(_ timeline: Timeline, former: KindSchema?) -> Timeline {
    var result = timeline.restored
    var asides: [TimelineEntry] = []
    for index in result.entries.indices {
      var aside = TimelineEntry(date: result.entries[index].date)
      let values = entry.conforming(result.entries[index].values) { key, value in
        guard former?.entry[key]?.defaultValue != value else { return }
        aside.values[key] = value
      }
      result.entries[index].values = values
      if !aside.values.isEmpty { asides.append(aside) }
    }
    result.asides = asides
    return result
  }

  /// An event's payload, with the declared types and defaults.
  ///
  /// - Parameter node: the type of the node that the event is about; nil for none.
  func fitted(_ draft: EventDraft, on node: NodeType? = nil) throws(StoreError) -> EventDraft {
    guard
      let event = events[draft.name]
        ?? node.flatMap({ DeclaredEvent.ofNode($0, draft.name, isOpen: kind.isOpen) })
    else {
      if events.isEmpty || kind.isOpen { return draft }
      let names = kind.events.map(\.name) + (node?.events.map(\.name) ?? [])
      throw .invalid(
        field: "name",
        description: "Widgets of kind \"\(kind.name)\" take no event \"\(draft.name)\"; "
          + draft.name.hint(among: names))
    }
    var draft = draft
    draft.payload = try event.payload.fitted(draft.payload, path: "payload")
    try event.payload.checkRequired(draft.payload, path: "payload")
    draft.payload = event.payload.withDefaults(draft.payload)
    return draft
  }

  /// A submission to a form that a reducer handles, checked, with a value for each field. Providers
  /// check their own forms.
  ///
  /// - Parameter shown: The properties of a shown node, by its id.
  func checkedForm(
    _ draft: EventDraft, on node: NodeType?, shown: (String) -> ValueMap?
  ) throws(StoreError) -> EventDraft {
    guard node == .form, draft.name == "submit", reducers.answer(draft.name, on: draft.nodeID),
      let values = try forms.completed(draft.payload, of: draft.nodeID, shown: shown)
    else { return draft }
    var draft = draft
    draft.payload["values"] = .map(values)
    return draft
  }

  /// The patch that makes a widget of a former version of the kind fit this kind; nil if the widget
  /// fits. `newDefaults`: the defaults that differ from those of the former version.
  ///
  /// - A value that fits stays. If it is the former default and nobody owns it, it becomes the new
  ///   default.
  /// - A value that does not fit becomes the value that its manager declares, or else the default.
  /// - A missing value becomes the default.
  /// - A value that the kind does not declare is removed.
  /// - A value that was set aside is restored if it fits the kind again.
  func conforming(_ record: Record, newDefaults: [NewDefault] = []) -> WidgetPatch? {
    var patch = WidgetPatch()
    (patch.setData, patch.unsetData) = conforming(record.data.map, .data, of: record)
    (patch.setParameters, patch.unsetParameters) = conforming(
      record.parameters.map, .parameters, of: record)
    if !newDefaults.isEmpty { take(newDefaults, of: record, into: &patch) }
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
        // While a value is set aside, its field has a default, and the loss of a default does not
        // count.
        guard record.ownership?[aside: path] == nil else { continue }
        let isSetAside = record.setsAside(entry.value, part, entry.key, former: former)
        let isNamed = !isSetAside && entry.value.costBytes <= LostField.valueBytesMax
        lost.append(
          LostField(
            widgetID: record.id, path: path, isSetAside: isSetAside,
            value: isNamed ? entry.value : nil))
      }
    }
    return lost
  }

  /// Whether the kind does not declare the field, or declares it with a type or with choices that
  /// the value does not fit.
  func refuses(_ value: Value, _ part: FieldOwner.Part, _ key: String) -> Bool {
    !declares(part, key) || isMisfit(value, part, key)
  }

  func defaultValue(of key: String, _ part: FieldOwner.Part) -> Value? {
    field(key, of: part)?.defaultValue
  }

  /// Whether widgets of the kind may have the field.
  func declares(_ part: FieldOwner.Part, _ key: String) -> Bool {
    fields(of: part)?.allows(key) ?? true
  }

  /// The value that is set aside, fitted to the kind. Nil if it does not fit.
  func restoredValue(of entry: FieldOwner, _ part: FieldOwner.Part, _ key: String) -> Value? {
    guard entry.isAside, let value = entry.declared, declares(part, key) else { return nil }
    return field(key, of: part).map { $0.fitted(value) } ?? value
  }

  /// A default that differs from that of a former version of the kind.
  struct NewDefault {
    let part: FieldOwner.Part
    let key: String
    let old: Value
    let new: Value
  }

  /// The defaults that differ from those of a former version. O(fields), so callers with many
  /// widgets ask once.
  func newDefaults(since former: KindSchema) -> [NewDefault] {
    var all: [NewDefault] = []
    for (key, old, new) in data.newDefaults(since: former.data) {
      all.append(NewDefault(part: .data, key: key, old: old, new: new))
    }
    for (key, old, new) in parameters.newDefaults(since: former.parameters) {
      all.append(NewDefault(part: .parameters, key: key, old: old, new: new))
    }
    return all
  }

  /// Values that are the former default, and that nobody owns, become the new default.
  private func take(
    _ defaults: [NewDefault], of record: Record, into patch: inout WidgetPatch
  ) {
    var values: [(part: FieldOwner.Part, key: String, value: Value)] = []
    for next in defaults
    where record.value(next.part, next.key) == next.old
      && record.ownership?[next.part.path(next.key)] == nil
    {
      values.append((next.part, next.key, next.new))
    }
    patch.set(values)
  }

  /// The fields of a widget that have the default, and that nobody owns.
  func defaultedFields(of record: Record) -> [(part: FieldOwner.Part, key: String)] {
    var defaulted: [(part: FieldOwner.Part, key: String)] = []
    for part in [FieldOwner.Part.data, .parameters] {
      for field in fields(of: part)?.list ?? [] {
        guard let value = field.defaultValue, record.value(part, field.name) == value,
          record.ownership?[part.path(field.name)] == nil
        else { continue }
        defaulted.append((part, field.name))
      }
    }
    return defaulted
  }

  /// Whether the kind declares a field with a type or with choices that a widget's value does not
  /// fit.
  func isMisfit(_ value: Value, _ part: FieldOwner.Part, _ key: String) -> Bool {
    guard let field = field(key, of: part) else { return false }
    return field.fitted(value) == nil
  }

  /// The value that a field's manager declares while somebody else owns the field; nil if the value
  /// does not fit the kind.
  func declaredFitting(_ entry: FieldOwner, _ part: FieldOwner.Part, _ key: String) -> Value? {
    guard !entry.manager.isEmpty, let declared = entry.declared else { return nil }
    return field(key, of: part)?.fitted(declared)
  }

  private func conforming(
    _ map: ValueMap, _ part: FieldOwner.Part, of record: Record
  ) -> (set: ValueMap, unset: [String]) {
    guard let fields = fields(of: part) else { return ([:], []) }
    return fields.conforming(map) { key in
      record.ownership?[part.path(key)].flatMap { declaredFitting($0, part, key) }
    }
  }

  // MARK: - Parts

  /// Throws if the kind does not support a family.
  func check(_ family: Family?, path: @autoclosure () -> String) throws(StoreError) {
    guard let family, !kind.families.isEmpty, !kind.families.contains(family) else { return }
    let names = kind.families.map(\.name).joined(separator: ", ")
    throw .invalid(
      field: path(),
      description: "Kind \"\(kind.name)\" does not support \(family.name); use one of: \(names).")
  }

  private func fitted(
    _ map: ValueMap, _ part: FieldOwner.Part, path: @autoclosure () -> String
  ) throws(StoreError) -> ValueMap {
    guard let fields = fields(of: part) else { return map }
    return try fields.fitted(map, path: path()) { key in
      // Authors easily confuse data and parameters, so the hint names the other map.
      switch part {
      case .data where parameters[key] != nil: "it has a parameter of this name."
      case .parameters where data[key] != nil: "it has a data field of this name."
      case .data, .parameters, .labels: nil
      }
    }
  }
}
