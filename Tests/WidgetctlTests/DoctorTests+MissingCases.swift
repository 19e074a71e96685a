import WidgetClient

@testable import widgetctl

/// Problems with a socket that does not exist.
extension DoctorTests {
  static let missingCases: [Case] = [
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
      "the file of a running daemon was removed", "file", .fail,
      "but widgetd (process 7) runs with this socket: its file was removed",
      "kill -TERM 7; timeout 90 tail --pid=7 -f /dev/null; widgetd --socket '/a b'  # with the same "
        + "--state-directory as before, if it had one"
    ) {
      $0.choice = .named("/a b", .variable)
      $0.file = .missing
      $0.daemonWithoutFile = Facts.Listener(pid: 7, uid: 1000, name: "widgetd")
      $0.connection = .notTried
    },
    Case(
      "the file of a container's first process was removed", "file", .fail, "widgetd (process 1)",
      "sudo ss -xap src /x"
    ) {
      $0.choice = .named("/x", .variable)
      $0.file = .missing
      $0.daemonWithoutFile = Facts.Listener(pid: 1, uid: 1000, name: "widgetd")
      $0.connection = .notTried
    },
    Case(
      "there is no socket where a variable says", "file", .fail, "there is nothing at /a b",
      "widgetd --socket '/a b'  # with the same --state-directory as before, if it had one"
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
    Case(
      "nobody has started a daemon", "file", .fail,
      "there is nothing at /run/user/1000/widgetd/widgetd.sock (your own daemon's) or "
        + "/run/widgetd/widgetd.sock (the system's)",
      "widgetd --socket /run/user/1000/widgetd/widgetd.sock"
    ) {
      $0.choice = .none
      $0.file = .missing
      $0.units[.system] = .notInstalled
      $0.connection = .notTried
    },
    Case(
      "nobody has started the user's unit", "file", .fail,
      "there is nothing at /run/user/1000/widgetd/widgetd.sock (your own daemon's)",
      "systemctl --user enable --now widgetd.socket"
    ) {
      $0.choice = .none
      $0.file = .missing
      $0.units = [.system: .notInstalled, .user: .widgetd("inactive", "inactive")]
      $0.connection = .notTried
    },
    Case(
      "the user's own path is too long for a socket", "file", .fail,
      "or /run/widgetd/widgetd.sock (the system's)",
      "sudo widgetd --socket /run/widgetd/widgetd.sock"
    ) {
      $0.choice = SocketChoice(
        path: SocketPath.ofSystem, why: .nowhere,
        user: .init(path: DoctorTests.long, exists: false),
        system: .init(path: SocketPath.ofSystem, exists: false))
      $0.file = .missing
      $0.units[.system] = .notInstalled
      $0.connection = .notTried
    },
    Case(
      "the daemon is not installed", "file", .fail, "widgetd is not installed here",
      "sudo apt install ./widgetd_*.deb ./widgetctl_*.deb  # in the folder of the packages"
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
      "sudo systemctl unmask widgetd.socket widgetd.service; "
        + "sudo systemctl enable --now widgetd.socket"
    ) {
      $0.file = .missing
      $0.units[.system] = .widgetd("inactive", "inactive", load: "masked")
      $0.connection = .notTried
    },
    Case(
      "a user without a runtime directory has started no daemon", "file", .fail,
      "there is nothing at /run/widgetd/widgetd.sock",
      "export WIDGETD_SOCKET=~/.widgetd/widgetd.sock; widgetd --socket \"$WIDGETD_SOCKET\""
        + "  # clients need the same WIDGETD_SOCKET"
    ) {
      $0.choice = SocketChoice(
        path: SocketPath.ofSystem, why: .nowhere, user: nil,
        system: .init(path: SocketPath.ofSystem, exists: false))
      $0.file = .missing
      $0.units[.system] = .absent
      $0.connection = .notTried
    },
    Case(
      "a user whose variable is not set has started no daemon", "file", .fail,
      "there is nothing at /run/widgetd/widgetd.sock",
      "export XDG_RUNTIME_DIR=/run/user/1000; "
        + "widgetd --socket /run/user/1000/widgetd/widgetd.sock"
    ) {
      $0.choice = SocketChoice(
        path: SocketPath.ofSystem, why: .nowhere, user: nil,
        system: .init(path: SocketPath.ofSystem, exists: false), hasUnnamedRuntime: true)
      $0.file = .missing
      $0.units[.system] = .absent
      $0.connection = .notTried
    },
    Case(
      "the user's own socket is overlooked, and no daemon is to be started", "file", .fail,
      "there is nothing at /run/widgetd/widgetd.sock", "export XDG_RUNTIME_DIR=/run/user/1000"
    ) {
      $0.choice = SocketChoice(
        path: SocketPath.ofSystem, why: .nowhere, user: nil,
        system: .init(path: SocketPath.ofSystem, exists: false),
        overlooked: "/run/user/1000/widgetd/widgetd.sock", hasUnnamedRuntime: true)
      $0.file = .missing
      $0.units[.system] = .absent
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
      "a path that is too long and has no file", "file", .fail,
      "has 104 bytes, and the path of a socket has at most 103", "unset WIDGETD_SOCKET"
    ) {
      $0.choice = .named(long, .variable)
      $0.file = .missing
      $0.connection = .notTried
    },
  ]
}
