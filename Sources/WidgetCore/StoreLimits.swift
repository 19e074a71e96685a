import WidgetModel

/// Every limit of the store. A limit is reached when one more would exceed it.
public struct StoreLimits: Hashable, Sendable {
  /// The maximum number of widgets.
  public var widgetsMax = 100_000
  /// The maximum number of widgets of one user.
  public var widgetsPerUIDMax = 50_000
  /// The maximum size of the state of one user's widgets, in bytes.
  public var stateBytesPerUIDMax = 64 << 20
  /// The maximum size of the content of one user's widgets, in bytes, with the entries that the
  /// schedules of their kinds compute. Content that exists when the store is opened stays.
  public var contentBytesPerUIDMax = 64 << 20
  /// The maximum size of the cached content for watched families other than the widgets', in bytes.
  /// Content beyond it is made when it is read.
  public var familyContentBytesMax = 64 << 20
  /// The maximum size of the state of one widget, in bytes.
  public var widgetBytesMax = 1 << 20
  /// The maximum number of data keys of one widget, and the maximum number of its parameters.
  public var keysPerWidgetMax = 10_000
  /// The maximum length of a data key, a parameter's name, a label's key or a label's value, in
  /// bytes.
  public var keyBytesMax = Labels.textBytesMax
  /// The maximum number of labels of one widget.
  public var labelsPerWidgetMax = Labels.countMax
  /// The maximum depth of nested lists and maps in a value.
  public var valueDepthMax = 16
  /// The maximum size of an event's payload, in bytes.
  public var eventPayloadBytesMax = 64 << 10
  /// The maximum number of past events that are kept for late readers.
  public var eventsKeptMax = 4_096
  /// The maximum size of the past events, in bytes.
  public var eventBytesKeptMax = 4 << 20
  /// The maximum number of removals (of widgets and of keys) that are kept for late cursors.
  public var tombstonesMax = 16_384
  /// The maximum number of answers that are kept for retried requests.
  public var requestsKeptMax = 4_096
  /// The maximum size of the kept answers, in bytes.
  public var requestBytesKeptMax = 4 << 20
  /// The time for which an answer is kept for retried requests.
  public var requestLifetime = Duration.seconds(600)
  /// The maximum length of a request id, in bytes.
  public var requestIDBytesMax = 128
  /// The maximum number of kinds.
  public var kindsMax = 1_000
  /// The maximum size of the text and default values of one kind, in bytes.
  public var kindBytesMax = 256 << 10
  /// The maximum memory of one kind's expressions, in bytes.
  public var kindMemoryBytesMax = 16 << 20
  /// The maximum memory of all kinds that one user has registered, in bytes.
  public var kindMemoryBytesPerUIDMax = 64 << 20
  /// The maximum number of tokens of the theme that differ from the standard theme.
  public var themeOverridesMax = 512
  /// The maximum number of reducers of one kind.
  public var reducersPerKindMax = 256
  /// The maximum cost of one event, in evaluation steps: for its reducers, and for finding its node
  /// in content for other families.
  public var eventCostMax = 50_000
  /// The maximum number of nodes of a template, and of the content of one widget.
  public var contentNodesMax = NodeTemplate.nodesMax
  /// The maximum size of the content of one widget, in bytes: that of its nodes, and that of the
  /// entries that its kind's schedule computes.
  public var contentBytesMax = 256 << 10
  /// The room for the nodes and the entries of one widget together, in bytes, if its change cannot
  /// be refused; see `WidgetStore.limitsForAdvance`. Not a setting.
  var contentRoomBytes = Int.max
  /// The maximum cost of making a widget's content, in evaluation steps (approximate). One
  /// expression may use half of the steps that are left.
  public var contentCostMax = 150_000
  /// The maximum cost of the contents that one command makes for several widgets, in evaluation
  /// steps (approximate). A node that is made counts `ContentEvaluation.nodeCost`.
  public var contentCostPerCommandMax = 40_000_000
  /// The maximum cost of a selector's expression for one widget, in evaluation steps (approximate).
  /// An expression that exceeds it counts as false.
  public var selectorCostMax = 1_000
  /// The maximum cost of one part of a scan over widgets, in steps (approximate): a page of a list,
  /// or a piece of a snapshot. A look at a widget is a step, and so is every step of the selector's
  /// expression.
  public var scanCostMax = 20_000
  /// The maximum length of a selector's expression, in bytes.
  public var selectorExpressionBytesMax = 1_024
  /// The maximum memory of the compiled expression of one selector, in bytes.
  public var selectorMemoryBytesMax = 64 << 10
  /// The maximum number of entries of one widget's timeline.
  public var timelineEntriesMax = 1_000
  /// The shortest time between setting a timeline and asking its provider for the next one, in
  /// seconds.
  public var timelineRefreshFloorSeconds = 60
  /// The maximum size of the data of an activity's widget, in bytes.
  public var activityStateBytesMax = 4_096
  /// The maximum lifetime of an activity, which is also the default, in seconds.
  public var activityLifetimeSecondsMax = 28_800
  /// The maximum time for which the widget of an ended activity stays, which is also the default,
  /// in seconds.
  public var activityDismissalSecondsMax = 14_400
  /// The maximum number of widgets of one declared set.
  public var declaredWidgetsMax = 10_000

  public init() {}
}

extension StoreLimits {
  /// The limits for the nodes of a record, which share the room with its entries.
  func forNodes(of record: Record) -> StoreLimits {
    guard contentRoomBytes < .max else { return self }
    var limits = self
    limits.keepRoom(for: record.contentBytes - record.nodesBytes)
    return limits
  }

  /// The limits for the entries of a record. New entries get the room of the former ones, and no room
  /// of nodes.
  func forEntries(of record: Record) -> StoreLimits {
    guard contentRoomBytes < .max else { return self }
    var limits = self
    limits.keepRoom(for: record.contentBytes - (record.moment?.bytes ?? 0))
    return limits
  }

  private mutating func keepRoom(for bytes: Int) {
    contentBytesMax = min(contentBytesMax, max(0, contentRoomBytes - bytes))
  }

  /// The number of removals that are left after there were too many. It is a bit below the limit, so
  /// that the store seldom raises `compactRevision`. It is not far below, so that no group pays for
  /// thousands of removals of other groups.
  var tombstonesLeft: Int { max(tombstonesMax / 2, tombstonesMax - 256) }
}
