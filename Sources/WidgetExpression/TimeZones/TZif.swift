/// Parsing of TZif, the format of the files in `/usr/share/zoneinfo` (RFC 8536).
extension TimeZoneRules {
  /// The reason why bytes are no time zone.
  public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
    public let message: String
    public var description: String { "not a TZif file: \(message)" }
  }

  /// The maximum number of transitions. Real zones have about 240, and this limit bounds the
  /// memory.
  static let transitionsMax = 10_000

  /// Reads versions 1 to 4. Of version 2 and later the 64-bit part and the rule for the time after
  /// the last transition are used. Every count is checked against the bytes before it is trusted.
  public init(tzif bytes: [UInt8]) throws(ParseError) {
    var reader = Reader(bytes: bytes)
    let header = try Header(&reader)
    guard header.version >= 2 else {
      self = try Self.body(header, timeBytes: 4, &reader, footer: nil)
      return
    }
    try reader.skip(header.bodyBytes(timeBytes: 4))
    let second = try Header(&reader)
    let start = reader.offset
    try reader.skip(second.bodyBytes(timeBytes: 8))
    let footer = try Self.footer(&reader)
    reader.offset = start
    self = try Self.body(second, timeBytes: 8, &reader, footer: footer)
  }

  private struct Header {
    let version: Int
    let utIndicators, standardIndicators, leapSeconds, transitions, types, characters: Int

    init(_ reader: inout Reader) throws(ParseError) {
      guard try reader.take(4).elementsEqual("TZif".utf8) else {
        throw ParseError(message: "it does not begin with 'TZif'")
      }
      let byte = try reader.take(1).first ?? 0
      version = byte == 0 ? 1 : max(1, Int(byte) - 48)
      try reader.skip(15)
      utIndicators = try reader.count()
      standardIndicators = try reader.count()
      leapSeconds = try reader.count()
      transitions = try reader.count()
      types = try reader.count()
      characters = try reader.count()
      guard (1...256).contains(types), transitions <= TimeZoneRules.transitionsMax,
        characters <= 65_536, leapSeconds <= 10_000, utIndicators <= 256, standardIndicators <= 256
      else { throw ParseError(message: "its header has impossible counts") }
    }

    func bodyBytes(timeBytes: Int) -> Int {
      transitions * (timeBytes + 1) + types * 6 + characters + leapSeconds * (timeBytes + 4)
        + standardIndicators + utIndicators
    }
  }

  private static func body(
    _ header: Header, timeBytes: Int, _ reader: inout Reader, footer: PosixZone?
  ) throws(ParseError) -> TimeZoneRules {
    var transitions: [Int64] = []
    for _ in 0..<header.transitions {
      let time = try reader.integer(timeBytes)
      if let last = transitions.last, time <= last {
        throw ParseError(message: "its transitions are not in order")
      }
      transitions.append(time)
    }
    let kinds = Array(try reader.take(header.transitions))
    guard kinds.allSatisfy({ Int($0) < header.types }) else {
      throw ParseError(message: "a transition has no type")
    }
    var raw: [(offset: Int, isDaylightSaving: Bool, name: Int)] = []
    for _ in 0..<header.types {
      let offset = Int(try reader.integer(4))
      let rest = Array(try reader.take(2))
      guard abs(offset) < 86_400 else { throw ParseError(message: "an offset exceeds a day") }
      raw.append((offset, rest[0] != 0, Int(rest[1])))
    }
    let names = Array(try reader.take(header.characters))
    var periods: [Period] = []
    for (offset, isDaylightSaving, name) in raw {
      guard name < names.count else { throw ParseError(message: "a type has no name") }
      let text = names[name...].prefix { $0 != 0 }.prefix(16)
      periods.append(
        Period(
          offsetSeconds: offset, abbreviation: String(decoding: text, as: UTF8.self),
          isDaylightSaving: isDaylightSaving))
    }
    return TimeZoneRules(transitions: transitions, kinds: kinds, periods: periods, footer: footer)
  }

  private static func footer(_ reader: inout Reader) throws(ParseError) -> PosixZone? {
    guard try reader.take(1).first == 10 else {
      throw ParseError(message: "its rule for the future is missing")
    }
    let rest = reader.rest
    guard let end = rest.firstIndex(of: 10), rest.distance(from: rest.startIndex, to: end) < 512
    else { throw ParseError(message: "its rule for the future has no end") }
    let text = String(decoding: rest[..<end], as: UTF8.self)
    if text.isEmpty { return nil }
    guard let zone = PosixZone(text) else {
      throw ParseError(message: "its rule for the future cannot be read")
    }
    return zone
  }

  private struct Reader {
    let bytes: [UInt8]
    var offset = 0

    var rest: ArraySlice<UInt8> { bytes[offset...] }

    mutating func skip(_ count: Int) throws(ParseError) { _ = try take(count) }

    mutating func take(_ count: Int) throws(ParseError) -> ArraySlice<UInt8> {
      guard count <= bytes.count - offset else { throw ParseError(message: "it ends too early") }
      offset += count
      return bytes[(offset - count)..<offset]
    }

    /// Big-endian, signed.
    mutating func integer(_ width: Int) throws(ParseError) -> Int64 {
      let value = try take(width).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return width == 4
        ? Int64(Int32(truncatingIfNeeded: value)) : Int64(truncatingIfNeeded: value)
    }

    mutating func count() throws(ParseError) -> Int {
      Int(try take(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
    }
  }
}
