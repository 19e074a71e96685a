import WidgetBundle
import WidgetModel

// The words for bundles that the daemon refuses.
extension HostState {
  /// The problem of a bundle that the daemon refuses, with the next step.
  ///
  /// - Parameter isRetried: whether the host notices the end of the cause.
  static func problem(
    of current: RunningBundle, refusedFor refusal: String, isRetried: Bool = true
  ) -> String {
    let refresh = "`widgetctl refresh bundle/\(current.instance.bundle.id)`"
    return "\(DaemonRefusal.words(about: current.folder))\(refusal); "
      + (isRetried
        ? "widgetd-host tries again when this changes, or at once with \(refresh)"
        : "when there is room again, \(refresh) tries again")
  }

  /// Shows the refusal of the only version on the widgets that its instance serves, or ends it. If
  /// the folder has a problem, too, the widgets show that one.
  mutating func showRefusal(
    _ problem: String?, of current: RunningBundle, at now: HostTime
  ) -> [Output] {
    guard folders[current.folder]?.problem == nil else { return [] }
    let since = folders[current.folder]?.returnedAt
    return setProblem(problem, of: current.instance.bundle.id, since: since, at: now)
  }

  /// The daemon refuses the version in the folder of a bundle for the same reason, but the file of
  /// another bundle has changed, so that the words of the refusal are outdated.
  mutating func reworded(_ id: String, refusal: String, at now: HostTime) -> [Output] {
    guard let current = running[id], let former = current.refusedFor,
      folders[current.folder]?.problem == former
    else { return [] }
    let problem = HostState.problem(of: current, refusedFor: refusal)
    running.reworded(id, problem: problem)
    folders.set(current.folder, problem: problem)
    return [.report(problem)] + setProblem(problem, of: id, at: now) + standing()
  }
}
