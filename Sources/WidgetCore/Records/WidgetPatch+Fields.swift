import WidgetModel

/// The fields that patches and specs name.
extension WidgetPatch {
  /// The fields that the patch names, with their new values; nil if the patch removes the field.
  var fields: [(part: FieldOwner.Part, key: String, value: Value?)] {
    var fields: [(part: FieldOwner.Part, key: String, value: Value?)] = []
    for entry in setData.entries { fields.append((.data, entry.key, entry.value)) }
    for key in unsetData where setData[key] == nil { fields.append((.data, key, nil)) }
    for entry in setParameters.entries { fields.append((.parameters, entry.key, entry.value)) }
    for key in unsetParameters where setParameters[key] == nil {
      fields.append((.parameters, key, nil))
    }
    for label in setLabels.entries { fields.append((.labels, label.key, .string(label.value))) }
    for key in unsetLabels where setLabels[key] == nil { fields.append((.labels, key, nil)) }
    return fields
  }

  /// Adds the values that are set aside and fit the kind of the widget. A kind that is not
  /// registered, nil, takes all of them.
  mutating func restoreValues(of record: Record, for schema: KindSchema?) {
    var values: [(part: FieldOwner.Part, key: String, value: Value)] = []
    var (restoredData, restoredParameters): ([String], [String]) = ([], [])
    for entry in record.ownership?.asides ?? [] {
      guard let (part, key) = FieldOwner.parse(entry.path),
        let value = entry.restoredValue(for: schema)
      else { continue }
      values.append((part, key, value))
      switch part {
      case .data: restoredData.append(key)
      case .parameters: restoredParameters.append(key)
      case .labels: break
      }
    }
    set(values)
    guard !restoredData.isEmpty || !restoredParameters.isEmpty else { return }
    let (data, parameters) = (restoredData.sortedByBytes, restoredParameters.sortedByBytes)
    unsetData.removeAll { data.containsBytes(of: $0) }
    unsetParameters.removeAll { parameters.containsBytes(of: $0) }
  }

  /// Sets fields together: one by one, each value would move those of later keys. Of several values
  /// of a field, the last one counts.
  mutating func set(_ values: [(part: FieldOwner.Part, key: String, value: Value)]) {
    var (data, parameters): ([ValueMap.Entry], [ValueMap.Entry]) = ([], [])
    for (part, key, value) in values {
      switch (part, value) {
      case (.data, _): data.append(.init(key: key, value: value))
      case (.parameters, _): parameters.append(.init(key: key, value: value))
      case (.labels, .string(let text)): setLabels[key] = text
      case (.labels, _): break
      }
    }
    if !data.isEmpty { setData = ValueMap(setData.entries + data) }
    if !parameters.isEmpty { setParameters = ValueMap(setParameters.entries + parameters) }
  }

  mutating func unset(_ part: FieldOwner.Part, _ key: String) {
    switch part {
    case .data: unsetData.append(key)
    case .parameters: unsetParameters.append(key)
    case .labels: unsetLabels.append(key)
    }
  }

  func sets(_ part: FieldOwner.Part, _ key: String) -> Bool {
    switch part {
    case .data: setData[key] != nil
    case .parameters: setParameters[key] != nil
    case .labels: setLabels[key] != nil
    }
  }

}

/// The fields that a patch unsets, for look-ups. Such a field gets its default, if it has one.
struct UnsetFields {
  private let data: [String]
  private let parameters: [String]
  private let labels: [String]

  /// O(n log n).
  init(of patch: WidgetPatch) {
    data = patch.unsetData.sortedByBytes
    parameters = patch.unsetParameters.sortedByBytes
    labels = patch.unsetLabels.sortedByBytes
  }

  /// O(log n).
  func contains(_ part: FieldOwner.Part, _ key: String) -> Bool {
    switch part {
    case .data: data.containsBytes(of: key)
    case .parameters: parameters.containsBytes(of: key)
    case .labels: labels.containsBytes(of: key)
    }
  }
}

extension WidgetSpec {
  /// The fields that the spec declares.
  var fields: [(part: FieldOwner.Part, key: String, value: Value)] {
    data.entries.map { (.data, $0.key, $0.value) }
      + labels.entries.map { (.labels, $0.key, .string($0.value)) }
      + parameters.entries.map { (.parameters, $0.key, $0.value) }
  }
}
