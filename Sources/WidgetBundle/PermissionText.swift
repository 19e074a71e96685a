import WidgetModel

/// Paths as bundles write them.
enum PathText {
  static let bundle = "${bundle}"
  static let home = "${home}"

  /// The reason why the text is not a path of a file. Nil if it is one.
  static func problem(with text: String) -> (message: String, hint: String)? {
    let shown = "\"\(text.prefix(80))\""
    guard text.hasPrefix("/") || isBelow(text, bundle) || isBelow(text, home) else {
      return (
        "\(shown) is not an absolute path",
        "begin with /, \(bundle)/ for the bundle's folder, or \(home)/"
      )
    }
    guard !text.split(separator: "/").contains("..") else {
      return ("\(shown) has .. in it", "write the path that is meant")
    }
    return nil
  }

  static func isBelow(_ path: String, _ folder: String) -> Bool {
    let folder = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    return path == folder || path.hasPrefix(folder + "/")
  }
}

extension Permissions {
  /// Whether a path may be read. The check compares the whole path as it is written, so the value
  /// of `${home}` does not matter.
  public func allowReading(_ path: String) -> Bool {
    guard PathText.problem(with: path) == nil else { return false }
    return PathText.isBelow(path, PathText.bundle)
      || read.contains { PathText.isBelow(path, $0) }
  }

  /// Whether a program may be run.
  public func allowRunning(_ program: String) -> Bool { commands.contains(program) }

  /// Whether HTTP requests to a host are allowed.
  public func allowHost(_ host: String, port: Int) -> Bool {
    hosts.contains { HostPermission($0)?.allows(host.lowercased(), port: port) ?? false }
  }

  /// Whether a host, a name or an address, is this machine, so that data to it stays on this
  /// machine.
  public static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }
}

/// A host to which a bundle may send requests: `api.example.org`, `127.0.0.1:8080`,
/// `*.example.org`, `[::1]`.
struct HostPermission: Hashable {
  /// Lowercase; without brackets.
  let host: String
  /// Whether the permission is for all hosts below this one, and not for the host itself.
  let isWild: Bool
  /// nil for 80 and 443.
  let port: Int?

  init?(_ text: String) {
    var rest = Substring(text.lowercased())
    var isWild = false
    if rest.hasPrefix("*.") {
      isWild = true
      rest = rest.dropFirst(2)
    }
    let name: Substring
    if rest.hasPrefix("[") {
      guard let end = rest.firstIndex(of: "]") else { return nil }
      name = rest[rest.index(after: rest.startIndex)..<end]
      guard !isWild, name.utf8.contains(UInt8(ascii: ":")),
        name.utf8.allSatisfy({ HostPermission.isHexadecimal($0) || $0 == UInt8(ascii: ":") })
      else { return nil }
      rest = rest[rest.index(after: end)...]
    } else {
      name = rest.prefix { $0 != ":" }
      guard !name.isEmpty, !name.hasPrefix("."), !name.hasSuffix("."), !name.hasPrefix("-"),
        name.utf8.allSatisfy({ HostPermission.isHostByte($0) })
      else { return nil }
      rest = rest.dropFirst(name.count)
    }
    if rest.isEmpty {
      port = nil
    } else {
      guard rest.first == ":", let number = Int(rest.dropFirst()), (1...65_535).contains(number)
      else { return nil }
      port = number
    }
    host = String(name)
    self.isWild = isWild
  }

  func allows(_ other: String, port otherPort: Int) -> Bool {
    let fits = isWild ? other.hasSuffix("." + host) : other == host
    return fits && (port.map { $0 == otherPort } ?? (otherPort == 80 || otherPort == 443))
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  static func isHostByte(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
  }
}

/// The target of a URL. Nil if the URL may not be used.
struct URLTarget {
  let host: String
  let port: Int
  /// Whether the data is encrypted, or stays on this machine.
  let isPrivate: Bool

  init?(_ text: String) {
    let port: Int
    var rest: Substring
    if text.hasPrefix("http://") {
      port = 80
      rest = text.dropFirst(7)
    } else if text.hasPrefix("https://") {
      port = 443
      rest = text.dropFirst(8)
    } else {
      return nil
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.utf8.contains(0x5C),
      !text.utf8.contains(UInt8(ascii: "#"))
    else { return nil }
    rest = rest.prefix { $0 != "/" && $0 != "?" }
    // The grammar of an authority is that of a permission, except for the wild card.
    guard let permission = HostPermission(String(rest)), !permission.isWild else { return nil }
    host = permission.host
    self.port = permission.port ?? port
    isPrivate = text.hasPrefix("https:") || Permissions.isLoopback(permission.host)
  }

  /// Whether a URL of a web server has a user name, with or without a password.
  static func hasUser(_ text: String) -> Bool {
    guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return false }
    return text.drop { $0 != "/" }.dropFirst(2).prefix { !"/?#".contains($0) }.contains("@")
  }

  /// The text of the permission.
  var permission: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == 80 || port == 443 ? name : "\(name):\(port)"
  }
}
