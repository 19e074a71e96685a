import WidgetProvider

/// The local time of this machine.
struct ClockWidget: ProvidedWidget {
  static let kind: KindName = "sysmon/clock"

  struct State: Fields {
    var time: Timestamp?
    var date: String?
    var zone: String?
    var text: String?
    static let fields: [FieldOf<State>] = [
      .init("time", \.time, "The time, in whole seconds."),
      .init("date", \.date, "The local date, as 2026-01-02."),
      .init("zone", \.zone, "The time zone's abbreviation."),
      .init("text", \.text, "The local time, as 03:04:05."),
    ]
  }
  typealias Parameters = Titled

  let machine: any Machine
  let interval: Duration

  var displayName: String { "Clock" }
  var summary: String { "The local time." }
  var schedule: Schedule { .every(interval) }
  // The last known time is better than no time while the daemon is back and this program is not.
  var persistence: Kind.Persistence { .durable }
  var content: [ContentTemplate] { card() }

  func refresh(_ clock: inout Instance<ClockWidget>) {
    let local = machine.local(clock.now)
    clock.state.time = Timestamp(seconds: clock.now.seconds, nanoseconds: 0)
    clock.state.date = local.date
    clock.state.zone = local.zone
    clock.state.text = local.time
  }
}
