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

  /// Removes a file, or a folder with its contents, that is in the place of the socket. The command
  /// asks before each removal.
  var removeFile: String {
    (choice.manager == .user ? "" : sudo) + "rm -ri \(choice.path.shellQuoted)"
  }

  /// Searches the messages of the kernel.
  var kernelLog: String {
    switch facts.units[.system] ?? .absent {
    // Without systemd, there is no journal.
    case .absent: sudo + "dmesg | grep -i widgetd"
    case .timedOut, .known: sudo + "journalctl -k -g widgetd"
    }
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
    return replace("KILL", listener)
  }

  /// Ends a daemon without a service manager, and starts another one in its place. Until its end, the
  /// first one has the locks of the socket and of the store, so the second one would refuse to start.
  func replace(_ signal: String, _ daemon: Facts.Listener) -> String {
    // The parent of process 1 is outside the container, so no command in it can start another one.
    guard daemon.pid != 1 else { return whoHasIt }
    guard isStartable(as: (daemon.uid, daemon.owner)) else { return look(at: daemon) }
    // A daemon drains for seconds. A process whose parent does not notice its end stays for ever.
    return kill(signal, daemon) + "; timeout 90 tail --pid=\(daemon.pid) -f /dev/null; "
      + byHand(as: (daemon.uid, daemon.owner))
  }

  /// Whether a command can start a daemon as this user that finds the user's store. The folder and the
  /// group of a user without an entry are not known. A command that ends such a daemon would only
  /// lose it.
  private func isStartable(as owner: (uid: UInt32, name: String)) -> Bool {
    owner.uid == user.uid || owner.uid == 0 || Remedies.isNamed(owner.uid, owner.name)
  }

  /// Shows how a daemon was started, and the files of its store.
  private func look(at daemon: Facts.Listener) -> String {
    "ps -ww -o uid=,gid=,args= -p \(daemon.pid); \(sudo)ls -l /proc/\(daemon.pid)/fd"
      + "  # then end it, and start it with this user, group and store"
  }

  /// Whether a process has the socket, so that no other daemon can use it.
  private var isListening: Bool { facts.isReached || facts.connection == .failed(.backlogFull) }

  /// Starts a daemon without a service manager, as the owner of the former one's socket.
  var byHand: String {
    // Clients look for the user's socket first, and the user can serve it.
    if choice.why == .nowhere, let own = choice.user,
      own.path.utf8.count <= SocketChoice.pathBytesMax
    {
      return "widgetd --socket \(own.path.shellQuoted)"
    }
    if choice.why == .nowhere, choice.user == nil, !user.isRoot { return byHandWithoutRuntime }
    if case .socket(let ownership) = facts.file {
      return byHand(as: (ownership.uid, ownership.owner))
    }
    guard choice.manager != .system else { return byHand(as: (0, "root")) }
    return byHand(as: (user.uid, user.name))
  }

  /// Starts, or finds, a user's own daemon although `$XDG_RUNTIME_DIR` is not set. A daemon of root
  /// would not let the user in.
  private var byHandWithoutRuntime: String {
    let directory = SocketChoice.runtimeDirectory(of: user.uid)
    let export = "export XDG_RUNTIME_DIR=\(directory)"
    guard choice.overlooked == nil else { return export }
    if choice.hasUnnamedRuntime {
      return "\(export); widgetd --socket \(directory)/\(SocketPath.inRuntimeDirectory)"
    }
    // The daemon makes the folder. A shell replaces `~`.
    let variable = SocketPath.variable
    return "export \(variable)=~/.widgetd/widgetd.sock; widgetd --socket \"$\(variable)\""
      + "  # clients need the same \(variable)"
  }

  /// - Parameter owner: the user who has the daemon's lock and store. Other users cannot use them.
  private func byHand(as owner: (uid: UInt32, name: String)) -> String {
    let command = "widgetd --socket \(choice.path.shellQuoted)"
    guard isStartable(as: owner) else {
      // `setpriv` keeps root's $HOME, which the user may not enter. `sudo -u` takes no unknown user.
      return "\(sudo)setpriv --reuid=\(owner.uid) --regid=\(owner.uid) --clear-groups \(command)  "
        + "# with its --state-directory, and its group as --regid"
    }
    let start =
      switch (owner.uid, user.isRoot) {
      case (user.uid, _): command
      case (0, _): sudo + command
      // `su` sets $HOME, which has the store.
      case (_, true): "su -s /bin/sh -c \(command.shellQuoted) \(owner.name.shellQuoted)"
      case (_, false): "sudo -u \(owner.name.shellQuoted) \(command)"
      }
    guard choice.manager != .system else { return start }
    // With another folder, the daemon begins with another store, and the widgets seem to be lost.
    // The note is a comment of the shell, so nothing sticks to the path.
    return start + "  # with the same --state-directory as before, if it had one"
  }

  /// A user for `sudo -u`, which takes a number only after `#`.
  static func sudoUser(_ uid: UInt32, _ name: String) -> String {
    (isNamed(uid, name) ? name : "#\(uid)").shellQuoted
  }

  /// Whether the system has an entry for a user. Otherwise, the name is empty or the number.
  private static func isNamed(_ uid: UInt32, _ name: String) -> Bool {
    !name.isEmpty && name != "\(uid)"
  }
}
