import CSystemd
import Glibc
import WidgetBundle
import WidgetModel

/// A message of D-Bus, and values in it.
///
/// Numbers become `int`, except a `t` beyond 64 bits with a sign, which becomes `double`. Texts, paths and
/// signatures become `string`, `ay` becomes `bytes`, dictionaries maps, arrays and structures lists. A
/// variant is the value in it. A file descriptor is null.
final class BusMessage {
  let pointer: OpaquePointer

  /// Takes over the reference.
  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { sd_bus_message_unref(pointer) }

  var sender: String { text(sd_bus_message_get_sender(pointer)) }
  var path: String { text(sd_bus_message_get_path(pointer)) }

  func isSignal(_ interface: String, _ member: String) -> Bool {
    sd_bus_message_is_signal(pointer, interface, member) > 0
  }

  /// The number of the message that this one answers; nil if it is not an answer.
  var answered: UInt64? {
    var cookie: UInt64 = 0
    return sd_bus_message_get_reply_cookie(pointer, &cookie) >= 0 ? cookie : nil
  }

  /// The error that the message reports; nil if it is no error.
  var error: (name: String, message: String)? {
    guard sd_bus_message_is_method_error(pointer, nil) > 0,
      let error = sd_bus_message_get_error(pointer)
    else { return nil }
    return (text(error.pointee.name), text(error.pointee.message))
  }

  private func text(_ pointer: UnsafePointer<CChar>?) -> String {
    pointer.map { String(cString: $0) } ?? ""
  }

  // MARK: Reading

  /// All values in it.
  func values(valuesMax: Int, bytesMax: Int) throws(Failure) -> [Value] {
    sd_bus_message_rewind(pointer, 1)
    var reader = Reader(message: pointer, valuesLeft: valuesMax, bytesLeft: bytesMax)
    return try reader.all(depth: 0)
  }

  private struct Reader {
    let message: OpaquePointer
    var valuesLeft: Int
    var bytesLeft: Int

    /// The deepest nesting: the depth of the protocol, 32 arrays and 32 structures, and as many variants.
    static let depthMax = 100

    /// The values up to the end of the container.
    mutating func all(depth: Int) throws(Failure) -> [Value] {
      var values: [Value] = []
      while let value = try next(depth: depth) { values.append(value) }
      return values
    }

    /// The next value; nil at the end of the container.
    private mutating func next(depth: Int) throws(Failure) -> Value? {
      var letter: CChar = 0
      var contents: UnsafePointer<CChar>?
      guard try check(sd_bus_message_peek_type(message, &letter, &contents)) > 0 else { return nil }
      valuesLeft -= 1
      guard valuesLeft >= 0, depth < Reader.depthMax else {
        throw Failure("OUT_OF_RANGE", "the message has too many values")
      }
      switch UInt8(bitPattern: letter) {
      case UInt8(ascii: "v"): return try inside(letter, contents, depth) { $0.first ?? .null }
      case UInt8(ascii: "r"): return try inside(letter, contents, depth) { .list($0) }
      case UInt8(ascii: "a"):
        let element = contents.map { String(cString: $0) } ?? ""
        if element == "y" { return .bytes(try bytes()) }
        guard element.hasPrefix("{") else {
          return try inside(letter, contents, depth) { .list($0) }
        }
        return .map(try entries(contents, depth))
      default: return try basic(letter)
      }
    }

    private mutating func inside(
      _ letter: CChar, _ contents: UnsafePointer<CChar>?, _ depth: Int, _ make: ([Value]) -> Value
    ) throws(Failure) -> Value {
      try check(sd_bus_message_enter_container(message, letter, contents))
      let values = try all(depth: depth + 1)
      try check(sd_bus_message_exit_container(message))
      return make(values)
    }

    private mutating func entries(
      _ contents: UnsafePointer<CChar>?, _ depth: Int
    ) throws(Failure) -> ValueMap {
      var map = ValueMap()
      try check(sd_bus_message_enter_container(message, CChar(UInt8(ascii: "a")), contents))
      while true {
        var letter: CChar = 0
        var entry: UnsafePointer<CChar>?
        guard try check(sd_bus_message_peek_type(message, &letter, &entry)) > 0 else { break }
        try check(sd_bus_message_enter_container(message, letter, entry))
        let pair = try all(depth: depth + 1)
        try check(sd_bus_message_exit_container(message))
        guard pair.count == 2 else { continue }
        map[PlainText.of(pair[0])] = pair[1]
      }
      try check(sd_bus_message_exit_container(message))
      return map
    }

    private mutating func bytes() throws(Failure) -> [UInt8] {
      var start: UnsafeRawPointer?
      var count = 0
      try check(sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &start, &count))
      try take(bytes: count)
      guard let start, count > 0 else { return [] }
      return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private mutating func basic(_ letter: CChar) throws(Failure) -> Value {
      switch UInt8(bitPattern: letter) {
      case UInt8(ascii: "b"): return .bool(try number(letter, CInt(0)) != 0)
      case UInt8(ascii: "y"): return .int(Int64(try number(letter, UInt8(0))))
      case UInt8(ascii: "n"): return .int(Int64(try number(letter, Int16(0))))
      case UInt8(ascii: "q"): return .int(Int64(try number(letter, UInt16(0))))
      case UInt8(ascii: "i"): return .int(Int64(try number(letter, Int32(0))))
      case UInt8(ascii: "u"): return .int(Int64(try number(letter, UInt32(0))))
      case UInt8(ascii: "x"): return .int(try number(letter, Int64(0)))
      case UInt8(ascii: "t"):
        let number = try number(letter, UInt64(0))
        return Int64(exactly: number).map { .int($0) } ?? .double(Double(number))
      case UInt8(ascii: "d"): return .double(try number(letter, Double(0)))
      case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
        let start = try number(letter, UnsafePointer<CChar>?.none)
        let text = start.map { String(cString: $0) } ?? ""
        try take(bytes: text.utf8.count)
        return .string(text)
      default:
        try check(sd_bus_message_skip(message, nil))
        return .null
      }
    }

    private func number<T>(_ letter: CChar, _ initial: T) throws(Failure) -> T {
      var value = initial
      let code = withUnsafeMutablePointer(to: &value) {
        sd_bus_message_read_basic(message, letter, UnsafeMutableRawPointer($0))
      }
      try check(code)
      return value
    }

    private mutating func take(bytes count: Int) throws(Failure) {
      bytesLeft -= count
      guard bytesLeft >= 0 else {
        throw Failure("OUT_OF_RANGE", "the message has too many bytes")
      }
    }

    @discardableResult
    private func check(_ code: CInt) throws(Failure) -> CInt {
      guard code < 0 else { return code }
      throw Failure("INVALID_ARGUMENT", "the message cannot be read: \(errorText(code: -code))")
    }
  }

  // MARK: Writing

  /// Appends a text.
  func append(_ text: String) throws(Failure) {
    try BusMessage.check(
      text.withCString { sd_bus_message_append_basic(pointer, CChar(UInt8(ascii: "s")), $0) },
      .string(text), "s")
  }

  /// Appends a value as a type of D-Bus.
  func append(_ value: Value, as type: BusType) throws(Failure) {
    switch type {
    case .basic(let letter): try append(value, letter)
    case .variant:
      guard let inner = BusMessage.guess(value) else { throw BusMessage.unfit(value, "v") }
      try within("v", inner.description) { () throws(Failure) in try append(value, as: inner) }
    case .array(let element):
      let values: [Value]
      switch value {
      case .list(let list): values = Array(list)
      case .bytes(let bytes) where element == .basic(UInt8(ascii: "y")):
        values = bytes.map { .int(Int64($0)) }
      default: throw BusMessage.unfit(value, type.description)
      }
      try within("a", element.description) { () throws(Failure) in
        for value in values { try append(value, as: element) }
      }
    case .dictionary(let key, let element):
      guard case .map(let map) = value else { throw BusMessage.unfit(value, type.description) }
      let entry = String(type.description.dropFirst())
      try within("a", entry) { () throws(Failure) in
        for (name, value) in map.entries.map({ ($0.key, $0.value) }) {
          try within("e", String(entry.dropFirst().dropLast())) { () throws(Failure) in
            try append(Int64(name).map { .int($0) } ?? .string(name), keyLetter: key, name)
            try append(value, as: element)
          }
        }
      }
    case .structure(let members):
      guard case .list(let list) = value, list.count == members.count else {
        throw BusMessage.unfit(value, type.description)
      }
      try within("r", String(type.description.dropFirst().dropLast())) { () throws(Failure) in
        for (value, member) in zip(list, members) { try append(value, as: member) }
      }
    }
  }

  /// A key of a dictionary: a number only where the type wants one.
  private func append(_ value: Value, keyLetter: UInt8, _ name: String) throws(Failure) {
    try append("sog".utf8.contains(keyLetter) ? .string(name) : value, keyLetter)
  }

  private func within(
    _ letter: Unicode.Scalar, _ contents: String, _ body: () throws(Failure) -> Void
  ) throws(Failure) {
    let code = sd_bus_message_open_container(pointer, CChar(UInt8(ascii: letter)), contents)
    try BusMessage.check(code, .null, contents)
    try body()
    try BusMessage.check(sd_bus_message_close_container(pointer), .null, contents)
  }

  private func append(_ value: Value, _ letter: UInt8) throws(Failure) {
    let type = String(UnicodeScalar(letter))
    func put<T: BitwiseCopyable>(_ number: T?) throws(Failure) {
      guard var number else { throw BusMessage.unfit(value, type) }
      let code = sd_bus_message_append_basic(pointer, CChar(letter), &number)
      try BusMessage.check(code, value, type)
    }
    switch letter {
    case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
      guard case .string(let text) = value, !text.utf8.contains(0) else {
        throw BusMessage.unfit(value, type)
      }
      let code = text.withCString { sd_bus_message_append_basic(pointer, CChar(letter), $0) }
      try BusMessage.check(code, value, type)
    case UInt8(ascii: "b"):
      guard case .bool(let flag) = value else { throw BusMessage.unfit(value, type) }
      try put(CInt(flag ? 1 : 0))
    case UInt8(ascii: "d"):
      switch value {
      case .double(let number): try put(number)
      case .int(let number): try put(Double(number))
      default: throw BusMessage.unfit(value, type)
      }
    default:
      let number: Int64? =
        switch value {
        case .int(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
      guard let number else { throw BusMessage.unfit(value, type) }
      switch letter {
      case UInt8(ascii: "y"): try put(UInt8(exactly: number))
      case UInt8(ascii: "n"): try put(Int16(exactly: number))
      case UInt8(ascii: "q"): try put(UInt16(exactly: number))
      case UInt8(ascii: "i"): try put(Int32(exactly: number))
      case UInt8(ascii: "u"): try put(UInt32(exactly: number))
      case UInt8(ascii: "t"): try put(UInt64(exactly: number))
      default: try put(number)
      }
    }
  }

  /// The type of a value in a variant.
  private static func guess(_ value: Value) -> BusType? {
    switch value {
    case .bool: .basic(UInt8(ascii: "b"))
    case .int(let number):
      .basic(Int32(exactly: number) == nil ? UInt8(ascii: "x") : UInt8(ascii: "i"))
    case .double: .basic(UInt8(ascii: "d"))
    case .string: .basic(UInt8(ascii: "s"))
    case .bytes: .array(.basic(UInt8(ascii: "y")))
    case .list: .array(.variant)
    case .map: .dictionary(UInt8(ascii: "s"), .variant)
    default: nil
    }
  }

  private static func unfit(_ value: Value, _ type: String) -> Failure {
    Failure(
      "INVALID_ARGUMENT",
      "the signature asks for \"\(type)\", but the argument has type \(value.typeName)")
  }

  private static func check(_ code: CInt, _ value: Value, _ type: String) throws(Failure) {
    guard code < 0 else { return }
    throw code == -EINVAL
      ? unfit(value, type)
      : Failure("INVALID_ARGUMENT", "the message cannot be made: \(errorText(code: -code))")
  }
}

func errorText(code: CInt) -> String { String(cString: strerror(code)) }
