import CWidgetProto
public import WidgetModel

// Kinds and their parts: widgetd/v1/kind.proto.

/// widgetd.v1.Kind, with the fields that the daemon adds. In requests, these are ignored.
extension RegisteredKind: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Kind>, _ reader: Reader) throws(WireError) {
    self.init(
      kind: Kind(
        name: try reader.kind("name", c.pointee.name),
        displayName: reader.string(c.pointee.display_name),
        summary: reader.string(c.pointee.description),
        families: try reader.families(c.pointee.n_families, c.pointee.families),
        parameters: try reader.fields("parameters", c.pointee.n_parameters, c.pointee.parameters),
        data: try reader.fields("data", c.pointee.n_data, c.pointee.data),
        isOpen: c.pointee.open != 0,
        events: try reader.list("events", c.pointee.n_events, c.pointee.events) {
          (element) throws(WireError) in
          try EventType(c: element, reader)
        },
        transition: try reader.requestTransition(c.pointee.transition),
        reducers: try reader.list("reducers", c.pointee.n_reducers, c.pointee.reducers) {
          (element) throws(WireError) in
          Reducer(c: element, reader)
        },
        content: try reader.list("content", c.pointee.n_content, c.pointee.content) {
          (element) throws(WireError) in
          try ContentTemplate(c: element, reader)
        },
        persistence: try reader.persistence(c.pointee.persistence),
        hasLosableEvents: c.pointee.losable_events != 0,
        entry: try reader.fields("entry", c.pointee.n_entry, c.pointee.entry),
        schedule: try reader.optional("schedule", c.pointee.schedule),
        sample: try reader.values("sample", c.pointee.n_sample, c.pointee.sample),
        recommendations: try reader.list(
          "recommendations", c.pointee.n_recommendations, c.pointee.recommendations
        ) { (element) throws(WireError) in
          try Recommendation(c: element, reader)
        },
        refreshesPerHour: c.pointee.refreshes_per_hour == 0
          ? nil : Int(c.pointee.refreshes_per_hour)),
      provider: reader.string(c.pointee.provider), ownerUID: c.pointee.owner_uid,
      revision: c.pointee.revision,
      updateTime: try reader.timestamp("update_time", c.pointee.update_time) ?? .epoch,
      isAttended: c.pointee.attended != 0)
    isProviderConnected = c.pointee.provider_connected != 0
    refreshBudget = try reader.optional("refresh_budget", c.pointee.refresh_budget)
    providerSilence = try reader.optional("provider_silence", c.pointee.provider_silence)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Kind>, _ writer: Writer) throws(WireError) {
    c.pointee.name = try writer.string("name", kind.name.rawValue)
    c.pointee.display_name = try writer.string("display_name", kind.displayName)
    c.pointee.description = try writer.string("description", kind.summary)
    c.pointee.n_families = kind.families.count
    c.pointee.families = try writer.families(kind.families)
    c.pointee.n_parameters = kind.parameters.count
    c.pointee.parameters = try writer.list("parameters", kind.parameters)
    c.pointee.n_data = kind.data.count
    c.pointee.data = try writer.list("data", kind.data)
    c.pointee.open = kind.isOpen ? 1 : 0
    c.pointee.n_events = kind.events.count
    c.pointee.events = try writer.list("events", kind.events)
    c.pointee.transition = try writer.message("transition", optional: kind.transition)
    c.pointee.n_reducers = kind.reducers.count
    c.pointee.reducers = try writer.list("reducers", kind.reducers)
    c.pointee.n_content = kind.content.count
    c.pointee.content = try writer.list("content", kind.content)
    c.pointee.persistence = Widgetd__V1__Persistence(UInt32(kind.persistence.rawValue))
    c.pointee.losable_events = kind.hasLosableEvents ? 1 : 0
    c.pointee.n_entry = kind.entry.count
    c.pointee.entry = try writer.list("entry", kind.entry)
    c.pointee.schedule = try writer.message("schedule", optional: kind.schedule)
    c.pointee.n_sample = kind.sample.count
    c.pointee.sample = try writer.entries(
      "sample", kind.sample, of: Widgetd__V1__Kind__SampleEntry.self)
    c.pointee.n_recommendations = kind.recommendations.count
    c.pointee.recommendations = try writer.list("recommendations", kind.recommendations)
    c.pointee.refreshes_per_hour = UInt32(clamping: kind.refreshesPerHour ?? 0)
    c.pointee.refresh_budget = try writer.message("refresh_budget", optional: refreshBudget)
    c.pointee.provider_silence = try writer.message("provider_silence", optional: providerSilence)
    c.pointee.provider = try writer.string("provider", provider)
    c.pointee.revision = revision
    // A built-in kind has no history.
    if revision > 0 { c.pointee.update_time = try writer.timestamp(updateTime) }
    c.pointee.owner_uid = ownerUID
    c.pointee.attended = isAttended ? 1 : 0
    c.pointee.provider_connected = isProviderConnected ? 1 : 0
  }
}

extension Field: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Field>, _ reader: Reader) throws(WireError) {
    let text = reader.string(c.pointee.type)
    guard let type = text.isEmpty ? .any : FieldType(text) else {
      throw .invalidField(
        path: "type",
        description: "\"\(text.prefix(64))\" is not a type; use bool, int, double, string, bytes, "
          + "timestamp, duration, list(TYPE), map(string, TYPE) or dyn")
    }
    self.init(
      name: reader.string(c.pointee.name), type: type,
      defaultValue: try reader.optional("default_value", c.pointee.default_value, as: Value.self),
      summary: reader.string(c.pointee.description), isRequired: c.pointee.required != 0,
      choices: try reader.list("choices", c.pointee.n_choices, c.pointee.choices) {
        (element) throws(WireError) in
        try Value(c: element, reader)
      })
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Field>, _ writer: Writer) throws(WireError) {
    c.pointee.name = try writer.string("name", name)
    c.pointee.type = try writer.string("type", "\(type)")
    c.pointee.default_value = try writer.message("default_value", optional: defaultValue)
    c.pointee.description = try writer.string("description", summary)
    c.pointee.required = isRequired ? 1 : 0
    c.pointee.n_choices = choices.count
    c.pointee.choices = try writer.list("choices", choices)
  }
}

extension Reducer: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Reducer>, _ reader: Reader) {
    self.init(
      event: reader.string(c.pointee.event), nodeID: reader.string(c.pointee.node_id),
      condition: reader.string(c.pointee.condition),
      assignments: reader.dictionary(c.pointee.n_set, c.pointee.set),
      unset: reader.strings(c.pointee.n_unset, c.pointee.unset))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Reducer>, _ writer: Writer) throws(WireError) {
    c.pointee.event = try writer.string("event", event)
    c.pointee.node_id = try writer.string("node_id", nodeID)
    c.pointee.condition = try writer.string("condition", condition)
    c.pointee.n_set = assignments.count
    c.pointee.set = try writer.entries(
      "set", assignments, of: Widgetd__V1__Reducer__SetEntry.self)
    c.pointee.n_unset = unset.count
    c.pointee.unset = try writer.strings("unset", unset)
  }
}

extension EventType: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__EventType>, _ reader: Reader) throws(WireError) {
    self.init(
      name: reader.string(c.pointee.name), summary: reader.string(c.pointee.description),
      payload: try reader.fields("payload", c.pointee.n_payload, c.pointee.payload))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__EventType>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name)
    c.pointee.description = try writer.string("description", summary)
    c.pointee.n_payload = payload.count
    c.pointee.payload = try writer.list("payload", payload)
  }
}

extension Reader {
  fileprivate func persistence(
    _ c: Widgetd__V1__Persistence
  ) throws(WireError) -> Kind.Persistence {
    if c.rawValue == 0 { return .durable }
    if let persistence = Kind.Persistence(number: c.rawValue) { return persistence }
    throw unknownEnum("persistence", c.rawValue, "use one of the values of Persistence")
  }

  fileprivate func fields(
    _ field: StaticString, _ count: Int, _ list: CList<Widgetd__V1__Field>?
  ) throws(WireError) -> [Field] {
    try self.list(field, count, list) { (element) throws(WireError) in
      try Field(c: element, self)
    }
  }

  /// Reads families, each of which must be one.
  func families(
    _ count: Int, _ numbers: UnsafeMutablePointer<Widgetd__V1__Family>?
  ) throws(WireError) -> [Family] {
    guard count > 0, let numbers else { return [] }
    var families: [Family] = []
    for index in 0..<count {
      let number = numbers[index].rawValue
      guard let family = Family(number: number) else {
        throw unknownEnum("families", number, "use a FAMILY_ value that is specified")
      }
      families.append(family)
    }
    return families
  }
}

extension Writer {
  func families(
    _ families: [Family]
  ) throws(WireError) -> UnsafeMutablePointer<Widgetd__V1__Family>? {
    guard !families.isEmpty else { return nil }
    let numbers = try allocate(families.count, of: Widgetd__V1__Family.self)
    for index in families.indices { numbers[index] = Widgetd__V1__Family(families[index]) }
    return numbers
  }
}

extension ProviderSilence: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProviderSilence>, _ reader: Reader) throws(WireError) {
    self.init(
      since: try reader.timestamp("since", c.pointee.since) ?? .epoch,
      pid: c.pointee.pid)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProviderSilence>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.since = try writer.timestamp(since)
    c.pointee.pid = pid
  }
}
