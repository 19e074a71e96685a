public import WidgetModel

/// Kinds: the registrations by providers, and their effects on widgets.
///
/// A widget may have a kind that is not registered; then nothing about it is checked. When its kind
/// is registered or changes, the widget is made to fit in the same commit.
extension WidgetStore {
  /// A kind, registered or built in. O(1).
  public func kind(_ name: KindName) -> RegisteredKind? {
    registeredKinds[name] ?? BuiltInKind.named(name)
  }

  /// The kind that the name is probably a slip for; nil if none is near. O(all kinds).
  public func nearestKind(to name: KindName) -> KindName? {
    let names =
      registeredKinds.byName.keys.map(\.rawValue).sorted()
      + BuiltInKind.all.map(\.kind.name.rawValue)
    return name.rawValue.closest(among: names).flatMap { KindName($0) }
  }

  /// The number of kinds, without the built-in ones.
  public var kindCount: Int { registeredKinds.byName.count }

  /// The first `limit` kinds after a name, by name, and whether there are more. Ends early at
  /// `bytesMax`. O(all kinds).
  public func kinds(
    after name: String, limit: Int, bytesMax: Int = .max
  ) -> (kinds: [RegisteredKind], hasMore: Bool) {
    let all = Array(registeredKinds.byName.values) + BuiltInKind.all
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
      // All changes share one revision, which is given back if nothing changed.
      let revision = store.advanceRevision()
      var results: [KindResult] = []
      var changed: Set<KindName> = []
      var storedAgain: Set<KindName> = []
      var former: [KindName: KindSchema] = [:]
      let removed = declaration.prunes ? store.namesToPrune(declaration) : []
      store.removeKinds(removed, at: revision, time: now)
      for schema in schemas {
        let kind = schema.kind
        let old = store.registeredKinds[kind.name]
        if let old, old.kind == kind,
          declaration.isForeign || old.isAttended == declaration.isAttended
        {
          results.append(KindResult(name: kind.name, action: .unchanged))
          continue
        }
        if old == nil, store.registeredKinds.byName.count >= store.limits.kindsMax {
          throw .quotaExceeded(limit: "kinds_max", maximum: store.limits.kindsMax)
        }
        former[kind.name] = store.schemas[kind.name]
        let registered = RegisteredKind(
          kind: kind, provider: declaration.provider, ownerUID: caller.uid, revision: revision,
          updateTime: now, isAttended: declaration.isAttended)
        if store.replaceKind(kind.name, with: registered, schema: schema) {
          storedAgain.insert(kind.name)
        }
        changed.insert(kind.name)
        results.append(KindResult(name: kind.name, action: old == nil ? .created : .updated))
      }
      store.storeAgain(widgetsOf: storedAgain)
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
      guard !hasChanged || !declaration.isForeign else {
        throw .claimed(declaration.provider, field: "provider")
      }
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
      store.removeKinds([name], at: revision, time: now)
      try store.refreshHelp(about: [name], at: now)
      return ((), true)
    }
  }

  func namesToPrune(_ declaration: KindDeclaration) -> [KindName] {
    let declared = Set(declaration.kinds.map(\.name))
    return registeredKinds.byName.values
      .filter { $0.provider == declaration.provider && !declared.contains($0.kind.name) }
      .map(\.kind.name).sorted { $0.rawValue.precedesByBytes($1.rawValue) }
  }

  /// Removes registered kinds. Their widgets stay.
  private mutating func removeKinds(
    _ names: [KindName], at revision: Revision, time: Timestamp
  ) {
    var removed: [KindName: KindSchema] = [:]
    var storedAgain: Set<KindName> = []
    for name in names {
      removed[name] = schemas[name]
      if replaceKind(name, with: nil, schema: nil) { storedAgain.insert(name) }
    }
    storeAgain(widgetsOf: storedAgain)
    release(removed, at: revision, time: time)
  }

  /// Returns whether the data of the kind's widgets is stored from now on, or is no longer stored.
  private mutating func replaceKind(
    _ name: KindName, with registered: RegisteredKind?, schema: KindSchema?
  ) -> Bool {
    addInverse(.kind(name, registeredKinds[name], schemas[name]))
    let wasVolatile = schemas[name]?.kind.persistence == .volatile
    setKind(name, to: registered, schema: schema)
    // The kind has no provider any more that could acknowledge its events.
    if registered == nil { forgetEvents(of: name, through: .max) }
    return (schema?.kind.persistence == .volatile) != wasVolatile
  }

  /// Makes the next group store the widgets of some kinds. O(all widgets), however many kinds there
  /// are.
  private mutating func storeAgain(widgetsOf kinds: Set<KindName>) {
    guard !kinds.isEmpty else { return }
    for slot in records.indices {
      if let record = records[slot], kinds.contains(record.kind) { records.storeAgain(slot) }
    }
  }

  /// Registers or removes a kind, without an entry in the journal.
  mutating func setKind(_ name: KindName, to registered: RegisteredKind?, schema: KindSchema?) {
    if let former = schemas[name], former !== schema { droppedKinds.add(former) }
    registeredKinds.set(name, to: registered)
    contents.setSchema(schema, of: name, isAttended: registered?.isAttended ?? false)
  }
}
