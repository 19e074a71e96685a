import ArgumentParser
import Glibc
import TaskThreads
import WidgetClient
import WidgetModel

/// Parses the arguments, runs the command, and turns every error into a line on standard error and
/// an exit status.
@main
enum Main {
  static func main() { TaskThreads.run { await run() } }

  @MainActor private static func run() async {
    Output.occupyClosedStreams()
    // Without this signal, a broken pipe is an error of write(2), which `Output` handles.
    signal(SIGPIPE, SIG_IGN)
    let arguments = ArgumentOrder.normalized(Array(CommandLine.arguments.dropFirst()))
    if ArgumentOrder.wantsJSON(arguments) { PendingChanges.useJSON() }
    do {
      if let word = ArgumentOrder.unknownCommand(arguments) {
        throw CommandFailure(
          .usage,
          "there is no command \"\(word)\"; `\(ArgumentOrder.helpCommand(for: word))` lists them"
        ).suggesting(ArgumentOrder.nearestCommand(to: word))
      }
      if let option = ArgumentOrder.emptyOption(arguments) {
        throw CommandFailure(.usage, "\(option) is empty; give it a value, or leave it out")
      }
      var command = try await Widgetctl.asyncParseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      exit(ExitStatus.ok.rawValue)
    } catch {
      await end(with: error, arguments)
    }
  }

  private static func end(with error: any Error, _ arguments: [String]) async -> Never {
    let isJSON = ArgumentOrder.wantsJSON(arguments)
    switch error {
    case let status as ExitStatus:
      // The command has printed everything.
      exit(status.rawValue)
    case let state as ServiceExit:
      exit(state.status)
    case let failure as CommandFailure:
      report(failure, isJSON: isJSON)
      exit(failure.exit.rawValue)
    case let error as ClientError:
      let socket = ArgumentOrder.socket(arguments)
      let failure = await NearestName.completed(
        CommandFailure(error, socket: socket), socket: socket)
      report(failure, isJSON: isJSON)
      exit(failure.exit.rawValue)
    default:
      break
    }
    // The other errors come from the argument parser: requested help, or wrong usage.
    let code = Widgetctl.exitCode(for: error)
    guard code != .success else {
      Output.write(Widgetctl.fullMessage(for: error) + "\n")
      exit(ExitStatus.ok.rawValue)
    }
    let isUsage = code == .validationFailure
    let status: ExitStatus = isUsage ? .usage : .otherError
    var message = Widgetctl.message(for: error).cuttingLongArguments(arguments)
    // The parser checks values and their number first, and a misspelt option makes these wrong. For
    // an option before a bare value, it names another option.
    if isUsage, !message.hasPrefix("Unknown option") || BareValues.isMeant(in: arguments),
      let words = ArgumentOrder.unknownOption(arguments)
    {
      message = words
    }
    if isUsage, let advice = ExpressionUsage.advice(about: message, arguments) {
      message += "; \(advice)"
    }
    if isJSON || !isUsage {
      report(CommandFailure(status, message), isJSON: isJSON)
    } else {
      // The whole usage text would push the error off the screen.
      let next = "see `\(ArgumentOrder.help(arguments))`"
      report(CommandFailure(status, "\(message)\n\(next)"), isJSON: false)
    }
    exit(status.rawValue)
  }

  /// Reports a failure on standard error.
  static func report(_ failure: CommandFailure, isJSON: Bool) {
    guard !isJSON else { return Output.writeError(JSONWriter.compact(failure.document) + "\n") }
    let lines = failure.message.split(separator: "\n", omittingEmptySubsequences: false)
    Output.writeError(
      "widgetctl: " + lines.map { String($0).safeForTerminal + "\n" }.joined())
  }
}
