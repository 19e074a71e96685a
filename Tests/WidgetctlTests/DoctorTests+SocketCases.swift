import Glibc
import WidgetClient
import WidgetModel

@testable import widgetctl

/// Problems with the connection to the daemon: the socket, its unit, its file, and its permissions.
extension DoctorTests {
  static let socketCases: [Case] = [
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
      "a folder is in the place of the user's own socket", "file", .fail, "is a folder",
      "rm -ri /run/user/1000/widgetd/widgetd.sock"
    ) {
      $0.choice = SocketChoice(
        path: "/run/user/1000/widgetd/widgetd.sock", why: .user,
        user: .init(path: "/run/user/1000/widgetd/widgetd.sock", exists: true),
        system: .init(path: SocketPath.ofSystem, exists: false))
      $0.file = .other(kind: "a folder")
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
      "sudo systemctl unmask widgetd.socket widgetd.service; "
        + "sudo systemctl enable --now widgetd.socket"
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
      "a folder of a user without a name is closed", "permission", .fail, "may not search /home/x",
      "sudo -u '#7' widgetctl doctor --socket /run/widgetd/widgetd.sock"
    ) {
      let ownership = Facts.Ownership(
        mode: 0o700, uid: 7, owner: "7", group: "users", membership: .none)
      $0.folders = [Facts.Folder(path: "/home/x", ownership: ownership, isSearchable: false)]
      $0.file = .hidden
      $0.connection = .notTried
    },
    Case(
      "the user is not in the group", "permission", .fail,
      "ann may not open the socket (0660 root:widgetd-clients)",
      "sudo usermod -aG widgetd-clients ann; newgrp widgetd-clients"
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
      "a security module refuses on a machine without systemd", "connect", .fail,
      "although the mode permits it", "sudo dmesg | grep -i widgetd"
    ) {
      $0.units = [.system: .absent, .user: .absent]
      $0.connection = .failed(.permissionDenied)
    },
    Case(
      "another user's socket is stale", "connect", .fail, "no program listens",
      "sudo -u bob widgetd --socket /x  # with the same --state-directory as before, if it had one"
    ) {
      $0.choice = .named("/x", .flag)
      $0.file = .socket(.clients(0o666, uid: 7))
      $0.connection = .failed(.refused)
    },
    Case(
      "root's socket is stale, and there are no units", "connect", .fail, "no program listens",
      "sudo widgetd --socket /run/widgetd/widgetd.sock"
    ) {
      $0.units = [.system: .absent, .user: .absent]
      $0.connection = .failed(.refused)
    },
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
      "kill -KILL 42; timeout 90 tail --pid=42 -f /dev/null; "
        + "widgetd --socket /x  # with the same --state-directory as before, if it had one"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 42, uid: 1000, name: "widgetd")
    },
    Case(
      "another user's daemon hangs", "health", .fail,
      "the daemon (widgetd, process 42) does not answer within 3s",
      "sudo kill -KILL 42; timeout 90 tail --pid=42 -f /dev/null; sudo -u bob widgetd --socket /x  "
        + "# with the same --state-directory as before, if it had one"
    ) {
      $0.choice = .named("/x", .flag)
      $0.connection = .mute(.deadlineExceeded(.seconds(3)))
      $0.listener = Facts.Listener(pid: 42, uid: 7, name: "widgetd", owner: "bob")
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
      "sudo systemctl --user --machine=bob@ restart widgetd.socket widgetd.service"
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
      "a daemon without units closes the connection at once", "health", .fail, "it has too many",
      "sudo ss -xap src /run/widgetd/widgetd.sock"
    ) {
      $0.units = [.system: .absent, .user: .absent]
      $0.connection = .mute(.connectionLost(socketPath: "/s"))
      $0.listener = Facts.Listener(pid: 42, uid: 0, name: "widgetd")
    },
    Case(
      "a daemon with few files closes the connection at once", "health", .fail,
      "the system lets it open only 64 files, or it has just ended; to take more, raise",
      "sudo ss -xap src /run/widgetd/widgetd.sock"
    ) {
      $0.units = [.system: .absent, .user: .absent]
      $0.connection = .mute(.connectionLost(socketPath: "/s"))
      $0.listener = Facts.Listener(pid: 42, uid: 0, name: "widgetd", filesMax: 64)
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
  ]
}
