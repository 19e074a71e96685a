import Glibc
import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct DoctorTests {
  /// One thing that is wrong, and what is to be said of it.
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var check: String
    var grade: Finding.Grade
    var words: String
    var mend: String?
    var facts: Facts

    init(
      _ name: String, _ check: String, _ grade: Finding.Grade, _ words: String, _ mend: String?,
      _ change: (inout Facts) -> Void
    ) {
      testDescription = name
      (self.check, self.grade, self.words, self.mend) = (check, grade, words, mend)
      facts = Facts.sound.with(change)
    }
  }

  /// A byte too long for a socket.
  static let long = "/" + String(repeating: "l", count: 103)

  static func stats(_ version: String = "1.0.0", _ errors: [RecentError] = []) -> GetStatsResponse {
    GetStatsResponse(version: version, recentErrors: errors)
  }

  static let cases: [Case] = [
    Case(
      "another daemon may be meant", "socket", .warn, "your own daemon has one too",
      "widgetctl doctor --socket /run/user/1000/widgetd/widgetd.sock"
    ) {
      $0.choice = SocketChoice(
        path: "/x", why: .flag,
        user: .init(path: "/run/user/1000/widgetd/widgetd.sock", exists: true),
        system: .init(path: SocketPath.ofSystem, exists: false))
      $0.connection = .notTried
    },
    Case(
      "there is no socket, and a unit", "file", .fail, "there is nothing at /run/widgetd",
      "sudo systemctl enable --now widgetd.socket"
    ) {
      $0.file = .missing
      $0.units[.system] = .widgetd("inactive", "inactive")
      $0.connection = .notTried
    },
    Case(
      "there is no socket, and no unit", "file", .fail, "there is nothing",
      "sudo widgetd --socket /run/widgetd/widgetd.sock"
    ) {
      $0.file = .missing
      $0.units[.system] = .absent
      $0.connection = .notTried
    },
    Case(
      "there is no socket where a variable says", "file", .fail, "there is nothing at /a b",
      "widgetd --socket '/a b'"
    ) {
      $0.choice = .named("/a b", .variable)
      $0.file = .missing
      $0.connection = .notTried
    },
    Case(
      "there is none where a variable says, but one where it usually is", "file", .fail,
      "there is nothing at /a", "unset WIDGETD_SOCKET"
    ) {
      $0.choice = .named("/a", .variable, usualExists: true)
      $0.file = .missing
      $0.connection = .notTried
    },
    Case(
      "there is none where a flag says, but one where it usually is", "file", .fail,
      "there is nothing at /a", "widgetctl doctor --socket /run/widgetd/widgetd.sock"
    ) {
      $0.choice = .named("/a", .flag, usualExists: true)
      $0.file = .missing
      $0.connection = .notTried
    },
    Case("nobody has started a daemon", "file", .fail, "there is nothing", "widgetd") {
      $0.choice = .none
      $0.file = .missing
      $0.units[.system] = .notInstalled
      $0.connection = .notTried
    },
    Case(
      "the daemon is not installed", "file", .fail, "widgetd is not installed here",
      "sudo apt install ./widgetd_*.deb ./widgetctl_*.deb"
    ) {
      $0.choice = .none
      $0.file = .missing
      $0.units[.system] = .notInstalled
      $0.isDaemonInstalled = false
      $0.connection = .notTried
    },
    Case(
      "somebody removed the socket", "file", .fail, "although widgetd.socket is active",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.file = .missing
      $0.connection = .notTried
    },
    Case(
      "there is no socket because its unit is masked", "file", .fail, "there is nothing",
      "sudo systemctl unmask widgetd.socket widgetd.service"
    ) {
      $0.file = .missing
      $0.units[.system] = .widgetd("inactive", "inactive", load: "masked")
      $0.connection = .notTried
    },
    Case(
      "the user's own socket is overlooked", "socket", .warn,
      "although there is /run/user/1000/widgetd/widgetd.sock",
      "export XDG_RUNTIME_DIR=/run/user/1000"
    ) {
      $0.choice = SocketChoice(
        path: SocketPath.ofSystem, why: .nowhere, user: nil,
        system: .init(path: SocketPath.ofSystem, exists: false),
        overlooked: "/run/user/1000/widgetd/widgetd.sock")
      $0.file = .missing
      $0.connection = .notTried
    },
    Case(
      "a variable names something else", "file", .fail, "is a regular file, not a socket",
      "unset WIDGETD_SOCKET"
    ) {
      $0.choice = .named("/x", .variable)
      $0.file = .other(kind: "a regular file")
      $0.connection = .notTried
    },
    Case(
      "a unit failed, and the daemon answers", "unit", .warn, "widgetd.service failed",
      "sudo systemctl reset-failed widgetd.socket widgetd.service; sudo systemctl start "
        + "widgetd.socket"
    ) { $0.units[.system] = .widgetd("active", "failed", result: "exit-code") },
    Case(
      "a unit failed", "unit", .fail, "widgetd.socket failed (start-limit-hit)",
      "sudo systemctl reset-failed widgetd.socket widgetd.service; sudo systemctl start "
        + "widgetd.socket"
    ) {
      $0.units[.system] = .widgetd("failed", "failed", result: "start-limit-hit")
      $0.connection = .failed(.refused)
    },
    Case(
      "the user's unit is off", "unit", .fail, "widgetd.socket inactive",
      "systemctl --user enable --now widgetd.socket"
    ) {
      $0.choice = SocketChoice(
        path: "/run/user/1000/widgetd/widgetd.sock", why: .user,
        user: .init(path: "/run/user/1000/widgetd/widgetd.sock", exists: true),
        system: .init(path: SocketPath.ofSystem, exists: false))
      $0.units[.user] = .widgetd("inactive", "inactive")
      $0.connection = .failed(.refused)
    },
    Case(
      "a unit is masked", "unit", .fail, "widgetd.socket masked",
      "sudo systemctl unmask widgetd.socket widgetd.service"
    ) {
      $0.units[.system] = .widgetd("inactive", "inactive", load: "masked")
      $0.connection = .failed(.refused)
    },
    Case("there are no units", "unit", .ok, "not installed as a service", nil) {
      $0.units[.system] = .widgetd("inactive", "inactive", load: "not-found")
    },
    Case(
      "systemd does not answer", "unit", .warn, "does not answer",
      "systemctl status widgetd.socket widgetd.service"
    ) { $0.units[.system] = .timedOut },
    Case(
      "a folder is closed", "permission", .fail,
      "ann may not search /home/bob (0700 bob:users)",
      "sudo -u bob widgetctl doctor --socket /run/widgetd/widgetd.sock"
    ) {
      $0.folders = [
        Facts.Folder(
          path: "/home/bob", ownership: .clients(0o700, group: "users", .inSession, uid: 7),
          isSearchable: false)
      ]
      $0.file = .hidden
      $0.connection = .notTried
    },
    Case(
      "the user is not in the group", "permission", .fail,
      "ann may not open the socket (0660 root:widgetd-clients)",
      "sudo adduser ann widgetd-clients; newgrp widgetd-clients"
    ) {
      $0.file = .socket(.clients(0o660, .none))
      $0.isWritable = false
      $0.connection = .failed(.permissionDenied)
    },
    Case(
      "the session is older than the membership", "permission", .fail,
      "but not in this session: log in again", "newgrp widgetd-clients"
    ) {
      $0.file = .socket(.clients(0o660, .afterLogin))
      $0.isWritable = false
      $0.connection = .failed(.permissionDenied)
    },
    Case(
      "only root may use a socket that is named", "permission", .fail, "(0600 root:root)",
      "sudo widgetctl doctor --socket /x"
    ) {
      $0.choice = .named("/x", .variable)
      $0.file = .socket(.clients(0o600, group: "root", .none))
      $0.isWritable = false
      $0.connection = .failed(.permissionDenied)
    },
    Case("only root may", "permission", .fail, "(0600 root:root)", "sudo widgetctl doctor") {
      $0.file = .socket(.clients(0o600, group: "root", .none))
      $0.isWritable = false
      $0.connection = .failed(.permissionDenied)
    },
    Case(
      "the socket is stale", "connect", .fail, "no program listens",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) { $0.connection = .failed(.refused) },
    Case(
      "a security module refuses", "connect", .fail, "although the mode permits it",
      "sudo journalctl -k -g widgetd"
    ) { $0.connection = .failed(.permissionDenied) },
    Case(
      "the queue is full", "connect", .fail, "overloaded or hangs",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.connection = .failed(.backlogFull)
    },
    Case(
      "the kernel finds the path too long", "connect", .fail, "103 bytes",
      "export XDG_RUNTIME_DIR=/run/user/1000"
    ) {
      $0.connection = .failed(.pathTooLong)
    },
    Case(
      "a path that is too long and has no file", "file", .fail,
      "has 104 bytes, and the path of a socket at most 103", "unset WIDGETD_SOCKET"
    ) {
      $0.choice = .named(long, .variable)
      $0.file = .missing
      $0.connection = .notTried
    },
    Case(
      "a flag names a path that is too long", "file", .fail, "has 104 bytes",
      "widgetctl doctor --socket /run/widgetd/widgetd.sock"
    ) {
      $0.choice = .named(long, .flag)
      $0.connection = .failed(.pathTooLong)
    },
    Case(
      "the runtime directory's path is too long", "file", .fail, "has 104 bytes",
      "export XDG_RUNTIME_DIR=/run/user/1000"
    ) {
      $0.choice = SocketChoice(
        path: long, why: .user, user: .init(path: long, exists: true),
        system: .init(path: SocketPath.ofSystem, exists: false))
      $0.connection = .notTried
    },
    Case(
      "a socket for datagrams", "connect", .fail,
      "is not a stream socket but one for datagrams or packets, so it is not widgetd's",
      "unset WIDGETD_SOCKET"
    ) {
      $0.choice = .named("/x", .variable)
      $0.connection = .failed(.other(errno: EPROTOTYPE, description: "connect: Protocol wrong"))
    },
    Case(
      "a socket for datagrams in the usual place", "connect", .fail, "not a stream socket",
      "sudo ss -xap src /run/widgetd/widgetd.sock"
    ) {
      $0.units[.system] = .absent
      $0.connection = .failed(.other(errno: EPROTOTYPE, description: "connect: Protocol wrong"))
    },
    Case(
      "a link leads into a closed folder", "permission", .fail,
      "ann may not search /home/bob (0700 bob:users), where the link /tmp/s leads, to "
        + "/home/bob/w/s", "sudo -u bob widgetctl doctor --socket /tmp/s"
    ) {
      $0.choice = .named("/tmp/s", .flag)
      $0.folders = [
        Facts.Folder(
          path: "/home/bob", ownership: .clients(0o700, group: "users", .inSession, uid: 7),
          isSearchable: false, link: .init(path: "/tmp/s", target: "/home/bob/w/s"))
      ]
      $0.file = .hidden
      $0.isWritable = false
      $0.connection = .failed(.permissionDenied)
    },
    Case(
      "the socket cannot be seen, and no folder is known that hides it", "file", .fail,
      "/x leads into a folder that ann may not search", "namei -l /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.file = .hidden
      $0.isWritable = false
      $0.connection = .notTried
    },
    Case(
      "the service hangs", "health", .fail, "does not answer within 3s: it hangs",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
    },
    Case(
      "a daemon started by hand hangs", "health", .fail,
      "the daemon (widgetd, process 42) does not answer within 3s",
      "kill -KILL 42; "
        + "widgetd --socket /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 42, uid: 1000, name: "widgetd")
    },
    Case(
      "systemd's socket in an unusual place is mute", "health", .fail,
      "the daemon (systemd, process 1) does not answer within 3s",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 1, uid: 0, name: "systemd")
    },
    Case(
      "systemd's socket is mute, and systemd cannot be asked", "health", .fail,
      "(systemd, process 1)", "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.choice = .named("/x", .variable)
      $0.units = [.system: .absent, .user: .absent]
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 1, uid: 0, name: "systemd")
    },
    Case(
      "the user's systemd has a socket in an unusual place", "health", .fail,
      "(systemd, process 700)", "systemctl --user restart widgetd.socket widgetd.service"
    ) {
      $0.choice = .named("/x", .flag)
      $0.units[.user] = .widgetd("active", "inactive")
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 700, uid: 1000, name: "systemd")
    },
    Case(
      "another user's systemd has the socket", "health", .fail, "(systemd, process 700)",
      "sudo systemctl --user --machine='bob@' restart widgetd.socket widgetd.service"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 700, uid: 7, name: "systemd", owner: "bob")
    },
    Case(
      "a service with a socket in an unusual place hangs", "health", .fail,
      "the daemon (widgetd, process 42) does not answer",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 42, uid: 7, name: "widgetd", manager: .system)
    },
    Case(
      "systemd listens for another service in the usual place", "health", .fail,
      "the program that listens (systemd, process 1) is not widgetd: bad frame",
      "systemctl list-sockets --all"
    ) {
      $0.units[.system] = .notInstalled
      $0.connection = .mute(.protocolViolation("bad frame"))
      $0.listener = Facts.Listener(pid: 1, uid: 0, name: "systemd")
    },
    Case(
      "the first process of a container hangs", "health", .fail, "(widgetd, process 1)",
      "sudo ss -xap src /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 1, uid: 0, name: "widgetd")
    },
    Case(
      "a daemon hangs that cannot be told", "health", .fail, "the daemon does not answer",
      "sudo ss -xap src /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
    },
    Case(
      "the queue of a daemon without units is full", "connect", .fail, "overloaded or hangs",
      "sudo ss -xap src /x"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .failed(.backlogFull)
    },
    Case(
      "the daemon is stopped", "health", .fail, "because it is stopped by a signal",
      "sudo kill -CONT 42"
    ) {
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 42, uid: 7, name: "widgetd", isStopped: true)
    },
    Case(
      "something else listens and waits", "health", .fail,
      "(python3, process 42) does not answer within 3s, and is not widgetd", "unset WIDGETD_SOCKET"
    ) {
      $0.choice = .named("/x", .variable)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 42, uid: 1000, name: "python3")
    },
    Case(
      "something else listens in the service's place", "health", .fail,
      "the program that listens is not widgetd: bad frame",
      "sudo systemctl restart widgetd.socket widgetd.service"
    ) {
      $0.connection = .mute(.protocolViolation("bad frame"))
    },
    Case(
      "something else listens in the usual place", "health", .fail,
      "the program that listens (nginx, process 42) is not widgetd: bad frame", "kill -TERM 42"
    ) {
      $0.units[.system] = .notInstalled
      $0.connection = .mute(.protocolViolation("bad frame"))
      $0.listener = Facts.Listener(pid: 42, uid: 1000, name: "nginx")
    },
    Case(
      "something unknown listens in the usual place", "health", .fail,
      "the program that listens is not widgetd: it has no health service",
      "sudo ss -xap src /run/widgetd/widgetd.sock"
    ) {
      $0.units[.system] = .absent
      $0.connection = .mute(.status(RPCStatus(code: .unimplemented, message: "?")))
    },
    Case(
      "the daemon closes the connection at once", "health", .fail, "it has too many",
      "sudo journalctl -u widgetd -n 20"
    ) {
      $0.connection = .mute(.connectionLost(socketPath: "/s"))
      $0.listener = Facts.Listener(pid: 42, uid: 0, name: "widgetd")
    },
    Case(
      "something else closes the connection at once", "health", .fail,
      "(cat, process 42) is not widgetd: it closed",
      "widgetctl doctor --socket /run/widgetd/widgetd.sock"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.connectionLost(socketPath: "/s"))
      $0.listener = Facts.Listener(pid: 42, uid: 0, name: "cat")
    },
    Case("the daemon is stopping", "health", .fail, "is stopping", "widgetctl doctor") {
      $0.connection = .answered(Facts.Answers(health: .notServing, level: .client))
    },
    Case(
      "the daemon that a flag names is stopping", "health", .fail, "is stopping",
      "widgetctl doctor --socket /x"
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
    Case("a client may not change", "level", .ok, "may read, watch and send events", nil) { _ in },
    Case("an owner may all", "level", .ok, "may do everything", nil) {
      $0.connection = .answered(Facts.Answers(health: .serving, level: .owner, stats: stats()))
    },
    Case(
      "nothing is allowed", "level", .fail, "may only ask for health",
      "sudo adduser ann widgetd-clients; newgrp widgetd-clients"
    ) {
      $0.file = .socket(.clients(0o666, .none))
      $0.connection = .answered(Facts.Answers(health: .serving, level: .nothing))
    },
    Case("the level is not told", "level", .warn, "did not say", "widgetctl ls") {
      $0.connection = .answered(Facts.Answers(health: .serving, level: .unknown))
    },
    Case(
      "versions differ", "version", .warn, "the client is 1.0.0, the daemon 0.9.0",
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
      "the daemon 0.9.0, but the daemon's program was replaced", "ps -ww -o user=,args= -p 0"
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

  @Test(arguments: cases)
  func `each trouble has its finding and its command`(_ expected: Case) throws {
    let finding = try #require(expected.facts.finding(expected.check))
    #expect(finding.grade == expected.grade)
    #expect(finding.found.contains(expected.words), "\(finding.found)")
    #expect(finding.mend == expected.mend)
  }

  @Test(arguments: cases)
  func `a failed or doubtful check has a command, and a passed check has none`(_ expected: Case) {
    for finding in expected.facts.findings {
      #expect((finding.mend == nil) == (finding.grade == .ok), "\(finding)")
      #expect(!finding.found.hasSuffix("."))
    }
  }

  @Test(arguments: cases)
  func `no finding advises to kill systemd or process 1`(_ expected: Case) {
    for pid: Int32 in [1, 700] {
      let facts = expected.facts.with {
        $0.listener = Facts.Listener(pid: pid, uid: 1000, name: "systemd")
      }
      for finding in facts.findings {
        #expect(finding.mend?.contains("kill ") != true, "\(finding)")
      }
    }
  }

  /// What `--socket` named is asked again, or another socket is named, but none is left out.
  @Test(arguments: cases)
  func `commands for a socket that a flag names carry a socket`(_ expected: Case) {
    let facts = expected.facts.with {
      let old = $0.choice
      $0.choice = SocketChoice(path: old.path, why: .flag, user: old.user, system: old.system)
    }
    for mend in facts.findings.compactMap(\.mend) {
      for command in mend.split(separator: ";") {
        let words = command.split(separator: " ")
        let program = words.first { $0 != "sudo" }
        guard words.contains("widgetctl") || program == "widgetd" else { continue }
        #expect(words.contains("--socket"), "\(mend)")
      }
    }
  }

  @Test(arguments: [
    (BundleHost.running(folders: ["/a"]), "widgetd-host runs /a", Finding.Grade.ok),
    (.missing(), "none in /b, and no widgetd-host runs", .ok),
    (.running(folders: ["/a"], stub: true), "widgetd-host runs /a with --stub", .warn),
  ])
  func `the host has a line, also without bundles in the usual folder`(
    host: BundleHost, found: String, grade: Finding.Grade
  ) {
    let facts = Facts.sound.with { $0.bundles = .init(folder: "/b", count: 0, host: host) }
    #expect(facts.finding("bundles")?.grade == grade)
    #expect(facts.finding("bundles")?.found.hasPrefix(found) == true)
  }

  @Test(arguments: [0, 2])
  func `bundles that have failed are named`(count: Int) {
    let facts = Facts.sound.with {
      $0.bundles = .init(
        folder: "/b", count: count, host: .running(folders: ["/b"]), failing: ["desk", "mail"])
    }
    #expect(facts.finding("bundles")?.grade == .warn)
    #expect(
      facts.finding("bundles")?.found == "widgetd-host runs /b; 2 bundles have failed: desk, mail")
    #expect(facts.finding("bundles")?.mend?.contains("bundle ls --remote") == true)
  }

  @Test(arguments: [
    ([], 0, "--bundles /b"), (["/x"], 0, "--bundles /x"), (["/x"], 1, "--bundles /x --bundles /b"),
    (["/x y", "/b"], 1, "--bundles '/x y' --bundles /b"),
  ])
  func `the command for a missing host names the folders that it ran`(
    former: [String], count: Int, ending: String
  ) {
    let facts = Facts.sound.with {
      let old = $0.choice
      $0.choice = SocketChoice(path: "/tmp/s", why: .flag, user: old.user, system: old.system)
      $0.bundles = .init(folder: "/b", count: count, host: .missing(former: former), declared: 1)
    }
    #expect(facts.finding("bundles")?.mend == "widgetd-host --socket /tmp/s \(ending)")
  }

  @Test func `bundles in a folder that no host runs are reported`() {
    let elsewhere = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 2, host: .running(folders: ["/a"]))
    }
    #expect(elsewhere.finding("bundles")?.grade == .warn)
    #expect(elsewhere.finding("bundles")?.found.contains("runs /a") == true)
    let missing = Facts.sound.with { $0.bundles = .init(folder: "/b", count: 2, host: .missing()) }
    #expect(missing.finding("bundles")?.grade == .warn)
    let former = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 0, host: .missing(), declared: 2)
    }
    #expect(former.finding("bundles")?.grade == .warn)
    #expect(former.finding("bundles")?.found.contains("2 bundles of a former one") == true)
    #expect(former.finding("bundles")?.mend != nil)
    let live = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 2, host: .running(folders: ["/a", "/b"]))
    }
    #expect(live.finding("bundles") == .ok("bundles", "widgetd-host runs /b"))
    let stub = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 2, host: .running(folders: ["/b"], stub: true))
    }
    #expect(stub.finding("bundles")?.grade == .warn)
    #expect(stub.finding("bundles")?.found.contains("with --stub") == true)
    #expect(Facts.sound.finding("bundles") == nil)
  }

  @Test func `the way to a socket is followed through links to the folder that is closed`() throws {
    let root = try #require(mkdtemp(strdup("/tmp/widgetd-test-XXXXXX")).map { String(cString: $0) })
    defer { _ = BoundedCommand.run(["rm", "-rf", root], within: .seconds(60)) }
    for name in ["open", "open/inner"] { #expect(mkdir("\(root)/\(name)", 0o755) == 0) }
    #expect(symlink("open/inner/../inner", "\(root)/relative") == 0)
    #expect(symlink("\(root)/relative/s", "\(root)/s") == 0)
    #expect(symlink("loop", "\(root)/loop") == 0)
    let folders = Facts.folders(to: "\(root)/s")
    #expect(
      folders.map(\.path) == ["/", "/tmp", root, "\(root)/open", "\(root)/open/inner"])
    #expect(
      folders.last?.link == Facts.Link(path: "\(root)/relative", target: "open/inner/../inner"))
    #expect(folders.dropLast(2).allSatisfy { $0.link == nil })
    #expect(Facts.folders(to: "\(root)/loop/s").map(\.path) == ["/", "/tmp", root])
    #expect(Facts.folders(to: "\(root)/none/s").map(\.path) == ["/", "/tmp", root])
  }

  @Test(arguments: cases)
  func `commands for root have no sudo`(_ expected: Case) {
    // Who is root is let in, so these two are of no case for root.
    let others = ["permission", "level"]
    let facts = expected.facts.with { $0.user = .init(uid: 0, name: "root") }
    for finding in facts.findings where !others.contains(finding.check) {
      #expect(finding.mend?.contains("sudo ") != true, "\(finding)")
      #expect(!finding.found.contains("sudo "), "\(finding)")
    }
  }

  @Test func `on a healthy system every check passes`() {
    #expect(
      Facts.sound.findings.map(\.check)
        == ["socket", "file", "unit", "permission", "connect", "health", "level"])
    #expect(Facts.sound.findings.allSatisfy { $0.grade == .ok })
    let owner = Facts.sound.with {
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: Self.stats()))
    }
    #expect(owner.findings.map(\.check).suffix(2) == ["version", "errors"])
  }

  @Test func `checks that a failure makes impossible are left out`() {
    let facts = Facts.sound.with {
      $0.file = .missing
      $0.isWritable = false
      $0.connection = .notTried
    }
    #expect(facts.findings.map(\.check) == ["socket", "file", "unit"])
  }

  @Test func `a command is printed below the check that it mends`() {
    let findings: [Finding] = [
      .ok("file", "a socket"), .fail("connect", "nobody listens", mend: "start it"),
    ]
    #expect(
      DoctorCommand.text(findings, Samples.plain) == """
        ok    file     a socket
        FAIL  connect  nobody listens
                       -> start it

        """)
    #expect(
      JSONWriter.compact(DoctorCommand.document(findings))
        == #"{"checks":[{"check":"file","found":"a socket","grade":"ok"},{"check":"connect","#
        + #""found":"nobody listens","grade":"fail","mend":"start it"}],"ok":false}"#)
  }

  @Test(
    arguments: [
      ("/f", "/v", true, "/f", .flag), (nil, "unix:/v", true, "/v", .variable),
      (nil, nil, true, "/r/widgetd/widgetd.sock", .user),
      (nil, nil, false, SocketPath.ofSystem, .nowhere),
    ] as [(String?, String?, Bool, String, SocketChoice.Why)])
  func `the doctor chooses the same socket as every client, and names the reason`(
    _ flag: String?, _ variable: String?, exists: Bool, path: String, why: SocketChoice.Why
  ) {
    let choice = SocketChoice(
      explicit: flag, uid: 1000,
      environment: { ["WIDGETD_SOCKET": variable, "XDG_RUNTIME_DIR": "/r"][$0] ?? nil },
      exists: { _ in exists })
    #expect(choice.path == path)
    #expect(choice.why == why)
  }

  @Test func `the socket of a user's own daemon is overlooked only without a runtime directory`() {
    let usual = "/run/user/1000/widgetd/widgetd.sock"
    func choice(_ environment: [String: String], _ files: Set<String>) -> SocketChoice {
      SocketChoice(
        explicit: nil, uid: 1000, environment: { environment[$0] }, exists: files.contains)
    }
    #expect(choice([:], [usual]).overlooked == usual)
    #expect(choice([:], []).overlooked == nil)
    #expect(choice(["XDG_RUNTIME_DIR": "/run/user/1000"], [usual]).overlooked == nil)
    #expect(choice(["XDG_RUNTIME_DIR": "/run/user/1000"], [usual]).why == .user)
  }

  @Test(
    arguments: [
      ("42 (widgetd) S 1 42", "widgetd", false), ("42 (widgetd) T 1 42", "widgetd", true),
      ("42 (a) b (c) t 1", "a) b (c", true), ("", nil, false), ("42 )x( S", nil, false),
      ("42 (x)", "x", false),
    ] as [(String, String?, Bool)])
  func `a process's state is read`(_ line: String, name: String?, isStopped: Bool) {
    let listener = Facts.listener(pid: 42, uid: 7, stat: line)
    #expect(listener?.name == name)
    #expect(listener?.isStopped == (name == nil ? nil : isStopped))
  }

  @Test func `a socket that is not the usual one is named to the doctor`() {
    #expect(Doctor.command(forSocket: "/s", usual: "/s") == "widgetctl doctor")
    #expect(Doctor.command(forSocket: "/a b", usual: "/s") == "widgetctl doctor --socket '/a b'")
    #expect(Doctor.command(forSocket: SocketPath.ofSystem, usual: nil) == "widgetctl doctor")
  }

  @Test func `the output of systemctl show is parsed`() {
    let output = """
      Id=widgetd.socket
      LoadState=loaded
      ActiveState=failed
      Result=start-limit-hit

      Id=widgetd.service
      LoadState=not-found
      ActiveState=inactive
      MainPID=0

      Id=widgetd-other.service
      MainPID=42
      UnitFileState=enabled-runtime
      """
    #expect(
      Facts.units(in: output) == [
        Facts.Unit(
          name: "widgetd.socket", load: "loaded", active: "failed", result: "start-limit-hit"),
        Facts.Unit(name: "widgetd.service", load: "not-found", active: "inactive", result: ""),
        Facts.Unit(
          name: "widgetd-other.service", load: "", active: "", result: "", mainPID: 42,
          isEnabled: true),
      ])
    #expect(Facts.units(in: "garbage\n\n=\n").isEmpty)
  }

  @Test func `services that come with the socket are providers, but for the daemon`() {
    let output = "Wants=b.service widgetd.service\nRequiredBy=a.service b.service x.target\n"
    #expect(Facts.providerNames(in: output) == ["a.service", "b.service"])
    #expect(Facts.providerNames(in: "Wants=\ngarbage\n").isEmpty)
    let many = (0...Facts.providersMax).map { "\($0).service" }.joined(separator: " ")
    #expect(Facts.providerNames(in: "Wants=\(many)\n").count == Facts.providersMax)
  }

  @Test(arguments: [
    ("/a/b.sock", "/a/b.sock"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''"),
    ("$(x)", "'$(x)'"),
  ])
  func `words are quoted for a shell`(_ word: String, quoted: String) {
    #expect(word.shellQuoted == quoted)
  }
}
