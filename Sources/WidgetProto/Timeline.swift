import CWidgetProto
public import WidgetModel

// Timelines and schedules: widgetd/v1/timeline.proto.

/// widgetd.v1.Entry.
extension TimelineEntry: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Entry>, _ reader: Reader) throws(WireError) {
    guard let date = try reader.timestamp("date", c.pointee.date) else {
      throw .invalidField(path: "date", description: "an entry needs a date")
    }
    self.init(
      date: date, values: try reader.values("values", c.pointee.n_values, c.pointee.values),
      score: c.pointee.score, duration: try reader.duration("duration", c.pointee.duration))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Entry>, _ writer: Writer) throws(WireError) {
    c.pointee.date = try writer.timestamp(date)
    c.pointee.n_values = values.count
    c.pointee.values = try writer.entries(
      "values", values, of: Widgetd__V1__Entry__ValuesEntry.self)
    c.pointee.score = score
    c.pointee.duration = try writer.duration("duration", optional: duration)
  }
}

extension Timeline: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Timeline>, _ reader: Reader) throws(WireError) {
    self.init(
      entries: try reader.list("entries", c.pointee.n_entries, c.pointee.entries) {
        (element) throws(WireError) in
        try TimelineEntry(c: element, reader)
      },
      policy: try reader.policy("policy", c.pointee.policy) ?? .atEnd,
      refreshTime: try reader.timestamp("refresh_time", c.pointee.refresh_time),
      staleTime: try reader.timestamp("stale_time", c.pointee.stale_time))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Timeline>, _ writer: Writer) throws(WireError) {
    c.pointee.n_entries = entries.count
    c.pointee.entries = try writer.list("entries", entries)
    c.pointee.policy = Widgetd__V1__TimelinePolicy(rawValue: UInt32(policy.rawValue))
    if let refreshTime { c.pointee.refresh_time = try writer.timestamp(refreshTime) }
    if let staleTime { c.pointee.stale_time = try writer.timestamp(staleTime) }
  }
}

extension TimelineStatus: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__TimelineStatus>, _ reader: Reader) throws(WireError) {
    self.init(
      current: try reader.optional("current", c.pointee.current),
      nextTime: try reader.timestamp("next_time", c.pointee.next_time),
      refreshTime: try reader.timestamp("refresh_time", c.pointee.refresh_time),
      staleTime: try reader.timestamp("stale_time", c.pointee.stale_time),
      problem: reader.string(c.pointee.problem),
      problemSince: try reader.timestamp("problem_since", c.pointee.problem_since))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__TimelineStatus>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.current = try writer.message("current", optional: current)
    if let nextTime { c.pointee.next_time = try writer.timestamp(nextTime) }
    if let refreshTime { c.pointee.refresh_time = try writer.timestamp(refreshTime) }
    if let staleTime { c.pointee.stale_time = try writer.timestamp(staleTime) }
    c.pointee.problem = try writer.string("problem", problem)
    if let problemSince { c.pointee.problem_since = try writer.timestamp(problemSince) }
  }
}

extension EntrySchedule: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Schedule>, _ reader: Reader) throws(WireError) {
    self.init(
      every: try reader.duration("every", c.pointee.every),
      offset: try reader.duration("offset", c.pointee.offset) ?? .zero,
      cron: reader.string(c.pointee.cron), zone: reader.string(c.pointee.zone),
      entries: reader.string(c.pointee.entries))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Schedule>, _ writer: Writer) throws(WireError) {
    c.pointee.every = try writer.duration("every", optional: every)
    if offset != .zero { c.pointee.offset = try writer.duration("offset", offset) }
    c.pointee.cron = try writer.string("cron", cron)
    c.pointee.zone = try writer.string("zone", zone)
    c.pointee.entries = try writer.string("entries", entries)
  }
}

extension Recommendation: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Recommendation>, _ reader: Reader) throws(WireError) {
    self.init(
      name: reader.string(c.pointee.name), displayName: reader.string(c.pointee.display_name),
      parameters: try reader.values("parameters", c.pointee.n_parameters, c.pointee.parameters))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__Recommendation>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name)
    c.pointee.display_name = try writer.string("display_name", displayName)
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.entries(
      "parameters", parameters, of: Widgetd__V1__Recommendation__ParametersEntry.self)
  }
}

extension RefreshBudget: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RefreshBudget>, _ reader: Reader) throws(WireError) {
    self.init(
      kind: try reader.kind("kind", c.pointee.kind), remaining: Int(c.pointee.remaining),
      capacity: Int(c.pointee.capacity),
      nextTime: try reader.timestamp("next_time", c.pointee.next_time))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RefreshBudget>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    c.pointee.remaining = UInt32(clamping: remaining)
    c.pointee.capacity = UInt32(clamping: capacity)
    if let nextTime { c.pointee.next_time = try writer.timestamp(nextTime) }
  }
}

extension Reader {
  /// A timeline's policy; nil for none.
  func policy(
    _ field: StaticString, _ value: Widgetd__V1__TimelinePolicy
  ) throws(WireError) -> Timeline.Policy? {
    let policy = Timeline.Policy(number: value.rawValue)
    if value.rawValue != 0, policy == nil {
      throw unknownEnum(field, value.rawValue, "use one of the values of TimelinePolicy")
    }
    return policy
  }
}
