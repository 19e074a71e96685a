/// A task that a widget shows while it lasts: when it began, and how far it is.
///
/// The widget's parameters are its attributes, which stay. The widget's data is its state.
public struct Activity: Hashable, Sendable {
  public var state: State
  public var startTime: Timestamp
  /// When its lifetime is over. It ends by itself then.
  public var expireTime: Timestamp
  /// When the widget becomes stale, if no update comes before; nil for never, or if it was reached.
  public var staleTime: Timestamp?
  /// When it ended; nil while it goes on.
  public var endTime: Timestamp?
  /// When the daemon removes the widget; nil while it goes on.
  public var dismissTime: Timestamp?

  public enum State: UInt8, Hashable, Sendable, CaseIterable {
    case active = 1
    /// Somebody ended it.
    case ended
    /// Its lifetime was over before somebody ended it.
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

  /// When time next changes it; nil for never.
  public var due: Timestamp? {
    state == .active ? min(staleTime ?? expireTime, expireTime) : dismissTime
  }

  /// How long the widget of an ended activity stays.
  public enum Dismissal: Hashable, Sendable {
    /// As long as it may: `activity_dismissal_seconds_max`.
    case standard
    /// Not at all.
    case immediate
    /// At most as long as it may.
    case after(Duration)
  }

  /// What time did to an activity.
  public struct Passage: Hashable, Sendable {
    /// Whether the widget is stale from now on.
    public var becameStale = false
    /// Whether the widget is to be removed.
    public var isOver = false
  }

  /// Ends it.
  public mutating func end(_ state: State, at time: Timestamp, stayingFor stay: Duration) {
    self.state = state
    staleTime = nil
    endTime = time
    dismissTime = time.advanced(by: stay)
  }

  /// Makes it true at a time, however late that is. `stay`: how long the widget stays if its
  /// lifetime is over.
  public mutating func pass(to now: Timestamp, stayingFor stay: Duration) -> Passage {
    var passage = Passage()
    if state == .active, let time = staleTime, time <= now {
      staleTime = nil
      passage.becameStale = true
    }
    if state == .active, expireTime <= now {
      end(.expired, at: expireTime, stayingFor: stay)
      // Nobody said how it went.
      passage.becameStale = true
    }
    passage.isOver = dismissTime.map { $0 <= now } ?? false
    return passage
  }
}

/// A change of an activity's state.
public struct StatePatch: Hashable, Sendable {
  public var setData: ValueMap
  /// Keys that do not exist are fine.
  public var unsetData: [String]

  public init(setData: ValueMap = [:], unsetData: [String] = []) {
    self.setData = setData
    self.unsetData = unsetData
  }
}
