/// The name of a node as events have it: the template's id, and in rows the row's key behind it.
struct NodeAddress: Hashable {
  /// No template's id has it in it.
  static let separator: Character = ":"

  let node: String
  /// Empty outside of rows.
  let row: String

  init(_ nodeID: String) {
    let parts = nodeID.split(
      separator: NodeAddress.separator, maxSplits: 1, omittingEmptySubsequences: false)
    node = parts.first.map { String($0) } ?? ""
    row = parts.count > 1 ? String(parts[1]) : ""
  }
}
