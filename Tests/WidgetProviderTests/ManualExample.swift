import WidgetProvider

/// The example of docs/swift-widgets.md, with only the imports of an author.
struct ManualCounter: ProvidedWidget {
  static let kind: KindName = "desk/counter"

  struct State: Fields {
    var count = 0
    var note: String?
    static let fields: [FieldOf<State>] = [
      .init("count", \.count, "How often it was pressed."), .init("note", \.note),
    ]
  }

  struct Parameters: Fields {
    var step = 1
    static let fields: [FieldOf<Parameters>] = [.init("step", \.step, "What a press adds.")]
  }

  enum Event: Events {
    case press
    case add(Int)
    static let events: [EventOf<Event>] = [
      .init("press", "Counts.") { .press },
      .init("add", "Adds.", Argument<Int>("by")) { by in .add(by) },
    ]
  }

  var summary: String { "Counts what is pressed." }

  func handle(_ event: Event, _ counter: inout Instance<ManualCounter>) {
    switch event {
    case .press: counter.state.count += counter.parameters.step
    case .add(let number): counter.state.count += number
    }
  }
}

struct ManualClock: ProvidedWidget {
  struct State: Fields {
    var time = ""
    static let fields: [FieldOf<State>] = [.init("time", \.time)]
  }
  var families: [Family] { [.inline] }
  var content: [ContentTemplate] {
    [
      ContentTemplate(
        root: NodeTemplate(id: "time", type: .label, properties: ["text": Binding("data.time")]))
    ]
  }
  var schedule: Schedule { .every(.seconds(1)) }
  func refresh(_ clock: inout Instance<ManualClock>) { clock.state.time = "\(clock.now)" }
}

struct ManualDesk: Provider {
  var widgets: Widgets {
    ManualClock()
    ManualCounter()
  }
  var instances: [WidgetSpec] { [.init("clock", of: ManualClock.self)] }
}
