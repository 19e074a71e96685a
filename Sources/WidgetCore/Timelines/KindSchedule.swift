import WidgetExpression
import WidgetModel

/// A compiled schedule of a kind: the entries of its widgets at any time.
///
/// Pure: the same widget at the same time always has the same entries.
///
/// An object, so that a widget can tell whether its schedule has changed.
final class KindSchedule: Sendable {
  /// The reason why a schedule cannot be used.
  struct Problem: Error, Hashable {
    /// `schedule.cron`
    let place: String
    let message: String
  }

  private enum Source {
    case recurrence(Recurrence)
    case entries(CompiledExpression)
  }

  private let source: Source
  private let zone: CompiledExpression?
  private let timeZones: WidgetStore.TimeZones?
  private let fields: [Field]
  private let isOpen: Bool

  init(
    _ schedule: EntrySchedule, of kind: Kind, _ memory: KindMemory,
    timeZones: WidgetStore.TimeZones?
  ) throws(Problem) {
    self.timeZones = timeZones
    fields = kind.entry
    isOpen = kind.isOpen
    let parameters = ExpressionVariable(
      "parameters", .record(RecordType(kind.parameters, isOpen: kind.isOpen)))
    let data = ExpressionVariable("data", .record(RecordType(kind.data, isOpen: kind.isOpen)))
    func compile(
      _ text: String, _ place: String, _ variables: [ExpressionVariable]
    ) throws(Problem) -> CompiledExpression {
      do throws(KindMemory.Refusal) {
        return try memory.compile(
          text, in: ExpressionEnvironment(variables: variables, timeZones: timeZones))
      } catch {
        throw Problem(place: "schedule.\(place)", message: error.message)
      }
    }
    let given = [schedule.every != nil, !schedule.cron.isEmpty, !schedule.entries.isEmpty]
    guard given.count(where: \.self) == 1 else {
      throw Problem(place: "schedule", message: "set exactly one of every, cron and entries")
    }
    let recurrence: Recurrence?
    do throws(Recurrence.Problem) { recurrence = try Recurrence(schedule) } catch {
      throw Problem(place: "schedule.\(error.key)", message: error.text)
    }
    if let recurrence {
      source = .recurrence(recurrence)
    } else {
      let expression = try compile(schedule.entries, "entries", [data, parameters])
      switch expression.resultType {
      case .list, .dyn, .null, .parameter: break
      default:
        throw Problem(
          place: "schedule.entries",
          message: "expected a list of maps, not a value of type \(expression.resultType)")
      }
      source = .entries(expression)
    }
    guard schedule.offset == .zero || schedule.every != nil else {
      throw Problem(place: "schedule.offset", message: "only a schedule with `every` has an offset")
    }
    guard schedule.zone.isEmpty || schedule.entries.isEmpty else {
      throw Problem(
        place: "schedule.zone",
        message: "entries have dates, so they have no zone; remove zone")
    }
    guard !schedule.zone.isEmpty else {
      zone = nil
      return
    }
    let zone = try compile(schedule.zone, "zone", [parameters])
    guard zone.resultType.mayFit(.string) else {
      throw Problem(
        place: "schedule.zone",
        message: "expected the name of a time zone, not a value of type \(zone.resultType)")
    }
    self.zone = zone
  }

  /// The problem of a zone that the schedule names as a constant. A stored kind is not checked: an
  /// update of the system can remove a zone, and its times are then in UTC.
  var zoneProblem: Problem? {
    for result in zone?.constantResults ?? [] {
      guard case .string(let name) = result.value, !TimeZoneRules.mayBeName(name, in: timeZones)
      else { continue }
      let hint =
        TimeZoneRules.suggestion(for: name, in: timeZones).map { "did you mean \"\($0)\"?" }
        ?? "use a name such as \"Europe/Berlin\""
      return Problem(
        place: "schedule.zone", message: "there is no time zone \"\(name.prefix(64))\"; \(hint)")
    }
    return nil
  }

  /// The result of a schedule for a widget.
  struct Result {
    /// The entries from `entries`, in order. Nil for a recurrence.
    var entries: [TimelineEntry]?
    var current: TimelineEntry?
    var next: Timestamp?
    var problem = ""
    /// Whether the owner's quota had no room for the entries. The widget's next change computes them
    /// again.
    var lacksRoom = false
    var cost = 0

    init() {}

    /// The place in known entries.
    init(_ entries: [TimelineEntry], at now: Timestamp, problem: String) {
      let place = entries.current(at: now)
      self.entries = entries
      self.problem = problem
      current = place.map { entries[$0] }
      let following = (place ?? -1) + 1
      if following < entries.count { next = entries[following].date }
    }
  }

  /// Whether the entries depend on the data.
  var readsData: Bool { if case .entries = source { true } else { false } }

  /// The place of a widget in its schedule.
  func place(
    data: RevisedMap, parameters: RevisedMap, at now: Timestamp, limits: StoreLimits
  ) -> Result {
    var result = Result()
    switch source {
    case .recurrence(let recurrence):
      let rules = rules(parameters, limits, &result)
      var budget = Int.max
      result.current = recurrence.last(notAfter: now, in: rules, spending: &budget).map {
        entry(at: $0)
      }
      result.next = recurrence.next(after: now, in: rules, spending: &budget)
      result.cost += Int.max - budget
    case .entries(let expression):
      var budget = limits.contentCostMax
      do throws(Failure) {
        result = Result(
          try entries(expression, data, parameters, &budget, limits), at: now, problem: "")
      } catch {
        result.problem = error.message
        result.lacksRoom = error.isForRoom
      }
      result.cost += limits.contentCostMax - max(0, budget)
    }
    return result
  }

  /// A page of the entries of a recurrence.
  struct Page {
    var entries: [TimelineEntry] = []
    /// Whether there may be more entries.
    var hasMore = false
    var cost = 0
  }

  /// The current entry of a recurrence at a time, and the entries after it. The page ends early when
  /// its search has cost `scan_cost_max`. It has two entries at least, so that readers get further.
  func entries(
    from start: Timestamp, limit: Int, parameters: RevisedMap, limits: StoreLimits
  ) -> Page {
    guard case .recurrence(let recurrence) = source else { return Page() }
    var result = Result()
    let rules = rules(parameters, limits, &result)
    var page = Page()
    var budget = max(1, limits.scanCostMax)
    var time =
      recurrence.last(notAfter: start, in: rules, spending: &budget)
      ?? recurrence.next(after: start, in: rules, spending: &budget)
    while let date = time {
      guard page.entries.count < limit else {
        page.hasMore = true
        break
      }
      page.entries.append(entry(at: date))
      guard budget > 0 || page.entries.count < 2 else {
        page.hasMore = true
        break
      }
      time = recurrence.next(after: date, in: rules, spending: &budget)
    }
    page.cost = result.cost + max(1, limits.scanCostMax) - budget
    return page
  }

  private func entry(at date: Timestamp) -> TimelineEntry {
    TimelineEntry(date: date, values: withDefaults([:]))
  }

  private func withDefaults(_ values: ValueMap) -> ValueMap {
    var values = values
    for field in fields where values[field.name] == nil {
      if let value = field.defaultValue { values[field.name] = value }
    }
    return values
  }

  // MARK: - Zones

  private func rules(
    _ parameters: RevisedMap, _ limits: StoreLimits, _ result: inout Result
  ) -> TimeZoneRules {
    guard let zone else { return .utc }
    var budget = limits.selectorCostMax
    defer { result.cost += limits.selectorCostMax - max(0, budget) }
    do throws(EvaluationError) {
      let value = try zone.evaluate(
        SlotBindings([.map(ExpressionMap(RecordMap(parameters)))]), spending: &budget)
      guard case .string(let name) = value else {
        result.problem = "The zone is not a text, so times are in UTC."
        return .utc
      }
      if let rules = TimeZoneRules(named: name, in: timeZones) { return rules }
      result.problem =
        "There is no time zone \"\(name.prefix(64))\", so times are in UTC. "
        + (TimeZoneRules.suggestion(for: name, in: timeZones).map { "Did you mean \"\($0)\"?" }
          ?? "Use a name such as \"Europe/Berlin\".")
    } catch {
      result.problem = "The zone cannot be computed, so times are in UTC: \(error.quoted)"
    }
    return .utc
  }

  // MARK: - Computed entries

  private struct Failure: Error {
    let message: String
    /// Whether the entries fit as soon as the owner's other widgets have less content.
    var isForRoom = false

    /// Entries of more than `contentBytesMax` bytes.
    static func tooLarge(_ limits: StoreLimits) -> Failure {
      guard limits.contentRoomBytes < .max else {
        return Failure(
          message: "The entries have more than \(limits.contentBytesMax) bytes "
            + "(content_bytes_max). So the widget has no entries. Make fewer or smaller entries.")
      }
      return Failure(
        message: "There is no room for the entries: a widget has at most content_bytes_max, and "
          + "all widgets of its user have at most content_bytes_per_uid_max. So the widget has no "
          + "entries. Make fewer or smaller entries, or remove widgets; the next change of the "
          + "widget computes the entries again.",
        isForRoom: true)
    }
  }

  private func entries(
    _ expression: CompiledExpression, _ data: RevisedMap, _ parameters: RevisedMap,
    _ budget: inout Int, _ limits: StoreLimits
  ) throws(Failure) -> [TimelineEntry] {
    let value: Value
    do throws(EvaluationError) {
      let result = try expression.evaluate(
        SlotBindings([
          .map(ExpressionMap(RecordMap(data))), .map(ExpressionMap(RecordMap(parameters))),
        ]), spending: &budget)
      value = try Value(result, budget: &budget, depthMax: limits.valueDepthMax + 2)
    } catch {
      throw Failure(message: "The entries cannot be computed: \(error.quoted)")
    }
    if value == .null { return [] }
    guard case .list(let elements) = value else {
      throw Failure(message: "The entries are not a list of maps.")
    }
    guard elements.count <= limits.timelineEntriesMax else {
      throw Failure(
        message: "There are \(elements.count) entries; a widget has at most "
          + "\(limits.timelineEntriesMax) (timeline_entries_max).")
    }
    var timeline = Timeline()
    var bytes = 0
    for (index, element) in elements.enumerated() {
      do throws(Failure) {
        let entry = try entry(element, "entries[\(index)]")
        bytes += entry.costBytes
        timeline.entries.append(entry)
      } catch {
        guard elements.count > 1 else { throw error }
        throw Failure(
          message: "\(error.message) So the widget has no entries. Correct this entry, or leave "
            + "it out with filter(…).")
      }
      guard bytes <= limits.contentBytesMax else { throw .tooLarge(limits) }
    }
    return timeline.ordered.entries
  }

  private func entry(_ value: Value, _ place: String) throws(Failure) -> TimelineEntry {
    guard case .map(let map) = value else { throw Failure(message: "\(place) is not a map.") }
    guard case .timestamp(let date)? = map["date"] else {
      throw Failure(message: "\(place).date is not a timestamp. Use timestamp(…).")
    }
    var entry = TimelineEntry(date: date)
    for pair in map.entries where pair.key != "date" {
      if pair.key == "score" {
        switch pair.value {
        case .int(let number): entry.score = Double(number)
        case .double(let number): entry.score = number
        default: throw Failure(message: "\(place).score is not a number.")
        }
        guard (0...TimelineEntry.scoreMax).contains(entry.score) else {
          throw Failure(message: "\(place).score is not between 0 and 1,000,000.")
        }
        continue
      }
      // A kind may declare a field with this name.
      if pair.key == "duration", !fields.contains(where: { $0.name == "duration" }) {
        guard case .duration(let duration) = pair.value, duration >= .zero else {
          throw Failure(
            message: "\(place).duration is not a duration of 0 or more. Use duration(\"1h\").")
        }
        entry.duration = duration
        continue
      }
      guard let field = fields.first(where: { $0.name.hasSameBytes(as: pair.key) }) else {
        guard isOpen else {
          throw Failure(
            message: "\(place).\(pair.key.prefix(64)) is not declared. Declare it under the kind's "
              + "`entry`, or leave it out.")
        }
        entry.values[pair.key] = pair.value
        continue
      }
      guard let fitted = field.type.fitted(pair.value) else {
        throw Failure(message: "\(place).\(field.name) is not of type \(field.type).")
      }
      guard field.takes(fitted) else {
        throw Failure(message: "\(place).\(field.name) is not one of: \(field.choiceWords).")
      }
      entry.values[field.name] = fitted
    }
    entry.values = withDefaults(entry.values)
    return entry
  }
}
