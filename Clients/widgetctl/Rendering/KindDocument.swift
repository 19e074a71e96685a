import WidgetModel

// Kinds as `kinds` and `describe` print them: the long form, which `DeclaredSet` reads for `apply`.

extension EntrySchedule {
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

extension Recommendation {
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
  var document: Value {
    var map: ValueMap = ["name": .string(name)]
    if !summary.isEmpty { map["description"] = .string(summary) }
    if !payload.isEmpty { map["payload"] = .list(payload.map(\.document)) }
    return .map(map)
  }
}

extension Reducer {
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
      if let providerSilence { map["providerSilence"] = providerSilence.document }
    }
    // A built-in kind has no history.
    guard revision > 0 else { return .map(map) }
    map["revision"] = .revision(revision)
    map["updateTime"] = .string(RFC3339.text(updateTime))
    map["ownerUid"] = .int(Int64(ownerUID))
    return .map(map)
  }
}

extension ProviderSilence {
  var document: Value {
    .map(["since": .string(RFC3339.text(since)), "pid": .int(Int64(pid))])
  }
}
