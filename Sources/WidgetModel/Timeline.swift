/// One entry of a timeline: current from its date until the date of the next entry.
public struct TimelineEntry: Hashable, Sendable {
  public var date: Timestamp
  /// The values that the kind declares in `Kind.entry`.
  public var values: ValueMap
  /// The relevance beside other widgets, from 0 to `scoreMax`.
  public var score: Double
  /// The time for which the score counts, from the date on; nil for as long as the entry is
  /// current.
  public var duration: Duration?

  public init(
    date: Timestamp, values: ValueMap = [:], score: Double = 0, duration: Duration? = nil
  ) {
    self.date = date
    self.values = values
    self.score = score
    self.duration = duration
  }

  /// The end of the score, if it is before the next entry; nil for never.
  public var scoreEnd: Timestamp? { duration.map { date.advanced(by: $0) } }

  /// The relevance at a time, while the entry is current.
  public func score(at time: Timestamp) -> Double {
    scoreEnd.map { $0 <= time } ?? false ? 0 : score
  }

  public static let scoreMax = 1_000_000.0

  /// The size in bytes, as quotas count it.
  public var costBytes: Int {
    values.entries.reduce(32) { $0 + $1.key.utf8.count + $1.value.costBytes }
  }
}

/// The content of a widget at each time, and the time to ask its provider for more.
public struct Timeline: Hashable, Sendable {
  /// In order of their dates, each date once. See `ordered`.
  public var entries: [TimelineEntry]
  public var policy: Policy
  /// For `after`: the time to ask the provider.
  public var refreshTime: Timestamp?
  /// The time at which the widget becomes stale without a new timeline.
  public var staleTime: Timestamp?
  /// The time at which it was set. The daemon sets it; it is never sent.
  public var setTime = Timestamp.epoch
  /// The values that are set aside because they do not fit the changed kind, by the dates of their
  /// entries. The daemon sets them; they are never sent.
  public var asides: [TimelineEntry] = [] {
    didSet { asideNames = Timeline.names(of: asides) }
  }
  /// The names of the values in `asides`, in order.
  public private(set) var asideNames: [String] = []

  /// The time to ask a provider for a new timeline.
  public enum Policy: UInt8, Hashable, Sendable, CaseIterable {
    /// When the last entry becomes current.
    case atEnd = 1
    /// At `refreshTime`.
    case after
    /// When a client asks for it.
    case never
  }

  public init(
    entries: [TimelineEntry] = [], policy: Policy = .atEnd, refreshTime: Timestamp? = nil,
    staleTime: Timestamp? = nil
  ) {
    self.entries = entries
    self.policy = policy
    self.refreshTime = refreshTime
    self.staleTime = staleTime
  }

  /// The entries by date. If several have the same date, the last one counts, because the others
  /// are never current. O(n log n), or O(n) if they are in order.
  public var ordered: Timeline {
    let isOrdered = zip(entries, entries.dropFirst()).allSatisfy { $0.date < $1.date }
    guard !isOrdered else { return self }
    var result = self
    let sorted = entries.enumerated().sorted {
      ($0.element.date, $0.offset) < ($1.element.date, $1.offset)
    }
    result.entries = []
    for (_, entry) in sorted {
      if result.entries.last?.date == entry.date { result.entries.removeLast() }
      result.entries.append(entry)
    }
    return result
  }

  /// The timeline with the values that are set aside in place of the defaults. O(n).
  public var restored: Timeline {
    guard !asides.isEmpty else { return self }
    var result = self
    let values = Dictionary(asides.map { ($0.date, $0.values) }) { first, _ in first }
    for index in result.entries.indices {
      for value in values[result.entries[index].date]?.entries ?? [] {
        result.entries[index].values[value.key] = value.value
      }
    }
    result.asides = []
    return result
  }

  /// O(n log n): there can be as many names as values.
  private static func names(of asides: [TimelineEntry]) -> [String] {
    let all = asides.flatMap { $0.values.entries.map(\.key) }.sorted { $0.precedesByBytes($1) }
    return all.indices.filter { $0 == 0 || !all[$0].hasSameBytes(as: all[$0 - 1]) }.map { all[$0] }
  }

  /// The names of values that are set aside, and are not in another timeline. O(n).
  public func asideNames(notIn other: Timeline?) -> [String] {
    var others = (other?.asideNames ?? [])[...]
    return asideNames.filter { name in
      while let first = others.first, first.precedesByBytes(name) { others.removeFirst() }
      return others.first?.hasSameBytes(as: name) != true
    }
  }

  /// Whether it equals another, whatever their `setTime` and `asides`.
  public func isSame(as other: Timeline?) -> Bool {
    guard let other else { return false }
    return entries == other.entries && policy == other.policy && refreshTime == other.refreshTime
      && staleTime == other.staleTime
  }

  /// Whether setting it is a change, in place of the timeline `other`. The same entries are a change
  /// if values of the former ones are set aside, because these have no such values.
  public func isChange(of other: Timeline?) -> Bool {
    !isSame(as: other) || other?.asides.isEmpty == false
  }

  /// The size in bytes, as quotas count it.
  public var costBytes: Int {
    asides.reduce(entries.reduce(64) { $0 + $1.costBytes }) { $0 + $1.costBytes }
  }
}

extension [TimelineEntry] {
  /// The place of the current entry at a time: the newest one that is not after it. Nil before the
  /// first. The entries are in order. O(log n).
  public func current(at time: Timestamp) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].date <= time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : low - 1
  }
}

/// The place of a widget in its timeline.
public struct TimelineStatus: Hashable, Sendable {
  /// The current entry; nil before the first.
  public var current: TimelineEntry?
  /// The date of the next entry.
  public var nextTime: Timestamp?
  /// The time to ask the provider for a new timeline, or again after a failure; nil if it is not
  /// asked.
  public var refreshTime: Timestamp?
  /// The time from which the widget is stale, even if it has passed; nil for never.
  public var staleTime: Timestamp?
  /// The problem of the kind's schedule for this widget; empty for none.
  public var problem: String
  /// The start of the problem; nil if there is none.
  public var problemSince: Timestamp?

  public init(
    current: TimelineEntry? = nil, nextTime: Timestamp? = nil, refreshTime: Timestamp? = nil,
    staleTime: Timestamp? = nil, problem: String = "", problemSince: Timestamp? = nil
  ) {
    self.current = current
    self.nextTime = nextTime
    self.refreshTime = refreshTime
    self.staleTime = staleTime
    self.problem = problem
    self.problemSince = problemSince
  }
}

/// Entries that a kind makes without a provider. Exactly one of `every`, `cron` and `entries` is
/// set.
public struct EntrySchedule: Hashable, Sendable {
  /// One entry in each such period.
  public var every: Duration?
  /// For `every`: the beginning of the periods, counted from midnight.
  public var offset: Duration
  /// One entry at each matching time, in the form of cron(8); empty for none.
  public var cron: String
  /// An expression for the name of a time zone; empty for UTC.
  public var zone: String
  /// An expression for the entries as a list of maps; empty for none.
  public var entries: String

  public init(
    every: Duration? = nil, offset: Duration = .zero, cron: String = "", zone: String = "",
    entries: String = ""
  ) {
    self.every = every
    self.offset = offset
    self.cron = cron
    self.zone = zone
    self.entries = entries
  }

  var costBytes: Int { 64 + cron.utf8.count + zone.utf8.count + entries.utf8.count }
}

/// A named set of parameters: an instance that most people want.
public struct Recommendation: Hashable, Sendable {
  /// Unique in the kind.
  public var name: String
  /// The name for people; empty for `name`.
  public var displayName: String
  public var parameters: ValueMap

  public init(name: String, displayName: String = "", parameters: ValueMap = [:]) {
    self.name = name
    self.displayName = displayName
    self.parameters = parameters
  }

  var costBytes: Int {
    parameters.entries.reduce(64 + name.utf8.count + displayName.utf8.count) {
      $0 + $1.key.utf8.count + $1.value.costBytes
    }
  }
}

/// The remaining refreshes of the widgets of a kind.
public struct RefreshBudget: Hashable, Sendable {
  public var kind: KindName
  /// The calls that are left now.
  public var remaining: Int
  /// The maximum number of remaining calls.
  public var capacity: Int
  /// The time at which one more call is available; nil if none is used.
  public var nextTime: Timestamp?

  public init(kind: KindName, remaining: Int, capacity: Int, nextTime: Timestamp? = nil) {
    self.kind = kind
    self.remaining = remaining
    self.capacity = capacity
    self.nextTime = nextTime
  }
}

/// One entry, and the widget's content while it is current.
public struct ShownEntry: Hashable, Sendable {
  public var entry: TimelineEntry
  public var content: Content?

  public init(entry: TimelineEntry, content: Content? = nil) {
    self.entry = entry
    self.content = content
  }
}

/// A possible instance of a kind. The widget does not exist.
public struct Preview: Hashable, Sendable {
  public var kind: KindName
  public var family: Family
  public var parameters: ValueMap
  public var data: ValueMap
  /// nil if the kind has no content for the family.
  public var content: Content?
  /// Whether `data` is the kind's sample.
  public var isSample: Bool
  /// Of a snapshot: the reason for a sample in its place. Of a placeholder: the required parameter
  /// that has no value. Empty for no reason.
  public var reason: String

  public init(
    kind: KindName, family: Family = .medium, parameters: ValueMap = [:], data: ValueMap = [:],
    content: Content? = nil, isSample: Bool = false, reason: String = ""
  ) {
    self.kind = kind
    self.family = family
    self.parameters = parameters
    self.data = data
    self.content = content
    self.isSample = isSample
    self.reason = reason
  }
}
