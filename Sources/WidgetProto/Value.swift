import CWidgetProto
public import WidgetModel

// widgetd.v1.Value, ListValue and MapValue.

extension Value: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Value>, _ reader: Reader) throws(WireError) {
    try self.init(c: c, reader, depth: WireLimits.valueDepthMax)
  }

  /// Reads a value. A value that is absent or has no kind is null. `depth` is the maximum depth of
  /// messages, including this one.
  init(
    c: UnsafePointer<Widgetd__V1__Value>?, _ reader: Reader, depth: Int
  ) throws(WireError) {
    guard let c else {
      self = .null
      return
    }
    guard depth > 0 else { throw .tooDeep(limit: WireLimits.valueDepthMax) }
    switch c.pointee.kind_case {
    case WIDGETD__V1__VALUE__KIND_BOOL_VALUE: self = .bool(c.pointee.bool_value != 0)
    case WIDGETD__V1__VALUE__KIND_INT_VALUE: self = .int(c.pointee.int_value)
    case WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE: self = .double(c.pointee.double_value)
    case WIDGETD__V1__VALUE__KIND_STRING_VALUE:
      self = .string(reader.string(c.pointee.string_value))
    case WIDGETD__V1__VALUE__KIND_BYTES_VALUE: self = .bytes(reader.bytes(c.pointee.bytes_value))
    case WIDGETD__V1__VALUE__KIND_LIST_VALUE:
      let list = c.pointee.list_value.pointee
      self = .list(
        try reader.list("list_value.values", list.n_values, list.values) {
          (element) throws(WireError) in
          try Value(c: element, reader, depth: depth - 2)
        })
    case WIDGETD__V1__VALUE__KIND_MAP_VALUE:
      let map = c.pointee.map_value.pointee
      self = .map(
        try reader.values("map_value.entries", map.n_entries, map.entries, depth: depth - 3))
    case WIDGETD__V1__VALUE__KIND_TIMESTAMP_VALUE:
      let time = try reader.timestamp("timestamp_value", c.pointee.timestamp_value)
      self = .timestamp(time ?? .epoch)
    case WIDGETD__V1__VALUE__KIND_DURATION_VALUE:
      let span = try reader.duration("duration_value", c.pointee.duration_value)
      self = .duration(span ?? .zero)
    default: self = .null
    }
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Value>, _ writer: Writer) throws(WireError) {
    try fill(c, writer, depth: WireLimits.valueDepthMax)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__Value>, _ writer: Writer, depth: Int
  ) throws(WireError) {
    guard depth > 0 else { throw .tooDeep(limit: WireLimits.valueDepthMax) }
    switch self {
    case .null:
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_NULL_VALUE
      c.pointee.null_value = WIDGETD__V1__NULL_VALUE__NULL_VALUE_UNSPECIFIED
    case .bool(let value):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_BOOL_VALUE
      c.pointee.bool_value = value ? 1 : 0
    case .int(let value):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_INT_VALUE
      c.pointee.int_value = value
    case .double(let value):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE
      c.pointee.double_value = value
    case .string(let value):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_STRING_VALUE
      c.pointee.string_value = try writer.string("string_value", value)
    case .bytes(let value):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_BYTES_VALUE
      c.pointee.bytes_value = try writer.bytes(value)
    case .list(let values):
      let list = try writer.make(Widgetd__V1__ListValue.self)
      list.pointee.n_values = values.count
      list.pointee.values = try writer.list(
        "list_value.values", values, of: Widgetd__V1__Value.self
      ) {
        (value, element) throws(WireError) in
        try value.fill(element, writer, depth: depth - 2)
      }
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_LIST_VALUE
      c.pointee.list_value = list
    case .map(let entries):
      let map = try writer.make(Widgetd__V1__MapValue.self)
      map.pointee.n_entries = entries.count
      map.pointee.entries = try writer.entries(
        "map_value.entries", entries, of: Widgetd__V1__MapValue__EntriesEntry.self,
        depth: depth - 3)
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_MAP_VALUE
      c.pointee.map_value = map
    case .timestamp(let time):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_TIMESTAMP_VALUE
      c.pointee.timestamp_value = try writer.timestamp(time)
    case .duration(let duration):
      c.pointee.kind_case = WIDGETD__V1__VALUE__KIND_DURATION_VALUE
      c.pointee.duration_value = try writer.duration("duration_value", duration)
    }
  }
}

/// widgetd.v1.ListValue by itself. Inside a value it is `Value.list`.
public struct ListValue: Hashable, Sendable {
  public var values: [Value]

  public init(values: [Value] = []) {
    self.values = values
  }
}

extension ListValue: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListValue>, _ reader: Reader) throws(WireError) {
    values = try reader.list("values", c.pointee.n_values, c.pointee.values) {
      (element) throws(WireError) in
      try Value(c: element, reader)
    }
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__ListValue>, _ writer: Writer) throws(WireError) {
    c.pointee.n_values = values.count
    c.pointee.values = try writer.list("values", values)
  }
}

/// widgetd.v1.MapValue.
extension ValueMap: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__MapValue>, _ reader: Reader) throws(WireError) {
    self = try reader.values("entries", c.pointee.n_entries, c.pointee.entries)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__MapValue>, _ writer: Writer) throws(WireError) {
    c.pointee.n_entries = count
    c.pointee.entries = try writer.entries(
      "entries", self, of: Widgetd__V1__MapValue__EntriesEntry.self)
  }
}
