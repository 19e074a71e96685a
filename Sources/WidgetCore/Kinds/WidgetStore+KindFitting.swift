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
    if !isDeclared, !spec.data.isEmpty {
      if spec.kind == HelpKind.name { throw HelpKind.ownData(field: "\(field).data") }
      if spec.kind == .smartStack { throw SmartStackKind.ownData(field: "\(field).data") }
    }
    return try fitted(spec, .new, field: field)
  }

  /// A spec, as its kind completes it.
  func fitted(
    _ spec: WidgetSpec, _ fitting: KindSchema.Fitting, field: String
  ) throws(StoreError) -> WidgetSpec {
    if spec.kind == HelpKind.name { return try helpFitted(spec, fitting, field: field) }
    guard spec.kind == .smartStack else {
      return try schemas[spec.kind]?.fitted(spec, fitting, path: field) ?? spec
    }
    // The daemon fills stacks.
    var spec = spec
    spec.data = [:]
    spec = try SmartStackKind.schema.fitted(spec, fitting, path: field)
    try checkStack(spec.parameters, field: "\(field).parameters")
    return spec
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
    // The kind is not registered, so it declares no data fields that could complete the patch.
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

  // MARK: - Help

  private func helpFitted(
    _ spec: WidgetSpec, _ fitting: KindSchema.Fitting, field: String
  ) throws(StoreError) -> WidgetSpec {
    var spec = spec
    spec.data = [:]
    guard fitting != .only else {
      return try HelpKind.schema.fitted(spec, fitting, path: field)
    }
    spec = try HelpKind.schema.fitted(spec, .new, path: field)
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

  /// Updates widgets that explain these kinds. O(all widgets).
  mutating func refreshHelp(
    about kinds: Set<KindName>, at time: Timestamp
  ) throws(StoreError) {
    guard !kinds.isEmpty else { return }
    // The explanation of a kind is the same for all of its widgets, which then share its memory.
    var explanations: [KindName: ValueMap] = [:]
    for slot in records.indices {
      guard let record = records[slot], record.kind == HelpKind.name,
        let subject = try? HelpKind.subject(record.parameters.map, field: ""),
        kinds.contains(subject)
      else { continue }
      let explanation = explanations[subject] ?? HelpKind.data(about: kind(subject))
      explanations[subject] = explanation
      let patch = WidgetPatch(setData: explanation, replaceData: true)
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
