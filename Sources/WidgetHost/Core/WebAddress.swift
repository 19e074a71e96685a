import WidgetBundle
import WidgetModel

/// The address of an HTTP request, parsed and rebuilt. So the request goes exactly to the address
/// that permissions have allowed, even if another URL parser reads the text differently.
///
/// `http` or `https`; no user name; the host in lower case, a name or a numeric address; the path
/// and query in characters that need no encoding.
public struct WebAddress: Hashable, Sendable {
  public var isSecure: Bool
  /// Without the brackets of an IPv6 address.
  public var host: String
  public var port: Int
  /// Begins with `/`.
  public var path: String
  /// Without the `?`; empty for none.
  public var query: String

  /// Whether the request is encrypted, or does not leave the machine.
  var isPrivate: Bool { isSecure || Permissions.isLoopback(host) }

  /// - Throws: the fault of the text (INVALID_ARGUMENT).
  init(_ text: String) throws(Failure) {
    func wrong(_ what: String) -> Failure {
      Failure("INVALID_ARGUMENT", "\(ShownURL.subject(text)) is not a usable URL: \(what)")
    }
    guard text.utf8.count <= 8_192 else { throw wrong("it is longer than 8192 bytes") }
    guard let colon = text.range(of: "://") else {
      throw wrong("it does not begin with http:// or https://")
    }
    switch text[..<colon.lowerBound].lowercased() {
    case "http": isSecure = false
    case "https": isSecure = true
    default: throw wrong("it does not begin with http:// or https://")
    }
    var rest = text[colon.upperBound...]
    if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
    let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    let authority = rest[..<authorityEnd]
    guard !authority.contains("@") else {
      throw wrong("it must not have a user name or a password")
    }
    (host, port) = try WebAddress.hostAndPort(
      String(authority), portDefault: isSecure ? 443 : 80, wrong)
    let target = rest[authorityEnd...]
    let question = target.firstIndex(of: "?")
    path = WebAddress.cleaned(target[..<(question ?? target.endIndex)])
    query = question.map { WebAddress.cleaned(target[target.index(after: $0)...]) } ?? ""
    if path.isEmpty { path = "/" }
  }

  private static func hostAndPort(
    _ text: String, portDefault: Int, _ wrong: (String) -> Failure
  ) throws(Failure) -> (String, Int) {
    var host = Substring(text)
    var port: Substring?
    if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
      host = text[text.index(after: text.startIndex)..<bracket]
      let behind = text[text.index(after: bracket)...]
      guard behind.isEmpty || behind.hasPrefix(":") else { throw wrong("its host is not valid") }
      port = behind.isEmpty ? nil : behind.dropFirst()
      guard !host.isEmpty, host.utf8.allSatisfy({ isHexadecimal($0) || $0 == 0x3A || $0 == 0x2E })
      else { throw wrong("its host is not valid") }
    } else {
      if let colon = text.lastIndex(of: ":") {
        host = text[..<colon]
        port = text[text.index(after: colon)...]
      }
      guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy({ isHostByte($0) }),
        host.first != ".", host.first != "-"
      else { throw wrong("its host is not valid") }
    }
    guard let port, !port.isEmpty else { return (host.lowercased(), portDefault) }
    guard port.utf8.allSatisfy({ isDigit($0) }), let number = Int(port),
      (1...65_535).contains(number)
    else { throw wrong("its port is not one of 1 to 65535") }
    return (host.lowercased(), number)
  }

  /// Adds components to the path, each encoded as a whole.
  mutating func append(component: String) throws(Failure) {
    // An empty component, `.` and `..` would change the address.
    guard !component.isEmpty, component != ".", component != ".." else {
      throw Failure(
        "INVALID_ARGUMENT", "\"\(component)\" cannot be a part of a path of \(authority)")
    }
    if !path.hasSuffix("/") { path += "/" }
    path += WebAddress.encoded(component)
  }

  mutating func append(query name: String, _ value: String) {
    if !query.isEmpty { query += "&" }
    query += "\(WebAddress.encoded(name))=\(WebAddress.encoded(value))"
  }

  /// The address that a `Location` in an answer from this address names.
  func redirected(to location: String) throws(Failure) -> WebAddress {
    if location.contains("://") { return try WebAddress(location) }
    if location.hasPrefix("//") {
      return try WebAddress((isSecure ? "https:" : "http:") + location)
    }
    let base = "\(isSecure ? "https" : "http")://\(authority)"
    if location.hasPrefix("/") { return try WebAddress(base + location) }
    let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    return try WebAddress(base + folder + location)
  }

  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  // MARK: Encoding

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x61...0x66).contains(byte | 0x20)
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    isDigit(byte) || isLetter(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
  }

  /// The unreserved characters of RFC 3986: letters, digits, `-`, `.`, `_`, `~`.
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    isHostByte(byte) || byte == 0x7E
  }

  private static func percent(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "%" + (byte < 16 ? "0" : "") + digits
  }

  /// Encodes all bytes except unreserved ones as `%XX`.
  static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      if isUnreserved(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        result += percent(byte)
      }
    }
    return result
  }

  /// The encoding of a form: a space is `+`.
  static func formEncoded(_ text: String) -> String {
    encoded(text).split(separator: "%20", omittingEmptySubsequences: false).joined(separator: "+")
  }

  /// Encodes characters that a path or query cannot have; encoded characters stay.
  private static func cleaned(_ text: Substring) -> String {
    var result = ""
    for byte in text.utf8 {
      let isPlain =
        isUnreserved(byte) || "%!$&'()*+,;=:@/?".utf8.contains(byte)
      if isPlain {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        result += percent(byte)
      }
    }
    return result
  }
}

extension WebAddress: CustomStringConvertible {
  public var description: String {
    "\(isSecure ? "https" : "http")://\(authority)\(path)\(query.isEmpty ? "" : "?\(query)")"
  }
}

extension String {
  /// The first place of a text in this one.
  fileprivate func range(of text: String) -> Range<String.Index>? {
    let (hay, needle) = (Array(utf8), Array(text.utf8))
    guard hay.count >= needle.count else { return nil }
    for start in 0...(hay.count - needle.count)
    where hay[start..<start + needle.count].elementsEqual(needle) {
      let lower = utf8.index(utf8.startIndex, offsetBy: start)
      return lower..<utf8.index(lower, offsetBy: needle.count)
    }
    return nil
  }
}
