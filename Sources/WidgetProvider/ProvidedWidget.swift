public import WidgetModel

/// A kind of widgets, written in Swift: what it is called, what its widgets hold and are configured with,
/// what happens to them, and what that does. All of it is checked by the compiler.
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
/// A value that is shared by all widgets of its kind; what differs is in their `Instance`s.
public protocol ProvidedWidget: Sendable {
  /// What its widgets hold.
  associatedtype State: Fields = NoFields
  /// What they are configured with.
  associatedtype Parameters: Fields = NoFields
  /// What happens to them.
  associatedtype Event: Events = NoEvents
  /// What the entries of their timelines hold.
  associatedtype Entry: Fields = NoFields

  /// The kind's name, as `static let kind: KindName = "desk/clock"`; the type's without, `SystemLoadWidget`
  /// as `system-load`.
  static var kind: KindName { get }
  /// What people call it; empty for its name.
  var displayName: String { get }
  /// What it shows and what it is for.
  var summary: String { get }
  /// The families that it is made for; empty for all.
  var families: [Family] { get }
  /// What its widgets show.
  var content: [ContentTemplate] { get }
  /// Whether the data of its widgets outlives a restart of the daemon. Default: volatile, because
  /// the provider sets the data again.
  var persistence: Kind.Persistence { get }
  /// Whether events may be lost while this program is away. Default: they may not, and are stored until
  /// `handle` has dealt with them.
  var hasLosableEvents: Bool { get }
  /// When `refresh` is called by itself.
  var schedule: Schedule { get }
  /// Whether the kind follows its audience. If true, `attached` and `detached` are called, and the
  /// schedule refreshes only watched widgets. Default: false.
  var followsAudience: Bool { get }
  /// Data for a gallery, as an example. It is a part of the kind, so this program is never asked for it.
  /// Default: none.
  var sample: State? { get }
  /// Named sets of parameters that most people want.
  var recommendations: [Recommended<Parameters>] { get }
  /// Whether `snapshot` is called for previews. If false, previews show the sample. Default: false.
  var answersSnapshots: Bool { get }

  /// Brings a widget up to date: when it is new, its parameters changed, somebody asked for it, this program
  /// came back, or the schedule says so. What it throws becomes the widget's error.
  func refresh(_ instance: inout Instance<Self>) async throws

  /// Gives an instance the state that it would show now. There is no such widget: `isPreview` is true. It
  /// runs beside everything else, several at once. The daemon waits two seconds. What it throws is the
  /// reason why people see the sample. Default: `refresh`.
  func snapshot(_ instance: inout Instance<Self>) async throws

  /// Does what an event means. What it throws becomes the widget's error.
  func handle(_ event: Event, _ instance: inout Instance<Self>) async throws

  /// Somebody begins to watch a widget. Only with `followsAudience`. Default: `refresh`.
  func attached(_ instance: inout Instance<Self>) async throws

  /// Nobody has watched a widget for a while. Only with `followsAudience`. Default: nothing.
  func detached(_ instance: inout Instance<Self>) async throws
}

/// When widgets are refreshed by themselves.
public enum Schedule: Hashable, Sendable {
  case never
  /// Again and again; at multiples of the interval since 1970 if it is aligned.
  case every(Duration, isAligned: Bool = true)
}

/// One widget of a kind, while something is done to it. What is changed here is sent as one change.
public struct Instance<W: ProvidedWidget>: Sendable {
  public let id: WidgetID
  public let family: Family
  public let labels: Labels
  public let parameters: W.Parameters
  public var state: W.State
  /// How the change may be animated.
  public var transition: Transition?
  /// Of an event: the template's node that it is on, and the key of the row; empty outside.
  public let node: String
  public let row: String
  /// When this happens.
  public let now: Timestamp
  /// Whether somebody watches the widget; true if the kind does not follow that, or the daemon does not
  /// tell.
  public let isAttached: Bool
  /// Whether this is a preview, and no widget.
  public var isPreview = false
  /// Set it to give the widget another timeline. Nil: its timeline stays.
  public var timeline: EntryTimeline<W.Entry>?
}

extension Instance {
  /// A widget that is in no daemon, to try out what `refresh` and `handle` do to it.
  ///
  /// - Parameter id: 1 to 128 characters of an id's alphabet; another text is a mistake of the program.
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
    // The names of Swift's types are within a kind's alphabet but for what is generic or nested.
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
