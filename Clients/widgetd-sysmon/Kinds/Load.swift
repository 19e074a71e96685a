import WidgetProvider

/// The load of the machine.
struct LoadWidget: MeasuringWidget {
  static let kind: KindName = "sysmon/load"

  enum Units: String, Unit { case tasks, percent }

  struct State: Measurement {
    var one: Double?
    var five: Double?
    var fifteen: Double?
    var runnable: Int64?
    var tasks: Int64?
    var cpus: Int?
    var unit = Units.tasks
    var text: String?
    static let fields: [FieldOf<State>] = [
      .init("one", \.one, "Tasks that ran or waited on average over 1 minute."),
      .init("five", \.five, "The same over 5 minutes."),
      .init("fifteen", \.fifteen, "The same over 15 minutes."),
      .init("runnable", \.runnable, "Tasks that run or could run now."),
      .init("tasks", \.tasks, "All tasks."),
      .init("cpus", \.cpus, "Processors."),
      .init("unit", \.unit, "Unit of the text: tasks, or percent of all processors."),
      .init("text", \.text, "The three averages."),
    ]

    var words: String? {
      guard let one, let five, let fifteen, let cpus else { return nil }
      return [one, five, fifteen].map { average in
        switch unit {
        case .tasks: fixed(average, 2)
        case .percent: percentText(percent(average, of: Double(cpus)))
        }
      }.joined(separator: "  ")
    }
  }

  let machine: any Machine
  let interval: Duration

  var displayName: String { "Load" }
  var summary: String { "How many tasks run or wait on this machine." }
  var schedule: Schedule { .every(interval) }

  func measure(_ state: inout State, at now: Timestamp) throws {
    let load = try machine.load()
    (state.one, state.five, state.fifteen) = (load.one, load.five, load.fifteen)
    (state.runnable, state.tasks) = (load.runnable, load.total)
    state.cpus = machine.cpus
  }
}
