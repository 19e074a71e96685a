import Glibc
import WidgetClient
import WidgetModel

/// The judgement: facts in, findings out, in the order of an investigation.
extension Facts {
  /// At least one. A check that depends on a failed check is left out.
  var findings: [Finding] {
    [
      socketFinding, fileFinding, unitFinding, permissionFinding, connectFinding, healthFinding,
      storeFinding, levelFinding, versionFinding, providersFinding, bundlesFinding, marksFinding,
      errorsFinding,
    ].compactMap { $0 }
  }

  /// The obstacle to using the daemon: the first failed check.
  var trouble: Finding? { findings.first { $0.grade == .fail } }

  /// The maximum age of a reported error of the daemon.
  static let newsAge: Duration = .seconds(86_400)

  // MARK: - Before connecting

  private var socketFinding: Finding {
    let check = "socket"
    let reason =
      switch choice.why {
      case .flag: "named by --socket"
      case .variable: "named by $\(SocketPath.variable)"
      case .user: "your own daemon's, below $XDG_RUNTIME_DIR; it comes before the system's"
      case .system:
        choice.user.map { "the system's; there is no \($0.path)" }
          ?? "the system's; $XDG_RUNTIME_DIR is not set, so your own daemon is not looked for"
      case .nowhere:
        choice.user.map { "the system's path, because there is no socket at \($0.path)" }
          ?? "the system's place; $XDG_RUNTIME_DIR is not set, so your own daemon is not looked for"
      }
    var found = "\(choice.path): \(reason)"
    guard let other = choice.other else {
      guard let overlooked = choice.overlooked, choice.why == .system || choice.why == .nowhere
      else { return .ok(check, found) }
      found += ", although there is \(overlooked)"
      let directory = SocketChoice.runtimeDirectory(of: user.uid)
      return isReached
        ? .ok(check, found) : .warn(check, found, mend: "export XDG_RUNTIME_DIR=\(directory)")
    }
    let whose = other.path == choice.system.path ? "the system's daemon" : "your own daemon"
    found += "; \(whose) has one too, \(other.path)"
    if isReached { return .ok(check, found) }
    return .warn(check, found, mend: "widgetctl doctor --socket \(other.path.shellQuoted)")
  }

  private var fileFinding: Finding? {
    let check = "file"
    // This check comes before `file`, because nothing at this path can be used.
    guard !choice.isTooLong else {
      return .fail(
        check,
        "\(choice.path) has \(choice.path.utf8.count) bytes, and the path of a socket has at most "
          + "\(SocketChoice.pathBytesMax)", mend: remedies.shorten)
    }
    switch file {
    case .hidden:
      // If the folder that hides the socket is known, `permission` reports it.
      guard folders.allSatisfy(\.isSearchable) else { return nil }
      return .fail(
        check, "\(choice.path) leads into a folder that \(user.name) may not search",
        mend: "namei -l \(choice.path.shellQuoted)")
    case .socket(let ownership): return .ok(check, "a socket, \(ownership.text)")
    case .missing: return .fail(check, missing.found, mend: missing.mend)
    case .other(let kind):
      return .fail(
        check, "\(choice.path) is \(kind), not a socket",
        mend: remedies.unname ?? remedies.removeFile)
    }
  }

  /// The finding for a missing socket: the reason, and the command that makes a socket.
  private var missing: (found: String, mend: String) {
    var found = "there is nothing at \(choice.path)"
    if choice.why == .nowhere, let own = choice.user {
      found = "there is nothing at \(own.path) (your own daemon's) or \(choice.path) (the system's)"
    }
    let isUsual = choice.path == choice.user?.path || choice.path == choice.system.path
    if !isUsual, let unname = remedies.unname, choice.user?.exists == true || choice.system.exists {
      return (found, unname)
    }
    if let unit = unitFinding, unit.grade == .fail, let mend = unit.mend { return (found, mend) }
    guard let manager = remedies.managerWithUnits else {
      if let daemon = daemonWithoutFile {
        return (
          "\(found), but widgetd (process \(daemon.pid)) runs with this socket: its file was removed",
          remedies.replace("TERM", daemon)
        )
      }
      return isDaemonInstalled
        ? (found, remedies.byHand)
        : (
          found + "; widgetd is not installed here",
          remedies.sudo + "apt install ./widgetd_*.deb ./widgetctl_*.deb"
            + "  # in the folder of the packages"
        )
    }
    if unit("widgetd.socket", of: manager)?.active == "active" {
      return (found + ", although widgetd.socket is active: its file was removed", remedies.restart)
    }
    return (found, "\(remedies.systemctl(manager)) enable --now widgetd.socket")
  }

  /// The state of widgetd's units, from the systemd whose socket is chosen. If no socket is found,
  /// from both systemds.
  private var unitFinding: Finding? {
    let check = "unit"
    let managers =
      choice.why == .nowhere ? SystemdScope.allCases : [choice.manager].compactMap { $0 }
    guard !managers.isEmpty else {
      return .ok(check, "none: no unit of systemd has its socket in this place")
    }
    let findings = managers.map { finding(check, of: $0) }
    // If both systemds were asked, the worse finding counts.
    return findings.first { $0.grade == .fail } ?? findings.first { $0.grade == .warn }
      ?? findings.first
  }

  private func finding(_ check: String, of manager: SystemdScope) -> Finding {
    switch units[manager] ?? .absent {
    case .absent: return .ok(check, "none: \(manager.name) systemd cannot be asked here")
    case .timedOut:
      return .warn(
        check, "\(manager.name) systemd does not answer",
        mend: "\(manager.systemctl) status widgetd.socket widgetd.service")
    case .known(let units):
      let words = units.map {
        "\($0.name) \($0.load == "loaded" ? $0.active : $0.load)"
          + ($0.active == "failed" ? " (\($0.result))" : "")
      }.joined(separator: ", ")
      let loaded = units.filter { $0.load == "loaded" }
      if loaded.contains(where: { $0.active == "failed" }) {
        return Finding(
          check: check, grade: isReached ? .warn : .fail,
          found: "\(words); `\(remedies.journalctl(manager)) -u widgetd -n 20` shows why",
          mend: "\(remedies.systemctl(manager)) reset-failed widgetd.socket widgetd.service; "
            + "\(remedies.systemctl(manager)) start widgetd.socket")
      }
      if units.contains(where: { $0.load == "masked" }), !isReached {
        return .fail(
          check, words,
          mend: "\(remedies.systemctl(manager)) unmask widgetd.socket widgetd.service; "
            + "\(remedies.systemctl(manager)) enable --now widgetd.socket")
      }
      if loaded.isEmpty {
        return .ok(check, "widgetd is not installed as a service of \(manager.name) systemd")
      }
      if !isReached, !loaded.contains(where: { $0.active.isUp }) {
        return .fail(
          check, words, mend: "\(remedies.systemctl(manager)) enable --now widgetd.socket")
      }
      return .ok(check, words)
    }
  }

  private var permissionFinding: Finding? {
    let check = "permission"
    if let closed = folders.first(where: { !$0.isSearchable }) {
      return .fail(
        check,
        "\(user.name) may not search \(closed.path) (\(closed.ownership.text))"
          + (closed.link.map { ", where the link \($0.path) leads, to \($0.target)" } ?? "")
          + hint(closed.ownership),
        mend: mend(closed.ownership, groupMay: closed.ownership.mode & 0o010 != 0))
    }
    guard case .socket(let ownership) = file else { return nil }
    if isWritable {
      let way =
        user.isRoot
        ? "root may open every socket"
        : ownership.uid == user.uid
          ? "it is your own"
          : ownership.membership == .inSession && ownership.mode & 0o020 != 0
            ? "you are in the group \(ownership.group)" : "everyone may open it"
      return .ok(check, "\(user.name) may open the socket: \(way)")
    }
    return .fail(
      check,
      "\(user.name) may not open the socket (\(ownership.text))" + hint(ownership)
        + (isOfGroup(ownership)
          ? "" : "; `widgetd --client-group GROUP` lets the members of a group in"),
      mend: mend(ownership, groupMay: ownership.mode & 0o020 != 0))
  }

  func hint(_ ownership: Ownership) -> String {
    ownership.membership == .afterLogin
      ? "; you are in the group \(ownership.group), but not in this session: log in again, or open "
        + "a shell in it" : ""
  }

  /// Whether users can get membership in the group of a file.
  private func isOfGroup(_ ownership: Ownership) -> Bool { ownership.group != "root" }

  /// The command that gives the user access: by the group if it has the missing permission, or in
  /// another way.
  func mend(_ ownership: Ownership, groupMay: Bool) -> String {
    guard groupMay, isOfGroup(ownership) else {
      return ownership.uid == 0
        ? "sudo " + choice.asRoot("doctor")
        : "sudo -u \(Remedies.sudoUser(ownership.uid, ownership.owner)) widgetctl doctor "
          + "--socket \(choice.path.shellQuoted)"
    }
    return switch ownership.membership {
    case .afterLogin, .inSession: "newgrp \(ownership.group.shellQuoted)"
    case .none:
      remedies.sudo + "usermod -aG \(ownership.group.shellQuoted) \(user.name.shellQuoted); "
        + "newgrp \(ownership.group.shellQuoted)"
    }
  }

  // MARK: - Parts

  var stats: GetStatsResponse? {
    if case .answered(let answers) = connection { answers.stats } else { nil }
  }

  var isReached: Bool {
    switch connection {
    case .answered, .mute: true
    case .notTried, .failed: false
    }
  }

  var remedies: Remedies { Remedies(self) }

  func unit(_ name: String, of manager: SystemdScope) -> Unit? {
    guard case .known(let units)? = units[manager] else { return nil }
    return units.first { $0.name == name }
  }

  /// The listener, if it is not the daemon.
  var notWidgetd: String {
    "the program that listens" + (listener.map { " (\($0.text))" } ?? "") + " is not widgetd"
  }
}

extension String {
  /// A sentence as a part of another sentence.
  var withoutFinalPeriod: String { hasSuffix(".") ? String(dropLast()) : self }

  /// Whether a unit in this state lets clients connect, now or in a moment.
  var isUp: Bool { ["active", "activating", "reloading"].contains(self) }
}
