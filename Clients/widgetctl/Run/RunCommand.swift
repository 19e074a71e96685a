import ArgumentParser
import Glibc
import WidgetClient
import WidgetModel

/// `run`: a command, shown as a widget while it runs.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run a command, and show it as a widget.",
    discussion: """
      The command keeps the terminal for its input, output and errors. widgetctl passes signals on \
      to the command. The exit status is the status of the command. If a signal ends the command, \
      the same signal ends widgetctl. If the daemon cannot be reached, the command runs without a \
      widget. If the daemon hangs, the widget may appear later.

      The widget shows the time since the start, the progress, and at the end the outcome. The \
      command can report its progress in two ways, with these variables of its environment:
        $WIDGETD_PROGRESS_FD  a descriptor for lines: `40%` or `0.4 copying photos`
        $WIDGETD_ACTIVITY     the widget's id, for `widgetctl activity update`

      If widgetctl is killed, the widget becomes stale at once, and says so. If the machine or all \
      processes of the session are killed, it becomes stale after --stale-after.

      Examples:
        widgetctl run --activity Build -- make -j4
        widgetctl run --activity Backup --id backup --dismiss 10m -- ./backup.sh
        widgetctl run --activity Count -- sh -c 'for n in 1 2 3 4; do
          echo "$((n * 25))% step $n" >&$WIDGETD_PROGRESS_FD; sleep 1; done'
      """)

  @Option(help: ArgumentHelp("The title of the widget.", valueName: "title"))
  var activity: String

  @Option(
    help: """
      The widget's id. The next run with this id replaces this run. Default: a random id, such as \
      run-3w5e11264sgsf.
      """, transform: parseID)
  var id: WidgetID?

  @OptionGroup var options: NewWidgetOptions

  @OptionGroup var dismissal: DismissOption

  @Option(
    help: ArgumentHelp(
      "The time after which the widget is stale if nobody reports the end of widgetctl. Default: 90s.",
      valueName: "duration"),
    transform: parseDuration)
  var staleAfter: Duration = .seconds(90)

  @Argument(
    parsing: .postTerminator,
    help: ArgumentHelp("The command with its arguments, after `--`.", valueName: "command"))
  var command: [String] = []

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try refuseRepeated(options.labels.keys)
    guard !command.isEmpty else {
      throw ValidationError("name the command after --: widgetctl run --activity Build -- make")
    }
    guard staleAfter >= .milliseconds(300) else {
      throw ValidationError("--stale-after is at least 300ms")
    }
  }

  func run() async throws {
    SignalRelay.take()
    // Open the pipe before any socket, so that a low number is free.
    let pipe = ProgressPipe()
    let shown = await show()
    let guardian = shown.flatMap { RunGuard.start($0.id, socket: $0.socketPath) }
    var variables: [(name: String, value: String)] = []
    if let socket = global.socket { variables.append((SocketPath.variable, socket)) }
    if let shown { variables.append(("WIDGETD_ACTIVITY", shown.id.rawValue)) }
    if let pipe { variables.append(("WIDGETD_PROGRESS_FD", "\(pipe.number)")) }
    let child: ChildCommand
    do throws(ChildCommand.Failure) {
      child = try ChildCommand(command, variables: variables, progress: pipe)
    } catch {
      warn(error.words)
      await end(shown, "failed", "cannot be started", guardian)
      Glibc.exit(error.status)
    }
    let news = RunActivity.News()
    pipe?.read { news.add($0) }
    let following = Task { await shown?.follow(news) }
    let outcome = await child.end()
    following.cancel()
    await following.value
    switch outcome {
    case .exited(let status):
      await end(
        shown, status == 0 ? "succeeded" : "failed", status == 0 ? "" : "status \(status)", guardian
      )
      Glibc.exit(status)
    case .signaled(let signal):
      await end(
        shown, "stopped", "signal \(signal) (\(String(cString: strsignal(signal))))", guardian)
      RunCommand.die(of: signal)
    }
  }

  /// Starts the activity. If that is not possible, prints a warning and returns nil.
  private func show() async -> RunActivity? {
    do {
      let client = try global.session().client
      let spec = WidgetSpec(
        id: id, kind: .activity, family: options.family, labels: options.labels.labels,
        parameters: ["title": .string(activity)])
      return try await RunActivity.start(
        spec, staleAfter: staleAfter, dismissal.dismissal, client
      ) { error in
        warn(
          "the command runs, and its widget may appear later: "
            + RunCommand.words(for: error, global))
      }
    } catch {
      warn("the command runs without a widget: \(RunCommand.words(for: error, global))")
      return nil
    }
  }

  private func end(
    _ shown: RunActivity?, _ outcome: String, _ status: String, _ guardian: RunGuard?
  ) async {
    guard let shown else { return }
    defer { guardian?.finish() }
    do {
      if let refusal = try await shown.end(outcome, status) {
        warn("--dismiss was refused, so the outcome stays as long as the daemon allows: \(refusal)")
      }
    } catch {
      warn("the widget does not show the outcome: \(RunCommand.words(for: error, global))")
    }
  }

  private static func words(for error: any Error, _ global: GlobalOptions) -> String {
    switch error {
    case let failure as CommandFailure: failure.message
    case let error as ClientError: CommandFailure(error, socket: global.socket).message
    default: "\(error)"
    }
  }

  private func warn(_ text: String) {
    Output.writeError(
      text.split(separator: "\n").map { "widgetctl: " + String($0).safeForTerminal + "\n" }.joined()
    )
  }

  /// Ends this process like the command, so that the parent sees the same status.
  private static func die(of number: Int32) -> Never {
    // The command may have left a core file. This process leaves none.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    signal(number, SIG_DFL)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    kill(getpid(), number)
    // If the signal has not ended this process, exit as a shell does.
    Glibc.exit(128 + number)
  }
}
