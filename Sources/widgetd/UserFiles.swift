import Glibc
import Logging
import WidgetServer

/// The files of the system that say which uids belong to one user.
struct UserFiles: Sendable {
  var subuid = "/etc/subuid"
  var passwd = "/etc/passwd"

  /// Reads the files. If the first one is missing, no uid is subordinate.
  ///
  /// Accounts of a directory service are not looked up in ranges: a range has thousands of uids, and
  /// each look-up can block.
  ///
  /// - Parameter logger: Gets one warning about each file that is unreadable or has invalid lines.
  func subordinateUIDs(warning logger: Logger) -> SubordinateUIDs {
    let ranges = text(of: subuid, logger, ifUnreadable: "subordinate uids count as separate users")
    guard !ranges.isEmpty else { return SubordinateUIDs() }
    // Most names are in this file. `getpwnam_r` would read the file again for each name.
    let accounts = UserFiles.accounts(
      in: text(of: passwd, logger, ifUnreadable: "accounts count as the user of their range"))
    let uids = SubordinateUIDs(
      ranges, accounts: Set(accounts.values), userNamed: { accounts[$0] ?? userID(named: $0) })
    if let line = uids.invalidLines.first {
      logger.warning(
        "\(subuid):\(line): not NAME:START:COUNT; the line is skipped; correct it, and reload",
        metadata: ["invalid_lines": "\(uids.invalidLines.count)"])
    }
    return uids
  }

  /// The uids in a passwd file, by name. If two lines have the same name, the first one counts.
  static func accounts(in text: String) -> [String: UInt32] {
    var accounts: [String: UInt32] = [:]
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let fields = Substring(line).split(
        separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
      guard fields.count == 4, let uid = UInt32(fields[2]) else { continue }
      let name = String(fields[0])
      if accounts[name] == nil { accounts[name] = uid }
    }
    return accounts
  }

  /// The content of a file; empty if the file is missing or unreadable.
  private func text(of path: String, _ logger: Logger, ifUnreadable effect: String) -> String {
    let content = Settings.bytes(of: path)
    guard let error = content.error else { return String(decoding: content.bytes, as: UTF8.self) }
    if error != ENOENT {
      logger.warning("cannot read \(path): \(String(cString: strerror(error))); \(effect)")
    }
    return ""
  }
}
