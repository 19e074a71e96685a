public import WidgetBundle
import WidgetModel

/// The permissions of a bundle, checked with the values of its expressions.
///
/// Paths are compared after following symbolic links, which is the adapters' task. They open a
/// file, ask the kernel for its real path, and check again here.
public struct BundlePermissions: Hashable, Sendable {
  public let bundleID: String
  /// The bundle's folder, absolute, without links.
  public let folder: String
  public let home: String
  private let permissions: Permissions
  /// The folders in which programs are searched by name.
  public let programFolders: [String]

  /// The folders of the system's programs.
  public static let systemFolders = ["/usr/local/bin", "/usr/bin", "/bin"]

  public init(
    _ bundle: Bundle, folder: String, home: String,
    programFolders: [String] = BundlePermissions.systemFolders
  ) {
    self.programFolders = programFolders
    bundleID = bundle.id
    self.folder = folder
    self.home = home
    permissions = bundle.permissions
  }

  /// The bundle, for messages.
  private var whose: String { "of bundle \"\(bundleID)\"" }

  private var places: [(name: String, path: String)] {
    [("${bundle}", folder), ("${home}", home)]
  }

  /// A path, with `${bundle}` and `${home}` at its beginning replaced.
  func expanded(_ path: String) -> String {
    guard let place = places.first(where: { path.hasPrefix($0.name) }) else { return path }
    return place.path + path.dropFirst(place.name.count)
  }

  /// A text, with each `${bundle}` and `${home}` replaced. The paths themselves are not searched.
  func filled(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
      result += rest[..<dollar]
      rest = rest[dollar...]
      let place = places.first { rest.hasPrefix($0.name) }
      result += place?.path ?? "$"
      rest = rest.dropFirst(place?.name.count ?? 1)
    }
    return result + rest
  }

  // MARK: Files

  /// The folders and files that may be read, the bundle's own first.
  public var readRoots: [String] { [folder] + permissions.read.map { expanded($0) } }

  /// An absolute path without `.`, `..` and doubled slashes. A relative path is relative to the
  /// bundle's folder.
  ///
  /// - Parameter template: the source of the text. If it has a variable that the host's environment
  ///   does not have, there is no path; the failure names the variable.
  func path(_ text: String, of template: Template? = nil) throws(Failure) -> String {
    let expanded = expanded(text)
    guard !expanded.isEmpty else {
      guard case .expression(let expression)? = template, !expression.environmentNames.isEmpty
      else { throw Failure("NOT_FOUND", "the path is empty") }
      let names = expression.environmentNames.joined(separator: " or ")
      throw Failure(
        "NOT_FOUND",
        "no path: the host's environment lacks \(names); start the host with these variables")
    }
    guard !expanded.utf8.contains(0), expanded.utf8.count < 4_096 else {
      throw Failure("INVALID_ARGUMENT", "\"\(text.prefix(100))\" is not a path")
    }
    return Paths.normalized(expanded.hasPrefix("/") ? expanded : "\(folder)/\(expanded)")
  }

  /// Whether a path, as written, is inside the readable roots.
  func allowsReading(_ path: String) -> Bool {
    readRoots.contains { Paths.contains(Paths.normalized($0), path) }
  }

  func readingRefused(_ path: String) -> Failure {
    Failure(
      "PERMISSION_DENIED",
      "the permissions \(whose) do not allow reading \(path);"
        + " add \"\(path)\" to permissions.read in its file")
  }

  // MARK: Hosts

  func check(_ address: WebAddress) throws(Failure) {
    guard !permissions.hosts.contains(where: { HostRule($0)?.allows(address) == true }) else {
      return
    }
    throw Failure(
      "PERMISSION_DENIED",
      "the permissions \(whose) do not allow requests to \(address.authority);"
        + " add \"\(address.hostForRules)\" to permissions.hosts in its file")
  }

  // MARK: Sockets

  /// The path of a socket that may be used.
  func socket(_ text: String, of template: Template) throws(Failure) -> String {
    let path = try path(text, of: template)
    let allowed = permissions.sockets.map { Paths.normalized(expanded($0)) }
    guard !allowed.contains(path) else { return path }
    throw Failure(
      "PERMISSION_DENIED",
      "the permissions \(whose) do not allow the socket \(path);"
        + " add \"\(path)\" to permissions.sockets in its file")
  }

  // MARK: D-Bus

  /// The name of a service that may be used.
  func service(_ text: String) throws(Failure) -> String {
    guard !text.isEmpty else { throw Failure("NOT_FOUND", "the name of the service is empty") }
    guard BusName.isService(text) || BusName.isPattern(text) else {
      throw Failure("INVALID_ARGUMENT", "\"\(text.prefix(100))\" is not the name of a service")
    }
    guard !permissions.allowsBus(text) else { return text }
    throw Failure(
      "PERMISSION_DENIED",
      "the permissions \(whose) do not allow the service \(text);"
        + " add \"\(text)\" to permissions.dbus in its file")
  }

  // MARK: Variables

  /// Whether programs get a variable of the host's environment.
  public func allowsVariable(_ name: String) -> Bool { permissions.allowsVariable(name) }

  // MARK: Programs

  /// The possible paths of a program, in the order of the search.
  public func candidates(_ program: String) -> [String] {
    program.contains("/")
      ? [Paths.normalized(program)] : programFolders.map { "\($0)/\(program)" }
  }

  /// The possible paths of all permitted programs.
  public var commandCandidates: [String] {
    permissions.commands.flatMap { candidates(expanded($0)) }
  }

  /// The program's name or absolute path, with `${bundle}` replaced. The permissions are not
  /// checked here; see `check(program:)` and `commandCandidates`.
  func program(_ text: String) throws(Failure) -> String {
    let program = expanded(text)
    guard !program.isEmpty, !program.utf8.contains(0) else {
      throw Failure("INVALID_ARGUMENT", "the program's name is empty")
    }
    guard program.hasPrefix("/") || !program.contains("/") else {
      throw Failure(
        "INVALID_ARGUMENT",
        "\"\(program)\" is not a program's name; use an absolute path, ${bundle}/…, or a name alone"
      )
    }
    return program
  }

  /// Refuses a program that no permission can name. Compares only the last component, because
  /// folders can be links.
  func check(program: String) throws(Failure) {
    let name = Paths.lastComponent(program)
    guard !commandCandidates.contains(where: { Paths.lastComponent($0) == name }) else { return }
    throw programRefused(program)
  }

  func programRefused(_ program: String) -> Failure {
    let shown =
      Paths.contains(folder, program) ? "${bundle}\(program.dropFirst(folder.count))" : program
    return Failure(
      "PERMISSION_DENIED",
      "the permissions \(whose) do not allow running \(program);"
        + " add \"\(shown)\" to permissions.commands in its file")
  }
}

extension WebAddress {
  /// The form in a rule.
  var hostForRules: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == 80 || port == 443 ? name : "\(name):\(port)"
  }
}

/// One line of `permissions.hosts`.
private struct HostRule {
  private let host: String
  private let isPattern: Bool
  private let port: Int?

  init?(_ text: String) {
    var host = Substring(text.lowercased())
    var port: Int?
    let bracket = host.lastIndex(of: "]") ?? host.startIndex
    if let colon = host[bracket...].lastIndex(of: ":") {
      guard let number = Int(host[host.index(after: colon)...]) else { return nil }
      port = number
      host = host[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    isPattern = host.hasPrefix("*.")
    self.host = String(isPattern ? host.dropFirst() : host)
    self.port = port
  }

  func allows(_ address: WebAddress) -> Bool {
    let fitsPort = port.map { $0 == address.port } ?? (address.port == 80 || address.port == 443)
    guard fitsPort else { return false }
    return isPattern
      ? address.host.hasSuffix(host) && address.host.utf8.count > host.utf8.count
      : address.host == host
  }
}

/// Paths as texts.
enum Paths {
  static func normalized(_ path: String) -> String {
    var components: [Substring] = []
    for component in path.split(separator: "/") where component != "." {
      if component == ".." { _ = components.popLast() } else { components.append(component) }
    }
    return "/" + components.joined(separator: "/")
  }

  /// Whether a path is the root, or below it. Both are normalized.
  static func contains(_ root: String, _ path: String) -> Bool {
    root == "/" || path == root || path.hasPrefix(root + "/")
  }

  static func lastComponent(_ path: String) -> Substring {
    path.split(separator: "/").last ?? Substring(path)
  }

  static func parent(_ path: String) -> String {
    normalized(path + "/..")
  }
}
