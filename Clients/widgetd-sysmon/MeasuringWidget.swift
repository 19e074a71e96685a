import WidgetProvider

/// The parameters of every widget here.
struct Titled: Fields {
  var title = ""
  static let fields: [FieldOf<Titled>] = [.init("title", \.title, "The title above the content.")]
}

/// The events of a widget that can show another unit.
enum Click: Events {
  case click
  static let events: [EventOf<Click>] = [.init("click", "Shows it in another unit.") { .click }]
}

/// The units that a widget can show, in the order in which clicks go through them. A new widget shows the
/// first.
protocol Unit: FieldValue, CaseIterable, RawRepresentable<String> where AllCases == [Self] {}

extension Unit {
  /// The unit after a click on a widget with this unit.
  var next: Self {
    let units = Self.allCases
    guard let index = units.firstIndex(where: { $0.rawValue == rawValue }) else { return self }
    return units[(index + 1) % units.count]
  }
}

/// The data of a widget with several units.
protocol Measurement: Fields {
  associatedtype UnitShown: Unit
  var unit: UnitShown { get set }
  var text: String? { get set }
  /// The measured value, in its unit. Nil without a measurement.
  var words: String? { get }
}

/// A widget that measures something, and shows it in one of several units. All its state is in the
/// daemon. The shown value follows from the data and the unit, even if the unit was set by hand.
protocol MeasuringWidget: ProvidedWidget
where State: Measurement, Parameters == Titled, Event == Click {
  func measure(_ state: inout State, at now: Timestamp) throws
}

extension MeasuringWidget {
  // People choose the units, so the units survive a restart of the daemon.
  var persistence: Kind.Persistence { .durable }
  var content: [ContentTemplate] { card() }

  func refresh(_ instance: inout Instance<Self>) async throws {
    try measure(&instance.state, at: instance.now)
    instance.state.text = instance.state.words
  }

  func handle(_ event: Click, _ instance: inout Instance<Self>) async throws {
    instance.state.unit = instance.state.unit.next
    instance.state.text = instance.state.words
  }
}

/// The content of all kinds here: a title, and below it the value of `expression`. A dash for null.
func card(_ expression: String = "data.text") -> [ContentTemplate] {
  [
    ContentTemplate(
      root: NodeTemplate(
        id: "card", type: .stack,
        children: [
          NodeTemplate(
            id: "title", type: .label,
            properties: [
              "text": Binding("parameters.title"), "font": Binding(value: .string("title")),
            ],
            condition: "parameters.title != ''"),
          NodeTemplate(
            id: "text", type: .label,
            properties: ["text": Binding(expression, placeholder: .string("–"))]),
        ]))
  ]
}
