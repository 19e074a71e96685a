import WidgetClient
import WidgetModel

// The words that the command line and documents use for the cases of the domain's enums. Each
// switch is exhaustive, so a new case does not compile without a word.

extension Family {
  init?(name: String) { self.init(named: name, \.name) }
}

extension Presence.State {
  var name: String {
    switch self {
    case .visible: "visible"
    case .hidden: "hidden"
    case .disabled: "disabled"
    }
  }
}

extension ApplyAction {
  var name: String {
    switch self {
    case .unspecified: "unknown"
    case .created: "created"
    case .updated: "updated"
    case .unchanged: "unchanged"
    case .deleted: "deleted"
    }
  }
}

extension PresenceAction {
  /// The change to a widget, as a participle.
  var participle: String {
    switch self {
    case .show: "shown"
    case .hide: "hidden"
    case .enable: "enabled"
    case .disable: "disabled"
    case .toggle: "toggled"
    }
  }
}

extension LogLevel {
  var name: String {
    switch self {
    case .trace: "trace"
    case .debug: "debug"
    case .info: "info"
    case .notice: "notice"
    case .warning: "warning"
    case .error: "error"
    case .critical: "critical"
    }
  }

  init?(name: String) { self.init(named: name, \.name) }
}

extension HealthCheckResponse.ServingStatus {
  var name: String {
    switch self {
    case .unknown: "unknown"
    case .serving: "serving"
    case .notServing: "not-serving"
    case .serviceUnknown: "service-unknown"
    }
  }
}

extension CaseIterable {
  /// The case with this name, whatever its letters' case, with `_` or `-` between words or nothing.
  fileprivate init?(named text: String, _ name: (Self) -> String) {
    func plain(_ text: String) -> String {
      text.lowercased().filter { $0 != "-" && $0 != "_" }
    }
    let wanted = plain(text)
    guard let found = Self.allCases.first(where: { plain(name($0)) == wanted }) else { return nil }
    self = found
  }
}
