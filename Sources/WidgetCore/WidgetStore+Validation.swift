import WidgetModel

/// Checks that come before any change: shape, size, quota.
extension WidgetStore {
  func validate(_ spec: WidgetSpec, field: String) throws(StoreError) {
    try validate(spec.labels, field: "\(field).labels")
    try validate(spec.data, field: "\(field).data")
    try validate(spec.parameters, field: "\(field).parameters")
  }

  func validate(_ patch: WidgetPatch, field: String) throws(StoreError) {
    try validate(patch.setData, field: "\(field).set_data")
    try validate(patch.setParameters, field: "\(field).set_parameters")
    try validate(patch.setLabels, field: "\(field).set_labels")
    if let error = patch.error ?? nil {
      guard (1...64).contains(error.reason.utf8.count), error.reason.utf8.allSatisfy(\.isReasonByte)
      else {
        throw .invalid(
          field: "\(field).error.reason",
          description: "Use 1 to 64 of A-Z, 0-9 and _, for example \"SENSOR_MISSING\".")
      }
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
    let cost = draft.payload.costBytes
    if cost > limits.eventPayloadBytesMax {
      throw .quotaExceeded(
        limit: "event_payload_bytes_max", maximum: limits.eventPayloadBytesMax)
    }
  }

  private func validate(_ map: ValueMap, field: String) throws(StoreError) {
    for entry in map.entries {
      try validate(key: entry.key, field: field)
      guard entry.value.isNested(atMost: limits.valueDepthMax) else {
        throw .invalid(
          field: "\(field)[\(entry.key)]",
          description: "Lists and maps may be nested \(limits.valueDepthMax) deep at most.")
      }
    }
  }

  private func validate(_ labels: Labels, field: String) throws(StoreError) {
    for label in labels.entries {
      try validate(key: label.key, field: field)
      guard label.value.utf8.count <= limits.keyBytesMax else {
        throw .invalid(
          field: "\(field)[\(label.key)]",
          description: "A label's value may have \(limits.keyBytesMax) bytes at most.")
      }
    }
  }

  private func validate(key: String, field: String) throws(StoreError) {
    guard (1...limits.keyBytesMax).contains(key.utf8.count) else {
      throw .invalid(
        field: field, description: "A key needs 1 to \(limits.keyBytesMax) bytes.")
    }
  }

  // MARK: - Quotas

  /// Whether a new record keeps within the limits.
  func admit(_ record: Record) throws(StoreError) {
    if index.count >= limits.widgetsMax {
      throw .quotaExceeded(limit: "widgets_max", maximum: limits.widgetsMax)
    }
    let used = usage[record.ownerUID] ?? Usage()
    if used.widgets >= limits.widgetsPerUIDMax {
      throw .quotaExceeded(limit: "widgets_per_uid_max", maximum: limits.widgetsPerUIDMax)
    }
    try admit(
      keys: max(record.data.liveCount, record.parameters.liveCount), labels: record.labels.count)
    try admit(bytes: record.costBytes, growth: record.costBytes, owner: record.ownerUID)
  }

  /// What a record would cost after a patch and `growth` for another reason. Throws if that exceeds
  /// a limit. O(patch).
  func cost(
    ofApplying patch: WidgetPatch, to slot: Int, plus growth: Int = 0
  ) throws(StoreError) -> Int {
    guard let record = records[slot] else { return 0 }
    let data = record.data.effect(
      setting: patch.setData, unsetting: patch.unsetData, replacing: patch.replaceData)
    let parameters = record.parameters.effect(
      setting: patch.setParameters, unsetting: patch.unsetParameters, replacing: false)
    let labels = record.labels.applying(patch)
    var cost = record.costBytes + data.bytes + parameters.bytes + growth
    cost += labels.costBytes - record.labels.costBytes
    if let error = patch.error { cost += error.costBytes - record.error.costBytes }
    try admit(
      keys: max(record.data.liveCount + data.keys, record.parameters.liveCount + parameters.keys),
      labels: labels.count)
    try admit(bytes: cost, growth: cost - record.costBytes, owner: record.ownerUID)
    return cost
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
    if (usage[owner]?.bytes ?? 0) + growth > limits.stateBytesPerUIDMax {
      throw .quotaExceeded(limit: "state_bytes_per_uid_max", maximum: limits.stateBytesPerUIDMax)
    }
  }
}

extension Record {
  /// What a widget costs before it holds anything.
  static let baseCostBytes = 256

  /// What the whole record counts against its owner's quota. O(keys).
  static func cost(of record: Record) -> Int {
    baseCostBytes + record.labels.costBytes + record.data.costBytes + record.parameters.costBytes
      + record.error.costBytes + record.applySet.utf8.count
  }
}

extension RevisedMap {
  var costBytes: Int { map.costBytes }

  /// By how much a patch would change the number of keys and their cost. O(patch), or O(keys) when
  /// replacing.
  func effect(
    setting set: ValueMap, unsetting unset: [String], replacing: Bool
  ) -> (keys: Int, bytes: Int) {
    var (keys, bytes) = (0, 0)
    for entry in set.entries {
      bytes += entry.key.utf8.count + entry.value.costBytes
      keys += 1
      if let old = self[entry.key] {
        bytes -= entry.key.utf8.count + old.costBytes
        keys -= 1
      }
    }
    var last: String?
    for key in replacing ? self.keys : unset.sorted(by: { $0.precedesByBytes($1) }) {
      // A set of strings would take keys that only look alike for one.
      let isRepeated = last?.hasSameBytes(as: key) ?? false
      last = key
      guard !isRepeated, set[key] == nil, let old = self[key] else { continue }
      bytes -= key.utf8.count + old.costBytes
      keys -= 1
    }
    return (keys, bytes)
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
  var costBytes: Int { map { $0.reason.utf8.count + $0.message.utf8.count } ?? 0 }
}

extension Value {
  /// Whether lists and maps are nested at most `depth` deep. Looks no deeper than that.
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
  /// Whether it is one of A-Z, 0-9 and _.
  var isReasonByte: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
