import CWidgetProto
import WidgetModel

/// Reads fields of unpacked messages.
struct Reader {
  unowned(unsafe) let codec: WireCodec

  @inline(__always)
  func string(_ text: UnsafeMutablePointer<CChar>?) -> String {
    guard let text, text.pointee != 0 else { return "" }
    return String(cString: text)
  }

  func bytes(_ data: ProtobufCBinaryData) -> [UInt8] {
    Array(UnsafeBufferPointer(start: data.data, count: data.len))
  }

  func strings(
    _ count: Int, _ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  ) -> [String] {
    guard count > 0, let list else { return [] }
    var result: [String] = []
    result.reserveCapacity(count)
    for index in 0..<count { result.append(string(list[index])) }
    return result
  }

  /// Reads a repeated message field.
  func list<C, T>(
    _ field: StaticString, _ count: Int, _ list: CList<C>?,
    _ element: (UnsafePointer<C>) throws(WireError) -> T
  ) throws(WireError) -> [T] {
    guard count > 0, let list else { return [] }
    var result: [T] = []
    result.reserveCapacity(count)
    for index in 0..<count {
      guard let c = list[index] else { continue }
      do throws(WireError) { result.append(try element(c)) } catch {
        throw error.inside("\(field)[\(index)]")
      }
    }
    return result
  }

  /// Reads a singular message field; nil if it is absent.
  @inline(__always)
  func optional<M: ConvertibleMessage>(
    _ field: StaticString, _ c: UnsafeMutablePointer<M.C>?, as type: M.Type = M.self
  ) throws(WireError) -> M? {
    guard let c else { return nil }
    do throws(WireError) { return try M(c: c, self) } catch { throw error.inside("\(field)") }
  }

  /// Reads a map to values. Of entries with the same key the last one counts; an entry without a
  /// value means null.
  func values<E: CValueEntry>(
    _ field: StaticString, _ count: Int, _ list: CList<E>?, depth: Int = WireLimits.valueDepthMax
  ) throws(WireError) -> ValueMap {
    guard count > 0, let list else { return ValueMap() }
    try codec.count(entries: count, of: field)
    var entries: [ValueMap.Entry] = []
    entries.reserveCapacity(count)
    for index in 0..<count {
      guard let c = list[index] else { continue }
      let key = string(c.pointee.key)
      do throws(WireError) {
        entries.append(.init(key: key, value: try Value(c: c.pointee.value, self, depth: depth)))
      } catch {
        throw error.inside("\(field)[\"\(key)\"]")
      }
    }
    return ValueMap(entries)
  }

  /// Reads a map to text as labels. Of entries with the same key the last one counts.
  func labels<E: CStringEntry>(
    _ field: StaticString, _ count: Int, _ list: CList<E>?
  ) throws(WireError) -> Labels {
    guard count > 0, let list else { return Labels() }
    guard count <= WireLimits.labelsMax else {
      throw .invalidField(
        path: "\(field)", description: "at most \(WireLimits.labelsMax) entries are allowed")
    }
    var pairs: [(key: String, value: String)] = []
    pairs.reserveCapacity(count)
    for index in 0..<count {
      guard let c = list[index] else { continue }
      pairs.append((string(c.pointee.key), string(c.pointee.value)))
    }
    return Labels(pairs)
  }

  /// Reads a map to text. Of entries with the same key the last one counts.
  func dictionary<E: CStringEntry>(_ count: Int, _ list: CList<E>?) -> [String: String] {
    guard count > 0, let list else { return [:] }
    var result: [String: String] = [:]
    for index in 0..<count {
      guard let c = list[index] else { continue }
      result[string(c.pointee.key)] = string(c.pointee.value)
    }
    return result
  }

  /// Reads a map to counts. Of entries with the same key the last one counts.
  func counts<E: CCountEntry>(_ count: Int, _ list: CList<E>?) -> [String: UInt64] {
    guard count > 0, let list else { return [:] }
    var result: [String: UInt64] = [:]
    for index in 0..<count {
      guard let c = list[index] else { continue }
      result[string(c.pointee.key)] = c.pointee.value
    }
    return result
  }

  // MARK: Domain types

  func widgetID(
    _ field: StaticString, _ text: UnsafeMutablePointer<CChar>?
  ) throws(WireError) -> WidgetID {
    if let id = WidgetID(string(text)) { return id }
    throw .invalidField(path: "\(field)", description: Reader.idRule(WidgetID.lengthMax))
  }

  /// Refuses a list of names in a request that is longer than any limit of the daemon allows.
  func checkNames(_ field: StaticString, _ count: Int) throws(WireError) {
    guard count <= WireLimits.namesMax else {
      throw .invalidField(path: "\(field)", description: Reader.tooMany(count))
    }
  }

  static func tooMany(_ count: Int) -> String {
    "\(count) are too many; send at most \(WireLimits.namesMax) in one request"
  }

  /// Reads the ids of a request.
  func requestedIDs(
    _ field: StaticString, _ count: Int, _ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  ) throws(WireError) -> [WidgetID] {
    try checkNames(field, count)
    return try widgetIDs(field, count, list)
  }

  /// Reads an id that may be left out.
  func optionalWidgetID(
    _ field: StaticString, _ text: UnsafeMutablePointer<CChar>?
  ) throws(WireError) -> WidgetID? {
    guard let text, text.pointee != 0 else { return nil }
    return try widgetID(field, text)
  }

  func kindNames(
    _ field: StaticString, _ count: Int, _ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  ) throws(WireError) -> [KindName] {
    guard count > 0, let list else { return [] }
    var result: [KindName] = []
    for index in 0..<count {
      guard let name = KindName(string(list[index])) else {
        throw .invalidField(
          path: "\(field)[\(index)]", description: Reader.idRule(KindName.lengthMax))
      }
      result.append(name)
    }
    return result
  }

  func widgetIDs(
    _ field: StaticString, _ count: Int, _ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  ) throws(WireError) -> [WidgetID] {
    guard count > 0, let list else { return [] }
    var result: [WidgetID] = []
    result.reserveCapacity(count)
    for index in 0..<count {
      guard let id = WidgetID(string(list[index])) else {
        throw .invalidField(
          path: "\(field)[\(index)]", description: Reader.idRule(WidgetID.lengthMax))
      }
      result.append(id)
    }
    return result
  }

  func kind(
    _ field: StaticString, _ text: UnsafeMutablePointer<CChar>?
  ) throws(WireError) -> KindName {
    if let kind = KindName(string(text)) { return kind }
    throw .invalidField(path: "\(field)", description: Reader.idRule(KindName.lengthMax))
  }

  static func idRule(_ lengthMax: Int) -> String {
    "must be 1 to \(lengthMax) characters of a-z, A-Z, 0-9 and . _ - / : "
      + "beginning with a letter or digit"
  }

  /// Reads a time; nil if it is absent.
  func timestamp(
    _ field: StaticString, _ c: UnsafeMutablePointer<Google__Protobuf__Timestamp>?
  ) throws(WireError) -> Timestamp? {
    guard let c else { return nil }
    if let time = Timestamp(seconds: c.pointee.seconds, nanoseconds: c.pointee.nanos) {
      return time
    }
    throw .invalidField(
      path: "\(field)",
      description: "must lie in years 1 to 9999, with nanos from 0 to 999999999")
  }

  /// Reads a span of time; nil if it is absent.
  func duration(
    _ field: StaticString, _ c: UnsafeMutablePointer<Google__Protobuf__Duration>?
  ) throws(WireError) -> Duration? {
    guard let c else { return nil }
    let (seconds, nanos) = (c.pointee.seconds, c.pointee.nanos)
    guard seconds.magnitude <= UInt64(WireLimits.durationSecondsMax),
      nanos.magnitude <= 999_999_999, seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0)
    else {
      throw .invalidField(
        path: "\(field)",
        description: "must be at most 10000 years either way, with nanos from -999999999 to "
          + "999999999 of the same sign as seconds")
    }
    return .seconds(seconds) + .nanoseconds(Int64(nanos))
  }

  /// Reads a read mask; everything if it is absent.
  func readMask(
    _ field: StaticString, _ c: UnsafeMutablePointer<Google__Protobuf__FieldMask>?
  ) throws(WireError) -> ReadMask {
    guard let c else { return .all }
    do throws(WireError) { try checkNames("paths", c.pointee.n_paths) } catch {
      throw error.inside("\(field)")
    }
    do throws(ReadMask.UnknownPath) {
      return try ReadMask(paths: strings(c.pointee.n_paths, c.pointee.paths))
    } catch {
      throw .invalidField(
        path: "\(field)",
        description: "\"\(error.path)\" is not a field of a widget; "
          + "use its fields' names, data.KEY or parameters.KEY")
    }
  }

  /// Throws an error about an enum field of a request with an invalid number.
  func unknownEnum(_ field: StaticString, _ number: UInt32, _ rule: StaticString) -> WireError {
    .invalidField(
      path: "\(field)", description: "\(Int32(bitPattern: number)) is not allowed; \(rule)")
  }
}

extension WireLimits {
  /// 10,000 years, the range of google.protobuf.Duration.
  static let durationSecondsMax: Int64 = 315_576_000_000
}

// MARK: Requests

extension Reader {
  /// Reads a required message field.
  func required<M: ConvertibleMessage>(
    _ field: StaticString, _ c: UnsafeMutablePointer<M.C>?, as type: M.Type = M.self
  ) throws(WireError) -> M {
    if let message = try optional(field, c, as: type) { return message }
    throw .invalidField(path: "\(field)", description: "is required")
  }

  /// Reads the widget of a response.
  func requiredWidget(
    _ c: UnsafeMutablePointer<Widgetd__V1__Widget>?
  ) throws(WireError) -> (widget: Widget, etag: String) {
    let tagged = try required("widget", c, as: TaggedWidget.self)
    return (tagged.widget, tagged.etag)
  }

  /// Reads the name of a declared set, which may be empty.
  func applySet(_ text: UnsafeMutablePointer<CChar>?) throws(WireError) -> String {
    let name = string(text)
    guard name.isEmpty || name.isIdentifier(lengthMax: WidgetID.lengthMax) else {
      throw .invalidField(path: "apply_set", description: Reader.idRule(WidgetID.lengthMax))
    }
    return name
  }
}
