import CWidgetProto
public import WidgetModel

// widgetd.v1.WidgetSelector and LabelRequirement, and google.protobuf.FieldMask as a read mask. All
// of them come in requests, so unknown parts are refused.

extension Selector: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetSelector>, _ reader: Reader) throws(WireError) {
    self.init(ids: try reader.requestedIDs("ids", c.pointee.n_ids, c.pointee.ids))
    try reader.checkNames("kinds", c.pointee.n_kinds)
    try reader.checkNames("families", c.pointee.n_families)
    try reader.checkNames("labels", c.pointee.n_labels)
    try Selector.checkValues(c)
    // They are assigned once, because each assignment also builds a set.
    var kinds: [KindName] = []
    kinds.reserveCapacity(c.pointee.n_kinds)
    for index in 0..<c.pointee.n_kinds {
      guard let kind = KindName(reader.string(c.pointee.kinds[index])) else {
        throw .invalidField(
          path: "kinds[\(index)]", description: Reader.idRule(KindName.lengthMax))
      }
      kinds.append(kind)
    }
    self.kinds = kinds
    families = try reader.families(c.pointee.n_families, c.pointee.families)
    labels = try reader.list("labels", c.pointee.n_labels, c.pointee.labels) {
      (element) throws(WireError) in
      try LabelRequirement(c: element, reader)
    }
    expression = reader.string(c.pointee.expression)
  }

  /// Refuses label conditions that have too many values together.
  private static func checkValues(
    _ c: UnsafePointer<Widgetd__V1__WidgetSelector>
  ) throws(WireError) {
    var count = 0
    for index in 0..<c.pointee.n_labels {
      count += c.pointee.labels?[index]?.pointee.n_values ?? 0
      guard count <= WireLimits.namesMax else {
        throw .invalidField(
          path: "labels[\(index)].values", description: Reader.tooMany(count))
      }
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WidgetSelector>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_ids = ids.count
    c.pointee.ids = try writer.strings("ids", ids)
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.strings("kinds", kinds.map(\.rawValue))
    c.pointee.n_families = families.count
    c.pointee.families = try writer.families(families)
    c.pointee.n_labels = labels.count
    c.pointee.labels = try writer.list("labels", labels)
    c.pointee.expression = try writer.string("expression", expression)
  }
}

extension LabelRequirement: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__LabelRequirement>, _ reader: Reader) throws(WireError) {
    let number = c.pointee.operator_.rawValue
    guard let decoded = Operator(number: number) else {
      throw reader.unknownEnum("operator", number, "use IN, NOT_IN, EXISTS or NOT_EXISTS")
    }
    try reader.checkNames("values", c.pointee.n_values)
    self.init(
      key: reader.string(c.pointee.key), operator: decoded,
      values: reader.strings(c.pointee.n_values, c.pointee.values))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__LabelRequirement>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.key = try writer.string("key", key)
    c.pointee.operator_ = Widgetd__V1__LabelOperator(rawValue: UInt32(`operator`.rawValue))
    c.pointee.n_values = values.count
    c.pointee.values = try writer.strings("values", values)
  }
}

extension ReadMask {
  /// The mask as field mask paths, sorted; none if it wants everything. `ReadMask(paths:)` of it is
  /// the same mask.
  public var paths: [String] {
    if isEverything { return [] }
    let paths =
      fields.map(\.rawValue) + dataKeys.map { "data.\($0)" }
      + parameterKeys.map { "parameters.\($0)" }
    // A mask can name only fields that are always sent.
    return paths.isEmpty ? ["id"] : paths.sorted { $0.precedesByBytes($1) }
  }
}
