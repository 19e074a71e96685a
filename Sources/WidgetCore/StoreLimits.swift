/// Every limit of the store. A limit is reached when one more would exceed it.
public struct StoreLimits: Hashable, Sendable {
  /// How many widgets there may be.
  public var widgetsMax = 100_000
  /// How many widgets one user may own.
  public var widgetsPerUIDMax = 50_000
  /// How many bytes of state one user's widgets may hold.
  public var stateBytesPerUIDMax = 64 << 20
  /// How many bytes what one user's widgets show may have. What is there when the store is opened stays.
  public var contentBytesPerUIDMax = 64 << 20
  /// The most bytes of cached content for watched families other than the widgets'. Beyond it, such
  /// content is made when it is read.
  public var familyContentBytesMax = 64 << 20
  /// How many bytes of state one widget may hold.
  public var widgetBytesMax = 1 << 20
  /// How many data keys, and how many parameters, one widget may have.
  public var keysPerWidgetMax = 10_000
  /// How long a data key, a parameter's name, a label's key or a label's value may be.
  public var keyBytesMax = 256
  /// How many labels one widget may have.
  public var labelsPerWidgetMax = 64
  /// How deep lists and maps may be nested in a value.
  public var valueDepthMax = 16
  /// How many bytes an event's payload may hold.
  public var eventPayloadBytesMax = 64 << 10
  /// How many past events are kept for readers that are late.
  public var eventsKeptMax = 4_096
  /// How many bytes past events may hold.
  public var eventBytesKeptMax = 4 << 20
  /// How many removals (of widgets and of keys) are remembered for cursors that are late.
  public var tombstonesMax = 16_384
  /// How many answers are kept for retried requests.
  public var requestsKeptMax = 4_096
  /// How many bytes kept answers may hold.
  public var requestBytesKeptMax = 4 << 20
  /// How long an answer is kept for retried requests.
  public var requestLifetime = Duration.seconds(600)
  /// How long a request id may be.
  public var requestIDBytesMax = 128
  /// How many kinds there may be.
  public var kindsMax = 1_000
  /// How many bytes of text and default values one kind may have.
  public var kindBytesMax = 256 << 10
  /// How many bytes of memory one kind's expressions may take.
  public var kindMemoryBytesMax = 16 << 20
  /// How many bytes of memory all kinds that one user has registered may take.
  public var kindMemoryBytesPerUIDMax = 64 << 20
  /// The most tokens of the theme that differ from the standard theme.
  public var themeOverridesMax = 512
  /// How many reducers one kind may have.
  public var reducersPerKindMax = 256
  /// The most evaluation steps of one event: for its reducers, and for finding its node in content
  /// for other families.
  public var eventCostMax = 50_000
  /// How many nodes a template, and what one widget shows, may have.
  public var contentNodesMax = 2_000
  /// How many bytes what one widget shows may have.
  public var contentBytesMax = 256 << 10
  /// What making a widget's content may cost at each change: about as many steps.
  public var contentCostMax = 1_000_000
  /// What making the contents of all widgets that one command changes may cost, if they are several:
  /// about as many steps. A node that is made counts `ContentEvaluation.nodeCost`.
  public var contentCostPerCommandMax = 40_000_000
  /// About how many steps a selector's expression may take for one widget. An expression that takes
  /// more counts as false.
  public var selectorCostMax = 1_000
  /// About how many steps one part of a scan over widgets may take: a page of a list, a piece of a
  /// snapshot. The look at a widget is a step, and so is every step of the selector's expression.
  public var scanCostMax = 20_000
  /// How long a selector's expression may be, in bytes.
  public var selectorExpressionBytesMax = 1_024
  /// How many entries the timeline of one widget may have.
  public var timelineEntriesMax = 1_000
  /// The shortest time between setting a timeline and asking its provider for the next one, in seconds.
  public var timelineRefreshFloorSeconds = 60
  /// How many bytes of data the widget of an activity may have.
  public var activityStateBytesMax = 4_096
  /// The longest lifetime of an activity, and the one that it has by default, in seconds.
  public var activityLifetimeSecondsMax = 28_800
  /// How long the widget of an ended activity stays at most, and by default, in seconds.
  public var activityDismissalSecondsMax = 14_400
  /// How many widgets one declared set may have.
  public var declaredWidgetsMax = 10_000

  public init() {}
}
