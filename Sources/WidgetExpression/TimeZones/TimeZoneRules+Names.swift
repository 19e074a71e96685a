extension TimeZoneRules {
  /// The rules of UTC or a fixed offset (`+02:00`, `02:00`). Nil for the name of a zone.
  init?(fixed zone: String) {
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

  /// Every database has this zone.
  private static let databaseProbe = "Etc/UTC"
}
