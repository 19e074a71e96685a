import WidgetClient

/// The chosen socket, and the reason.
struct SocketChoice: Hashable {
  enum Why: Hashable {
    /// `--socket` names it.
    case flag
    /// `$WIDGETD_SOCKET` names it.
    case variable
    /// The socket of the user's own daemon, which exists.
    case user
    /// The socket of the system's daemon, because the user's daemon has none.
    case system
    /// Neither socket exists. This is the place of the system's socket.
    case nowhere
  }

  /// The maximum size of a socket's path, in bytes; see `ConnectFailure.pathTooLong`.
  static let pathBytesMax = 103

  /// A daemon's usual place.
  struct Place: Hashable {
    var path: String
    var exists: Bool
  }

  let path: String
  let why: Why
  /// The user's own daemon's place; nil without `$XDG_RUNTIME_DIR`.
  let user: Place?
  let system: Place
  /// The socket of the user's daemon, which is not tried because `$XDG_RUNTIME_DIR` is not set, as
  /// after `su`. Nil if the variable is set or no such socket exists.
  let overlooked: String?
  /// Whether the user has the usual runtime directory, although `$XDG_RUNTIME_DIR` is not set.
  let hasUnnamedRuntime: Bool

  init(
    path: String, why: Why, user: Place?, system: Place, overlooked: String? = nil,
    hasUnnamedRuntime: Bool = false
  ) {
    self.path = path
    self.why = why
    self.user = user
    self.system = system
    self.overlooked = overlooked
    self.hasUnnamedRuntime = hasUnnamedRuntime
  }

  /// Chooses as `SocketPath.discover` does.
  ///
  /// - Parameter uid: the user's, whose runtime directory is usually `/run/user/UID`.
  init(
    explicit: String?, uid: UInt32, environment: (String) -> String?, exists: (String) -> Bool
  ) {
    let usual = SocketChoice.runtimeDirectory(of: uid) + "/" + SocketPath.inRuntimeDirectory
    let directory = environment("XDG_RUNTIME_DIR").flatMap { $0.isEmpty ? nil : $0 }
    let place = directory.map { $0 + "/" + SocketPath.inRuntimeDirectory }
    user = place.map { Place(path: $0, exists: exists($0)) }
    system = Place(path: SocketPath.ofSystem, exists: exists(SocketPath.ofSystem))
    overlooked = place == nil && exists(usual) ? usual : nil
    hasUnnamedRuntime = place == nil && exists(SocketChoice.runtimeDirectory(of: uid))
    let found = try? SocketPath.discover(
      explicit: explicit, environment: environment, exists: exists)
    path = found ?? SocketPath.ofSystem
    why =
      if let explicit, !explicit.isEmpty {
        .flag
      } else if let variable = environment(SocketPath.variable), !variable.isEmpty {
        .variable
      } else if found == nil {
        .nowhere
      } else {
        found == user?.path ? .user : .system
      }
  }

  static func runtimeDirectory(of uid: UInt32) -> String { "/run/user/\(uid)" }

  /// The owner of the daemon at the path, if the path shows it.
  var manager: SystemdScope? {
    if path == system.path { return .system }
    return path == user?.path ? .user : nil
  }

  /// A command line of widgetctl for the same daemon as this one.
  func command(_ words: String) -> String {
    "widgetctl " + words + (why == .flag ? " --socket \(path.shellQuoted)" : "")
  }

  /// The same for root, who has another environment. Without `sudo`.
  func asRoot(_ words: String) -> String {
    "widgetctl " + words
      + (why == .flag || path != system.path ? " --socket \(path.shellQuoted)" : "")
  }

  /// The default place of a daemon, even if there is no daemon.
  var usual: String {
    let places = [user, system].compactMap { $0 }.filter { $0.path.utf8.count <= Self.pathBytesMax }
    return (places.first(where: \.exists) ?? places.first ?? system).path
  }

  /// Whether the path cannot be a socket's path.
  var isTooLong: Bool { path.utf8.count > Self.pathBytesMax }

  /// The place of the other daemon, if it has a socket. The user may have meant that one.
  var other: Place? {
    [user, system].compactMap { $0 }.first { $0.exists && $0.path != path }
  }
}

/// A systemd that runs daemons: the system's, or the user's own.
enum SystemdScope: Hashable, CaseIterable {
  case system, user

  /// The command to manage its units.
  var systemctl: String { self == .system ? "systemctl" : "systemctl --user" }
  var name: String { self == .system ? "the system's" : "your own" }
}
