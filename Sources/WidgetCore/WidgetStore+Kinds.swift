public import WidgetModel

/// Kinds: what providers register, and what follows for the widgets of a kind.
///
/// A widget may be of a kind that nobody has registered; then nothing about it is checked. When its
/// kind is registered or changes, it is made to fit in the same commit.
extension WidgetStore {
  /// One kind; also those that are built in. O(1).
  public func kind(_ name: KindName) -> RegisteredKind? {
    registeredKinds[name] ?? BuiltInKind.named(name)
  }

  /// The kind whose name this is most likely a slip for; nil if none is near. O(all kinds).
  public func nearestKind(to name: KindName) -> KindName? {
    let names =
      registeredKinds.keys.map(\.rawValue).sorted() + BuiltInKind.all.map(\.kind.name.rawValue)
    return name.rawValue.closest(among: names).flatMap { KindName($0) }
  }

  /// How many kinds there are, without those that are built in.
  public var kindCount: Int { registeredKinds.count }

  /// The first `limit` kinds after a name, by name, and whether there are more. Ends early when they
  /// exceed `bytesMax`. O(all kinds).
  public func kinds(
    after name: String, limit: Int, bytesMax: Int = .max
  ) -> (kinds: [RegisteredKind], hasMore: Bool) {
    let all = Array(registeredKinds.values) + BuiltInKind.all
    let behind = all.filter { name.precedesByBytes($0.kind.name.rawValue) }
      .sorted { $0.kind.name.rawValue.precedesByBytes($1.kind.name.rawValue) }
    var kinds: [RegisteredKind] = []
    var bytes = 0
    for registered in behind {
      if kinds.count == limit || (bytes > bytesMax && !kinds.isEmpty) { return (kinds, true) }
      bytes += registered.kind.costBytes
      kinds.append(registered)
    }
    return (kinds, false)
  }

  // MARK: - Commands

  mutating func applyKinds(
    _ declaration: KindDeclaration, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> [KindResult] {
    let schemas = try validate(declaration, by: caller)
    return try atomically { (store) throws(StoreError) in
      let before = store.revision
      // One revision serves all of it; it is given back if nothing changed.
      let revision = store.advanceRevision()
      var results: [KindResult] = []
      var changed: Set<KindName> = []
      var former: [KindName: KindSchema] = [:]
      let removed = declaration.prunes ? store.namesToPrune(declaration) : []
      for name in removed { store.replaceKind(name, with: nil, schema: nil) }
      store.release(Set(removed), at: revision, time: now)
      for schema in schemas {
        let kind = schema.kind
        let old = store.registeredKinds[kind.name]
        if let old, old.kind == kind, old.isAttended == declaration.isAttended {
          results.append(KindResult(name: kind.name, action: .unchanged))
          continue
        }
        if old == nil, store.registeredKinds.count >= store.limits.kindsMax {
          throw .quotaExceeded(limit: "kinds_max", maximum: store.limits.kindsMax)
        }
        former[kind.name] = store.schemas[kind.name]
        store.replaceKind(
          kind.name,
          with: RegisteredKind(
            kind: kind, provider: declaration.provider, ownerUID: caller.uid, revision: revision,
            updateTime: now, isAttended: declaration.isAttended), schema: schema)
        changed.insert(kind.name)
        results.append(KindResult(name: kind.name, action: old == nil ? .created : .updated))
      }
      let conformed = try store.conformWidgets(
        of: changed, formerly: former, at: revision, time: now)
      for place in results.indices {
        guard let conformed = conformed[results[place].name] else { continue }
        results[place].widgetsChanged = conformed.widgetsChanged
        results[place].lostFields = conformed.lostFields
        results[place].lostFieldsCount = conformed.lostFieldsCount
      }
      results += removed.map { KindResult(name: $0, action: .deleted) }
      try store.refreshHelp(about: changed.union(removed), at: now)
      let hasChanged = results.contains { $0.action != .unchanged }
      if !hasChanged { store.revision = before }
      return (results, hasChanged && !declaration.isDryRun)
    }
  }

  mutating func deleteKind(
    _ name: KindName, allowMissing: Bool, at now: Timestamp
  ) throws(StoreError) {
    if BuiltInKind.isBuiltIn(name) { throw .kindClaimed(name, by: BuiltInKind.provider) }
    guard registeredKinds[name] != nil else {
      if allowMissing { return }
      throw .kindNotFound(name)
    }
    try atomically { (store) throws(StoreError) in
      let revision = store.advanceRevision()
      store.replaceKind(name, with: nil, schema: nil)
      store.release([name], at: revision, time: now)
      try store.refreshHelp(about: [name], at: now)
      return ((), true)
    }
  }

  /// Replaces the content of widgets of removed kinds with a table of their data, and gives them the
  /// values back that did not fit. O(all widgets).
  private mutating func release(
    _ kinds: Set<KindName>, at revision: Revision, time: Timestamp
  ) {
    guard !kinds.isEmpty else { return }
    for slot in records.indices {
      guard let record = records[slot], kinds.contains(record.kind) else { continue }
      var patch = WidgetPatch()
      patch.restoreValues(of: record, for: nil)
      // Without room for them, the values stay aside: nothing may keep a kind from being removed.
      let isRestored =
        patch != WidgetPatch() && (try? apply(patch, to: slot, former: nil, at: time)) == true
      if !isRestored {
        modify(slot) { $0.finish(nil, at: revision, time: time) }
      }
    }
  }

  private func namesToPrune(_ declaration: KindDeclaration) -> [KindName] {
    let declared = Set(declaration.kinds.map(\.name))
    return registeredKinds.values
      .filter { $0.provider == declaration.provider && !declared.contains($0.kind.name) }
      .map(\.kind.name).sorted { $0.rawValue.precedesByBytes($1.rawValue) }
  }

  private mutating func replaceKind(
    _ name: KindName, with registered: RegisteredKind?, schema: KindSchema?
  ) {
    addInverse(.kind(name, registeredKinds[name], schemas[name]))
    let wasVolatile = schemas[name]?.kind.persistence == .volatile
    setKind(name, to: registered, schema: schema)
    // Nobody is there any more who could acknowledge them.
    if registered == nil { forgetEvents(of: name, through: .max) }
    guard (schema?.kind.persistence == .volatile) != wasVolatile else { return }
    // Their data is stored from now on, or no more.
    for slot in records.indices where records[slot]?.kind == name { records.storeAgain(slot) }
  }

  /// Registers, or removes, without a trace in the journal.
  mutating func setKind(_ name: KindName, to registered: RegisteredKind?, schema: KindSchema?) {
    registeredKinds[name] = registered
    contents.setSchema(schema, of: name, isAttended: registered?.isAttended ?? false)
  }

  // MARK: - Widgets

  /// What a new widget is according to its kind.
  ///
  /// - Parameter isDeclared: whether it may be what was printed of a widget.
  func fitted(
    _ spec: WidgetSpec, field: String, isDeclared: Bool = false
  ) throws(StoreError) -> WidgetSpec {
    var spec = spec
    spec.timeline = try fittedTimeline(of: spec, field: field)
    if spec.kind == HelpKind.name {
      guard isDeclared || spec.data.isEmpty else { throw HelpKind.ownData(field: "\(field).data") }
      return try helpFitted(spec, field: field)
    }
    if spec.kind == .smartStack {
      guard isDeclared || spec.data.isEmpty else {
        throw SmartStackKind.ownData(field: "\(field).data")
      }
      return try stackFitted(spec, field: field) { (spec) throws(StoreError) in
        try SmartStackKind.schema.fitted(spec, path: field)
      }
    }
    return try schemas[spec.kind]?.fitted(spec, path: field) ?? spec
  }

  /// A set's spec for an existing widget, as its kind completes it.
  func fittedAgain(_ spec: WidgetSpec, field: String) throws(StoreError) -> WidgetSpec {
    if spec.kind == HelpKind.name { return try helpFitted(spec, field: field) }
    if spec.kind == .smartStack {
      return try stackFitted(spec, field: field) { (spec) throws(StoreError) in
        try SmartStackKind.schema.fittedAgain(spec, path: field)
      }
    }
    return try schemas[spec.kind]?.fittedAgain(spec, path: field) ?? spec
  }

  /// A manager's spec for an existing widget, with the declared types, but without defaults.
  func fittedOnly(_ spec: WidgetSpec, field: String) throws(StoreError) -> WidgetSpec {
    guard spec.kind != HelpKind.name else {
      var spec = spec
      spec.data = [:]
      return try HelpKind.schema.fittedOnly(spec, path: field)
    }
    if spec.kind == .smartStack {
      return try stackFitted(spec, field: field) { (spec) throws(StoreError) in
        try SmartStackKind.schema.fittedOnly(spec, path: field)
      }
    }
    return try schemas[spec.kind]?.fittedOnly(spec, path: field) ?? spec
  }

  /// The timeline of a spec as the kind has it; nil for none.
  func fittedTimeline(of spec: WidgetSpec, field: String) throws(StoreError) -> Timeline? {
    guard let timeline = spec.timeline else { return nil }
    guard spec.kind != .smartStack else {
      throw SmartStackKind.ownTimeline(field: "\(field).timeline")
    }
    return try fitted(timeline, for: spec.kind, field: "\(field).timeline")
  }

  /// What a patch does according to the widget's kind.
  func fitted(
    _ patch: WidgetPatch, for record: Record, field: String
  ) throws(StoreError) -> WidgetPatch {
    var patch = patch
    if let timeline = patch.timeline ?? nil {
      guard record.kind != .smartStack else {
        throw SmartStackKind.ownTimeline(field: "\(field).timeline")
      }
      patch.timeline = .some(try fitted(timeline, for: record.kind, field: "\(field).timeline"))
    }
    if record.kind == HelpKind.name { return try helpFitted(patch, for: record, field: field) }
    if record.kind == .smartStack {
      guard patch.setData.isEmpty, patch.unsetData.isEmpty, !patch.replaceData else {
        throw SmartStackKind.ownData(field: "\(field).set_data")
      }
    }
    patch = try schemas[record.kind]?.fitted(patch, path: field) ?? patch
    if record.kind == .smartStack {
      try checkStack(patch.setParameters, field: "\(field).set_parameters")
    }
    try checkActivity(
      patch, of: record, data: "\(field).set_data", parameters: "\(field).set_parameters")
    return patch
  }

  func defaultTransition(_ slot: Int) -> Transition? {
    records[slot].flatMap { schemas[$0.kind]?.kind.transition }
  }

  /// Converts widgets to their changed kinds. Returns the number of changed widgets and their lost
  /// values, by kind. O(all widgets).
  private mutating func conformWidgets(
    of kinds: Set<KindName>, formerly former: [KindName: KindSchema], at revision: Revision,
    time: Timestamp
  ) throws(StoreError) -> [KindName: KindResult] {
    var results: [KindName: KindResult] = [:]
    guard !kinds.isEmpty else { return results }
    for slot in records.indices {
      guard let record = records[slot], kinds.contains(record.kind),
        let schema = schemas[record.kind]
      else { continue }
      var hasChanged = record.isPlain && schema.content.program(for: record.family) != nil
      let timeline = record.timeline.map(schema.conforming)
      if record.isPlain || timeline != record.timeline || schema.schedule != nil
        || record.moment != nil
      {
        modify(slot) { state in
          state.timeline = timeline
          state.costBytes = state.cost
          state.finish(schema.kind.transition, at: revision, time: time)
        }
      }
      var lost: [LostField] = []
      if let record = records[slot],
        let patch = schema.conforming(record, former: former[record.kind])
      {
        lost = schema.losses(of: record, former: former[record.kind])
        hasChanged =
          try apply(patch, to: slot, former: former[record.kind], at: time) || hasChanged
      }
      let isOther = former[record.kind].map { !schema.showsAlike($0) } ?? true
      if hasChanged
        || showAnew(slot, schema, inOtherFamilies: isOther, at: revision, time: time)
      {
        results[record.kind, default: KindResult(name: record.kind, action: .updated)]
          .add(lost)
      }
      try checkContents()
    }
    return results
  }

  /// Makes what a widget shows what its kind now says. Returns whether that changed it.
  ///
  /// `isOther`: what it shows in other families may have changed too. Their readers look only at
  /// widgets that changed.
  private mutating func showAnew(
    _ slot: Int, _ schema: KindSchema, inOtherFamilies isOther: Bool, at revision: Revision,
    time: Timestamp
  ) -> Bool {
    guard let record = records[slot] else { return false }
    let program = schema.content.program(for: record.family)
    guard program !== record.content?.table.program else {
      if isOther { markOtherFamilies(slot, at: revision, time: time) }
      return false
    }
    var table = program.map { ContentTable($0, of: record, limits: limits) }
    if let table { contents.count(table) }
    if let old = record.content?.table, old.content == table?.content {
      // Nobody can tell it from what was there, so that there is nothing to take back either.
      table?.inheritHistory(of: old)
      records.replaceContent(of: slot, with: table)
      if isOther { markOtherFamilies(slot, at: revision, time: time) }
      return false
    }
    table?.begin(at: revision)
    // Without one, what is there goes like any other content.
    modify(slot, showing: table) {
      $0.finish(schema.kind.transition, at: revision, time: time)
    }
    return true
  }

  /// Lets readers of other families look at a widget that is the same in its own.
  private mutating func markOtherFamilies(_ slot: Int, at revision: Revision, time: Timestamp) {
    guard let record = records[slot], record.revision < revision else { return }
    modify(slot) { $0.finish(nil, at: revision, time: time) }
  }

  /// Applies a patch of the daemon's own. Returns whether it changed anything.
  private mutating func apply(
    _ patch: WidgetPatch, to slot: Int, former: KindSchema?, at time: Timestamp
  ) throws(StoreError) -> Bool {
    let ownership = records[slot].flatMap {
      $0.ownership(conformedBy: patch, to: schemas[$0.kind], former: former)
    }
    let effect = try admittedEffect(
      of: patch, on: slot, plus: records[slot]?.growth(to: ownership) ?? 0)
    guard effect.isChange, let kind = records[slot]?.kind else { return false }
    modify(slot, by: patch, effect, ownership, schemas[kind]?.kind.transition, at: time)
    return true
  }

  // MARK: - Stacks

  /// A stack without data, because the daemon fills it.
  private func stackFitted(
    _ spec: WidgetSpec, field: String, _ fit: (WidgetSpec) throws(StoreError) -> WidgetSpec
  ) throws(StoreError) -> WidgetSpec {
    var spec = spec
    spec.data = [:]
    spec = try fit(spec)
    try checkStack(spec.parameters, field: "\(field).parameters")
    return spec
  }

  // MARK: - Help

  private func helpFitted(_ spec: WidgetSpec, field: String) throws(StoreError) -> WidgetSpec {
    var spec = spec
    spec.data = [:]
    spec = try HelpKind.schema.fitted(spec, path: field)
    spec.data = HelpKind.data(about: kind(try HelpKind.subject(spec.parameters, field: field)))
    return spec
  }

  private func helpFitted(
    _ patch: WidgetPatch, for record: Record, field: String
  ) throws(StoreError) -> WidgetPatch {
    guard patch.setData.isEmpty, patch.unsetData.isEmpty, !patch.replaceData else {
      throw HelpKind.ownData(field: "\(field).set_data")
    }
    var patch = try HelpKind.schema.fitted(patch, path: field)
    guard !patch.setParameters.isEmpty else { return patch }
    let subject = try HelpKind.subject(patch.setParameters, field: "\(field).set_parameters")
    patch.setData = HelpKind.data(about: kind(subject))
    patch.replaceData = true
    return patch
  }

  /// Lets widgets that explain these kinds say what is true now. O(all widgets).
  private mutating func refreshHelp(
    about kinds: Set<KindName>, at time: Timestamp
  ) throws(StoreError) {
    guard !kinds.isEmpty else { return }
    for slot in records.indices {
      guard let record = records[slot], record.kind == HelpKind.name,
        let subject = try? HelpKind.subject(record.parameters.map, field: ""),
        kinds.contains(subject)
      else { continue }
      let patch = WidgetPatch(setData: HelpKind.data(about: kind(subject)), replaceData: true)
      // Where there is no room for an explanation, that is no reason to refuse the kind.
      if (try? apply(patch, to: slot, former: nil, at: time)) == nil {
        let short = WidgetPatch(
          setData: ["kind": .string(subject.rawValue), "known": .bool(kind(subject) != nil)],
          replaceData: true)
        _ = try apply(short, to: slot, former: nil, at: time)
      }
    }
  }

  // MARK: - Validation

  /// The declared kinds, ready to be used.
  private func validate(
    _ declaration: KindDeclaration, by caller: Caller
  ) throws(StoreError) -> [KindSchema] {
    var schemas: [KindSchema] = []
    var memory = memoryForChanges(in: declaration, by: caller)
    guard declaration.provider.isIdentifier(lengthMax: WidgetID.lengthMax) else {
      throw .invalid(
        field: "provider",
        description: "Use 1 to 128 of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or "
          + "digit.")
    }
    guard declaration.kinds.count <= limits.kindsMax else {
      throw .quotaExceeded(limit: "kinds_max", maximum: limits.kindsMax)
    }
    var seen: Set<KindName> = []
    for (index, kind) in declaration.kinds.enumerated() {
      let path = "kinds[\(index)]"
      guard seen.insert(kind.name).inserted else {
        throw .invalid(field: "\(path).name", description: "\"\(kind.name)\" is declared twice.")
      }
      if BuiltInKind.isBuiltIn(kind.name) {
        throw .kindClaimed(kind.name, by: BuiltInKind.provider)
      }
      if let other = registeredKinds[kind.name], other.provider != declaration.provider {
        throw .kindClaimed(kind.name, by: other.provider)
      }
      // What does not change is ready already.
      if let schema = self.schemas[kind.name], schema.kind == kind.fitted {
        schemas.append(schema)
      } else {
        let schema = try validate(kind, path: path)
        // Before the next is compiled: a frame has room for many.
        memory -= schema.memoryBytes
        guard memory >= 0 else {
          throw .quotaExceeded(
            limit: "kind_memory_bytes_per_uid_max", maximum: limits.kindMemoryBytesPerUIDMax)
        }
        schemas.append(schema)
      }
    }
    return schemas
  }

  /// How much memory the kinds may take that a declaration adds or changes: what the quota has left
  /// beside the caller's other kinds, and at least what the changed ones take now. O(all kinds).
  private func memoryForChanges(in declaration: KindDeclaration, by caller: Caller) -> Int {
    let declared = Dictionary(
      declaration.kinds.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let removed = Set(declaration.prunes ? namesToPrune(declaration) : [])
    var (kept, replaced) = (0, 0)
    for (name, registered) in registeredKinds where registered.ownerUID == caller.uid {
      guard let schema = schemas[name], !removed.contains(name) else { continue }
      if let kind = declared[name], kind.fitted != schema.kind {
        replaced += schema.memoryBytes
      } else {
        kept += schema.memoryBytes
      }
    }
    return max(limits.kindMemoryBytesPerUIDMax - kept, replaced)
  }

  private func validate(_ kind: Kind, path: String) throws(StoreError) -> KindSchema {
    guard kind.costBytes <= limits.kindBytesMax else {
      throw .quotaExceeded(limit: "kind_bytes_max", maximum: limits.kindBytesMax)
    }
    guard Set(kind.families).count == kind.families.count else {
      throw .invalid(field: "\(path).families", description: "A family is there twice.")
    }
    try validate(kind.parameters, path: "\(path).parameters", mayBeRequired: true)
    try validate(kind.data, path: "\(path).data", mayBeRequired: false)
    try validateEntries(of: kind, path: path)
    var seen: Set<String> = []
    for (index, event) in kind.events.enumerated() {
      let path = "\(path).events[\(index)]"
      guard event.name.isIdentifier(lengthMax: KindName.lengthMax) else {
        throw .invalid(
          field: "\(path).name",
          description: "Use 1 to 64 of a-z, A-Z, 0-9 and . _ - / :, for example \"click\".")
      }
      guard seen.insert(event.name).inserted else {
        throw .invalid(field: "\(path).name", description: "\"\(event.name)\" is there twice.")
      }
      try validate(event.payload, path: "\(path).payload", mayBeRequired: true)
      let defaults = event.payload.compactMap { field in
        field.defaultValue.map { ValueMap.Entry(key: field.name, value: $0) }
      }
      guard ValueMap(defaults).costBytes <= limits.eventPayloadBytesMax else {
        throw .quotaExceeded(
          limit: "event_payload_bytes_max", maximum: limits.eventPayloadBytesMax)
      }
    }
    try validateReducers(of: kind, path: path)
    // Names and types are checked where the expressions are.
    let schema = KindSchema(kind.fitted, limits: limits, timeZones: timeZones)
    guard !schema.exceedsMemory else {
      throw .quotaExceeded(limit: "kind_memory_bytes_max", maximum: limits.kindMemoryBytesMax)
    }
    if let problem = schema.reducers.problem {
      throw .invalid(field: "\(path).\(problem.place)", description: problem.message)
    }
    if let problem = schema.content.problem {
      throw .invalid(field: "\(path).\(problem.place)", description: problem.message)
    }
    if let problem = schema.scheduleProblem {
      throw .invalid(field: "\(path).\(problem.place)", description: problem.message)
    }
    return schema
  }

  private func validateEntries(of kind: Kind, path: String) throws(StoreError) {
    try validate(kind.entry, path: "\(path).entry", mayBeRequired: false)
    for (index, field) in kind.entry.enumerated() where ["date", "score"].contains(field.name) {
      throw .invalid(
        field: "\(path).entry[\(index)].name",
        description: "Every entry has \"\(field.name)\"; choose another name.")
    }
    for entry in kind.sample.entries {
      let place = "\(path).sample[\(entry.key)]"
      guard let field = kind.data.first(where: { $0.name.hasSameBytes(as: entry.key) }) else {
        if kind.isOpen { continue }
        throw .invalid(field: place, description: "The kind declares no such data field.")
      }
      guard field.type.fitted(entry.value) != nil else {
        throw .invalid(
          field: place,
          description: "Expected a value of type \(field.type), not \(entry.value.typeName).")
      }
    }
  }

  private func validateReducers(of kind: Kind, path: String) throws(StoreError) {
    guard kind.reducers.count <= limits.reducersPerKindMax else {
      throw .quotaExceeded(limit: "reducers_per_kind_max", maximum: limits.reducersPerKindMax)
    }
    for (index, reducer) in kind.reducers.enumerated() {
      let path = "\(path).reducers[\(index)]"
      guard reducer.event.isIdentifier(lengthMax: KindName.lengthMax) else {
        throw .invalid(
          field: "\(path).event",
          description: "Name the event: 1 to 64 of a-z, A-Z, 0-9 and . _ - / :, for example "
            + "\"click\".")
      }
      guard reducer.nodeID.isEmpty || reducer.nodeID.isIdentifier(lengthMax: WidgetID.lengthMax)
      else {
        throw .invalid(
          field: "\(path).node_id", description: "Use at most 128 characters of an id's alphabet.")
      }
    }
  }

  private func validate(
    _ fields: [Field], path: String, mayBeRequired: Bool
  ) throws(StoreError) {
    guard fields.count <= limits.keysPerWidgetMax else {
      throw .quotaExceeded(limit: "keys_per_widget_max", maximum: limits.keysPerWidgetMax)
    }
    var seen: Set<String> = []
    for (index, field) in fields.enumerated() {
      let path = "\(path)[\(index)]"
      guard field.name.isFieldName else {
        throw .invalid(
          field: "\(path).name",
          description: "Use 1 to 64 letters, digits and _, not beginning with a digit, so that "
            + "expressions can name it.")
      }
      guard seen.insert(field.name).inserted else {
        throw .invalid(field: "\(path).name", description: "\"\(field.name)\" is there twice.")
      }
      if field.isRequired {
        guard mayBeRequired else {
          throw .invalid(
            field: "\(path).required",
            description: "Data comes later than its widget, so it cannot be required; give it a "
              + "default.")
        }
        guard field.defaultValue == nil else {
          throw .invalid(
            field: "\(path).required", description: "What has a default need not be given.")
        }
      }
      for (place, choice) in field.choices.enumerated() where field.type.fitted(choice) == nil {
        throw .invalid(
          field: "\(path).choices[\(place)]",
          description: "Expected a value of type \(field.type), not \(choice.typeName).")
      }
      guard let value = field.defaultValue else { continue }
      if !field.choices.isEmpty, value != .null, !field.choices.contains(value) {
        throw .invalid(
          field: "\(path).default_value", description: "The default is not one of the choices.")
      }
      guard value.isNested(atMost: limits.valueDepthMax - HelpKind.depth),
        field.type.fitted(value) != nil
      else {
        throw .invalid(
          field: "\(path).default_value",
          description: "Expected a value of type \(field.type), not \(value.typeName).")
      }
    }
  }
}

extension Kind {
  /// The kind with default values as their types have them.
  fileprivate var fitted: Kind {
    var kind = self
    kind.parameters = parameters.map(\.fitted)
    kind.data = data.map(\.fitted)
    kind.entry = entry.map(\.fitted)
    kind.sample = ValueMap(
      sample.entries.map { pair in
        let field = data.first { $0.name.hasSameBytes(as: pair.key) }
        return .init(key: pair.key, value: field?.type.fitted(pair.value) ?? pair.value)
      })
    for index in events.indices { kind.events[index].payload = events[index].payload.map(\.fitted) }
    return kind
  }
}

extension Field {
  fileprivate var fitted: Field {
    var field = self
    field.defaultValue = defaultValue.map { type.fitted($0) ?? $0 }
    return field
  }
}

extension KindResult {
  /// Counts a converted widget and its lost values.
  fileprivate mutating func add(_ lost: [LostField]) {
    widgetsChanged += 1
    lostFieldsCount += lost.count
    lostFields += lost.prefix(KindResult.lostFieldsMax - lostFields.count)
  }
}
