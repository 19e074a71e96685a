/// Durations as people write them: `5s`, `250ms`, `1.5s`, `1h30m`, `2d`.
public enum DurationSyntax {
  /// The hint of an option for a duration.
  public static let hint = "a duration such as 500ms, 5s, 1m30s or 2h"

  /// Units by name, with their length in nanoseconds.
  private static let units: [(name: String, nanoseconds: Int64)] = [
    ("ns", 1), ("us", 1000), ("µs", 1000), ("ms", 1_000_000), ("s", 1_000_000_000),
    ("m", 60_000_000_000), ("h", 3_600_000_000_000), ("d", 86_400_000_000_000),
  ]

  /// Reads one or more numbers, each with its unit, in any order. An optional sign comes first. A
  /// lone `0` needs no unit. Returns nil for other text, and for more than 292 years, the limit of
  /// 64 bits of nanoseconds.
  public static func parse(_ text: String) -> Duration? {
    if text == "0" { return .zero }
    var rest = Substring(text)
    let isNegative = rest.hasPrefix("-")
    if isNegative { rest = rest.dropFirst() }
    var total: Int64 = 0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(number.count)
      let name = rest.prefix { !($0.isASCII && ($0.isNumber || $0 == ".")) }
      rest = rest.dropFirst(name.count)
      guard let unit = units.first(where: { $0.name == name }),
        let nanoseconds = scaled(number, by: unit.nanoseconds)
      else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(nanoseconds)
      guard !overflow else { return nil }
      total = sum
    }
    return .nanoseconds(isNegative ? -total : total)
  }

  /// Exact for whole numbers, and for fractions down to a nanosecond.
  private static func scaled(_ number: Substring, by unit: Int64) -> Int64? {
    let parts = number.split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let whole = Int64(parts[0]) else { return nil }
    let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return product }
    guard !parts[1].isEmpty, parts[1].count <= 9, let digits = Int64(parts[1]) else { return nil }
    let scale = parts[1].reduce(Int64(1)) { scale, _ in scale * 10 }
    // unit ≤ 8.64e13 and digits < 1e9 overflow one product; their double is exact enough there.
    let fraction = Int64((Double(digits) / Double(scale) * Double(unit)).rounded())
    let (sum, carried) = product.addingReportingOverflow(fraction)
    return carried ? nil : sum
  }

  /// The form in documents: seconds with up to nine decimals, `1.5s`.
  public static func seconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let nanoseconds = attoseconds / 1_000_000_000
    let sign = seconds < 0 || nanoseconds < 0 ? "-" : ""
    guard nanoseconds != 0 else { return "\(sign)\(seconds.magnitude)s" }
    var digits = String(nanoseconds.magnitude)
    digits = String(repeating: "0", count: 9 - digits.count) + digits
    while digits.hasSuffix("0") { digits.removeLast() }
    return "\(sign)\(seconds.magnitude).\(digits)s"
  }

  /// The form in tables: the largest one or two units, `45s`, `3m20s`, `5h`, `12d`.
  public static func age(_ duration: Duration) -> String {
    let seconds = max(0, duration.components.seconds)
    return switch seconds {
    case ..<120: "\(seconds)s"
    case ..<600: seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds / 60)m\(seconds % 60)s"
    case ..<7200: "\(seconds / 60)m"
    case ..<172_800: "\(seconds / 3600)h"
    default: "\(seconds / 86_400)d"
    }
  }
}
