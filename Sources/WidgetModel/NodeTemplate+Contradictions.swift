extension NodeTemplate {
  /// The properties whose constants contradict another part of the node, with the reasons, by name.
  ///
  /// It ignores constants that do not fit their property, and expressions.
  public var contradictions: [(property: String, mismatch: PropertyMismatch)] {
    var found: [(property: String, mismatch: PropertyMismatch)] = []
    if let mismatch = accessoryMismatch { found.append(("accessory", mismatch)) }
    for range in type.ranges {
      guard properties[range.least].map({ $0.expression.isEmpty }) ?? true,
        properties[range.most].map({ $0.expression.isEmpty }) ?? true,
        let mismatch = type.mismatch(of: range, among: constants)
      else { continue }
      found.append((properties[range.least] == nil ? range.most : range.least, mismatch))
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

  private var constants: ValueMap {
    ValueMap(
      properties.compactMap { name, _ in constant(name).map { .init(key: name, value: $0) } })
  }

  private func constant(_ name: String) -> Value? {
    guard let binding = properties[name], binding.expression.isEmpty else { return nil }
    return binding.value
  }
}

/// Two properties: the first must not be greater than the second.
public struct PropertyRange: Hashable, Sendable {
  public let least: String
  public let most: String

  /// Both in words: `min and max`.
  public var name: String { "\(least) and \(most)" }
}

extension PropertyRange {
  /// The sides, which every type of node has.
  static let ofEveryNode = [
    PropertyRange(least: "minWidth", most: "maxWidth"),
    PropertyRange(least: "minHeight", most: "maxHeight"),
  ]
}

extension NodeType {
  /// Whether a property is the end of a range.
  public func isRangeEnd(_ name: String) -> Bool {
    ranges.contains { $0.least == name || $0.most == name }
  }

  /// The reason why the ends of a range contradict each other. Nil if they do not, or if one of
  /// them is not a number.
  public func mismatch(of range: PropertyRange, among values: ValueMap) -> PropertyMismatch? {
    func number(_ name: String) -> Double? {
      switch values[name] ?? property(name)?.defaultValue {
      case .int(let number)?: Double(number)
      case .double(let number)?: number
      default: nil
      }
    }
    guard let least = number(range.least), let most = number(range.most), least > most else {
      return nil
    }
    return PropertyMismatch(
      message: "\(range.least) \(PropertyType.text(least)) is greater than \(range.most) "
        + PropertyType.text(most),
      hint: "write the lower value as \(range.least) and the higher as \(range.most)")
  }
}
