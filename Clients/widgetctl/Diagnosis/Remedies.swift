import WidgetClient
import WidgetModel

/// The commands that fix the findings: for a shell, with `sudo` where it is needed.
struct Remedies {
  private let facts: Facts

  init(_ facts: Facts) { self.facts = facts }

  private var choice: SocketChoice { facts.choice }
  private var user: Facts.User { facts.user }
  private var listener: Facts.Listener? { facts.listener }

  /// The systemd that holds the listening socket. The socket may have any path.
  var holder: SystemdScope? { listener?.holder(for: user.uid) }

  /// The systemd that has the units for this socket.
  var managerWithUnits: SystemdScope? {
    if let holder {
      // The systemd holds the socket, so it runs. Only if it is known to have no such units, the
      // socket is for another service.
      guard case .known(let units)? = facts.units[holder] else { return holder }
      return units.contains { $0.load == "loaded" } ? holder : nil
    }
    let managers =
      choice.why == .nowhere ? SystemdScope.allCases : [choice.manager].compactMap { $0 }
    return managers.first(where: hasUnits)
  }

  /// The prefix of a command that needs root.
  var sudo: String { user.isRoot ? "" : "sudo " }

  /// For commands that change something. Commands that only ask do not need root.
  func systemctl(_ manager: SystemdScope) -> String {
    (manager == .system ? sudo : "") + manager.systemctl
  }

  func journalctl(_ manager: SystemdScope) -> String {
    manager == .system ? sudo + "journalctl" : "journalctl --user"
  }

  /// Whether this systemd has the daemon's units.
  func hasUnits(of manager: SystemdScope) -> Bool {
    guard case .known(let units)? = facts.units[manager] else { return false }
    return units.contains { $0.load == "loaded" }
  }

  /// The remedy for another program that listens at the socket: use another socket, or end the
  /// program.
  var dislodge: String {
    if let unname { return unname }
    if managerWithUnits != nil { return restart }
    guard let listener else { return whoHasIt }
    if listener.isSystemd { return ofOther(listener) }
    // The first process of a container is the container.
    return listener.pid == 1 ? whoHasIt : kill("TERM", listener)
  }

  /// Shows the processes at the socket, whatever its type.
  var whoHasIt: String { sudo + "ss -xap src \(choice.path.shellQuoted)" }

  /// The remedy for a socket that a systemd holds without widgetd's units for this user.
  private func ofOther(_ systemd: Facts.Listener) -> String {
    if let holder { return "\(holder.systemctl) list-sockets --all" }
    // The systemd belongs to another user, so only root or that user can ask it.
    let name = systemd.owner.isEmpty ? "\(systemd.uid)" : systemd.owner
    return "\(sudo)systemctl --user --machine=\("\(name)@".shellQuoted) "
      + "restart widgetd.socket widgetd.service"
  }

  /// The callers must not use it for a systemd or for process 1.
  func kill(_ signal: String, _ listener: Facts.Listener) -> String {
    (listener.uid == user.uid ? "" : sudo) + "kill -\(signal) \(listener.pid)"
  }

  /// Uses the usual socket instead of the named one; nil if none was named.
  var unname: String? {
    switch choice.why {
    case .variable: "unset \(SocketPath.variable)"
    case .flag:
      choice.usual == choice.path
        ? nil : "widgetctl doctor --socket \(choice.usual.shellQuoted)"
    case .user, .system, .nowhere: nil
    }
  }

  /// Uses a shorter path instead of one that is too long for a socket.
  var shorten: String {
    unname ?? "export XDG_RUNTIME_DIR=\(SocketChoice.runtimeDirectory(of: user.uid))"
  }

  /// Restarts the daemon whose socket exists. A daemon that already listens is ended first. If it is
  /// not known whether the listener is the daemon, the first command finds out.
  var restart: String {
    if let manager = managerWithUnits {
      return "\(systemctl(manager)) restart widgetd.socket widgetd.service"
    }
    guard isListening else { return byHand }
    guard let listener else { return whoHasIt }
    if listener.isSystemd { return ofOther(listener) }
    // The kernel does not allow to end process 1 from within its container.
    guard listener.mayBeDaemon, listener.pid != 1 else { return whoHasIt }
    return kill("KILL", listener) + "; " + byHand
  }

  /// Whether a process has the socket, so that no other daemon can use it.
  private var isListening: Bool { facts.isReached || facts.connection == .failed(.backlogFull) }

  /// Starts a daemon without a service manager.
  var byHand: String {
    // Without an option for the socket, the daemon makes the user's socket, which clients look for
    // first.
    if choice.why == .nowhere, choice.user != nil { return "widgetd" }
    guard choice.manager != .system else {
      return sudo + "widgetd --socket \(choice.path.shellQuoted)"
    }
    // With another folder, the daemon begins with another store, and the widgets seem to be lost.
    // The note is a comment of the shell, so nothing sticks to the path.
    return "widgetd --socket \(choice.path.shellQuoted)  "
      + "# with the same --state-directory as before, if it had one"
  }
}
