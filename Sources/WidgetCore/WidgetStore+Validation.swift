import WidgetModel

/// Checks that come before any change: shape, size, quota.
extension WidgetStore {
  func validate(_ spec: WidgetSpec, field: @autoclosure () -> String) throws(StoreError) {
    try validate(spec.labels, field: "\(field()).labels")
    try validate(spec.data, field: "\(field()).data")
    try validate(spec.parameters, field: "\(field()).parameters")
  }

  func validate(_ patch: WidgetPatch, field: @autoclosure () -> String) throws(StoreError) {
    try checkCount(patch.unsetData, field: "\(field()).unset_data")
    try checkCount(patch.unsetParameters, field: "\(field()).unset_parameters")
    try checkCount(patch.unsetLabels, field: "\(field()).unset_labels")
    try checkCount(patch.releases, field: "\(field()).release")
    try validate(patch.setData, field: "\(field()).set_data")
    guard !patch.changesOnlyData else { return }
    try validate(patch.setParameters, field: "\(field()).set_parameters")
    try validate(patch.setLabels, field: "\(field()).set_labels")
    if let error = patch.error ?? nil {
      try validate(reason: error.reason, field: "\(field()).error.reason")
      guard error.further.count <= WidgetStore.furtherErrorsMax else {
        throw .invalid(
          field: "\(field()).error.further",
          description: "Use at most \(WidgetStore.furtherErrorsMax) further errors.")
      }
      for (index, further) in error.further.enumerated() {
        try validate(reason: further.reason, field: "\(field()).error.further[\(index)].reason")
      }
    }
  }

  /// The maximum number of further errors of a widget's error, with the marks of reducers.
  static var furtherErrorsMax: Int { 32 }

  private func validate(
    reason: String, field: @autoclosure () -> String
  ) throws(StoreError) {
    guard (1...64).contains(reason.utf8.count), reason.utf8.allSatisfy(\.isReasonByte) else {
      throw .invalid(
        field: field(),
        description: "Use 1 to 64 of A-Z, 0-9 and _, for example \"SENSOR_MISSING\".")
    }
  }

  /// A widget has at most this many keys, so a longer list repeats keys or names missing ones.
  private func checkCount(_ keys: [String], field: @autoclosure () -> String) throws(StoreError) {
    guard keys.count <= limits.keysPerWidgetMax else {
      throw .invalid(
        field: field(),
        description: "\(keys.count) are too many. Name at most \(limits.keysPerWidgetMax) "
          + "(keys_per_widget_max).")
    }
  }

  func validate(_ declaration: Declaration) throws(StoreError) {
    guard declaration.applySet.isIdentifier(lengthMax: WidgetID.lengthMax) else {
      throw .invalid(
        field: "apply_set",
        description: "Use 1 to 128 of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or "
          + "digit.")
    }
    guard declaration.widgets.count <= limits.declaredWidgetsMax else {
      throw .quotaExceeded(limit: "declared_widgets_max", maximum: limits.declaredWidgetsMax)
    }
    var seen: Set<WidgetID> = []
    for (index, spec) in declaration.widgets.enumerated() {
      guard let id = spec.id else {
        throw .invalid(
          field: "widgets[\(index)].id", description: "A declared widget needs an id.")
      }
      guard seen.insert(id).inserted else {
        throw .invalid(
          field: "widgets[\(index)].id", description: "\"\(id)\" is declared twice.")
      }
      try validate(spec, field: "widgets[\(index)]")
    }
  }

  func validate(_ draft: EventDraft) throws(StoreError) {
    guard draft.name.isIdentifier(lengthMax: KindName.lengthMax) else {
      throw .invalid(
        field: "name",
        description: "Use 1 to 64 of a-z, A-Z, 0-9 and . _ - / :, for example \"click\".")
    }
    guard draft.nodeID.isEmpty || draft.nodeID.isIdentifier(lengthMax: WidgetID.lengthMax) else {
      throw .invalid(
        field: "node_id",
        description: "Use at most 128 of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or "
          + "digit.")
    }
    try validate(draft.payload, field: "payload")
    try checkPayload(of: draft)
  }

  func checkPayload(of draft: EventDraft) throws(StoreError) {
    guard draft.payload.costBytes <= limits.eventPayloadBytesMax else {
      throw .quotaExceeded(
        limit: "event_payload_bytes_max", maximum: limits.eventPayloadBytesMax)
    }
  }

  private func validate(_ map: ValueMap, field: @autoclosure () -> String) throws(StoreError) {
    for entry in map.entries {
      try validate(key: entry.key, field: field())
      guard entry.value.isNested(atMost: limits.valueDepthMax) else {
        throw .invalid(
          field: "\(field())[\(entry.key)]",
          description: "Lists and maps may be nested \(limits.valueDepthMax) deep at most.")
      }
    }
  }

  private func validate(_ labels: Labels, field: @autoclosure () -> String) throws(StoreError) {
    for label in labels.entries {
      try validate(key: label.key, field: field())
      guard label.value.utf8.count <= limits.keyBytesMax else {
        throw .invalid(
          field: "\(field())[\(label.key)]",
          description: "A label's value may have \(limits.keyBytesMax) bytes at most.")
      }
    }
  }

  private func validate(key: String, field: @autoclosure () -> String) throws(StoreError) {
    guard (1...limits.keyBytesMax).contains(key.utf8.count) else {
      throw .invalid(
        field: field(), description: "A key needs 1 to \(limits.keyBytesMax) bytes.")
    }
  }

  // MARK: - Quotas

  /// Throws if a new record would exceed a limit.
  func admit(_ record: Record) throws(StoreError) {
    if count >= limits.widgetsMax {
      throw .quotaExceeded(limit: "widgets_max", maximum: limits.widgetsMax)
    }
    let used = records.usage[record.ownerUID] ?? RecordTable.Usage()
    if used.widgets >= limits.widgetsPerUIDMax {
      throw .quotaExceeded(limit: "widgets_per_uid_max", maximum: limits.widgetsPerUIDMax)
    }
    try admit(
      keys: max(record.data.liveCount, record.parameters.liveCount), labels: record.labels.count)
    try admit(bytes: record.costBytes, growth: record.costBytes, owner: record.ownerUID)
  }

  /// The effect of a patch on a record, plus `growth` for another reason. Throws if it exceeds a
  /// limit. O(patch).
  func admittedEffect(
    of patch: WidgetPatch, on slot: Int, plus growth: Int = 0
  ) throws(StoreError) -> PatchEffect {
    guard let record = records[slot] else { return PatchEffect() }
    let memory = expressionBytes(after: patch, of: record) ?? record.expressionBytes
    let effect = record.effect(of: patch, plus: growth + memory - record.expressionBytes)
    try admit(keys: effect.keys, labels: effect.labels)
    try admit(
      bytes: effect.costBytes, growth: effect.costBytes - record.costBytes, owner: record.ownerUID)
    return effect
  }

  /// Throws if a command that changes several widgets has spent its budget for contents.
  func checkContents() throws(StoreError) {
    // The other limit bounds the cost of a single widget.
    guard contents.cost <= max(limits.contentCostPerCommandMax, limits.contentCostMax) else {
      throw .quotaExceeded(
        limit: "content_cost_per_command_max", maximum: limits.contentCostPerCommandMax)
    }
    try checkContentBytes()
  }

  /// Throws if contents of the current command exceed the quotas of their owners.
  func checkContentBytes() throws(StoreError) {
    for (owner, growth) in records.contentGrowth where growth > 0 {
      if records.usage[owner]?.contentBytes ?? 0 > limits.contentBytesPerUIDMax {
        throw .quotaExceeded(
          limit: "content_bytes_per_uid_max", maximum: limits.contentBytesPerUIDMax)
      }
    }
  }

  /// Whether one more change of one widget could exceed the content quota of its owner.
  var isNearContentQuota: Bool {
    // The problems of nodes may take as much room as the nodes, and so may the entries of a
    // schedule.
    func isNear(_ used: Int) -> Bool {
      (limits.contentBytesPerUIDMax - used) / 4 <= limits.contentBytesMax
    }
    // An owner without widgets has no usage yet.
    return isNear(0) || records.usage.values.contains { isNear($0.contentBytes) }
  }

  private func admit(keys: Int, labels: Int) throws(StoreError) {
    if keys > limits.keysPerWidgetMax {
      throw .quotaExceeded(limit: "keys_per_widget_max", maximum: limits.keysPerWidgetMax)
    }
    if labels > limits.labelsPerWidgetMax {
      throw .quotaExceeded(limit: "labels_per_widget_max", maximum: limits.labelsPerWidgetMax)
    }
  }

  private func admit(bytes: Int, growth: Int, owner: UInt32) throws(StoreError) {
    guard growth > 0 else { return }
    if bytes > limits.widgetBytesMax {
      throw .quotaExceeded(limit: "widget_bytes_max", maximum: limits.widgetBytesMax)
    }
    if (records.usage[owner]?.bytes ?? 0) + growth > limits.stateBytesPerUIDMax {
      throw .quotaExceeded(limit: "state_bytes_per_uid_max", maximum: limits.stateBytesPerUIDMax)
    }
  }
}

extension RevisedMap {
  var costBytes: Int { map.costBytes }

  /// The effect of a patch. O(patch), or O(keys) when replacing.
  func effect(
    setting set: ValueMap, unsetting unset: [String], replacing: Bool
  ) -> MapEffect {
    var effect = MapEffect(keys: liveCount)
    for entry in set.entries {
      if let old = self[entry.key] {
        guard old != entry.value else { continue }
        effect.bytes += entry.value.costBytes - old.costBytes
      } else {
        effect.bytes += entry.key.utf8.count + entry.value.costBytes
        effect.keys += 1
      }
      effect.isChange = true
    }
    guard replacing || !unset.isEmpty else { return effect }
    var last: String?
    for key in replacing ? self.keys : unset.sorted(by: { $0.precedesByBytes($1) }) {
      // A set of strings would treat canonically equivalent keys as one.
      let isRepeated = last?.hasSameBytes(as: key) ?? false
      last = key
      guard !isRepeated, set[key] == nil, let old = self[key] else { continue }
      effect.bytes -= key.utf8.count + old.costBytes
      effect.keys -= 1
      (effect.isChange, effect.removesKeys) = (true, true)
    }
    return effect
  }
}

/// The effect of a patch on a map.
struct MapEffect {
  /// The number of keys afterwards.
  var keys: Int
  /// The growth of the cost.
  var bytes = 0
  var isChange = false
  var removesKeys = false
}

/// The effect of a patch on a record.
struct PatchEffect {
  /// The number of data keys or of parameters afterwards, whichever is larger.
  var keys = 0
  var labels = 0
  /// The cost of the record afterwards.
  var costBytes = 0
  var isChange = false
  var removesKeys = false
}

extension Record {
  func effect(of patch: WidgetPatch, plus growth: Int) -> PatchEffect {
    let data = data.effect(
      setting: patch.setData, unsetting: patch.unsetData, replacing: patch.replaceData)
    var effect = PatchEffect(
      keys: max(data.keys, parameters.liveCount), labels: labels.count,
      costBytes: costBytes + growth + data.bytes, isChange: data.isChange,
      removesKeys: data.removesKeys)
    guard !patch.changesOnlyData else { return effect }
    if !patch.setParameters.isEmpty || !patch.unsetParameters.isEmpty {
      let map = parameters.effect(
        setting: patch.setParameters, unsetting: patch.unsetParameters, replacing: false)
      effect.keys = max(data.keys, map.keys)
      effect.costBytes += map.bytes
      effect.isChange = effect.isChange || map.isChange
      effect.removesKeys = effect.removesKeys || map.removesKeys
    }
    if patch.changesLabels {
      let new = labels.applying(patch)
      effect.labels = new.count
      effect.costBytes += new.costBytes - labels.costBytes
      effect.isChange = effect.isChange || new != labels
    }
    if let timeline = patch.timeline {
      effect.costBytes += (timeline?.costBytes ?? 0) - (self.timeline?.costBytes ?? 0)
      // The same timeline begins again if its end was reached.
      let differs = timeline?.isChange(of: self.timeline) ?? (self.timeline != nil)
      let wasReached =
        timeline.map { $0.policy != .never } ?? false
        && (moment?.status.refreshTime == nil || moment?.awaitsTimeline == true)
      effect.isChange = effect.isChange || differs || wasReached
    }
    if let isStale = patch.isStale { effect.isChange = effect.isChange || isStale != self.isStale }
    if let error = patch.error {
      effect.costBytes += error.costBytes - self.error.costBytes
      effect.isChange = effect.isChange || error != self.error
    }
    return effect
  }
}

extension ValueMap {
  var costBytes: Int {
    entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.costBytes }
  }
}

extension Labels {
  var costBytes: Int { entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 16 } }
}

extension Optional<WidgetError> {
  var costBytes: Int {
    guard let error = self else { return 0 }
    return error.further.reduce(error.reason.utf8.count + error.message.utf8.count) {
      $0 + $1.reason.utf8.count + $1.message.utf8.count
    }
  }
}

extension Value {
  /// Whether lists and maps are nested at most `depth` deep. Does not look deeper.
  func isNested(atMost depth: Int) -> Bool {
    switch self {
    case .list(let values): depth > 0 && values.allSatisfy { $0.isNested(atMost: depth - 1) }
    case .map(let map):
      depth > 0 && map.entries.allSatisfy { $0.value.isNested(atMost: depth - 1) }
    default: true
    }
  }
}

extension UInt8 {
  /// Whether it is A-Z, 0-9 or _.
  var isReasonByte: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
