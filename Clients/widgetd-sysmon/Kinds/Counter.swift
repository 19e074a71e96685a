import WidgetProvider

/// Counts clicks, and nothing else.
struct CounterWidget: ProvidedWidget {
  static let kind: KindName = "sysmon/counter"

  struct State: Fields {
    var n = 0
    static let fields: [FieldOf<State>] = [.init("n", \.n, "How many clicks there were.")]
  }
  typealias Parameters = Titled

  enum Event: Events {
    case click
    case reset
    static let events: [EventOf<Event>] = [
      .init("click", "Adds 1.") { .click }, .init("reset", "Sets the count to 0.") { .reset },
    ]
  }

  var displayName: String { "Clicks" }
  var summary: String { "Counts clicks." }
  var persistence: Kind.Persistence { .durable }
  var content: [ContentTemplate] { card("string(data.n)") }

  func handle(_ event: Event, _ counter: inout Instance<CounterWidget>) {
    switch event {
    case .click: counter.state.n += counter.state.n == .max ? 0 : 1
    case .reset: counter.state.n = 0
    }
  }
}
