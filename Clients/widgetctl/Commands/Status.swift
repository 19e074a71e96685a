import ArgumentParser
import WidgetClient
import WidgetTimers

/// `status`: the state of the daemon, at a glance.
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the state of the daemon at a glance.",
    discussion: """
      The command shows the daemon's version, uptime, memory, store, use of its limits, widgets \
      and bundles that fail, stale widgets, widgets of unregistered kinds, values that are set \
      aside, error counters and last errors: changes that could not be stored, exceeded limits, invalid \
      settings. It leaves out values that you may not see. If the daemon does not answer, it \
      prints the first problem that `doctor` finds. The connection starts a socket-activated \
      service. The command waits for each answer for 3s, or for the time of --timeout. If an \
      answer is late, the command asks no more.

      Exit status, like systemctl: 0 running and serving, 3 not running or not serving, 4 unknown \
      (permission denied, or no answer in time).

      Examples:
        widgetctl status
        widgetctl status -o json | jq .recentErrors
        widgetctl status > /dev/null || widgetctl doctor
      """)
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let report = await look()
    let printer = Printer(
      format: global.output ?? .table, painter: global.painter, width: Terminal.width)
    printer.print(report.document) { report.text(printer.painter, width: printer.width) }
    if report.exitStatus != 0 { throw ServiceExit(status: report.exitStatus) }
  }

  private func look() async -> StatusReport {
    let choice = SocketChoice.ofProcess(explicit: global.socket)
    let connection: Facts.ConnectAttempt =
      if choice.why == .nowhere {
        .failed(.noSuchFile)
      } else {
        await Facts.connection(choice.path, timeout: global.limit ?? Facts.callTimeout)
      }
    var report = StatusReport(
      socket: choice.path, state: StatusCommand.state(of: connection),
      next: Doctor.command(forSocket: choice.path), asRoot: "sudo " + choice.asRoot("status"),
      now: .wallClock())
    if case .answered(let answers) = connection {
      report.level = answers.level
      report.stats = answers.stats
      report.revision = answers.revision
      report.store = answers.store
      if answers.stats != nil {
        report.host = await BundleHost.ask(
          WidgetClient(socketPath: choice.path), within: global.limit ?? Facts.callTimeout)
        if case .running = report.host {
          let standings = await BundleStanding.all(at: choice.path)
          report.failedBundles = standings.filter(\.hasFailed).map(\.title)
          report.failingBundles = standings.filter(\.isFailing).map(\.title)
          report.stoppedBundles = standings.filter(\.isElsewhere).map(\.title)
        }
      }
      if answers.level == .owner || answers.level == .client {
        report.failing = await FailingWidgets.ask(global)
      }
    } else {
      let facts = await Facts.gather(
        socket: global.socket, timeout: global.limit, connection: connection)
      report.trouble = facts.trouble
      // The daemon runs, but nobody can connect to it.
      if facts.daemonWithoutFile != nil { report.state = .unknown }
    }
    return report
  }

  /// The daemon's state, from the attempt to connect.
  static func state(of connection: Facts.ConnectAttempt) -> StatusReport.State {
    switch connection {
    case .answered(let answers): .running(answers.health)
    case .notTried, .failed(.noSuchFile), .failed(.refused): .notRunning
    case .failed, .mute: .unknown
    }
  }
}

/// An exit status for the state of a service, not one of `ExitStatus`. The command has printed
/// everything.
struct ServiceExit: Error, Hashable {
  let status: Int32
}
