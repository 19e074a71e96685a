import WidgetExpression
import WidgetModel

/// The schedule, the sample and the recommendations of a kind.
extension KindReader {
  /// Reads the kind's timeline and instance keys. Fields and data must be read before.
  func readTimelines(_ object: Object) {
    kind.entry = reading.fields(object["entry"], of: "entry", mayBeRequired: false)
    for field in kind.entry where ["date", "score"].contains(field.name) {
      if let item = object["entry"] {
        reading.report(
          item, "every entry has \"\(field.name)\"", hint: "choose another name for the field")
      }
    }
    if let item = object["schedule"] { kind.schedule = schedule(item) }
    if let item = object["sample"] { kind.sample = sample(item) }
    if let item = object["recommendations"] { kind.recommendations = recommendations(item) }
    kind.refreshesPerHour = reading.int(object["refreshesPerHour"], in: 1...1_000_000)
  }

  private func schedule(_ item: Item) -> EntrySchedule? {
    guard let object = reading.object(item, .schedule) else { return nil }
    let given = ["every", "cron", "entries"].filter { object[$0] != nil }
    guard given.count == 1 else {
      // The unknown key is reported already.
      if given.isEmpty, object.misspells(["every", "cron", "entries"]) { return nil }
      reading.report(
        item, "a schedule has exactly one of every, cron and entries",
        hint: given.isEmpty
          ? "add every: 1m" : "leave out \(given.dropFirst().joined(separator: ", "))")
      return nil
    }
    var schedule = EntrySchedule()
    schedule.every = reading.duration(object["every"], atLeast: .seconds(1))
    schedule.offset = offset(object)
    if let item = object["offset"], object["every"] == nil {
      reading.report(item, "only a schedule with every has an offset", hint: "leave it out")
    }
    let cron = reading.text(object["cron"])
    if let item = object["cron"], cron?.isEmpty == true {
      reading.report(item, "the pattern is empty", hint: "write for example 0 8 * * mon-fri")
    }
    schedule.cron = cron ?? ""
    let variables = Variables(
      [
        ExpressionVariable("data", .record(RecordType(kind.data, isOpen: kind.isOpen))),
        ExpressionVariable("parameters", .record(RecordType(kind.parameters, isOpen: kind.isOpen))),
      ], timeZones: reading.timeZones)
    if let item = object["zone"], let text = reading.text(item) {
      if text.hasPrefix("=") {
        let zone = reading.expression(item, variables, giving: .string, for: "zone")
        schedule.zone = zone?.compiled.source ?? ""
        for result in zone?.compiled.constantResults ?? [] {
          guard case .string(let name) = result.value, let mistake = reading.mistake(inZone: name)
          else { continue }
          reading.report(
            item, at: result.offset, of: schedule.zone, mistake.message, hint: mistake.hint)
        }
      } else if let mistake = reading.mistake(inZone: text) {
        reading.report(item, mistake.message, hint: mistake.hint)
      } else {
        schedule.zone = CELText.literal(.string(text))
      }
    }
    if let item = object["entries"],
      let entries = reading.expression(
        item, variables, giving: .list(.any), for: "entries")
    {
      schedule.entries = entries.compiled.source
    }
    if object["entries"] != nil, let item = object["zone"] {
      reading.report(item, "entries have dates, so they have no zone", hint: "leave out zone")
    }
    checkTimes(schedule, object)
    return schedule
  }

  /// The shift of a schedule's entries. `Recurrence` checks its range.
  func offset(_ object: Object) -> Duration {
    reading.duration(object["offset"], atLeast: .nanoseconds(Int64.min)) ?? .zero
  }

  /// Reports times that the daemon refuses. Keys with a mistake are missing from the schedule.
  private func checkTimes(_ schedule: EntrySchedule, _ object: Object) {
    do throws(Recurrence.Problem) { _ = try Recurrence(schedule) } catch {
      guard let item = object[error.key] else { return }
      reading.report(item, error.message, hint: error.hint)
    }
  }

  private func sample(_ item: Item) -> ValueMap {
    var sample = ValueMap()
    for entry in reading.entries(item, of: "data keys and values") ?? [] {
      guard let value = reading.constant(entry.item) else { continue }
      let field = kind.data.first { $0.name == entry.name }
      guard field != nil || kind.isOpen else {
        reading.report(
          entry.nameItem, "the kind has no data \"\(entry.name.prefix(64))\"",
          hint: reading.suggestion(entry.name, among: kind.data.map(\.name)))
        continue
      }
      sample[entry.name] = field.flatMap { reading.fitted(value, $0, entry.item) } ?? value
    }
    return sample
  }

  private func recommendations(_ item: Item) -> [Recommendation] {
    var recommendations: [Recommendation] = []
    for entry in reading.entries(item, of: "recommendations") ?? [] {
      guard entry.name.isIdentifier(lengthMax: KindName.lengthMax) else {
        reading.report(
          entry.nameItem, "\"\(entry.name.prefix(70))\" cannot be the name of a recommendation",
          hint: "use 1 to 64 of a-z, A-Z, 0-9 and . _ - / :, a letter or digit first")
        continue
      }
      guard let object = reading.object(entry.item, .recommendation) else { continue }
      var recommendation = Recommendation(
        name: entry.name, displayName: reading.text(object["displayName"]) ?? "")
      for parameter in object["parameters"].flatMap({
        reading.entries($0, of: "parameters")
      }) ?? [] {
        guard let value = reading.constant(parameter.item) else { continue }
        let field = kind.parameters.first { $0.name == parameter.name }
        guard field != nil || kind.isOpen else {
          reading.report(
            parameter.nameItem, "the kind has no parameter \"\(parameter.name.prefix(64))\"",
            hint: reading.suggestion(parameter.name, among: kind.parameters.map(\.name)))
          continue
        }
        recommendation.parameters[parameter.name] =
          field.flatMap { reading.fitted(value, $0, parameter.item) } ?? value
      }
      recommendations.append(recommendation)
    }
    return recommendations
  }
}
