/// A widget for its readers: one consistent value.
///
/// A property of type `T?` is nil before its initializer sets it, which costs two thirds of the
/// initializer. `Optional<T>` is not.
public struct Widget: Hashable, Sendable, Identifiable {
  public var id: WidgetID
  public var kind: KindName
  public var family: Family
  public var labels: Labels
  public var presence: Presence
  /// The place among all widgets, in ascending display order. Unique; only comparisons of two
  /// positions have a meaning.
  public var position: Int64
  public var parameters: ValueMap
  public var data: ValueMap
  /// The widget's provider is gone, so its data may be old.
  public var isStale: Bool
  /// The error of the widget; nil for none.
  public var error: Optional<WidgetError>
  public var createdRevision: Revision
  public var revision: Revision
  public var createTime: Timestamp
  public var updateTime: Timestamp
  /// The user who created it. It counts against this user's quota.
  public var ownerUID: UInt32
  /// The declared set it belongs to; empty for none.
  public var applySet: String
  /// The content. Nil if the kind has none for the family.
  public var content: Optional<Content>
  /// The place in the timeline. Nil if the widget has neither a timeline nor a schedule.
  public var timeline: Optional<TimelineStatus>
  /// The activity that it shows; nil if it is not an activity.
  public var activity: Optional<Activity>

  public init(
    id: WidgetID, kind: KindName, family: Family = .medium, labels: Labels = [:],
    presence: Presence = Presence(), position: Int64 = 0, parameters: ValueMap = [:],
    data: ValueMap = [:], isStale: Bool = false, error: WidgetError? = nil,
    createdRevision: Revision = 0, revision: Revision = 0, createTime: Timestamp = .epoch,
    updateTime: Timestamp = .epoch, ownerUID: UInt32 = 0, applySet: String = "",
    content: Content? = nil, timeline: TimelineStatus? = nil, activity: Activity? = nil
  ) {
    self.activity = activity
    self.timeline = timeline
    self.content = content
    self.id = id
    self.kind = kind
    self.family = family
    self.labels = labels
    self.presence = presence
    self.position = position
    self.parameters = parameters
    self.data = data
    self.isStale = isStale
    self.error = error
    self.createdRevision = createdRevision
    self.revision = revision
    self.createTime = createTime
    self.updateTime = updateTime
    self.ownerUID = ownerUID
    self.applySet = applySet
  }
}

/// The size classes of widgets.
public enum Family: UInt8, Hashable, Sendable, CaseIterable {
  case small = 1
  case medium
  case large
  case extraLarge
  case inline
  case circular
  case rectangular

  /// The name for people: `small`, …, `extra-large`, ….
  public var name: String {
    switch self {
    case .small: "small"
    case .medium: "medium"
    case .large: "large"
    case .extraLarge: "extra-large"
    case .inline: "inline"
    case .circular: "circular"
    case .rectangular: "rectangular"
    }
  }
}

/// Two independent flags: enabling a hidden widget does not show it.
public struct Presence: Hashable, Sendable {
  /// Whether the widget is shown.
  public var isVisible: Bool
  /// Whether it takes events from users.
  public var isEnabled: Bool

  public init(isVisible: Bool = true, isEnabled: Bool = true) {
    self.isVisible = isVisible
    self.isEnabled = isEnabled
  }

  /// The state for users, from the two flags.
  public var state: State {
    if !isVisible { return .hidden }
    return isEnabled ? .visible : .disabled
  }

  public enum State: UInt8, Hashable, Sendable, CaseIterable {
    case visible = 1
    case hidden
    case disabled
  }
}

/// An error of a widget, for its users.
public struct WidgetError: Hashable, Sendable {
  /// Stable and machine-readable, UPPER_SNAKE_CASE, 1 to 64 characters.
  public var reason: String
  /// The cause, and what to do next.
  public var message: String
  /// The beginning of the error. The daemon sets it if it is left out.
  public var since: Timestamp?
  /// Errors that the widget has at the same time. They have no further errors.
  public private(set) var further: [WidgetError] = []

  public init(reason: String, message: String, since: Timestamp? = nil) {
    self.reason = reason
    self.message = message
    self.since = since
  }

  /// An error with further ones.
  public init(
    reason: String, message: String, since: Timestamp? = nil, further: [WidgetError]
  ) {
    self.init(reason: reason, message: message, since: since)
    self.further = further.map(\.alone)
  }

  /// The first error with the others as its further ones; nil for no error.
  public init?(joining errors: [WidgetError]) {
    guard let first = errors.first else { return nil }
    self = first.alone
    further = errors.dropFirst().map(\.alone)
  }

  /// The error without its further ones.
  public var alone: WidgetError { WidgetError(reason: reason, message: message, since: since) }

  /// The error and its further ones, each alone.
  public var all: [WidgetError] { [alone] + further }

  /// The reason of the errors that the daemon sets for failed reducers.
  public static let reducerFailed = "REDUCER_FAILED"

  /// This error as stored after another one. An error without a time, the first or a further one,
  /// gets the time of a former error with the same reason: best of one with the same message too.
  /// Only one error gets the time of a former error.
  ///
  /// The daemon keeps errors in this way. To know whether setting an error would change a widget,
  /// compare this with the widget's error.
  public func continuing(_ former: WidgetError?) -> WidgetError {
    guard let former else { return self }
    var errors = all
    var others = former.all
    for index in errors.indices {
      let error = errors[index]
      guard let same = others.firstIndex(where: { $0.isSame(as: error) }) else { continue }
      errors[index].since = error.since ?? others[same].since
      others.remove(at: same)
    }
    for index in errors.indices where errors[index].since == nil {
      let reason = errors[index].reason
      guard let like = others.firstIndex(where: { $0.reason.hasSameBytes(as: reason) }) else {
        continue
      }
      errors[index].since = others.remove(at: like).since
    }
    return WidgetError(joining: errors) ?? self
  }

  /// Whether two errors have the same reason and message.
  public func isSame(as other: WidgetError) -> Bool {
    reason.hasSameBytes(as: other.reason) && message.hasSameBytes(as: other.message)
  }

  /// The error with the time of its beginning, and so its further ones.
  public func dated(at now: Timestamp) -> WidgetError {
    var result = self
    result.since = since ?? now
    for index in result.further.indices {
      result.further[index].since = further[index].since ?? now
    }
    return result
  }

  public static func == (a: WidgetError, b: WidgetError) -> Bool {
    a.isSame(as: b) && a.since == b.since && a.further == b.further
  }
}

/// How a renderer may animate a change. A hint: it never delays the change.
public struct Transition: Hashable, Sendable {
  public var curve: Curve
  /// nil: the renderer's default.
  public var duration: Duration?
  /// For springs: seconds per oscillation, and damping (1 is critical). 0 means unset.
  public var springResponse: Double
  public var springDamping: Double

  public init(
    curve: Curve = .unspecified, duration: Duration? = nil, springResponse: Double = 0,
    springDamping: Double = 0
  ) {
    self.curve = curve
    self.duration = duration
    self.springResponse = springResponse
    self.springDamping = springDamping
  }

  public enum Curve: UInt8, Hashable, Sendable, CaseIterable {
    case unspecified
    case none
    case linear
    case easeIn
    case easeOut
    case easeInOut
    case spring
    case opacity
  }
}
