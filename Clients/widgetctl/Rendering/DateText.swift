import WidgetExpression
import WidgetModel
import WidgetTimeZones

/// Formats points in time for nodes of type `date`.
///
/// Patterns, zones and "5 minutes ago" follow the expression language. So a kind and a client format a
/// date in the same way.
struct DateText: Sendable {
  var now: Timestamp
  /// The client's zone at a time, as an offset such as `+02:00`.
  var localZone: @Sendable (Timestamp) -> String = { Terminal.zoneOffset(at: $0) }

  /// Formats a time in a zone. An empty `zone` is the client's. A pattern replaces the style. Returns
  /// the RFC 3339 form if the pattern or the zone is invalid.
  func text(_ time: Timestamp, style: String, pattern: String, zone: String) -> String {
    if pattern.isEmpty {
      switch style {
      case "relative": return DateText.relative(time, now) ?? RFC3339.text(time)
      case "timer": return DateText.clock(time.duration(since: now))
      default: break
      }
    }
    let zone = zone.isEmpty ? localZone(time) : zone
    return DateText.format(time, pattern.isEmpty ? DateText.pattern(style) : pattern, zone)
      ?? RFC3339.text(time)
  }

  /// The text of a `date` node. Empty if it has no date.
  func text(of node: Node) -> String {
    guard case .timestamp(let time)? = node.properties["date"] else { return "" }
    func property(_ name: String) -> String { node.properties[name]?.plainText ?? "" }
    return text(
      time, style: property("style"), pattern: property("format"), zone: property("zone"))
  }

  /// The time until the text of a `date` node changes. Nil for never.
  func untilChange(of node: Node) -> Duration? {
    guard node.followsTime, case .timestamp(let time)? = node.properties["date"] else { return nil }
    let distance = time.duration(since: now)
    if node.properties["style"]?.plainText == "timer" { return DateText.rest(distance, of: 1) }
    return DateText.untilUnitChanges(distance)
  }

  /// The time until a date in a widget, or the age of its failure or staleness, reads differently. Nil
  /// for never.
  func untilChange(
    of widget: Widget, _ providers: ProviderFacts = ProviderFacts()
  ) -> Duration? {
    let dates = (widget.content?.nodes ?? []).compactMap { untilChange(of: $0) }
    let failure = widget.failures.compactMap(\.since).map { untilAgeChanges(of: $0) }.min()
    let staleness = providers.staleness(of: widget).map { untilAgeChanges(of: $0.since) }
    let kind = widget.isOfUnknownKind ? untilAgeChanges(of: widget.updateTime) : nil
    return (dates + [failure, staleness, kind].compactMap(\.self)).min()
  }

  /// The time until the text of an age changes.
  func untilAgeChanges(of time: Timestamp) -> Duration {
    DateText.untilUnitChanges(time.duration(since: now))
  }

  /// The time until a duration reads differently in its largest unit.
  private static func untilUnitChanges(_ distance: Duration) -> Duration {
    switch distance.components.seconds.magnitude {
    case ..<60: rest(distance, of: 1)
    case ..<3_600: rest(distance, of: 60)
    case ..<86_400: rest(distance, of: 3_600)
    default: rest(distance, of: 86_400)
    }
  }

  /// The time until a duration crosses the next whole unit: downwards in the future, upwards in the
  /// past. At least 10 ms.
  private static func rest(_ distance: Duration, of unit: Int64) -> Duration {
    let (unit, zero) = (Duration.seconds(unit), Duration.zero)
    let size = distance < zero ? zero - distance : distance
    let over = size - unit * (Int(size / unit))
    return max(distance <= zero ? unit - over : over + .milliseconds(1), .milliseconds(10))
  }

  private static func pattern(_ style: String) -> String {
    switch style {
    case "date": "%Y-%m-%d"
    case "time": "%H:%M"
    default: "%Y-%m-%d %H:%M"
    }
  }

  /// `0:04:59`, for times ahead and for past times.
  private static func clock(_ duration: Duration) -> String {
    let seconds = duration.components.seconds.magnitude
    func two(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
  }

  /// The age of a time, in its largest unit: `12s`, `5m`, `3h`, `2d`.
  func age(of time: Timestamp) -> String {
    let seconds = max(0, now.seconds - time.seconds)
    switch seconds {
    case ..<60: return "\(seconds)s"
    case ..<3_600: return "\(seconds / 60)m"
    case ..<86_400: return "\(seconds / 3_600)h"
    default: return "\(seconds / 86_400)d"
    }
  }

  // MARK: - The expression language's

  private static let environment = ExpressionEnvironment(
    variables: [
      ExpressionVariable("time", .timestamp), ExpressionVariable("now", .timestamp),
      ExpressionVariable("pattern", .string), ExpressionVariable("zone", .string),
    ], timeZones: SystemTimeZones().rules)
  private static let formatting = try? CompiledExpression(
    "formatDate(time, pattern, zone)", in: environment)
  private static let relating = try? CompiledExpression(
    "formatRelative(time, now)", in: environment)

  private static func format(_ time: Timestamp, _ pattern: String, _ zone: String) -> String? {
    text(formatting, [.timestamp(time), nil, .string(pattern), .string(zone)])
  }

  private static func relative(_ time: Timestamp, _ now: Timestamp) -> String? {
    text(relating, [.timestamp(time), .timestamp(now)])
  }

  private static func text(
    _ expression: CompiledExpression?, _ values: [ExpressionValue?]
  ) -> String? {
    guard let result = try? expression?.evaluate(SlotBindings(values)),
      case .string(let text)? = Value(result)
    else { return nil }
    return text
  }
}
