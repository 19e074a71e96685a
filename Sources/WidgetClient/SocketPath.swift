#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The path of the daemon's socket.
public enum SocketPath {
  /// The environment variable that names the socket.
  public static let variable = "WIDGETD_SOCKET"
  /// The socket of a user's own daemon, below `$XDG_RUNTIME_DIR`.
  public static let inRuntimeDirectory = "widgetd/widgetd.sock"
  /// The socket of the system's daemon.
  public static let ofSystem = "/run/widgetd/widgetd.sock"

  /// Finds the socket: `explicit`, else `$WIDGETD_SOCKET`, else the user's daemon
  /// (`$XDG_RUNTIME_DIR/widgetd/widgetd.sock`), else the system's (`/run/widgetd/widgetd.sock`).
  ///
  /// The first two are used even if the file is missing: a caller that names a socket means no
  /// other. A leading `unix:` or `unix://` is dropped. An empty value means not set. Of the last
  /// two, the first that exists is used.
  ///
  /// - Parameters:
  ///   - environment: looks up a variable; by default in the environment of the process.
  ///   - exists: whether there is a file at a path; by default asks the file system.
  /// - Throws: `ClientError.socketNotFound` with the places that were tried.
  public static func discover(
    explicit: String? = nil,
    environment: (_ name: String) -> String? = { ofProcess($0) },
    exists: (_ path: String) -> Bool = { isThere($0) }
  ) throws(ClientError) -> String {
    if let named = [explicit, environment(variable)].lazy.compactMap({ $0 }).first(
      where: { !$0.isEmpty })
    {
      return withoutScheme(named)
    }
    var tried: [String] = []
    if let directory = environment("XDG_RUNTIME_DIR"), !directory.isEmpty {
      tried.append(directory + "/" + inRuntimeDirectory)
    }
    tried.append(ofSystem)
    guard let path = tried.first(where: exists) else { throw .socketNotFound(tried: tried) }
    return path
  }

  /// A variable of the process's environment.
  public static func ofProcess(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Whether there is a file at the path, whatever its permissions.
  public static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

  private static func withoutScheme(_ address: String) -> String {
    for scheme in ["unix://", "unix:"] where address.hasPrefix(scheme) {
      return String(address.dropFirst(scheme.count))
    }
    return address
  }
}
