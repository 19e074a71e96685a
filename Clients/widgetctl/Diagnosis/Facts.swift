import WidgetClient
import WidgetModel

/// The facts for the findings of `doctor`: values only. The system and the daemon have been asked
/// before, so that tables can test all findings.
struct Facts: Hashable {
  var user: User
  var choice: SocketChoice
  var file: File
  /// The folders on the way to the socket, from the root on. The list ends at a folder that may not
  /// be searched.
  var folders: [Folder] = []
  /// Whether the user may write to the socket, which is necessary to connect.
  var isWritable = false
  /// The units, by the systemd that runs them.
  var units: [SystemdScope: Units] = [:]
  /// The services that should run with the daemon's socket, by the systemd that runs them.
  var providers: [SystemdScope: [Unit]] = [:]
  /// The bundles where they are installed if no folder is named; nil if there are none.
  var bundles: Bundles?
  var connection: ConnectAttempt
  /// The listener at the socket. Nil if it was not looked up, or is unknown.
  var listener: Listener?
  /// The daemon that runs with this socket, although the socket's file is missing. Nil if there is
  /// none, or if this user may not know.
  var daemonWithoutFile: Listener?
  /// Whether the file of the daemon's program was replaced or removed since the daemon started, as an
  /// upgrade does; false if this user may not know.
  var isDaemonReplaced = false
  /// Whether the program `widgetd` is installed on this machine.
  var isDaemonInstalled = true
  var clientVersion: String
  var now: Timestamp = .epoch

  struct User: Hashable {
    var uid: UInt32
    var name: String
    var isRoot: Bool { uid == 0 }
  }

  /// The owner and the permissions of a file.
  struct Ownership: Hashable {
    /// The lower 12 bits of the mode.
    var mode: UInt32
    var uid: UInt32
    var owner: String
    var group: String
    var membership: Membership

    /// The text in the form of `ls` and `chmod`: `0660 root:widgetd-clients`.
    var text: String {
      let octal = String(mode, radix: 8)
      return String(repeating: "0", count: max(0, 4 - octal.count)) + octal + " \(owner):\(group)"
    }
  }

  /// Whether the user is in a group.
  enum Membership: Hashable {
    case none
    /// This session is in the group.
    case inSession
    /// The user is in the group now, but this session began before.
    case afterLogin
  }

  enum File: Hashable {
    case missing
    /// The place is not visible, because a folder on its path, or on a link's path, may not be
    /// searched.
    case hidden
    /// A file of another type, in words: "a regular file".
    case other(kind: String)
    case socket(Ownership)
  }

  struct Folder: Hashable {
    var path: String
    var ownership: Ownership
    var isSearchable: Bool
    /// The last symbolic link on the path; nil if there was none.
    var link: Link?
  }

  /// A symbolic link on the path, and its written target.
  struct Link: Hashable {
    var path: String
    var target: String
  }

  /// The daemon's units in a systemd.
  enum Units: Hashable {
    /// There is no systemctl, or no such systemd runs.
    case absent
    case timedOut
    case known([Unit])
  }

  struct Unit: Hashable {
    var name: String
    /// "loaded", "not-found", "masked", …
    var load: String
    /// "active", "inactive", "failed", …
    var active: String
    /// The reason of its failure: "exit-code", "start-limit-hit"; "success" if it did not fail.
    var result: String
    /// The process. Nil if it does not run.
    var mainPID: Int32?
    /// Whether it is enabled, so that systemd starts it by itself.
    var isEnabled = false
    /// Whether the file of its process's program was replaced or removed since the process started.
    var isReplaced = false
  }

  /// Installed bundles and their host.
  struct Bundles: Hashable {
    var folder: String
    var count: Int
    var host: BundleHost
    /// The number of bundles with widgets in the daemon, from all folders.
    var declared = 0
    /// The ids of the bundles that a host should run and that have failed.
    var failed: [String] = []
    /// The ids of the bundles that run, and of which a part fails.
    var failing: [String] = []
    /// The ids of the bundles that are not in a folder of the running host.
    var stopped: [String] = []
    /// The old marks of removals in the folder and in those of the host.
    var marks: [Mark] = []
  }

  /// The mark of a removal that no host has deleted (`BundleRemovalMark`).
  struct Mark: Hashable {
    var path: String
    var bundle: String
    /// Whether a host runs the folder.
    var isRun: Bool
    /// Whether the daemon still has the bundle from this folder of bundles.
    var isKnown: Bool
    /// Whether the user may delete files of the folder.
    var isRemovable = true
  }

  /// A process that listens.
  struct Listener: Hashable {
    var pid: Int32
    var uid: UInt32
    /// The name of the program in `ps`; at most 15 bytes.
    var name: String
    /// Stopped by a signal (SIGSTOP, Ctrl-Z) or a debugger.
    var isStopped = false
    /// The name of `uid`.
    var owner = ""
    /// The systemd that holds the socket and has started this process for it.
    var manager: SystemdScope?
    /// The number of files that the process may open. Nil if this user may not know.
    var filesMax: Int?

    /// Whether the limit of files leaves the daemon few connections. Then it is `filesMax`.
    var fewFiles: Int? { filesMax.flatMap { $0 < 4_096 ? $0 : nil } }

    var text: String { "\(name), process \(pid)" }
    /// The system's systemd, or a user's: it answers for many services and must never be ended.
    var isSystemd: Bool { name == "systemd" }
    /// Whether it may be the daemon: it is, or it is the systemd that holds its socket.
    var mayBeDaemon: Bool { name == "widgetd" || isSystemd }

    /// The systemd that holds the socket, if the user with this number can ask it.
    func holder(for user: UInt32) -> SystemdScope? {
      if let manager { return manager }
      guard isSystemd else { return nil }
      if pid == 1 { return .system }
      return uid == user ? .user : nil
    }
  }

  enum ConnectAttempt: Hashable {
    /// There is no socket to connect to.
    case notTried
    case failed(ConnectFailure)
    /// The socket took the connection, but the answer to the health check was wrong.
    case mute(ClientError)
    case answered(Answers)
  }

  /// The daemon's answers.
  struct Answers: Hashable {
    var health: HealthCheckResponse.ServingStatus
    var level: Level
    /// For owners.
    var stats: GetStatsResponse?
    /// For clients, which get no stats.
    var revision: Revision?
    /// Nil if the store takes changes, or if this is unknown.
    var store: StoreTrouble?
    /// Whether a question after the first one had no answer in time.
    var isSilent = false
  }

  /// The user's level of access, found by requests to the daemon.
  enum Level: String, Hashable {
    case owner, client, nothing
    /// The state is unknown.
    case unknown
  }
}

/// The result of one check, and the command that fixes it.
struct Finding: Hashable {
  enum Grade: String, Hashable {
    case ok
    /// A warning, which does not prevent a connection.
    case warn
    case fail = "FAIL"

    var style: Style {
      switch self {
      case .ok: .good
      case .warn: .warning
      case .fail: .bad
      }
    }
  }

  var check: String
  var grade: Grade
  /// Without a final period.
  var found: String
  /// A command to run without changes. Nil if there is nothing to do.
  var mend: String?

  static func ok(_ check: String, _ found: String) -> Finding {
    Finding(check: check, grade: .ok, found: found)
  }
  static func warn(_ check: String, _ found: String, mend: String?) -> Finding {
    Finding(check: check, grade: .warn, found: found, mend: mend)
  }
  static func fail(_ check: String, _ found: String, mend: String?) -> Finding {
    Finding(check: check, grade: .fail, found: found, mend: mend)
  }

  var document: Value {
    var map: ValueMap = [
      "check": .string(check), "grade": .string(grade.rawValue.lowercased()),
      "found": .string(found),
    ]
    if let mend { map["mend"] = .string(mend) }
    return .map(map)
  }
}
