import WidgetModel

extension WidgetFailure {
  /// The message; without one, the reason in words.
  var reasonText: String {
    switch self {
    case .error(let error):
      error.message.isEmpty
        ? String(error.reason.lowercased().map { $0 == "_" ? " " : $0 }) : error.message
    case .timeline(let problem, _): problem
    case .activity(let status, _): status.isEmpty ? "failed" : status
    case .content(_, let problem, _): problem
    }
  }
}
