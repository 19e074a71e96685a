import WidgetModel

/// The usage of the limits for each user.
extension WidgetStore {
  /// The highest number of widgets, bytes of state and bytes of content of any user. The three
  /// values can come from different users. O(users with widgets).
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
    let byUID = registeredKinds.byName.values.reduce(into: [UInt32: Int]()) {
      $0[$1.ownerUID, default: 0] += schemas[$1.kind.name]?.memoryBytes ?? 0
    }
    return byUID.values.max() ?? 0
  }
}
