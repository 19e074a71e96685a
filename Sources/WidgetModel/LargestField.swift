/// The field with most of the bytes of a widget or of its change, for errors about its size.
public struct LargestField: Hashable, Sendable {
  /// The path in a request: `data[notes]`, `patch.set_data[notes]`, `timeline.entries`.
  public var path: String
  /// Its size, as quotas count it.
  public var bytes: Int

  /// The field inside another one.
  public func inside(_ path: String) -> LargestField {
    LargestField(path: "\(path).\(self.path)", bytes: bytes)
  }

  fileprivate static func largest(
    of maps: [(name: String, map: ValueMap)], _ timeline: Timeline?
  ) -> LargestField? {
    var found: LargestField?
    for (name, map) in maps {
      for entry in map.entries {
        let bytes = entry.key.utf8.count + entry.value.costBytes
        guard bytes > found?.bytes ?? 0 else { continue }
        found = LargestField(path: "\(name)[\(entry.key.prefix(64))]", bytes: bytes)
      }
    }
    guard let timeline, timeline.costBytes > found?.bytes ?? 0 else { return found }
    return LargestField(path: "timeline.entries", bytes: timeline.costBytes)
  }
}

extension WidgetSpec {
  /// nil if it has neither data nor parameters nor a timeline.
  public var largestField: LargestField? {
    LargestField.largest(of: [("data", data), ("parameters", parameters)], timeline)
  }
}

extension WidgetPatch {
  /// nil if it sets neither data nor parameters nor a timeline.
  public var largestField: LargestField? {
    LargestField.largest(
      of: [("set_data", setData), ("set_parameters", setParameters)], timeline ?? nil)
  }
}
