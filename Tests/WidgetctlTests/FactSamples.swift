import Glibc
import WidgetClient
import WidgetModel

@testable import widgetctl

/// Facts without a fault. Tests change one of them at a time.
extension Facts {
  static let sound = Facts(
    user: User(uid: 1000, name: "ann"),
    choice: SocketChoice(
      path: SocketPath.ofSystem, why: .system,
      user: .init(path: "/run/user/1000/widgetd/widgetd.sock", exists: false),
      system: .init(path: SocketPath.ofSystem, exists: true)),
    file: .socket(.clients()),
    folders: [
      Folder(path: "/run", ownership: .clients(0o755, group: "root"), isSearchable: true),
      Folder(path: "/run/widgetd", ownership: .clients(0o755, group: "root"), isSearchable: true),
    ],
    isWritable: true, units: [.system: .widgetd("active", "active"), .user: .absent],
    connection: .answered(Answers(health: .serving, level: .client)), clientVersion: "1.0.0",
    now: Samples.time(100_000))

  func with(_ change: (inout Facts) -> Void) -> Facts {
    var facts = self
    change(&facts)
    return facts
  }

  func finding(_ check: String) -> Finding? { findings.first { $0.check == check } }
}

extension Facts.Ownership {
  static func clients(
    _ mode: UInt32 = 0o660, group: String = "widgetd-clients",
    _ membership: Facts.Membership = .inSession, uid: UInt32 = 0
  ) -> Facts.Ownership {
    Facts.Ownership(
      mode: mode, uid: uid, owner: uid == 0 ? "root" : "bob", group: group, membership: membership)
  }
}

extension Facts.Units {
  static func widgetd(
    _ socket: String, _ service: String, load: String = "loaded", result: String = "success"
  ) -> Facts.Units {
    .known([
      Facts.Unit(name: "widgetd.socket", load: load, active: socket, result: result),
      Facts.Unit(name: "widgetd.service", load: load, active: service, result: result),
    ])
  }

  static let notInstalled = widgetd("inactive", "inactive", load: "not-found")
}

extension Facts.Unit {
  static func provider(
    _ name: String, _ active: String, result: String = "success", isEnabled: Bool = true,
    isReplaced: Bool = false
  ) -> Facts.Unit {
    Facts.Unit(
      name: name, load: "loaded", active: active, result: result, isEnabled: isEnabled,
      isReplaced: isReplaced)
  }
}

extension SocketChoice {
  /// The user names this socket; the usual places exist or not.
  static func named(_ path: String, _ why: Why, usualExists: Bool = false) -> SocketChoice {
    SocketChoice(
      path: path, why: why, user: nil, system: .init(path: SocketPath.ofSystem, exists: usualExists)
    )
  }

  /// No socket exists.
  static let none = SocketChoice(
    path: SocketPath.ofSystem, why: .nowhere,
    user: .init(path: "/run/user/1000/widgetd/widgetd.sock", exists: false),
    system: .init(path: SocketPath.ofSystem, exists: false))
}
