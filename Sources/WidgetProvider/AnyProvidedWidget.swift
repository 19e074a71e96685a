import WidgetClient
import WidgetModel

/// A kind with its types erased: the one place where typed widgets meet the wire's values.
struct AnyProvidedWidget: Sendable {
  let kind: Kind
  let schedule: Schedule
  let followsAudience: Bool
  let answersSnapshots: Bool
  /// Handles an occasion for a widget. The flag tells whether the widget is attached.
  private let act: @Sendable (Occasion, Widget, Bool, Timestamp) async -> Outcome

  /// The reason for an action on a widget.
  enum Occasion: Sendable {
    case refresh
    case event(WidgetModel.Event)
    case attached
    case detached
    case snapshot
  }

  /// The result of an action on a widget.
  struct Outcome: Sendable {
    var patch: WidgetPatch
    /// The widget's data afterwards.
    var data: ValueMap = [:]
    /// The values of the current entry, if the action has set a timeline.
    var entry: ValueMap = [:]
    var transition: Transition?
    /// An error that is not yet in the widget.
    var problem: String?
  }

  init<W: ProvidedWidget>(_ widget: W) {
    kind = Kind(
      name: W.kind, displayName: widget.displayName, summary: widget.summary,
      families: widget.families, parameters: W.Parameters.schema, data: W.State.schema,
      isOpen: W.State.isOpen || W.Parameters.isOpen,
      events: AnyProvidedWidget.declared(W.Event.events), content: widget.content,
      persistence: widget.persistence, hasLosableEvents: widget.hasLosableEvents,
      entry: W.Entry.schema, sample: widget.sample?.difference(from: [:]).set ?? [:],
      recommendations: widget.recommendations.map {
        Recommendation(
          name: $0.name, displayName: $0.displayName,
          parameters: $0.parameters.difference(from: [:]).set)
      })
    schedule = widget.schedule
    followsAudience = widget.followsAudience
    answersSnapshots = widget.answersSnapshots
    act = { occasion, current, isAttached, now in
      await AnyProvidedWidget.act(widget, occasion, on: current, isAttached, now)
    }
  }

  /// Brings a widget up to date.
  func refreshed(
    _ widget: Widget, isAttached: Bool = true, at now: Timestamp
  ) async -> Outcome {
    await act(.refresh, widget, isAttached, now)
  }

  /// Handles the first watcher of a widget, or the loss of the last one.
  func watched(
    _ widget: Widget, isAttached: Bool, at now: Timestamp
  ) async -> Outcome {
    await act(isAttached ? .attached : .detached, widget, isAttached, now)
  }

  /// The current data of an instance. `problem` has the reason if it is not known.
  func snapshot(_ request: ProviderSnapshotRequest, at now: Timestamp) async -> Outcome {
    guard let id = WidgetID("preview") else {
      return Outcome(patch: WidgetPatch(), problem: "there is no id for a preview")
    }
    let preview = Widget(
      id: id, kind: request.kind, family: request.family, parameters: request.parameters)
    return await act(.snapshot, preview, true, now)
  }

  /// Handles an event.
  func handled(
    _ event: WidgetModel.Event, on widget: Widget, isAttached: Bool = true,
    at now: Timestamp
  ) async -> Outcome {
    await act(.event(event), widget, isAttached, now)
  }

  /// Events of the same name on several nodes are one event of the kind. User events on a node need
  /// no declaration.
  private static func declared<E>(_ events: [EventOf<E>]) -> [EventType] {
    var seen: Set<String> = []
    return events.filter { $0.nodeID.isEmpty && seen.insert($0.name).inserted }.map(\.type)
  }

  private static func act<W: ProvidedWidget>(
    _ widget: W, _ occasion: Occasion, on current: Widget, _ isAttached: Bool,
    _ now: Timestamp
  ) async -> Outcome {
    var event: WidgetModel.Event?
    if case .event(let happened) = occasion { event = happened }
    var instance = Instance<W>(
      id: current.id, family: current.family, labels: current.labels,
      parameters: W.Parameters(reading: current.parameters),
      state: W.State(reading: current.data),
      node: event.map { String($0.nodeID.prefix { $0 != "/" }) } ?? "",
      row: event.flatMap { NodeID.rowKeys(of: $0.nodeID).last } ?? "", now: now,
      isAttached: isAttached || !widget.followsAudience)
    if case .snapshot = occasion { instance.isPreview = true }
    var patch = WidgetPatch()
    var problem: WidgetError?
    var entry: ValueMap = [:]
    do {
      switch occasion {
      case .event(let event):
        if let typed = try typed(event, as: W.Event.self) {
          try await widget.handle(typed, &instance)
        }
      case .refresh: try await widget.refresh(&instance)
      case .attached: try await widget.attached(&instance)
      case .detached: try await widget.detached(&instance)
      case .snapshot: try await widget.snapshot(&instance)
      }
      let timeline = instance.timeline?.untyped
      patch.timeline = timeline.map { .some($0) }
      // A program may give its entries in any order.
      entry = timeline?.entries.filter { $0.date <= now }.max { $0.date < $1.date }?.values ?? [:]
      (patch.setData, patch.unsetData) = instance.state.difference(from: current.data)
    } catch {
      // If an action fails, none of its changes is sent.
      problem = WidgetError(reason: "PROVIDER_FAILED", message: "\(error)")
    }
    let isNew = current.isNews(problem)
    if isNew { patch.error = .some(problem) }
    return Outcome(
      patch: patch, data: instance.state.difference(from: [:]).set, entry: entry,
      transition: instance.transition, problem: isNew ? problem?.message : nil)
  }

  /// The event as its enum has it; nil for one that the enum does not know.
  private static func typed<E: Events>(
    _ event: WidgetModel.Event, as type: E.Type
  ) throws -> E? {
    let candidates = E.events.filter { candidate in
      candidate.name == event.name
        && (candidate.nodeID.isEmpty || NodeID.isNode(event.nodeID, of: candidate.nodeID))
    }
    // An event with the node's name comes before an event for any node.
    let found = candidates.first { !$0.nodeID.isEmpty } ?? candidates.first
    return try found?.make(event.payload)
  }
}

/// Lists widgets: `{ Clock(); Counter() }`.
@resultBuilder
public enum WidgetsBuilder {
  public static func buildExpression<W: ProvidedWidget>(_ widget: W) -> Widgets {
    Widgets(all: [AnyProvidedWidget(widget)])
  }
  public static func buildBlock(_ parts: Widgets...) -> Widgets { joined(parts) }
  public static func buildOptional(_ part: Widgets?) -> Widgets { part ?? Widgets(all: []) }
  public static func buildEither(first part: Widgets) -> Widgets { part }
  public static func buildEither(second part: Widgets) -> Widgets { part }
  public static func buildArray(_ parts: [Widgets]) -> Widgets { joined(parts) }

  private static func joined(_ parts: [Widgets]) -> Widgets { Widgets(all: parts.flatMap(\.all)) }
}

/// The kinds of a provider.
public struct Widgets: Sendable {
  let all: [AnyProvidedWidget]
}
