import CWidgetProto
import WidgetModel

// Reading without structs. A change of one widget is the most frequent request, and most changes
// set a few plain values. Half of the time to read them was spent on structs that live for some
// microseconds.

/// A message whose usual form is read from the bytes, without protobuf-c's structs.
///
/// Everything unusual is left to the structs: other fields, a field that comes twice, bytes that are
/// not valid. So all errors come from one place.
protocol DirectlyReadMessage: ConvertibleMessage {
  /// Reads all of the input; nil if anything is unusual.
  init?(usual input: inout DirectInput)
}

extension DirectlyReadMessage {
  public static func readDirectly(_ bytes: UnsafeRawBufferPointer) -> Self? {
    var input = DirectInput(bytes)
    return Self(usual: &input)
  }
}

/// Bytes of a message, read from the front.
struct DirectInput {
  /// The depth of a message in its usual form: a request, a patch, an entry, a value.
  static let depth = 4

  private var at: UnsafePointer<UInt8>?
  private var count: Int
  /// The field that `next` has found.
  private(set) var field: UInt32 = 0
  private var wireType: UInt32 = 0
  /// The fields that were found, one bit for each.
  private var seen: UInt64 = 0
  /// Whether the last bytes were not a field.
  private var isBroken = false

  init(_ bytes: UnsafeRawBufferPointer) {
    at = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    count = bytes.count
  }

  private init(_ at: UnsafePointer<UInt8>?, _ count: Int) {
    self.at = at
    self.count = count
  }

  /// Whether everything was read.
  var isAtEnd: Bool { count == 0 && !isBroken }

  /// Finds the next field. False at the end, and if the bytes are unusual: then `isAtEnd` is false.
  @inline(__always)
  mutating func next() -> Bool {
    guard count > 0 else { return false }
    guard let tag = shortVarint(), tag >> 3 > 0, tag >> 3 < 64 else {
      isBroken = true
      return false
    }
    field = UInt32(truncatingIfNeeded: tag >> 3)
    wireType = UInt32(truncatingIfNeeded: tag & 7)
    return true
  }

  /// Whether this is the first time that the field is found.
  @inline(__always)
  private mutating func isFirst() -> Bool {
    let bit = UInt64(1) << UInt64(field)
    defer { seen |= bit }
    return seen & bit == 0
  }

  // MARK: The content of the field that was found; nil if it is unusual

  @inline(__always)
  mutating func number() -> UInt64? {
    guard wireType == 0, isFirst() else { return nil }
    return varint()
  }

  mutating func fixed64() -> UInt64? {
    guard wireType == 1, isFirst(), count >= 8, let at else { return nil }
    skip(8)
    return UInt64(littleEndian: UnsafeRawPointer(at).loadUnaligned(as: UInt64.self))
  }

  @inline(__always)
  mutating func text() -> String? {
    guard isFirst() else { return nil }
    return repeatedText()
  }

  mutating func repeatedText() -> String? {
    guard let content = part() else { return nil }
    guard content.count > 0, let start = content.at else { return "" }
    // `String(validating:)` is slower, because it looks up metadata at each call.
    guard wp_is_text(start, content.count) else { return nil }
    return String(
      decoding: UnsafeBufferPointer(start: start, count: content.count), as: UTF8.self)
  }

  mutating func bytes() -> [UInt8]? {
    guard isFirst(), let content = part() else { return nil }
    return Array(UnsafeBufferPointer(start: content.at, count: content.count))
  }

  /// The bytes of a message field.
  mutating func message() -> DirectInput? {
    guard isFirst() else { return nil }
    return part()
  }

  /// Adds the entry of a map, whose key is new.
  mutating func entry(to entries: inout [ValueMap.Entry]) -> Bool {
    guard var input = part() else { return false }
    var key = ""
    var value = Value.null
    while input.next() {
      switch input.field {
      case 1:
        guard let text = input.text() else { return false }
        key = text
      case 2:
        guard var content = input.message(), let plain = Value(usual: &content) else {
          return false
        }
        value = plain
      default: return false
      }
    }
    guard input.isAtEnd else { return false }
    entries.append(ValueMap.Entry(key: key, value: value))
    return true
  }

  // MARK: Bytes

  @inline(__always)
  private mutating func skip(_ bytes: Int) {
    at = at.map { $0 + bytes }
    count -= bytes
  }

  @inline(__always)
  private mutating func varint() -> UInt64? {
    guard count > 0, let at else { return nil }
    let first = at.pointee
    guard first >= 0x80 else {
      skip(1)
      return UInt64(first)
    }
    return longVarint()
  }

  /// A tag or a length. Nil if it has more than five bytes.
  @inline(__always)
  private mutating func shortVarint() -> UInt64? {
    let before = count
    guard let value = varint(), before - count <= 5 else { return nil }
    return value
  }

  private mutating func longVarint() -> UInt64? {
    guard let at else { return nil }
    var result: UInt64 = 0
    for index in 0..<min(count, 10) {
      let byte = at[index]
      guard index < 9 || byte <= 1 else { return nil }
      result |= UInt64(byte & 0x7f) << UInt64(7 * index)
      if byte < 0x80 {
        skip(index + 1)
        return result
      }
    }
    return nil
  }

  /// The bytes of a field with a length.
  private mutating func part() -> DirectInput? {
    guard wireType == 2, let length = shortVarint(), length <= UInt64(count) else { return nil }
    let result = DirectInput(at, Int(length))
    skip(Int(length))
    return result
  }
}

extension Value {
  /// Reads a plain value; nil if it is a list, a map, a time, or if anything is unusual.
  fileprivate init?(usual input: inout DirectInput) {
    typealias Number = FieldNumber.Value
    guard input.next() else {
      guard input.isAtEnd else { return nil }
      self = .null
      return
    }
    switch input.field {
    case Number.nullValue:
      guard input.number() != nil else { return nil }
      self = .null
    case Number.boolValue:
      guard let number = input.number() else { return nil }
      self = .bool(number != 0)
    case Number.intValue:
      guard let number = input.number() else { return nil }
      self = .int(Int64(bitPattern: number))
    case Number.doubleValue:
      guard let bits = input.fixed64() else { return nil }
      self = .double(Double(bitPattern: bits))
    case Number.stringValue:
      guard let text = input.text() else { return nil }
      self = .string(text)
    case Number.bytesValue:
      guard let bytes = input.bytes() else { return nil }
      self = .bytes(bytes)
    default: return nil
    }
    guard input.isAtEnd else { return nil }
  }
}

extension WidgetPatch {
  fileprivate init?(usual input: inout DirectInput) {
    typealias Number = FieldNumber.WidgetPatch
    var entries: [ValueMap.Entry] = []
    var removed: [String] = []
    self.init()
    while input.next() {
      switch input.field {
      case Number.setData: guard input.entry(to: &entries) else { return nil }
      case Number.unsetData:
        guard let key = input.repeatedText() else { return nil }
        removed.append(key)
      case Number.replaceData:
        guard let number = input.number() else { return nil }
        replaceData = number != 0
      default: return nil
      }
    }
    guard input.isAtEnd else { return nil }
    setData = ValueMap(entries)
    if !removed.isEmpty { unsetData = removed }
  }
}

extension UpdateWidgetRequest: DirectlyReadMessage {
  init?(usual input: inout DirectInput) {
    typealias Number = FieldNumber.UpdateWidgetRequest
    var id: WidgetID?
    var patch: WidgetPatch?
    var (etag, requestID, provider) = ("", "", "")
    var omitWidget = false
    while input.next() {
      switch input.field {
      case Number.id:
        guard let text = input.text(), let valid = WidgetID(text) else { return nil }
        id = valid
      case Number.patch:
        guard var content = input.message(), let plain = WidgetPatch(usual: &content) else {
          return nil
        }
        patch = plain
      case Number.etag:
        guard let text = input.text() else { return nil }
        etag = text
      case Number.requestId:
        guard let text = input.text() else { return nil }
        requestID = text
      case Number.omitWidget:
        guard let number = input.number() else { return nil }
        omitWidget = number != 0
      case Number.provider:
        guard let text = input.text() else { return nil }
        provider = text
      default: return nil
      }
    }
    guard input.isAtEnd, let id else { return nil }
    self.init(
      id: id, patch: patch ?? WidgetPatch(), etag: etag, requestID: requestID,
      omitWidget: omitWidget, provider: provider)
  }
}
