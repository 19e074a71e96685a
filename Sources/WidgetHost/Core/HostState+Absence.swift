import WidgetBundle
import WidgetModel

// Bundles whose folder or file is missing. It may be away for a moment only, during an unmount, a
// checkout or a copy. So the widgets, with all that users have entered, outlive it.
//
// The time of the widgets runs only while the daemon has this host. Otherwise nobody could see the
// problem, and a machine that starts again could lose the values of users at once.
extension HostState {
  /// The reason why a folder has no bundle's file.
  public enum Absence: Hashable, Sendable {
    /// `widgetctl bundle rm` or `DeleteBundle` has removed the bundle, so its widgets go at once.
    case removed
    /// The folder or the file is missing. The widgets go after `HostLimits.absenceMax`, in which the
    /// daemon has this host.
    case missing
    /// The folder of bundles is missing or cannot be read, for this reason. Nobody knows what is in
    /// it, so the widgets stay.
    case unavailable(String)
  }

  /// The bundles whose folders are known, for a look for the marks of removed bundles.
  var occupants: [Remembered] {
    folders.all.map { path, folder in
      let id = running.bundle(in: path)
      let known = id == nil ? folder.remembered.last : nil
      let name = id ?? known?.id ?? folder.id
      let seen = marks(of: folder, name)
      return Remembered(
        id: name, path: path, loaded: id.flatMap { running[$0]?.loaded } ?? known?.loaded,
        shown: seen.map { [HostState.marksKey: HostState.value(of: $0)] as ValueMap } ?? [:])
    }
  }

  /// The host has seen a bundle's file in a folder, beside these marks of removals. The bundle has come
  /// back since these removals.
  mutating func saw(_ marks: Set<String>, in path: String) -> [Output] {
    guard folders.saw(marks, in: path), let folder = folders[path] else { return [] }
    knownMarks.add(marks, of: folder.id)
    return standing()
  }

  /// The marks of removals of a bundle that no longer count, and those that were there when a host
  /// last saw a file in the folder. Nil if only an older host ran the bundle, which kept no marks.
  func marks(of folder: FolderState, _ id: String) -> Set<String>? {
    let seen = folder.marks ?? folder.remembered.last?.seenMarks
    return seen?.union(knownMarks[id])
  }

  /// A folder is gone, or has no bundle's file.
  ///
  /// - Parameters:
  ///   - suspicion: a file in it that probably was meant as a bundle's.
  ///   - marks: the identities of the marks of removals that were there before.
  ///   - isFolderThere: nil if nobody knows.
  public mutating func lost(
    _ path: String, _ absence: Absence, suspicion: Found? = nil, marks: Set<String> = [],
    isFolderThere: Bool? = nil, at now: HostTime
  ) -> [Output] {
    guard let folder = folders[path] else { return [] }
    folders.suspect(path, suspicion)
    folders.set(path, isThere: isFolderThere ?? folder.isThere)
    let id = running.bundle(in: path)
    guard folder.absence != absence else {
      let hasNewFile = HostState.words(of: suspicion) != HostState.words(of: folder.suspicion)
      let isNews = hasNewFile || folders[path]?.isThere != folder.isThere
      guard absence == .missing, isNews, let shown = id ?? folder.remembered.last?.id else {
        return []
      }
      let announced = announce(
        absence, of: path, with: shown, until: folder.removeAt, at: now)
      // If only the words are more exact, the log needs no second line.
      let isLogged = hasNewFile || folder.isThere != nil
      return Array(announced.dropFirst(isLogged ? 0 : 1)) + standing()
    }
    let hasOther = id.map { folders.holding($0).contains { $0 != path } } ?? false
    // It has no widgets that could wait for the folder.
    let hasNeverRun =
      absence == .missing && folder.remembered.isEmpty
      && id.map { running[$0]?.refusal != nil && !mayHaveRun($0) } ?? false
    guard absence != .removed, !hasOther, !hasNeverRun,
      let shown = id ?? folder.remembered.last?.id
    else {
      let removed: [String] =
        absence == .removed ? [id].compactMap(\.self) + folder.remembered.map(\.id) : []
      for id in removed { knownMarks.add(marks, of: id) }
      var outputs = remove(path, at: now)
      forgetKinds(of: removed)
      if hasNeverRun, let suspicion { outputs += found(suspicion, in: path, at: now) }
      return outputs + standing()
    }
    // The first output is the line for the log.
    let announced = announce(absence, of: path, with: shown, at: now)
    var outputs: [Output] = []
    // The folder may have another name, and the bundle in it another id.
    for other in running.ids where other != id {
      guard let heir = running[other], folders[heir.folder]?.absence == nil,
        !HostState.isCopy(heir, at: now)
      else { continue }
      outputs += inherit(heir.instance.bundle, at: now)
    }
    // If another bundle has taken over, the log must not say that the widgets will be removed.
    let isTakenOver = folders[path] == nil
    return Array(announced.dropFirst(isTakenOver ? 1 : 0)) + outputs + standing()
  }

  private static func words(of suspicion: Found?) -> String? {
    if case .broken(let problem, _)? = suspicion { problem } else { nil }
  }

  /// Shows that the folder of a bundle is missing, in the log and on the widgets.
  ///
  /// - Parameter end: the time of the removal; nil to begin the time again.
  private mutating func announce(
    _ absence: Absence, of path: String, with id: String, until end: Duration? = nil,
    at now: HostTime
  ) -> [Output] {
    let problem = note(absence, of: path, with: id, until: end, at: now)
    let report = Output.report("bundle \(id): \(problem.own)")
    // The widgets of a bundle that only an earlier host ran show the problem of the folder.
    guard running.bundle(in: path) != nil else { return [report] }
    return [report]
      + setProblem(problem.own, of: id, forOthers: problem.others, isAbsent: true, at: now)
  }

  /// Whether a bundle has been refused for longer than a renaming takes. Such a bundle is probably a copy
  /// of another one, and not this one under another name.
  private static func isCopy(_ bundle: RunningBundle, at now: HostTime) -> Bool {
    guard bundle.refusal != nil || bundle.refused != nil else { return false }
    return now.uptime - bundle.loadedAt > .seconds(5)
  }

  /// Notes that the folder of a bundle is missing. Returns the problem, for people: for the
  /// bundle's own widgets, and for widgets of others with its kinds.
  private mutating func note(
    _ absence: Absence, of path: String, with id: String, until knownEnd: Duration?,
    at now: HostTime
  ) -> (own: String, others: String) {
    let problem: (own: String, others: String)
    var removal: Duration?
    switch absence {
    case .unavailable(let reason):
      let what = "\(reason)\(HostState.unreadable(path))"
      problem = (
        "\(what); the widgets of the bundle stay and are stale; bring the folder back",
        "\(what); bundle \(id) in it has the kind of this widget, which stays and is stale; bring"
          + " the folder back"
      )
    case .missing, .removed:
      let cause =
        switch folders[path]?.isThere {
        case true?: ""
        case false?: BundleFileName.withFolder
        case nil: BundleFileName.orFolder
        }
      var what = "\(BundleFileName.missing(from: path))\(cause); put the file or folder back"
      if case .broken(let words, _)? = folders[path]?.suspicion {
        what = words + HostState.suspected
      }
      if isDaemonAway {
        what += " within \(limits.absenceMax.components.seconds) seconds after the daemon is back"
      } else {
        let begun = max(now.uptime + limits.absenceMax, lastHold(of: id) ?? .zero)
        let end = knownEnd ?? max(begun, lastPromise(of: id, in: path, at: now) ?? .zero)
        removal = end
        // The time of day stays true, whenever it is read.
        what += HostState.endPrefix + RFC3339.text(Holds.time(of: end, at: now))
      }
      problem = (
        "\(what), or the widgets of the bundle are removed with their data",
        "\(what), or bundle \(id) is removed, and with it the kind of this widget; the widget and"
          + " its data stay"
      )
    }
    folders.miss(
      path, absence, problem: problem.own, forOthers: problem.others, until: removal,
      at: now.wall)
    return problem
  }

  /// The words about a folder that cannot be read.
  private static func unreadable(_ path: String) -> String { ", so \(path) cannot be read" }
  /// The words after those about a file that probably was meant as the bundle's.
  private static let suspected = ". Do this"

  /// Whether a problem is that the folder of a bundle is missing, or its file.
  static func isAbsence(_ problem: String, of path: String) -> Bool {
    problem.hasPrefix(BundleFileName.missing(from: path)) || problem.contains(unreadable(path))
      || problem.contains("\(suspected)\(endPrefix)") || problem.contains("\(suspected) within ")
  }

  /// The words before the time of a removal.
  static let endPrefix = " by "

  /// The latest end that the error of a widget of a bundle promises; nil if no widget stays for a
  /// while.
  private func lastHold(of id: String) -> Duration? { running[id]?.held.map(\.deadline).max() }

  /// The latest time that an earlier host has promised for the removal of a missing bundle, or of a
  /// widget that its file lacked; nil if there is none. The clock may have been set since, so the
  /// time is limited.
  private func lastPromise(of id: String, in path: String, at now: HostTime) -> Duration? {
    guard running[id] == nil,
      let known = folders[path]?.remembered.last(where: { $0.id == id }),
      let end = known.promises.max()
    else { return nil }
    let left = end.duration(since: now.wall)
    return now.uptime + min(left, limits.absenceMax + limits.holdDelayMax)
  }

  /// Lets a missing bundle stay as long as a widget of it that waits for its removal. The removal of
  /// the bundle removes this widget, too.
  mutating func prolongAbsence(of id: String, at now: HostTime) -> [Output] {
    guard let path = running[id]?.folder, let folder = folders[path], folder.absence == .missing,
      let removal = folder.removeAt, let end = lastHold(of: id), end > removal
    else { return [] }
    return announce(.missing, of: path, with: id, until: end, at: now)
  }

  private mutating func remove(_ path: String, at now: HostTime) -> [Output] {
    let id = running.bundle(in: path)
    let folder = folders.remove(path)
    var outputs: [Output] = []
    if let id { outputs += letGo(id, at: now) }
    for known in folder?.remembered ?? [] { outputs += forget(known) }
    return outputs
  }

  /// The daemon has lost this host. The time of missing folders stands still.
  mutating func daemonIsAway(at now: HostTime) -> [Output] {
    guard !isDaemonAway else { return [] }
    isDaemonAway = true
    return announceMissing(at: now)
  }

  /// The daemon has this host, for the first time or again. Bundles need a moment to connect, and
  /// users see the problem only now, so the widgets stay for their whole time.
  mutating func daemonIsBack(at now: HostTime) -> [Output] {
    guard isDaemonAway else { return [] }
    isDaemonAway = false
    return announceMissing(at: now)
  }

  /// Shows the new time for which the widgets of missing folders stay.
  private mutating func announceMissing(at now: HostTime) -> [Output] {
    var outputs: [Output] = []
    for (path, folder) in folders.all where folder.absence == .missing {
      guard let id = running.bundle(in: path) ?? folder.remembered.last?.id else { continue }
      outputs += announce(.missing, of: path, with: id, at: now)
    }
    return outputs.isEmpty ? [] : outputs + standing()
  }

  /// The missing folders whose widgets are removed now.
  func absentFolders(dueAt now: HostTime) -> [String] { folders.due(at: now.uptime) }

  /// Removes the bundles that have been missing for too long.
  mutating func removeAbsent(at now: HostTime) -> [Output] {
    var outputs: [Output] = []
    for path in absentFolders(dueAt: now) {
      let suspicion = folders[path]?.suspicion
      outputs += remove(path, at: now)
      // The mistake is still there, so it is still shown.
      if let suspicion { outputs += found(suspicion, in: path, at: now) }
    }
    return outputs.isEmpty ? [] : outputs + reportAwaitedKinds()
  }

  /// Lets the folder `path` have a bundle whose former folder is missing: somebody has renamed the
  /// folder. The bundle keeps its widgets.
  mutating func leaveAbsent(_ bundle: Bundle, for path: String) -> [Output] {
    var outputs: [Output] = []
    let id = bundle.id
    for (former, folder) in folders.all where former != path && folder.absence != nil {
      guard running.bundle(in: former) == id || folder.remembers(id) else { continue }
      outputs += inherit(folder.remembered, by: bundle)
      folders.remove(former)
      running.move(id, to: path)
    }
    return outputs
  }

  /// The id in the file of a folder has changed. The new bundle takes over what both declare. Other
  /// widgets with values of users stay for a while, stale.
  mutating func rename(
    _ id: String, to new: Bundle, in path: String, at now: HostTime
  ) -> [Output] {
    // Another folder has the same bundle.
    guard !folders.holding(id).contains(where: { $0 != path }) else {
      return letGo(id, at: now)
    }
    return handOver(id, to: new, at: now)
  }

  /// Gives a bundle the kinds and widgets that earlier hosts left behind under other ids.
  mutating func inherit(_ former: [Remembered], by heir: Bundle) -> [Output] {
    var outputs: [Output] = []
    for known in former where known.id != heir.id && running[known.id] == nil {
      removedIDs.insert(known.id)
      knownMarks.removed(known.id)
      formerData.handOver(
        known.settable, of: known.id, to: heir.id, beside: running.provided(by: heir.id))
      // The file that was missing or broken is there.
      let errors = LeftErrors(
        bundle: known.id, path: known.path,
        kinds: known.kinds.subtracting(heir.kinds.map(\.kind.name)), includesOwn: true)
      outputs += [
        .unmark(errors), .handOver(id: known.id, to: heir.id),
        HostState.note(of: known.id, heir: heir.id),
      ]
    }
    return outputs
  }

  private static func note(of id: String, heir: String, hasRun: Bool = true) -> Output {
    .note(
      "bundle \(id) has the id \(heir) now"
        + (hasRun ? "; \(heir) takes over the widgets that both declare" : ""))
  }

  /// Gives a bundle the kinds and widgets of bundles that are missing, if it declares some of them:
  /// somebody has changed the id.
  mutating func inherit(_ heir: Bundle, at now: HostTime) -> [Output] {
    var outputs: [Output] = []
    for (place, folder) in folders.all where folder.absence == .missing {
      guard let id = running.bundle(in: place), id != heir.id, let former = running[id],
        HostState.shares(former.instance.bundle, with: heir)
      else { continue }
      folders.remove(place)
      outputs += handOver(id, to: heir, at: now)
    }
    return outputs
  }

  /// The daemon refuses a bundle because of kinds or widgets of other bundles. If the folder of
  /// another one is missing since the start of this host, and no earlier host ran the refused bundle,
  /// somebody has renamed the folder and changed the id.
  mutating func blocked(_ id: String, by others: Set<String>) -> [Output] {
    guard let current = running[id], formerIDs?.contains(id) == false,
      folders[current.folder]?.absence == nil
    else { return [] }
    let heir = current.instance.bundle
    var outputs: [Output] = []
    for (path, folder) in folders.all
    where folder.absence == .missing && running.bundle(in: path) == nil {
      guard folder.remembered.contains(where: { others.contains($0.id) }) else { continue }
      outputs += inherit(folder.remembered, by: heir)
      folders.remove(path)
    }
    return outputs.isEmpty ? [] : outputs + standing()
  }

  /// Ends a bundle. Another one takes over what both declare.
  private mutating func handOver(_ id: String, to heir: Bundle, at now: HostTime) -> [Output] {
    guard let (ended, outputs) = end(id, replacedBy: heir, at: now) else { return [] }
    let note = HostState.note(of: id, heir: heir.id, hasRun: mayHaveRun(id))
    let unmark = unmark(ended, heir: heir)
    formerData.handOver(
      mayHaveRun(id) ? ended.settable : nil, of: id, to: heir.id,
      beside: running.provided(by: heir.id))
    running.forget(id)
    removedIDs.insert(id)
    knownMarks.removed(id)
    return outputs + [unmark, .handOver(id: id, to: heir.id), note]
  }

  /// Whether two bundles have a kind or a widget in common, and the kinds of common widgets agree.
  private static func shares(_ former: Bundle, with heir: Bundle) -> Bool {
    let common = former.widgets.filter { spec in heir.widgets.contains { $0.id == spec.id } }
    let kinds = Set(former.kinds.map(\.kind.name))
    return common.allSatisfy { spec in
      heir.widgets.contains { $0.id == spec.id && $0.kind == spec.kind }
    } && (!common.isEmpty || heir.kinds.contains { kinds.contains($0.kind.name) })
  }

  /// Whether the file of a bundle is as the installer wrote it.
  func isInstalled(_ id: String) -> Bool {
    running[id].flatMap { folders[$0.folder]?.isInstalled } ?? false
  }

  /// The daemon has widgets of kind `bundle`, perhaps from an earlier host. If the id in a folder's
  /// file has changed since, the bundle in the folder takes over. Those without a folder are
  /// removed with everything that belongs to them.
  ///
  /// - Parameter marks: those of bundles that earlier hosts have removed.
  public mutating func remembered(
    _ bundles: [Remembered], removals marks: [String] = [], at now: HostTime
  ) -> [Output] {
    var outputs: [Output] = []
    knownMarks.restore(marks)
    for known in bundles { knownMarks.add(known.seenMarks ?? [], of: known.id) }
    if formerIDs == nil {
      for known in bundles where known.absence != .removed {
        formerData.remember(known.settable, dropped: known.dropped, of: known.id)
        if running[known.id] == nil {
          formerLosses[known.id] = known.losses
        } else {
          restoreLosses(known.losses, of: known.id)
        }
      }
    }
    note(former: bundles)
    for known in bundles where known.absence != .removed && !removedIDs.contains(known.id) {
      guard lastKinds[known.id] == nil else { continue }
      noteKinds(known.kinds, of: known.id)
    }
    // The removal or the handing over of these goes on.
    let bundles = bundles.filter { !removedIDs.contains($0.id) }.sorted {
      ($0.loaded ?? .epoch, $0.id) < ($1.loaded ?? .epoch, $1.id)
    }
    for known in bundles {
      // The bundle of a folder with a broken file is not known, so use the remembered id.
      guard let folder = folders[known.path], folder.bundle == nil, folder.problem != nil
      else { continue }
      // The log of the last host is not the log of this one.
      if !folder.remembers(known.id) {
        outputs += known.heldRemarks.map { .report("bundle \(known.id): \($0)") }
      }
      folders.remember(known)
    }
    // A folder with a broken file may have any bundle. Other folders count by their bundles, not by
    // their names.
    let unread = folders.all.map(\.folder).filter { $0.bundle == nil }
    for known in bundles where running[known.id] == nil {
      guard !unread.contains(where: { $0.id == known.id || $0.remembers(known.id) }) else {
        continue
      }
      if let folder = folders[known.path], let heir = folder.bundle, running[heir.id] != nil,
        known.absence == nil
      {
        outputs += inherit([known], by: heir)
        continue
      }
      guard let absence = known.absence, absence != .removed,
        folders[known.path].map({ $0.absence != nil }) ?? true
      else {
        outputs += forget(known)
        continue
      }
      folders.remember(known)
      outputs += announce(absence, of: known.path, with: known.id, at: now)
    }
    return outputs + reportAwaitedKinds() + standing()
  }
}
