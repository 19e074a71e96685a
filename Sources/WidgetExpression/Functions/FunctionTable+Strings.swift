import WidgetModel

/// The strings extension of CEL. Places in a text are counted in code points.
extension FunctionTable {
  mutating func addStrings() {
    addSearch()
    addPieces()
    addCase()
    two("format", isMember: true, "string, list(A) -> string") {
      a, b, context throws(ExpressionFailure) in
      guard case .string(let text) = a, case .list(let list) = b else { return nil }
      return .string(try TextFormat.format(text, list, &context.meter))
    }
    one("strings.quote", "string -> string") { value, context throws(ExpressionFailure) in
      guard case .string(let text) = value else { return nil }
      try context.meter.charge(2 * text.utf8.count)
      return .string(Self.quoted(text))
    }
  }

  private mutating func addSearch() {
    two("charAt", isMember: true, "string, int -> string") {
      a, b, context throws(ExpressionFailure) in
      guard case .string(let text) = a, case .int(let index) = b else { return nil }
      let scalars = try Self.scalars(text, &context)
      guard index >= 0, index <= scalars.count else { throw Self.outside(index) }
      return .string(index == scalars.count ? "" : String(scalars[Int(index)]))
    }
    for isLast in [false, true] {
      let name = isLast ? "lastIndexOf" : "indexOf"
      two(name, isMember: true, "string, string -> int") {
        a, b, context throws(ExpressionFailure) in
        guard case .string(let text) = a, case .string(let part) = b else { return nil }
        return .int(try Self.index(of: part, in: text, isLast: isLast, from: nil, &context))
      }
      many(name, isMember: true, "string, string, int -> int") {
        values, context throws(ExpressionFailure) in
        guard case .string(let text) = values[0], case .string(let part) = values[1],
          case .int(let start) = values[2]
        else { return nil }
        return .int(try Self.index(of: part, in: text, isLast: isLast, from: start, &context))
      }
    }
  }

  private static func index(
    of part: String, in text: String, isLast: Bool, from start: Int64?,
    _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> Int64 {
    let (whole, wanted) = (try scalars(text, &context), try scalars(part, &context))
    if let start {
      guard start >= 0, start <= whole.count else { throw outside(start) }
      if wanted.isEmpty { return start }
    } else if wanted.isEmpty {
      return isLast ? Int64(whole.count) : 0
    }
    guard wanted.count <= whole.count else { return -1 }
    let last = whole.count - wanted.count
    let places =
      isLast
      ? Array(stride(from: min(last, start.map { Int($0) } ?? last), through: 0, by: -1))
      : Array(Int(start ?? 0)...max(Int(start ?? 0), last))
    for place in places where place <= last {
      try context.meter.charge(1)
      var length = 0
      while length < wanted.count, whole[place + length] == wanted[length] { length += 1 }
      if length == wanted.count { return Int64(place) }
      try context.meter.charge(length >> 2)
    }
    return -1
  }

  private mutating func addPieces() {
    two("substring", isMember: true, "string, int -> string") {
      a, b, context throws(ExpressionFailure) in
      guard case .string(let text) = a, case .int(let start) = b else { return nil }
      let scalars = try Self.scalars(text, &context)
      guard start >= 0, start <= scalars.count else { throw Self.outside(start) }
      return .string(Self.text(scalars[Int(start)...]))
    }
    many("substring", isMember: true, "string, int, int -> string") {
      values, context throws(ExpressionFailure) in
      guard case .string(let text) = values[0], case .int(let start) = values[1],
        case .int(let end) = values[2]
      else { return nil }
      let scalars = try Self.scalars(text, &context)
      guard start >= 0, start <= scalars.count else { throw Self.outside(start) }
      guard end >= 0, end <= scalars.count else { throw Self.outside(end) }
      guard start <= end else {
        throw ExpressionFailure(
          .indexOutOfRange, "the substring begins at \(start), after its end at \(end)")
      }
      return .string(Self.text(scalars[Int(start)..<Int(end)]))
    }
    one("trim", isMember: true, "string -> string") { value, context throws(ExpressionFailure) in
      guard case .string(let text) = value else { return nil }
      let scalars = try Self.scalars(text, &context)
      let start = scalars.firstIndex { !$0.properties.isWhitespace } ?? scalars.count
      let end = scalars.lastIndex { !$0.properties.isWhitespace } ?? start - 1
      return .string(Self.text(scalars[start..<max(start, end + 1)]))
    }
    one("reverse", isMember: true, "string -> string", "list(A) -> list(A)") {
      value, context throws(ExpressionFailure) in
      switch value {
      case .string(let text):
        return .string(Self.text(try Self.scalars(text, &context).reversed()[...]))
      case .list(let list):
        try context.meter.charge(list.count)
        return .list(list.elements.reversed())
      default: return nil
      }
    }
    many("replace", isMember: true, "string, string, string -> string") {
      values, context throws(ExpressionFailure) in
      try Self.replace(values, limit: -1, &context)
    }
    many("replace", isMember: true, "string, string, string, int -> string") {
      values, context throws(ExpressionFailure) in
      guard case .int(let limit) = values[3] else { return nil }
      return try Self.replace(values, limit: limit, &context)
    }
    two("split", isMember: true, "string, string -> list(string)") {
      a, b, context throws(ExpressionFailure) in
      try Self.split(a, b, limit: -1, &context)
    }
    many("split", isMember: true, "string, string, int -> list(string)") {
      values, context throws(ExpressionFailure) in
      guard case .int(let limit) = values[2] else { return nil }
      return try Self.split(values[0], values[1], limit: limit, &context)
    }
    one("join", isMember: true, "list(string) -> string") {
      value, context throws(ExpressionFailure) in try Self.join(value, .string(""), &context)
    }
    two("join", isMember: true, "list(string), string -> string") {
      a, b, context throws(ExpressionFailure) in try Self.join(a, b, &context)
    }
  }

  private static func replace(
    _ values: [ExpressionValue], limit: Int64, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .string(let text) = values[0], case .string(let old) = values[1],
      case .string(let new) = values[2]
    else { return nil }
    let (whole, wanted, replacement) = (Array(text.utf8), Array(old.utf8), Array(new.utf8))
    try context.meter.charge(whole.count + wanted.count)
    var left = limit < 0 ? Int64.max : limit
    var result: [UInt8] = []
    var place = 0
    while left > 0 {
      if wanted.isEmpty {
        // An empty text matches between all code points, as in Go.
        try context.meter.charge(replacement.count + 1)
        result += replacement
        guard place < whole.count else { break }
        let start = place
        repeat { place += 1 } while place < whole.count && whole[place] & 0xC0 == 0x80
        result += whole[start..<place]
      } else {
        guard let found = ByteSearch.first(wanted, in: whole, from: place) else { break }
        try context.meter.charge(replacement.count + 1)
        result += whole[place..<found]
        result += replacement
        place = found + wanted.count
      }
      left -= 1
    }
    result += whole[min(place, whole.count)...]
    return .string(String(decoding: result, as: UTF8.self))
  }

  private static func split(
    _ a: ExpressionValue, _ b: ExpressionValue, limit: Int64, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .string(let text) = a, case .string(let separator) = b else { return nil }
    try context.meter.charge(text.utf8.count + separator.utf8.count)
    if limit == 0 { return .list([]) }
    if separator.isEmpty {
      let scalars = Array(text.unicodeScalars)
      let count = limit < 0 ? scalars.count : min(scalars.count, Int(limit))
      var parts = scalars.prefix(max(0, count - 1)).map { ExpressionValue.string(String($0)) }
      if count > 0 { parts.append(.string(Self.text(scalars[(count - 1)...]))) }
      return .list(parts)
    }
    let (whole, wanted) = (Array(text.utf8), Array(separator.utf8))
    var parts: [ExpressionValue] = []
    var place = 0
    while limit < 0 || parts.count < limit - 1,
      let found = ByteSearch.first(wanted, in: whole, from: place)
    {
      try context.meter.charge(1)
      parts.append(.string(String(decoding: whole[place..<found], as: UTF8.self)))
      place = found + wanted.count
    }
    parts.append(.string(String(decoding: whole[place...], as: UTF8.self)))
    return .list(parts)
  }

  private static func join(
    _ a: ExpressionValue, _ b: ExpressionValue, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .list(let list) = a, case .string(let separator) = b else { return nil }
    var result = ""
    for (index, element) in list.enumerated() {
      guard case .string(let text) = element else {
        throw ExpressionFailure(
          .noSuchOverload,
          "join() needs a list of strings, but element \(index) is \(element.kind.shortName)")
      }
      try context.meter.charge(text.utf8.count + separator.utf8.count + 1)
      if index > 0 { result += separator }
      result += text
    }
    return .string(result)
  }

  private mutating func addCase() {
    for (name, range) in [("lowerAscii", 65...90), ("upperAscii", 97...122)] {
      one(name, isMember: true, "string -> string") { value, context throws(ExpressionFailure) in
        guard case .string(let text) = value else { return nil }
        try context.meter.charge(text.utf8.count)
        let bytes = text.utf8.map { range.contains(Int($0)) ? $0 ^ 32 : $0 }
        return .string(String(decoding: bytes, as: UTF8.self))
      }
    }
  }

  // MARK: Tools

  static func scalars(
    _ text: String, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> [Unicode.Scalar] {
    try context.meter.charge(text.utf8.count)
    return Array(text.unicodeScalars)
  }

  static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars))
  }

  static func outside(_ index: Int64) -> ExpressionFailure {
    ExpressionFailure(.indexOutOfRange, "the place \(index) is outside the text or list")
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\u{7}": result += "\\a"
      case "\u{8}": result += "\\b"
      case "\u{C}": result += "\\f"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{B}": result += "\\v"
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
