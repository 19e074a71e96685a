import ArgumentParser
import WidgetModel

/// The size class and the labels of a new widget.
struct NewWidgetOptions: ParsableArguments {
  @Option(
    help: "The size class: \(Family.names). Default: medium.",
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var family: Family?

  @Option(
    name: [.customShort("l", allowingJoined: true), .customLong("label")],
    help: ArgumentHelp("A label; may be repeated.", valueName: "key=value"), transform: parseLabel)
  var labels: [LabelAssignment] = []
}
