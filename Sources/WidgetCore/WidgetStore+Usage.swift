import WidgetModel

/// How much of the limits for each user is used.
extension WidgetStore {
  /// The most widgets, the most bytes of state, and the most bytes of content, that any one user has; not
  /// necessarily the same user. Costs as much as there are users with widgets.
  public var highestUsage: (widgets: Int, bytes: Int, contentBytes: Int) {
    records.usage.values.reduce((widgets: 0, bytes: 0, contentBytes: 0)) {
      (
        max($0.widgets, $1.widgets), max($0.bytes, $1.bytes),
        max($0.contentBytes, $1.contentBytes)
      )
    }
  }

  /// The most bytes of memory that the kinds of one user take. O(all kinds).
  public var highestKindMemory: Int {
    let byUID = registeredKinds.values.reduce(into: [UInt32: Int]()) {
      $0[$1.ownerUID, default: 0] += schemas[$1.kind.name]?.memoryBytes ?? 0
    }
    return byUID.values.max() ?? 0
  }
}
