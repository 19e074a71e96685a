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

  /// Whether the patch unsets a field. The field then gets its default, if it has one.
  func unsets(_ part: FieldOwner.Part, _ key: String) -> Bool {
    let keys =
      switch part {
      case .data: unsetData
      case .parameters: unsetParameters
      case .labels: unsetLabels
      }
    return keys.contains { $0.hasSameBytes(as: key) }
  }

  /// Adds the values that are set aside and fit the kind of the widget. A kind that is not
  /// registered, nil, takes all of them.
  mutating func restoreValues(of record: Record, for schema: KindSchema?) {
    for entry in record.ownership?.asides ?? [] {
      guard let (part, key) = FieldOwner.parse(entry.path),
        let value = entry.restoredValue(for: schema)
      else { continue }
      set(part, key, to: value)
      unsetData.removeAll { part == .data && $0.hasSameBytes(as: key) }
      unsetParameters.removeAll { part == .parameters && $0.hasSameBytes(as: key) }
    }
  }

  mutating func set(_ part: FieldOwner.Part, _ key: String, to value: Value) {
    switch (part, value) {
    case (.data, _): setData[key] = value
    case (.parameters, _): setParameters[key] = value
    case (.labels, .string(let text)): setLabels[key] = text
    case (.labels, _): break
    }
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

  func names(_ part: FieldOwner.Part, _ key: String) -> Bool {
    let isSet =
      switch part {
      case .data: setData[key] != nil || replaceData
      case .parameters: setParameters[key] != nil
      case .labels: setLabels[key] != nil
      }
    return isSet || unsets(part, key)
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
