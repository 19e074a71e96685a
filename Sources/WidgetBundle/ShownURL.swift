/// The part of an unusable URL that a failure shows.
///
/// Every client can read failures, and most parts of a URL can have secrets: a user name, a
/// password, a key in the path or in the query. So a failure shows only the scheme and the host.
package enum ShownURL {
  /// The subject of a sentence about a text, such as `"https://api.example/…"`.
  ///
  /// Without a scheme, the subject is `the text`. The host is left out if it can be part of
  /// something else: a password can have any character, also `/`, `?`, `#` and `@`.
  package static func subject(_ text: String) -> String {
    guard let separator = text.firstRange(of: "://"),
      isScheme(text[..<separator.lowerBound])
    else { return "the text" }
    let scheme = text[..<separator.upperBound]
    let rest = text[separator.upperBound...]
    let authorityEnd = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
    let host = host(of: rest[..<authorityEnd])
    guard !rest[authorityEnd...].utf8.contains(UInt8(ascii: "@")), isHost(host) else {
      return "\"\(scheme)…\""
    }
    let isWhole = rest[host.endIndex...].isEmpty || rest[host.endIndex...] == "/"
    return "\"\(scheme)\(host)\(isWhole ? "" : "/…")\""
  }

  /// The text after the last `@` of an authority, without the port.
  private static func host(of authority: Substring) -> Substring {
    var host = authority
    if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
    if host.hasPrefix("["), let bracket = host.firstIndex(of: "]") { return host[...bracket] }
    return host.prefix { $0 != ":" }
  }

  private static func isScheme(_ text: Substring) -> Bool {
    (1...10).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
  }

  private static func isHost(_ text: Substring) -> Bool {
    guard (1...253).contains(text.utf8.count) else { return false }
    if text.hasPrefix("["), text.hasSuffix("]") {
      return text.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    return text.allSatisfy { $0.isLetter || $0.isNumber || "-._".contains($0) }
  }
}
