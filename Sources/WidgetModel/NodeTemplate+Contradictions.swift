extension NodeTemplate {
  /// The properties whose constants contradict another part of the node, and why, by name.
  ///
  /// Constants that do not fit their property are no part of this, and neither are expressions.
  ///
  /// - Parameter isTimeZone: Whether a time zone of that name exists.
  public func contradictions(
    isTimeZone: (String) -> Bool
  ) -> [(property: String, mismatch: PropertyMismatch)] {
    var found: [(property: String, mismatch: PropertyMismatch)] = []
    if let mismatch = accessoryMismatch { found.append(("accessory", mismatch)) }
    if let mismatch = rangeMismatch {
      found.append((properties["min"] == nil ? "max" : "min", mismatch))
    }
    if type == .date, case .string(let zone)? = constant("zone"), !isTimeZone(zone) {
      found.append(
        (
          "zone",
          PropertyMismatch(
            message: "there is no time zone \"\(zone.prefix(60))\"",
            hint: "write it like Europe/Berlin or +02:00")
        ))
    }
    return found
  }

  /// The accessory names one of the node's children.
  private var accessoryMismatch: PropertyMismatch? {
    guard case .map(let map)? = constant("accessory"), case .string(let id)? = map["node"] else {
      return nil
    }
    let ids = children.filter { $0.rows == nil }.map(\.id)
    guard !ids.contains(where: { $0.hasSameBytes(as: id) }) else { return nil }
    let message = "accessory.node: the \(type.name) has no child \"\(id.prefix(64))\""
    guard !ids.isEmpty else {
      return PropertyMismatch(
        message: message, hint: "put it into a stack with the child, or use image:")
    }
    return PropertyMismatch(
      message: message,
      hint: id.closest(among: ids).map { "did you mean \"\($0)\"?" }
        ?? "give one of its children this id")
  }

  /// The axis of a gauge or chart begins below its end.
  private var rangeMismatch: PropertyMismatch? {
    guard type == .gauge || type == .chart, let least = bound("min"), let most = bound("max"),
      least > most
    else { return nil }
    return PropertyMismatch(
      message: "min \(PropertyType.text(least)) is greater than max \(PropertyType.text(most))",
      hint: "write the lowest value as min and the highest as max")
  }

  private func bound(_ name: String) -> Double? {
    let value = properties[name] == nil ? type.property(name)?.defaultValue : constant(name)
    return switch value {
    case .int(let number)?: Double(number)
    case .double(let number)?: number
    default: nil
    }
  }

  private func constant(_ name: String) -> Value? {
    guard let binding = properties[name], binding.expression.isEmpty else { return nil }
    return binding.value
  }
}
