public import WidgetModel

/// The content of a widget over time, with typed entries; see `Timeline`.
///
///     train.timeline = EntryTimeline(
///       departures.map { .init($0.time, Departure(platform: $0.platform)) }, policy: .atEnd)
public struct EntryTimeline<Entry: Fields>: Sendable {
  /// In any order. If two entries have the same date, the last one counts.
  public var entries: [DatedEntry<Entry>]
  /// The policy that decides when `refresh` is called for a new timeline.
  public var policy: Timeline.Policy
  /// For the policy `after`: the time of the call of `refresh`.
  public var refreshTime: Timestamp?
  /// The time when the widget becomes stale, if no other timeline comes before.
  public var staleTime: Timestamp?

  public init(
    _ entries: [DatedEntry<Entry>], policy: Timeline.Policy = .atEnd,
    refreshTime: Timestamp? = nil, staleTime: Timestamp? = nil
  ) {
    self.entries = entries
    self.policy = policy
    self.refreshTime = refreshTime
    self.staleTime = staleTime
  }

  var untyped: Timeline {
    Timeline(
      entries: entries.map {
        TimelineEntry(
          date: $0.date, values: $0.entry.difference(from: [:]).set, score: $0.score,
          duration: $0.duration)
      }, policy: policy, refreshTime: refreshTime, staleTime: staleTime)
  }
}

/// An entry, and the date from which it is shown.
public struct DatedEntry<Entry: Fields>: Sendable {
  public var date: Timestamp
  public var entry: Entry
  /// The relevance beside other widgets, from 0 to `TimelineEntry.scoreMax`.
  public var score: Double
  /// The duration of the score, from the date on; nil for as long as the entry is current.
  public var duration: Duration?

  public init(
    _ date: Timestamp, _ entry: Entry = Entry(), score: Double = 0, duration: Duration? = nil
  ) {
    self.date = date
    self.entry = entry
    self.score = score
    self.duration = duration
  }
}

/// A named set of parameters: `.init("oslo", "Oslo") { $0.city = "Oslo" }`.
public struct Recommended<Parameters: Fields>: Sendable {
  /// Unique in the kind.
  public var name: String
  /// For people; empty for the name.
  public var displayName: String
  public var parameters: Parameters

  public init(
    _ name: String, _ displayName: String = "", _ configure: (inout Parameters) -> Void = { _ in }
  ) {
    self.name = name
    self.displayName = displayName
    parameters = Parameters()
    configure(&parameters)
  }
}
