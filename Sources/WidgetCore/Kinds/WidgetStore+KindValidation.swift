import WidgetModel

/// Whether declared kinds can be registered.
extension WidgetStore {
  /// The declared kinds, ready to be used.
  func validate(
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
      // An unchanged kind has its schema already.
      if let schema = self.schemas[kind.name], schema.kind == kind.fitted {
        schemas.append(schema)
      } else {
        let schema = try validate(kind, path: path)
        // The sum is checked before the next kind is compiled, because one request can have many
        // kinds.
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

  /// The memory for the kinds that a declaration adds or changes: the rest of the quota beside the
  /// caller's other kinds, and at least the memory of the changed kinds now. O(all kinds).
  private func memoryForChanges(in declaration: KindDeclaration, by caller: Caller) -> Int {
    let declared = Dictionary(
      declaration.kinds.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let removed = Set(declaration.prunes ? namesToPrune(declaration) : [])
    var (kept, replaced) = (0, 0)
    for (name, registered) in registeredKinds.byName where registered.ownerUID == caller.uid {
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
      throw .invalid(field: "\(path).families", description: "A family appears twice.")
    }
    if let refreshes = kind.refreshesPerHour, !(1...1_000_000).contains(refreshes) {
      throw .invalid(field: "\(path).refreshes_per_hour", description: "Use 1 to 1000000.")
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
        throw .invalid(field: "\(path).name", description: "\"\(event.name)\" appears twice.")
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
    // `KindSchema` checks names and types together with the expressions.
    let schema = try compiled(kind.fitted)
    guard !schema.exceedsMemory else {
      throw .quotaExceeded(limit: "kind_memory_bytes_max", maximum: limits.kindMemoryBytesMax)
    }
    if let problem = schema.reducers.problem {
      throw .invalid(field: "\(path).\(problem.place)", description: problem.message)
    }
    if let problem = schema.content.problem {
      throw .invalid(field: "\(path).\(problem.place)", description: problem.message)
    }
    if let problem = schema.scheduleProblem ?? schema.schedule?.zoneProblem {
      throw .invalid(field: "\(path).\(problem.place)", description: problem.message)
    }
    return schema
  }

  private func compiled(_ kind: Kind) throws(StoreError) -> KindSchema {
    if let schema = compiledKinds?.schema(of: kind, limits) { return schema }
    guard compiledKinds?.isRefused != true else {
      throw .quotaExceeded(
        limit: "kind_memory_bytes_per_uid_max", maximum: limits.kindMemoryBytesPerUIDMax)
    }
    return KindSchema(kind, limits: limits, timeZones: timeZones)
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
      guard field.fitted.fitted(entry.value) != nil else {
        throw .invalid(field: place, description: "Use one of: \(field.choiceWords).")
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
          field: "\(path).node_id", description: "Use at most 128 of a-z, A-Z, 0-9 and . _ - / :.")
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
          description: "Use 1 to 64 of a-z, A-Z, 0-9 and _, not a digit first, so that expressions "
            + "can name it.")
      }
      guard seen.insert(field.name).inserted else {
        throw .invalid(field: "\(path).name", description: "\"\(field.name)\" appears twice.")
      }
      if field.isRequired {
        guard mayBeRequired else {
          throw .invalid(
            field: "\(path).required",
            description: "A widget can exist before its data, so data cannot be required; give the "
              + "field a default.")
        }
        guard field.defaultValue == nil else {
          throw .invalid(
            field: "\(path).required",
            description: "A field with a default cannot be required; leave out one of them.")
        }
      }
      for (place, choice) in field.choices.enumerated() where field.type.fitted(choice) == nil {
        throw .invalid(
          field: "\(path).choices[\(place)]",
          description: "Expected a value of type \(field.type), not \(choice.typeName).")
      }
      guard let value = field.fitted.defaultValue else { continue }
      guard field.fitted.takes(value) else {
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
  /// The kind, with default values converted to their types.
  var fitted: Kind {
    var kind = self
    kind.parameters = parameters.map(\.fitted)
    kind.data = data.map(\.fitted)
    kind.entry = entry.map(\.fitted)
    // By bytes, because Swift takes different texts for equal.
    let types = Dictionary(data.map { (Array($0.name.utf8), $0.type) }, uniquingKeysWith: { $1 })
    kind.sample = ValueMap(
      sample.entries.map { pair in
        .init(
          key: pair.key, value: types[Array(pair.key.utf8)]?.fitted(pair.value) ?? pair.value)
      })
    for index in events.indices { kind.events[index].payload = events[index].payload.map(\.fitted) }
    return kind
  }
}

extension Field {
  fileprivate var fitted: Field {
    var field = self
    field.defaultValue = defaultValue.map { type.fitted($0) ?? $0 }
    field.choices = choices.map { type.fitted($0) ?? $0 }
    return field
  }
}
