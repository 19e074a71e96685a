import WidgetModel

extension TimeZoneRules {
  /// The maximum length of a zone's name. Real names are shorter.
  static let nameBytesMax = 64

  /// The rules of UTC or a fixed offset (`+02:00`, `02:00`). Nil for the name of a zone.
  init?(fixed zone: String) {
    // Swift compares characters, so that a long text of accents takes long.
    guard zone.utf8.count <= 7 else { return nil }
    switch zone {
    case "", "UTC", "Z", "GMT", "Etc/UTC":
      self = .utc
      return
    default: break
    }
    var reader = DigitReader(zone)
    let isWest = reader.skip("-")
    if !isWest { _ = reader.skip("+") }
    guard let hours = reader.number(2), reader.skip(":"), let minutes = reader.number(2),
      reader.isAtEnd, hours < 24, minutes < 60
    else { return nil }
    let seconds = (hours * 60 + minutes) * 60
    let name = "\(isWest ? "-" : "+")\(Times.padded(hours)):\(Times.padded(minutes))"
    self.init(offsetSeconds: isWest ? -seconds : seconds, abbreviation: name)
  }

  /// The rules of a zone by its name, of UTC, or of a fixed offset. Nil if there is no such zone.
  package init?(named zone: String, in timeZones: (@Sendable (String) -> TimeZoneRules?)?) {
    guard let rules = TimeZoneRules(fixed: zone) ?? timeZones?(zone) else { return nil }
    self = rules
  }

  /// Whether expressions know a time zone by this name. If the machine has no database of time
  /// zones, any name may be right, because readers may have one.
  public static func mayBeName(
    _ zone: String, in timeZones: (@Sendable (String) -> TimeZoneRules?)?
  ) -> Bool {
    guard TimeZoneRules(fixed: zone) == nil, let timeZones, timeZones(databaseProbe) != nil else {
      return true
    }
    return timeZones(zone) != nil
  }

  /// The name of a zone that the author may have meant: `berlin`, `europe/berlin` and `New York`
  /// are near `Europe/Berlin` and `America/New_York`. Nil if there is none.
  public static func suggestion(
    for zone: String, in timeZones: (@Sendable (String) -> TimeZoneRules?)?
  ) -> String? {
    guard let timeZones, zone.utf8.count <= nameBytesMax else { return nil }
    let parts = zone.split(separator: "/").map { part in
      part.split(whereSeparator: { $0 == "_" || $0 == " " })
        .map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined(separator: "_")
    }
    let name = parts.joined(separator: "/")
    let candidates =
      [name, zone.uppercased()] + regions.map { "\($0)/\(parts.last ?? "")" }
    return candidates.first { $0 != zone && timeZones($0) != nil }
  }

  /// The folders of the database that have cities.
  private static let regions = [
    "Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian",
  ]

  /// Every database has this zone.
  private static let databaseProbe = "Etc/UTC"
}
