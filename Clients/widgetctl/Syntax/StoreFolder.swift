import Glibc
import WidgetModel
import WidgetStorage

/// The state directory of a command.
struct StoreFolder {
  /// The places of stores, in the order in which the daemon looks.
  static func places(_ environment: (String) -> String?) -> [String] {
    var places: [String] = []
    func add(_ path: String?) {
      if let path, !path.isEmpty, !places.contains(path) { places.append(path) }
    }
    add(environment("XDG_STATE_HOME").flatMap { $0.isEmpty ? nil : $0 + "/widgetd" })
    add(environment("HOME").flatMap { $0.isEmpty ? nil : $0 + "/.local/state/widgetd" })
    add("/var/lib/widgetd")
    return places
  }

  /// The named folder, else the only existing one.
  ///
  /// - Parameters:
  ///   - isStore: Whether there is a store in a folder.
  ///   - isNew: Whether a folder without a store is accepted. If no store exists, the first place.
  static func find(
    named: String?, isNew: Bool = false, environment: (String) -> String? = variable,
    isStore: (String) -> Bool = hasStore
  ) throws(CommandFailure) -> String {
    if let path = self.named(named, environment: environment) { return path }
    let places = places(environment)
    let found = places.filter(isStore)
    switch found.count {
    case 1: return found[0]
    case 0 where isNew: return places[0]
    case 0:
      throw CommandFailure(
        .notFound,
        "there is no store at \(places.joined(separator: ", ")); name its folder with"
          + " --state-directory")
    default:
      throw CommandFailure(
        .usage,
        "there are stores at \(found.joined(separator: " and ")); name one with --state-directory")
    }
  }

  /// The folder that the option or the environment names; nil if neither does.
  static func named(
    _ option: String?, environment: (String) -> String? = variable
  ) -> String? {
    if let option { return option }
    return ["WIDGETD_STATE_DIRECTORY", "STATE_DIRECTORY"].lazy.compactMap(environment)
      .first { !$0.isEmpty }
  }

  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Whether a folder has the files of a store.
  static func hasStore(_ folder: String) -> Bool {
    ["widgetd.db", "store.mark"].contains { access("\(folder)/\($0)", F_OK) == 0 }
  }
}

extension CommandFailure {
  init(_ error: StoreCopyError) {
    let status: ExitStatus =
      switch error.kind {
      case .missing: .notFound
      case .exists: .alreadyExists
      case .inUse: .refused
      case .damaged: .invalidArgument
      case .noAccess: .permissionDenied
      case .full: .quotaExceeded
      case .other: .otherError
      }
    self.init(status, error.description)
  }
}
