import WidgetModel

/// The events of a kind's widgets, as an enum. Its cases are declared once, with the names and
/// types of their details.
///
///     enum Event: Events {
///       case press
///       case add(Int)
///       static let events: [EventOf<Event>] = [
///         .init("press", "Counts.") { .press },
///         .init("add", "Adds.", Argument<Int>("by")) { by in .add(by) },
///       ]
///     }
public protocol Events: Sendable {
  static var events: [EventOf<Self>] { get }
}

/// A detail of an event. A detail without a default is required.
public struct Argument<T: FieldValue>: Sendable {
  let field: Field

  public init(_ name: String, default value: T? = nil, _ summary: String = "") {
    field = Field(
      name: name, type: T.fieldType, defaultValue: value?.fieldValue, summary: summary,
      isRequired: value == nil && T(fieldValue: .null) == nil)
  }

  func value(in payload: ValueMap) throws(InvalidEvent) -> T {
    let value = payload[field.name] ?? field.defaultValue ?? .null
    guard let typed = T(fieldValue: value) else {
      throw InvalidEvent(
        reason: "\"\(field.name)\" must be of type \(field.type), not \(value.typeName)")
    }
    return typed
  }
}

/// An event that does not match its kind's declaration: it was accepted before the kind changed.
struct InvalidEvent: Error {
  let reason: String
}

/// One case of an enum of events.
public struct EventOf<Root: Sendable>: Sendable {
  public let name: String
  /// The node of the event; empty for any node, and for the widget as a whole.
  public let nodeID: String
  let type: EventType
  let make: @Sendable (ValueMap) throws -> Root

  /// - Parameters:
  ///   - name: the event's name on the wire: 1 to 64 characters of an id's alphabet.
  ///   - node: the template's node of the event.
  ///   - arguments: its details, in the order in which `make` takes them.
  public init<each T: FieldValue>(
    _ name: String, on node: String = "", _ summary: String = "",
    _ arguments: repeat Argument<each T>, make: @escaping @Sendable (repeat each T) -> Root
  ) {
    self.name = name
    nodeID = node
    var payload: [Field] = []
    for argument in repeat each arguments { payload.append(argument.field) }
    type = EventType(name: name, summary: summary, payload: payload)
    self.make = { payload in make(repeat try (each arguments).value(in: payload)) }
  }
}

/// No events, for widgets that only show something.
public enum NoEvents: Events {
  public static let events: [EventOf<NoEvents>] = []
}
