import ArgumentParser

/// The root command.
struct Widgetctl: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "widgetctl",
    abstract: "Show, change and follow the widgets of widgetd.",
    discussion: """
      Examples:
        widgetctl add clock --id clock --data text=12:00
        widgetctl set clock text=12:01
        widgetctl watch -l panel=top
        widgetctl watch clock --until clock.data.text==13:00 --timeout 1h

      With -o json, jsonl or yaml, a widget has the fields of widgetd.v1.Widget in lowerCamelCase \
      and in alphabetical order. `data` is plain JSON. Types that JSON lacks have a tag: \
      {"$bytes": BASE64}, {"$timestamp": RFC3339}, {"$duration": "1.5s"}, {"$double": "NaN"}. \
      `apply` reads the output of `ls` and `get`.

      Exit status (`status` and `doctor` have other statuses):
      \(ExitStatus.table)
      Ctrl-C ends a command (130 in a shell). It does not take back a change that the daemon has \
      received. A command ends with status 0 when its output is closed (`| head`).

      Environment: WIDGETD_SOCKET is the daemon's socket. NO_COLOR turns colours off.
      """,
    version: version,
    groupedSubcommands: [
      CommandGroup(
        name: "Read",
        subcommands: [
          ListCommand.self, GetCommand.self, WatchCommand.self, EventsCommand.self,
          ViewCommand.self, RenderCommand.self, DashboardCommand.self, BarCommand.self,
          KindsCommand.self,
          DescribeCommand.self, GalleryCommand.self, TimelineCommand.self,
          PlaceholderCommand.self, SnapshotCommand.self,
        ]),
      CommandGroup(
        name: "Change",
        subcommands: [
          AddCommand.self, SetCommand.self, RemoveCommand.self, MoveCommand.self, ApplyCommand.self,
          SendCommand.self, ShowCommand.self, HideCommand.self,
          EnableCommand.self, DisableCommand.self, ToggleCommand.self, RefreshCommand.self,
          RemoveKindCommand.self,
        ]),
      CommandGroup(name: "Task", subcommands: [ActivityCommand.self, RunCommand.self]),
      CommandGroup(name: "Theme", subcommands: [ThemeCommand.self]),
      CommandGroup(name: "Bundle", subcommands: [BundleCommand.self]),
      CommandGroup(
        name: "Daemon",
        subcommands: [
          StatusCommand.self, DoctorCommand.self, StatsCommand.self, HealthCommand.self,
          ReloadCommand.self, LogLevelCommand.self, ClockCommand.self, BackupCommand.self,
          RestoreCommand.self,
        ]),
      CommandGroup(
        name: "Other",
        subcommands: [EvalCommand.self, CompletionCommand.self, VersionCommand.self]),
    ])
}
