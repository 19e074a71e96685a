import WidgetServer

/// The flags of a driver that hosts the daemon. Flags of widgetd have the same meaning here.
struct HostSettings: Sendable {
  var socketPath = ""
  var stateDirectory = ""
  var isDurable = false
  var clientGID: UInt32?
  var limits = ServerLimits()
  /// The user for whom the client calls; nil for its own user.
  var peer: Peer?

  init(arguments: ArraySlice<String>) throws {
    var rest = arguments
    while let flag = rest.popFirst() {
      guard let value = rest.popFirst() else { throw Misuse("\(flag) takes a value") }
      switch flag {
      case "--socket": socketPath = value
      case "--state-directory": stateDirectory = value
      case "--store": isDurable = value == "sqlite"
      case "--client-group": clientGID = try HostSettings.number(value)
      case "--limit": try setLimit(value)
      case "--as": peer = try HostSettings.peer(value)
      default: throw Misuse("there is no flag \(flag)")
      }
    }
    guard !socketPath.isEmpty, !stateDirectory.isEmpty else {
      throw Misuse("--socket and --state-directory are needed")
    }
  }

  private mutating func setLimit(_ text: String) throws {
    let parts = text.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, let value = Int(parts[1]),
      let path = ServerLimits.names.first(where: { $0.name == parts[0] })?.path
    else { throw Misuse("--limit \(text) is no limit") }
    limits[keyPath: path] = value
  }

  /// UID:GID[,GROUP...]
  private static func peer(_ text: String) throws -> Peer {
    let parts = text.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else { throw Misuse("--as takes UID:GID, then other groups") }
    let groups = try parts[1].split(separator: ",").map { try number($0) }
    guard let gid = groups.first else { throw Misuse("--as takes UID:GID, then other groups") }
    return Peer(uid: try number(parts[0]), gid: gid, pid: 0, groups: Array(groups.dropFirst()))
  }

  private static func number(_ text: some StringProtocol) throws -> UInt32 {
    guard let number = UInt32(text) else { throw Misuse("\(text) is not a number") }
    return number
  }
}
