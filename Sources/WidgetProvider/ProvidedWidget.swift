public import WidgetModel

/// A kind of widgets, written in Swift: its name, its data and parameters, its events, and its
/// actions. The compiler checks all of it.
///
///     struct Counter: ProvidedWidget {
///       struct State: Fields {
///         var count = 0
///         static let fields: [FieldOf<State>] = [.init("count", \.count, "How often.")]
///       }
///       enum Event: Events {
///         case press
///         static let events: [EventOf<Event>] = [.init("press") { .press }]
///       }
///       func handle(_ event: Event, _ counter: inout Instance<Counter>) {
///         counter.state.count += 1
///       }
///     }
///
/// A value that all widgets of its kind share; their differences are in their `Instance`s.
public protocol ProvidedWidget: Sendable {
  /// The data of its widgets.
  associatedtype State: Fields = NoFields
  /// The parameters of its widgets.
  associatedtype Parameters: Fields = NoFields
  /// The events of its widgets.
  associatedtype Event: Events = NoEvents
  /// The data of timeline entries.
  associatedtype Entry: Fields = NoFields

  /// The kind's name, as `static let kind: KindName = "desk/clock"`. Default: from the type's name,
  /// `SystemLoadWidget` as `system-load`.
  static var kind: KindName { get }
  /// The name for people; empty for the kind's name.
  var displayName: String { get }
  /// The content and purpose of its widgets.
  var summary: String { get }
  /// The supported families; empty for all.
  var families: [Family] { get }
  /// The content of its widgets.
  var content: [ContentTemplate] { get }
  /// Whether the data of its widgets outlives a restart of the daemon. Default: volatile, because
  /// the provider sets the data again.
  var persistence: Kind.Persistence { get }
  /// Whether events may be lost while this program is away. Default: false. The daemon then stores an
  /// event until `handle` has returned.
  var hasLosableEvents: Bool { get }
  /// The schedule of automatic calls of `refresh`.
  var schedule: Schedule { get }
  /// Whether the kind follows its audience. If true, `attached` and `detached` are called, and the
  /// schedule refreshes only watched widgets. Default: false.
  var followsAudience: Bool { get }
  /// Example data for a gallery. It is a part of the kind, so the daemon never asks this program
  /// for it. Default: none.
  var sample: State? { get }
  /// Named sets of parameters that most people want.
  var recommendations: [Recommended<Parameters>] { get }
  /// Whether `snapshot` is called for previews. If false, previews show the sample. Default: false.
  var answersSnapshots: Bool { get }

  /// Updates a widget. Called for a new widget, after a change of its parameters, at a request for
  /// fresh data, after a reconnect of this program, and by the schedule. A thrown error becomes the
  /// widget's error.
  func refresh(_ instance: inout Instance<Self>) async throws

  /// Gives an instance its current state for a preview. The widget does not exist, and `isPreview`
  /// is true. Several calls can run at the same time, beside other actions. The daemon waits two
  /// seconds. If the method throws, people see the sample, and the error as the reason. Default:
  /// `refresh`.
  func snapshot(_ instance: inout Instance<Self>) async throws

  /// Handles an event. A thrown error becomes the widget's error.
  func handle(_ event: Event, _ instance: inout Instance<Self>) async throws

  /// Called when somebody begins to watch a widget. Only with `followsAudience`. Default:
  /// `refresh`.
  func attached(_ instance: inout Instance<Self>) async throws

  /// Called when nobody has watched a widget for some time. Only with `followsAudience`. Default:
  /// nothing.
  func detached(_ instance: inout Instance<Self>) async throws
}

/// The schedule of automatic refreshes.
public enum Schedule: Hashable, Sendable {
  case never
  /// Repeatedly. If aligned, at multiples of the interval since 1970. If the clock is set past such a
  /// multiple, or back to a time before the last one, `refresh` is called at once.
  case every(Duration, isAligned: Bool = true)
}

/// One widget of a kind, during an action. All changes to it are sent as one change.
public struct Instance<W: ProvidedWidget>: Sendable {
  public let id: WidgetID
  public let family: Family
  public let labels: Labels
  public let parameters: W.Parameters
  public var state: W.State
  /// The animation of the change.
  public var transition: Transition?
  /// The template's node of the event, and the key of the row; empty outside events.
  public let node: String
  public let row: String
  /// The time of this action.
  public let now: Timestamp
  /// Whether somebody watches the widget. True if the kind does not follow that, or the daemon does
  /// not report it.
  public let isAttached: Bool
  /// Whether this is a preview, and no widget.
  public var isPreview = false
  /// Another timeline for the widget. Nil if its timeline does not change.
  public var timeline: EntryTimeline<W.Entry>?
}

extension Instance {
  /// A widget outside any daemon, to try out `refresh` and `handle`.
  ///
  /// - Parameter id: 1 to 128 characters of an id's alphabet; other text is a bug of the program.
  public init(
    _ id: String, parameters: W.Parameters = W.Parameters(), state: W.State = W.State(),
    family: Family = .medium, labels: Labels = [:], node: String = "", row: String = "",
    now: Timestamp = .epoch, isAttached: Bool = true
  ) {
    guard let id = WidgetID(id) else { preconditionFailure("\"\(id)\" is not a widget's id") }
    self.init(
      id: id, family: family, labels: labels, parameters: parameters, state: state, node: node,
      row: row, now: now, isAttached: isAttached)
  }
}

extension ProvidedWidget {
  public static var kind: KindName { KindName(typeName: "\(Self.self)") }
  public var displayName: String { "" }
  public var summary: String { "" }
  public var families: [Family] { [] }
  public var content: [ContentTemplate] { [] }
  public var persistence: Kind.Persistence { .volatile }
  public var hasLosableEvents: Bool { false }
  public var schedule: Schedule { .never }
  public func refresh(_ instance: inout Instance<Self>) async throws {}
  public var followsAudience: Bool { false }
  public var sample: State? { nil }
  public var recommendations: [Recommended<Parameters>] { [] }
  public var answersSnapshots: Bool { false }
  public func snapshot(_ instance: inout Instance<Self>) async throws {
    try await refresh(&instance)
  }
  public func handle(_ event: Event, _ instance: inout Instance<Self>) async throws {}
  public func attached(_ instance: inout Instance<Self>) async throws {
    try await refresh(&instance)
  }
  public func detached(_ instance: inout Instance<Self>) async throws {}
}

extension KindName {
  /// A type's name as that of a kind: `SystemLoadWidget` is `system-load`.
  init(typeName: String) {
    var base = typeName.utf8.allSatisfy { $0 < 0x80 } ? typeName : "widget"
    if base.hasSuffix("Widget"), base != "Widget" { base.removeLast(6) }
    var name = ""
    var last: Character?
    for character in base {
      if character.isUppercase, last?.isUppercase == false { name += "-" }
      name += character.lowercased()
      last = character
    }
    // The names of Swift's types fit a kind's alphabet, except generic and nested types.
    let plain = name.filter { $0.isLetter || $0.isNumber || $0 == "-" }
    self = KindName(String(plain.prefix(KindName.lengthMax))) ?? "widget"
  }
}

/// `static let kind: KindName = "desk/clock"`. A literal that is not a kind's name is a mistake of the program,
/// and ends it.
extension KindName: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let name = KindName(text) else {
      preconditionFailure(
        "\"\(text)\" is not a kind's name: 1 to \(KindName.lengthMax) of a-z A-Z 0-9 . _ - / :")
    }
    self = name
  }
}
