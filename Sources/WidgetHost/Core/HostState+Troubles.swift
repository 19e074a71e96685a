public import WidgetModel

/// A problem of a bundle that its widgets show as an error: its folder is missing, its file has a
/// mistake, or the daemon refuses it.
public struct BundleTrouble: Hashable, Sendable {
  /// The folder of the bundle.
  public var path: String
  /// The error of the bundle's own widgets.
  public var words: String
  /// The error of widgets of others with a kind of the bundle.
  public var wordsForOthers: String
  /// The beginning of the problem; nil to continue the age of the former one, if there is one.
  public var since: Timestamp?
  /// Whether the folder is missing.
  public var isAbsent: Bool
  /// Whether a version of the bundle runs. If none runs, nothing reads its sources.
  public var isRunning: Bool
  /// The kinds of a bundle that only an earlier host ran. No instance shows its problem on widgets
  /// of others with these kinds.
  public var kinds: Set<KindName> = []

  /// Whether the widgets of the bundle are stale, because nobody knows whether they will stay, or
  /// nobody looks after them.
  var makesStale: Bool { isAbsent || !isRunning }

  /// The error of the bundle's own widgets, or of widgets of others.
  func error(forOthers: Bool = false) -> WidgetError {
    WidgetError(
      reason: BundleInstance.invalid, message: forOthers ? wordsForOthers : words, since: since)
  }

  /// Whether an error of a widget is, or was, about this problem or an earlier one of the bundle.
  func has(_ error: WidgetError) -> Bool {
    error.reason == BundleInstance.invalid
      && (error.message == words || error.message == wordsForOthers
        || error.message.names(path))
  }
}

// A widget can belong to one bundle and have the kind of another one. The first one can remove it,
// and the second one gives it data. So the widget shows the problems of both. The instance of the
// kind's bundle sets the error, because it sets the errors of sources and actions, too. If there is
// no such instance, `Marks` of the daemon's conversation does.
extension HostState {
  /// The problems of bundles, by the set of their widgets.
  var troubles: [String: BundleTrouble] {
    var troubles: [String: BundleTrouble] = [:]
    for id in running.ids {
      guard let current = running[id] else { continue }
      let instance = current.instance
      // A version that is retried is still refused, as far as anybody knows.
      guard let words = instance.problem ?? current.refusal ?? current.told else { continue }
      troubles[HostState.provider(of: id)] = BundleTrouble(
        path: current.folder, words: words,
        wordsForOthers: instance.problem == nil ? words : instance.problemOfOthers ?? words,
        since: instance.problemSince, isAbsent: instance.absentSince != nil,
        isRunning: current.refusal == nil)
    }
    for (path, folder) in folders.all {
      guard let problem = folder.problem else { continue }
      for known in folder.remembered where running[known.id] == nil {
        troubles[HostState.provider(of: known.id)] = BundleTrouble(
          path: path, words: problem, wordsForOthers: folder.problemOfOthers ?? problem,
          since: known.hadProblem(isAbsent: folder.absence != nil) ? nil : folder.problemTime,
          isAbsent: folder.absence != nil, isRunning: false, kinds: known.kinds)
      }
    }
    return troubles
  }

  /// Shows the problems that have begun, changed or ended since the last call.
  mutating func showTroubles(at now: HostTime) -> [Output] {
    guard mayHaveNewTroubles else { return [] }
    mayHaveNewTroubles = false
    let troubles = troubles
    let declared = Set(running.takenIDs.map(HostState.provider(of:)))
    var outputs: [Output] = []
    for id in running.ids {
      let effects =
        running.change(id) { $0.setOwnerTroubles(troubles, declared: declared, at: now) } ?? []
      outputs += effects.map { .effect($0) }
    }
    guard troubles != toldTroubles else { return outputs }
    toldTroubles = troubles
    return outputs + [.troubles(troubles)]
  }
}
