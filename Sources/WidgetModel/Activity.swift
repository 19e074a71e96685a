/// A task that a widget shows while it lasts: the start, and the progress.
///
/// The widget's parameters are its attributes, which never change. The widget's data is its state.
public struct Activity: Hashable, Sendable {
  public var state: State
  public var startTime: Timestamp
  /// The end of its lifetime. The activity ends by itself then.
  public var expireTime: Timestamp
  /// The time at which the widget becomes stale without an update; nil for never, or after that
  /// time.
  public var staleTime: Timestamp?
  /// The time of its end; nil while it is active.
  public var endTime: Timestamp?
  /// The time at which the daemon removes the widget; nil while it is active.
  public var dismissTime: Timestamp?

  public enum State: UInt8, Hashable, Sendable, CaseIterable {
    case active = 1
    /// A user or program ended it.
    case ended
    /// The activity's lifetime was over before anybody ended it.
    case expired

    public var name: String {
      switch self {
      case .active: "active"
      case .ended: "ended"
      case .expired: "expired"
      }
    }
  }

  public init(
    state: State = .active, startTime: Timestamp, expireTime: Timestamp,
    staleTime: Timestamp? = nil, endTime: Timestamp? = nil, dismissTime: Timestamp? = nil
  ) {
    self.state = state
    self.startTime = startTime
    self.expireTime = expireTime
    self.staleTime = staleTime
    self.endTime = endTime
    self.dismissTime = dismissTime
  }

  /// The next time at which time changes it; nil for never.
  public var due: Timestamp? {
    state == .active ? min(staleTime ?? expireTime, expireTime) : dismissTime
  }

  /// The time for which the widget of an ended activity stays.
  public enum Dismissal: Hashable, Sendable {
    /// For the maximum time: `activity_dismissal_seconds_max`.
    case standard
    /// For no time: the end removes the widget.
    case immediate
    /// For this time: from 0 to the maximum. Another time is refused.
    case after(Duration)
  }

  /// The effect of time on an activity.
  public struct Passage: Hashable, Sendable {
    /// Whether the widget is stale from now on.
    public var becameStale = false
    /// Whether the widget must be removed.
    public var isOver = false
  }

  /// Ends it.
  public mutating func end(_ state: State, at time: Timestamp, stayingFor stay: Duration) {
    self.state = state
    staleTime = nil
    endTime = time
    dismissTime = time.advanced(by: stay)
  }

  /// Updates it to a time, however late that is. `stay`: the time for which the widget stays if its
  /// lifetime is over.
  public mutating func pass(to now: Timestamp, stayingFor stay: Duration) -> Passage {
    var passage = Passage()
    if state == .active, let time = staleTime, time <= now {
      staleTime = nil
      passage.becameStale = true
    }
    if state == .active, expireTime <= now {
      end(.expired, at: expireTime, stayingFor: stay)
      // The result is unknown.
      passage.becameStale = true
    }
    passage.isOver = dismissTime.map { $0 <= now } ?? false
    return passage
  }
}

/// A change of an activity's state.
public struct StatePatch: Hashable, Sendable {
  public var setData: ValueMap
  /// Missing keys are allowed.
  public var unsetData: [String]

  public init(setData: ValueMap = [:], unsetData: [String] = []) {
    self.setData = setData
    self.unsetData = unsetData
  }
}
