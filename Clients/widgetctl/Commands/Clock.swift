import ArgumentParser
import WidgetClient
import WidgetModel
import WidgetProto

/// `clock`: the daemon's time, and how to move it.
struct ClockCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clock", abstract: "Show or move the daemon's clock.",
    discussion: """
      You can move the clock of a daemon that runs with `widgetd --clock fake`. This clock stands \
      still until you move it. Use it to try timelines, and in tests.

      Examples:
        widgetctl clock
        widgetctl clock set 2026-03-29T00:59:00Z
        widgetctl clock advance 1m
      """,
    subcommands: [ClockShowCommand.self, ClockSetCommand.self, ClockAdvanceCommand.self],
    defaultSubcommand: ClockShowCommand.self)
}

/// `clock show`.
struct ClockShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print the daemon's time.",
    discussion: """
      Example:
        widgetctl clock show
      """)

  @OptionGroup var global: GlobalOptions

  func run() async throws { try await global.setTime(nil) }
}

/// `clock set`.
struct ClockSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Set a fake clock to a time.",
    discussion: """
      Example:
        widgetctl clock set 2026-03-29T00:59:00Z
      """)

  @Argument(help: "The time, such as 2026-03-29T00:59:00Z.", transform: parseTime)
  var time: Timestamp

  @OptionGroup var global: GlobalOptions

  func run() async throws { try await global.setTime(.time(time)) }
}

/// `clock advance`.
struct ClockAdvanceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "advance", abstract: "Move a fake clock forward.",
    discussion: """
      Examples:
        widgetctl clock advance 1m
        widgetctl clock advance 2h30m
      """)

  @Argument(help: "The duration, such as 1m or 2h30m.", transform: parseAdvance)
  var duration: Duration

  @OptionGroup var global: GlobalOptions

  func run() async throws { try await global.setTime(.advance(duration)) }
}

/// A duration that does not go back.
@Sendable private func parseAdvance(_ text: String) throws -> Duration {
  guard !text.hasPrefix("-") else {
    throw ValidationError("the clock only advances; to go back, use `widgetctl clock set TIME`")
  }
  return try parseDuration(text)
}

extension GlobalOptions {
  fileprivate func setTime(_ target: SetTimeRequest.Target?) async throws {
    let session = try session()
    let answer = try await session.client.setTime(
      SetTimeRequest(target), options: session.options)
    session.printer.print(
      .map(["time": .string(RFC3339.text(answer.time)), "fake": .bool(answer.isFake)])
    ) { "\(RFC3339.text(answer.time))\(answer.isFake ? " (fake clock)" : "")\n" }
  }
}
