/// Encodes values that JSON and YAML have no type for, and decodes them.
///
/// | value | written as |
/// | --- | --- |
/// | bytes | `{"$bytes": "aGk="}` (base64) |
/// | timestamp | `{"$timestamp": "2026-01-02T03:04:05Z"}` |
/// | duration | `{"$duration": "1.5s"}` |
/// | NaN, infinities | `{"$double": "NaN"}`, `"Infinity"`, `"-Infinity"` |
/// | a map whose only key starts with `$` | the same with one more `$` |
///
/// Every value survives being written and read; `untagged` undoes `tagged`.
package enum DataDocument {
  /// One level of the value with only the types that JSON has.
  package static func tagged(_ value: Value) -> Value {
    switch value {
    case .bytes(let bytes): .map(["$bytes": .string(PaddedBase64.encode(bytes))])
    case .timestamp(let time): .map(["$timestamp": .string(RFC3339.text(time))])
    case .duration(let duration): .map(["$duration": .string(DurationSyntax.seconds(duration))])
    case .double(let double) where !double.isFinite:
      .map([
        "$double": .string(
          double.isNaN ? "NaN" : double.sign == .minus ? "-Infinity" : "Infinity")
      ])
    case .map(let map):
      if let entry = map.entries.first, map.count == 1, entry.key.utf8.first == UInt8(ascii: "$") {
        .map(["$" + entry.key: entry.value])
      } else {
        value
      }
    default: value
    }
  }

  /// One level of the value for other programs. A time is an RFC 3339 text, a duration a number of
  /// seconds with `s`. Bytes are base64, and a number that is not finite is null.
  package static func plain(_ value: Value) -> Value {
    switch value {
    case .bytes(let bytes): .string(PaddedBase64.encode(bytes))
    case .timestamp(let time): .string(RFC3339.text(time))
    case .duration(let duration): .string(DurationSyntax.seconds(duration))
    case .double(let double) where !double.isFinite: .null
    default: value
    }
  }

  /// The reason why a tagged value cannot be read.
  package struct Failure: Error, Hashable, CustomStringConvertible {
    package let tag: String
    package let expected: String
    package var description: String { "\(tag.prefix(64)) needs \(expected)" }
  }

  /// The value with all tags read, at every level.
  package static func untagged(_ value: Value) throws(Failure) -> Value {
    switch value {
    case .list(let values):
      var result: [Value] = []
      for value in values { result.append(try untagged(value)) }
      return .list(result)
    case .map(let map):
      if map.count == 1, let entry = map.entries.first, entry.key.utf8.first == UInt8(ascii: "$") {
        return try untagged(entry)
      }
      var result: [ValueMap.Entry] = []
      for entry in map.entries {
        result.append(.init(key: entry.key, value: try untagged(entry.value)))
      }
      return .map(ValueMap(result))
    default: return value
    }
  }

  private static func untagged(_ entry: ValueMap.Entry) throws(Failure) -> Value {
    if entry.key.hasPrefix("$$") {
      return .map([String(entry.key.dropFirst()): try untagged(entry.value)])
    }
    let text: String? = if case .string(let text) = entry.value { text } else { nil }
    switch entry.key {
    case "$bytes":
      guard let bytes = text.flatMap(PaddedBase64.decode) else {
        throw Failure(tag: entry.key, expected: "base64 text")
      }
      return .bytes(bytes)
    case "$timestamp":
      guard let time = text.flatMap(RFC3339.timestamp) else {
        throw Failure(tag: entry.key, expected: "an RFC 3339 time such as 2026-01-02T03:04:05Z")
      }
      return .timestamp(time)
    case "$duration":
      guard let duration = text.flatMap(DurationSyntax.parse) else {
        throw Failure(tag: entry.key, expected: "a duration such as 1.5s")
      }
      return .duration(duration)
    case "$double":
      switch text {
      case "NaN": return .double(.nan)
      case "Infinity": return .double(.infinity)
      case "-Infinity": return .double(-.infinity)
      default: throw Failure(tag: entry.key, expected: "NaN, Infinity or -Infinity")
      }
    default:
      throw Failure(
        tag: entry.key,
        expected: "another name ($bytes, $timestamp, $duration, $double), or a "
          + "second $ for a key that begins with $")
    }
  }
}
