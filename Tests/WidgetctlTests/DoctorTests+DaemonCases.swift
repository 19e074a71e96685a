import WidgetClient
import WidgetModel

@testable import widgetctl

/// Problems of a daemon that answers: its health, its level for the user, its version, its providers.
extension DoctorTests {
  static let daemonCases: [Case] = [
    Case("the daemon is stopping", "health", .fail, "is stopping", "sudo widgetctl status") {
      $0.connection = .answered(Facts.Answers(health: .notServing, level: .client))
    },
    Case("the user's own daemon is stopping", "health", .fail, "is stopping", "widgetctl status") {
      $0.connection = .answered(Facts.Answers(health: .notServing, level: .owner))
    },
    Case(
      "the daemon refuses to tell its health", "health", .fail, "refuses this user",
      "sudo widgetctl doctor"
    ) {
      $0.connection = .mute(.status(RPCStatus(code: .permissionDenied, message: "")))
    },
    Case(
      "a limit of the daemon is reached", "health", .fail, "a limit of the daemon is reached",
      "widgetctl status"
    ) {
      $0.connection = .mute(.status(RPCStatus(code: .resourceExhausted, message: "")))
    },
    Case(
      "the daemon that a flag names is stopping", "health", .fail, "is stopping",
      "sudo widgetctl status --socket /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .answered(Facts.Answers(health: .notServing, level: .client))
    },
    Case(
      "the level is not told where a flag says", "level", .warn, "did not say",
      "widgetctl ls --socket /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .answered(Facts.Answers(health: .serving, level: .unknown))
    },
    Case(
      "a client may not change where a flag says", "level", .ok,
      "(`sudo widgetctl … --socket /x`)", nil
    ) { $0.choice = .named("/x", .flag) },
    Case(
      "nothing is allowed where a flag says", "level", .fail, "may only ask for health",
      "sudo widgetctl doctor --socket /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .answered(Facts.Answers(health: .serving, level: .nothing))
    },
    Case(
      "the daemon that a flag names had an error", "errors", .warn, "STORAGE_FAILED",
      "widgetctl status --socket /x"
    ) {
      $0.choice = .named("/x", .flag)
      let error = RecentError(
        time: Samples.time(99_940), code: .unavailable, reason: "STORAGE_FAILED", area: "storage")
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("1.0.0", [error])))
    },
    Case("the store takes no changes", "store", .fail, "/db: no space left", "widgetctl status") {
      var answers = Facts.Answers(health: .serving, level: .owner, stats: stats())
      answers.store = StoreTrouble(StoreFailure(message: "/db: no space left", since: .epoch))
      $0.connection = .answered(answers)
    },
    Case(
      "the store takes no changes, and others may not know why", "store", .fail, "root see why",
      "sudo widgetctl status"
    ) {
      var answers = Facts.Answers(health: .serving, level: .client)
      answers.store = StoreTrouble()
      $0.connection = .answered(answers)
    },
    Case("a client may not change", "level", .ok, "may read, watch and send events", nil) { _ in },
    Case("an owner may all", "level", .ok, "may do everything", nil) {
      $0.connection = .answered(Facts.Answers(health: .serving, level: .owner, stats: stats()))
    },
    Case(
      "nothing is allowed", "level", .fail, "may only ask for health",
      "sudo usermod -aG widgetd-clients ann; newgrp widgetd-clients"
    ) {
      $0.file = .socket(.clients(0o666, .none))
      $0.connection = .answered(Facts.Answers(health: .serving, level: .nothing))
    },
    Case("the level is not told", "level", .warn, "did not say", "widgetctl ls") {
      $0.connection = .answered(Facts.Answers(health: .serving, level: .unknown))
    },
    Case(
      "versions differ", "version", .warn, "the client is 1.0.0, and the daemon is 0.9.0",
      "sudo systemctl restart widgetd.service"
    ) {
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("0.9.0")))
    },
    Case(
      "the daemon's program was replaced", "version", .warn,
      "client and daemon are 1.0.0, but the daemon's program was replaced or removed",
      "sudo systemctl restart widgetd.service"
    ) {
      $0.isDaemonReplaced = true
      $0.connection = .answered(Facts.Answers(health: .serving, level: .owner, stats: stats()))
    },
    Case(
      "the program of a daemon without units was replaced by another version", "version", .warn,
      "the daemon is 0.9.0, but the daemon's program was replaced", "ps -ww -o user=,args= -p 0"
    ) {
      $0.choice = .named("/x", .flag)
      $0.isDaemonReplaced = true
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("0.9.0")))
    },
    Case(
      "a provider is well, another one is turned off", "providers", .ok,
      "widgetd-host.service active", nil
    ) {
      $0.providers[.system] = [
        .provider("widgetd-host.service", "active"),
        .provider("own.service", "inactive", isEnabled: false),
      ]
    },
    Case(
      "a provider does not run", "providers", .warn,
      "widgetd-host.service is enabled, but inactive",
      "sudo systemctl start widgetd-host.service"
    ) { $0.providers[.system] = [.provider("widgetd-host.service", "inactive")] },
    Case(
      "two providers do not run, each for its reason", "providers", .warn,
      "a.service failed (exit-code); `sudo journalctl -u a.service -n 20` shows why; the program of "
        + "b.service was replaced or removed",
      "sudo systemctl reset-failed a.service; sudo systemctl start a.service; "
        + "sudo systemctl restart b.service"
    ) {
      $0.providers[.system] = [
        .provider("a.service", "failed", result: "exit-code"),
        .provider("b.service", "active", isReplaced: true),
      ]
    },
    Case(
      "a provider fails again and again", "providers", .warn, "fails again and again (exit-code)",
      "sudo journalctl -u a.service -n 20"
    ) { $0.providers[.system] = [.provider("a.service", "activating", result: "exit-code")] },
    Case(
      "versions differ without units", "version", .warn,
      "and restart that daemon with its arguments, which this command shows",
      "ps -ww -o user=,args= -p 42"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("0.9.0")))
      $0.listener = Facts.Listener(pid: 42, uid: 7, name: "widgetd")
    },
    Case(
      "versions differ, and who listens cannot be told", "version", .warn,
      "and restart that daemon", "sudo ss -xap src /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("0.9.0")))
    },
    Case(
      "the daemon had an error", "errors", .warn,
      "60s ago in storage, 3 times: STORAGE_FAILED: the disk is full", "widgetctl status"
    ) {
      let error = RecentError(
        time: Samples.time(99_940), code: .unavailable, reason: "STORAGE_FAILED", area: "storage",
        message: "the disk is full.", count: 3)
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("1.0.0", [error])))
    },
    Case("the daemon had an error long ago", "errors", .ok, "27h ago", nil) {
      let error = RecentError(time: Samples.time(100), reason: "X", area: "storage", count: 1)
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: stats("1.0.0", [error])))
    },
  ]
}
