import WidgetModel

// Kinds as documents: what `apply` reads and what `kinds` and `describe` print, the same both ways.

extension Kind {
  static let fields = [
    "name", "displayName", "description", "families", "parameters", "data", "events", "open",
    "transition", "reducers", "content", "persistence", "losableEvents", "entry", "schedule",
    "sample", "recommendations", "refreshesPerHour",
  ]
  /// Fields that are printed but belong to the daemon.
  private static let passedOver: Set<String> = [
    "attended", "ownerUid", "provider", "providerConnected", "refreshBudget", "revision",
    "updateTime",
  ]

  /// Reads a kind, and whose it says it is; empty for nobody's. Failures begin with `place`.
  static func read(
    _ value: Value, at place: String
  ) throws(FieldFailure) -> (kind: Kind, provider: String) {
    do throws(FieldFailure) { return try read(value) } catch { throw error.inside(place) }
  }

  private static func read(
    _ value: Value
  ) throws(FieldFailure) -> (kind: Kind, provider: String) {
    guard case .map(let map) = value else { throw FieldFailure("", "must be a kind: name, …") }
    try map.onlyHas(fields, passingOver: passedOver)
    guard let name = KindName(try map.required("name")) else {
      throw FieldFailure(
        "name",
        "must be 1 to 64 characters of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or "
          + "digit")
    }
    var kind = Kind(name: name)
    kind.displayName = try map.text("displayName") ?? ""
    kind.summary = try map.text("description") ?? ""
    kind.families = try map.list("families", Family.read)
    kind.parameters = try map.list("parameters", Field.read)
    kind.data = try map.list("data", Field.read)
    kind.events = try map.list("events", EventType.read)
    kind.reducers = try map.list("reducers", Reducer.read)
    kind.content = try map.list("content", ContentTemplate.read)
    if let text = try map.text("persistence") {
      guard let persistence = Kind.Persistence.allCases.first(where: { "\($0)" == text }) else {
        throw FieldFailure("persistence", "must be durable or volatile")
      }
      kind.persistence = persistence
    }
    kind.isOpen = try map.bool("open") ?? false
    kind.hasLosableEvents = try map.bool("losableEvents") ?? false
    kind.entry = try map.list("entry", Field.read)
    if let value = map["schedule"], value != .null {
      do throws(FieldFailure) { kind.schedule = try EntrySchedule.read(value) } catch {
        throw error.inside("schedule")
      }
    }
    kind.sample = try map.untagged("sample")
    kind.recommendations = try map.list("recommendations", Recommendation.read)
    if let value = map["refreshesPerHour"] {
      guard case .int(let number) = value, (1...1_000_000).contains(number) else {
        throw FieldFailure("refreshesPerHour", "must be a whole number from 1 to 1000000")
      }
      kind.refreshesPerHour = Int(number)
    }
    if let text = try map.text("transition") {
      do throws(SyntaxFailure) { kind.transition = try TransitionSyntax.parse(text) } catch {
        throw FieldFailure("transition", "\(error)")
      }
    }
    return (kind, try map.text("provider") ?? "")
  }
}

extension ValueMap {
  /// An object of values, with the tags of types that JSON does not have.
  fileprivate func untagged(_ name: String) throws(FieldFailure) -> ValueMap {
    let map = try object(name)
    do throws(DataDocument.Failure) {
      guard case .map(let values) = try DataDocument.untagged(.map(map)) else { return map }
      return values
    } catch {
      throw FieldFailure(name, "\(error)")
    }
  }
}

extension EntrySchedule {
  private static let fields = ["every", "offset", "cron", "zone", "entries"]

  fileprivate static func read(_ value: Value) throws(FieldFailure) -> EntrySchedule {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a schedule: every, cron or entries")
    }
    try map.onlyHas(fields)
    var schedule = EntrySchedule(
      cron: try map.text("cron") ?? "", zone: try map.expression("zone") ?? "",
      entries: try map.expression("entries") ?? "")
    schedule.every = try map.duration("every")
    schedule.offset = try map.duration("offset") ?? .zero
    return schedule
  }

  var document: Value {
    var map = ValueMap()
    if let every { map["every"] = .string(DurationSyntax.seconds(every)) }
    if offset != .zero { map["offset"] = .string(DurationSyntax.seconds(offset)) }
    if !cron.isEmpty { map["cron"] = .string(cron) }
    if !zone.isEmpty { map["zone"] = .string(zone) }
    if !entries.isEmpty { map["entries"] = .string(entries) }
    return .map(map)
  }
}

extension ValueMap {
  fileprivate func duration(_ name: String) throws(FieldFailure) -> Duration? {
    guard let text = try text(name) else { return nil }
    guard let duration = DurationSyntax.parse(text) else {
      throw FieldFailure(name, "must be \(DurationSyntax.hint)")
    }
    return duration
  }
}

extension Recommendation {
  private static let fields = ["name", "displayName", "parameters"]

  fileprivate static func read(_ value: Value) throws(FieldFailure) -> Recommendation {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a recommendation: name, parameters")
    }
    try map.onlyHas(fields)
    return Recommendation(
      name: try map.required("name"), displayName: try map.text("displayName") ?? "",
      parameters: try map.untagged("parameters"))
  }

  var document: Value {
    var map: ValueMap = ["name": .string(name), "parameters": .map(parameters)]
    if !displayName.isEmpty { map["displayName"] = .string(displayName) }
    return .map(map)
  }
}

extension RefreshBudget {
  var document: Value {
    var map: ValueMap = [
      "kind": .string(kind.rawValue), "remaining": .int(Int64(remaining)),
      "capacity": .int(Int64(capacity)),
    ]
    if let nextTime { map["nextTime"] = .string(RFC3339.text(nextTime)) }
    return .map(map)
  }
}

extension Field {
  private static let fields = ["name", "type", "default", "description", "required", "choices"]

  fileprivate static func read(_ value: Value) throws(FieldFailure) -> Field {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a field: name, type, …")
    }
    try map.onlyHas(fields)
    let text = try map.text("type") ?? "dyn"
    guard let type = FieldType(text) else {
      throw FieldFailure(
        "type",
        "\"\(text)\" is not a type; use bool, int, double, string, bytes, timestamp, duration, "
          + "list(TYPE), map(string, TYPE) or dyn")
    }
    var field = Field(name: try map.required("name"), type: type)
    field.summary = try map.text("description") ?? ""
    field.isRequired = try map.bool("required") ?? false
    field.choices = try map.list("choices") { (value) throws(FieldFailure) in
      do throws(DataDocument.Failure) {
        let untagged = try DataDocument.untagged(value)
        return type.fitted(untagged) ?? untagged
      } catch {
        throw FieldFailure("", "\(error)")
      }
    }
    guard let value = map["default"] else { return field }
    do throws(DataDocument.Failure) {
      let untagged = try DataDocument.untagged(value)
      // A document may say 5 where 5.0 is meant; the daemon reports values that do not fit at all.
      field.defaultValue = type.fitted(untagged) ?? untagged
    } catch {
      throw FieldFailure("default", "\(error)")
    }
    return field
  }

  var document: Value {
    var map: ValueMap = ["name": .string(name), "type": .string("\(type)")]
    if let defaultValue { map["default"] = defaultValue }
    if !summary.isEmpty { map["description"] = .string(summary) }
    if isRequired { map["required"] = .bool(true) }
    if !choices.isEmpty { map["choices"] = .list(choices) }
    return .map(map)
  }
}

extension EventType {
  private static let fields = ["name", "description", "payload"]

  fileprivate static func read(_ value: Value) throws(FieldFailure) -> EventType {
    guard case .map(let map) = value else { throw FieldFailure("", "must be an event: name, …") }
    try map.onlyHas(fields)
    return EventType(
      name: try map.required("name"), summary: try map.text("description") ?? "",
      payload: try map.list("payload", Field.read))
  }

  var document: Value {
    var map: ValueMap = ["name": .string(name)]
    if !summary.isEmpty { map["description"] = .string(summary) }
    if !payload.isEmpty { map["payload"] = .list(payload.map(\.document)) }
    return .map(map)
  }
}

extension Reducer {
  private static let fields = ["event", "nodeId", "condition", "set", "unset"]

  fileprivate static func read(_ value: Value) throws(FieldFailure) -> Reducer {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a reducer: event, set, …")
    }
    try map.onlyHas(fields)
    var reducer = Reducer(event: try map.required("event"))
    reducer.nodeID = try map.text("nodeId") ?? ""
    reducer.condition = try map.expression("condition") ?? ""
    let set = try map.object("set")
    for key in set.keys {
      do throws(FieldFailure) { reducer.assignments[key] = try set.expression(key) ?? "null" } catch
      {
        throw error.inside("set")
      }
    }
    reducer.unset = try map.list("unset") { (value) throws(FieldFailure) in
      guard case .string(let key) = value else { throw FieldFailure("", "must be a data key") }
      return key
    }
    return reducer
  }

  var document: Value {
    var map: ValueMap = ["event": .string(event)]
    if !nodeID.isEmpty { map["nodeId"] = .string(nodeID) }
    if !condition.isEmpty { map["condition"] = .string(condition) }
    if !assignments.isEmpty {
      map["set"] = .map(
        ValueMap(assignments.map { .init(key: $0.key, value: .string($0.value)) }))
    }
    if !unset.isEmpty { map["unset"] = .list(unset.map { .string($0) }) }
    return .map(map)
  }
}

extension ValueMap {
  /// An expression's text. A YAML number or boolean is an expression too.
  func expression(_ name: String) throws(FieldFailure) -> String? {
    switch self[name] {
    case nil, .null?: return nil
    case .string(let text)?: return text
    case .bool(let flag)?: return "\(flag)"
    case .int(let number)?: return "\(number)"
    case .double(let number)? where number.isFinite: return "\(number)"
    default: throw FieldFailure(name, "must be an expression, such as \"data.count + 1\"")
    }
  }
}

extension RegisteredKind {
  /// Empty fields are left out.
  var document: Value {
    var map: ValueMap = ["name": .string(kind.name.rawValue), "provider": .string(provider)]
    if !kind.displayName.isEmpty { map["displayName"] = .string(kind.displayName) }
    if !kind.summary.isEmpty { map["description"] = .string(kind.summary) }
    if !kind.families.isEmpty {
      map["families"] = .list(kind.families.map { .string($0.name) })
    }
    if !kind.parameters.isEmpty { map["parameters"] = .list(kind.parameters.map(\.document)) }
    if !kind.data.isEmpty { map["data"] = .list(kind.data.map(\.document)) }
    if !kind.events.isEmpty { map["events"] = .list(kind.events.map(\.document)) }
    if !kind.reducers.isEmpty { map["reducers"] = .list(kind.reducers.map(\.document)) }
    if !kind.content.isEmpty { map["content"] = .list(kind.content.map(\.document)) }
    if kind.persistence != .durable { map["persistence"] = .string("\(kind.persistence)") }
    if kind.isOpen { map["open"] = .bool(true) }
    if kind.hasLosableEvents { map["losableEvents"] = .bool(true) }
    if !kind.entry.isEmpty { map["entry"] = .list(kind.entry.map(\.document)) }
    if let schedule = kind.schedule { map["schedule"] = schedule.document }
    if !kind.sample.isEmpty { map["sample"] = .map(kind.sample) }
    if !kind.recommendations.isEmpty {
      map["recommendations"] = .list(kind.recommendations.map(\.document))
    }
    if let number = kind.refreshesPerHour { map["refreshesPerHour"] = .int(Int64(number)) }
    if let refreshBudget { map["refreshBudget"] = refreshBudget.document }
    if let transition = kind.transition {
      map["transition"] = .string(TransitionSyntax.text(transition))
    }
    if isAttended {
      map["attended"] = .bool(true)
      map["providerConnected"] = .bool(isProviderConnected)
    }
    // A built-in kind has no history.
    guard revision > 0 else { return .map(map) }
    map["revision"] = .revision(revision)
    map["updateTime"] = .string(RFC3339.text(updateTime))
    map["ownerUid"] = .int(Int64(ownerUID))
    return .map(map)
  }
}
