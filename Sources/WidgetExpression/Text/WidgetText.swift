import WidgetModel

/// Numbers and times as widgets show them, in English.
enum WidgetText {
  /// `1,234,567.5`: with `digits` digits after the point. If nil, at most three digits, without
  /// zeros at the end.
  static func number(_ value: ExpressionValue, digits: Int?) -> String? {
    switch value {
    case .int(let x): return grouped(String(x), zeros: digits ?? 0)
    case .uint(let x): return grouped(String(x), zeros: digits ?? 0)
    case .double(let x):
      if let text = DecimalText.special(x) { return text }
      if let digits { return grouped(withoutMinusZero(DecimalText.fixed(x, digits)), zeros: 0) }
      var text = Substring(DecimalText.fixed(x, 3))
      while text.last == "0" { text.removeLast() }
      if text.last == "." { text.removeLast() }
      return grouped(withoutMinusZero(String(text)), zeros: 0)
    default: return nil
    }
  }

  private static func withoutMinusZero(_ text: String) -> String {
    text.utf8.first == UInt8(ascii: "-")
      && text.utf8.dropFirst().allSatisfy { $0 == 48 || $0 == 46 }
      ? String(text.dropFirst()) : text
  }

  private static func grouped(_ text: String, zeros: Int) -> String {
    let bytes = Array(text.utf8)
    let start = bytes.first == UInt8(ascii: "-") ? 1 : 0
    let end = bytes.firstIndex(of: UInt8(ascii: ".")) ?? bytes.count
    var result = Array(bytes[..<start])
    for index in start..<end {
      if index > start, (end - index) % 3 == 0 { result.append(UInt8(ascii: ",")) }
      result.append(bytes[index])
    }
    result += bytes[end...]
    if zeros > 0 {
      result.append(UInt8(ascii: "."))
      result += [UInt8](repeating: 48, count: zeros)
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// `512 B`, `1.5 MiB`, `120 GiB`: powers of 1024, three digits or so.
  static func bytes(_ count: Double) -> String {
    if let text = DecimalText.special(count) { return text }
    let sign = count < 0 ? "-" : ""
    var size = count.magnitude
    guard size.rounded() >= 1_024 else {
      return "\(size < 0.5 ? "" : sign)\(DecimalText.fixed(size, 0)) B"
    }
    var text = ""
    var unit = 0
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    for index in units.indices {
      size /= 1_024
      unit = index
      text = DecimalText.fixed(size, size < 99.95 ? 1 : 0)
      if size.rounded() < 1_024 { break }
    }
    return "\(sign)\(text) \(units[unit])"
  }

  /// `5 minutes ago`, `in 2 hours`, `now`: the largest unit, rounded down.
  static func relative(_ time: Timestamp, to now: Timestamp) -> String {
    let (difference, _) = time.duration(since: now).components
    let seconds = difference.magnitude
    let units: [(name: String, seconds: UInt64)] = [
      ("year", 31_557_600), ("month", 2_629_800), ("week", 604_800), ("day", 86_400),
      ("hour", 3_600), ("minute", 60), ("second", 1),
    ]
    guard let unit = units.first(where: { seconds >= $0.seconds }) else { return "now" }
    let count = seconds / unit.seconds
    let text = "\(count) \(unit.name)\(count == 1 ? "" : "s")"
    return difference < 0 ? "\(text) ago" : "in \(text)"
  }

  /// `3d 4h`, `2h 5m`, `45s`, `350ms`: the two largest units.
  static func duration(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
    let total = seconds.magnitude
    if total == 0 {
      let milliseconds = attoseconds.magnitude / 1_000_000_000_000_000
      return milliseconds == 0 ? "0s" : "\(sign)\(milliseconds)ms"
    }
    let parts: [(count: UInt64, unit: String)] = [
      (total / 86_400, "d"), (total / 3_600 % 24, "h"), (total / 60 % 60, "m"), (total % 60, "s"),
    ]
    let first = parts.firstIndex { $0.count > 0 } ?? 3
    let shown = parts[first...].prefix(2).filter { $0.count > 0 }
    return sign + shown.map { "\($0.count)\($0.unit)" }.joined(separator: " ")
  }
}
