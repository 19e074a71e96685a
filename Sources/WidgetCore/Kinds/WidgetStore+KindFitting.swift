import WidgetModel

/// Specs and patches by callers, with the types and defaults of the widget's kind.
extension WidgetStore {
  /// The spec of a new widget, completed by its kind.
  ///
  /// - Parameter isDeclared: whether the spec may come from the printed form of a widget.
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

  /// The timeline of a spec, completed by the kind; nil for none.
  func fittedTimeline(of spec: WidgetSpec, field: String) throws(StoreError) -> Timeline? {
    guard let timeline = spec.timeline else { return nil }
    guard spec.kind != .smartStack else {
      throw SmartStackKind.ownTimeline(field: "\(field).timeline")
    }
    return try fitted(timeline, for: spec.kind, field: "\(field).timeline")
  }

  /// A patch, completed by the widget's kind.
  func fitted(
    _ patch: WidgetPatch, for record: Record, field: String
  ) throws(StoreError) -> WidgetPatch {
    // Nothing is declared for the data of such a widget.
    if record.isPlain, !record.isActivity, patch.changesOnlyData { return patch }
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
    records[slot].flatMap { defaultTransition(of: $0) }
  }

  /// The transition that the widget's kind declares.
  func defaultTransition(of record: Record) -> Transition? {
    record.isPlain ? nil : schemas[record.kind]?.kind.transition
  }

  // MARK: - Stacks

  /// A stack without data, because the daemon fills it.
  func stackFitted(
    _ spec: WidgetSpec, field: String, _ fit: (WidgetSpec) throws(StoreError) -> WidgetSpec
  ) throws(StoreError) -> WidgetSpec {
    var spec = spec
    spec.data = [:]
    spec = try fit(spec)
    try checkStack(spec.parameters, field: "\(field).parameters")
    return spec
  }

  // MARK: - Help

  func helpFitted(_ spec: WidgetSpec, field: String) throws(StoreError) -> WidgetSpec {
    var spec = spec
    spec.data = [:]
    spec = try HelpKind.schema.fitted(spec, path: field)
    spec.data = HelpKind.data(about: kind(try HelpKind.subject(spec.parameters, field: field)))
    return spec
  }

  func helpFitted(
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

  /// Updates widgets that explain these kinds. O(all widgets).
  mutating func refreshHelp(
    about kinds: Set<KindName>, at time: Timestamp
  ) throws(StoreError) {
    guard !kinds.isEmpty else { return }
    for slot in records.indices {
      guard let record = records[slot], record.kind == HelpKind.name,
        let subject = try? HelpKind.subject(record.parameters.map, field: ""),
        kinds.contains(subject)
      else { continue }
      let patch = WidgetPatch(setData: HelpKind.data(about: kind(subject)), replaceData: true)
      // If there is no room for an explanation, the kind is registered all the same.
      if (try? apply(patch, to: slot, former: nil, at: time)) == nil {
        let short = WidgetPatch(
          setData: ["kind": .string(subject.rawValue), "known": .bool(kind(subject) != nil)],
          replaceData: true)
        _ = try apply(short, to: slot, former: nil, at: time)
      }
    }
  }
}
