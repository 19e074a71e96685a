import WidgetBundle
import WidgetModel

// Sources with `whileWatched` are read only while somebody watches their widget.
extension BundleInstance {
  /// Whether somebody watches a widget; true for all if the daemon does not tell.
  func isWatched(_ id: WidgetID) -> Bool { watched?.contains(id) ?? true }

  /// A session was opened. What was known stays until the daemon has told all of it again.
  mutating func beginAudience(isTold: Bool) {
    isAudienceBeginning = isTold
    changeWatched(to: isTold ? watched ?? [] : nil)
  }

  /// Who is watched has changed; the first time in a session, `attached` has all that are.
  mutating func take(attached: [WidgetID], detached: [WidgetID]) {
    let known = isAudienceBeginning ? [] : watched ?? []
    isAudienceBeginning = false
    changeWatched(to: known.union(attached).subtracting(detached))
  }

  private mutating func changeWatched(to next: Set<WidgetID>?) {
    guard next != watched else { return }
    let before = watched
    watched = next
    for id in sortedIDs {
      let wasWatched = before?.contains(id) ?? true
      guard wasWatched != isWatched(id), let sources = facts(of: id)?.kind.sources else { continue }
      for (index, source) in sources.enumerated() where source.isWhileWatched {
        if wasWatched { suspend(id, index) } else { resume(id, index, source) }
      }
    }
  }

  /// Nobody watches the widget of a source that is to be read then only while somebody does.
  mutating func suspend(_ id: WidgetID, _ index: Int) {
    guard let state = widgets[id]?.sources[index] else { return }
    // What was being read was not.
    if state.request != nil { widgets[id]?.sources[index].lastRead = nil }
    widgets[id]?.sources[index].isOn = false
    turnOff(id, index, "nobody watches")
  }

  /// Somebody watches the widget of a source: it is read, unless what it read last is not old yet.
  private mutating func resume(_ id: WidgetID, _ index: Int, _ source: Source) {
    trace(id, .source, source.name, "somebody watches")
    touched.insert(id)
    guard let state = widgets[id]?.sources[index], state.request == nil, !state.isQueued else {
      return
    }
    guard let wait = wait(for: source, state), wait > .zero else {
      return read(id, index, isAsked: true)
    }
    let isOn = (try? moment(id)).flatMap { try? holds(source.condition, $0) } ?? false
    widgets[id]?.sources[index].isOn = isOn
    guard isOn else { return }
    arm(id, index, source)
    if source.interval != nil, !source.isAligned {
      deadlines[.source(id, index)] = now.uptime + wait
    }
  }

  /// How long what a source read is not old yet; nil if it has to be read.
  private func wait(for source: Source, _ state: SourceState) -> Duration? {
    switch source.input {
    // Nobody looked at the file meanwhile, and the program was ended.
    case .file, .command(_, isContinuous: true), .socket: return nil
    case .command, .http, .timer, .constant: break
    }
    guard state.attempts == 0 else { return nil }
    let interval = source.interval.map { max($0, limits.intervalMin) }
    guard let last = state.lastRead else {
      return source.isLoadedAtStart ? nil : interval ?? .seconds(1)
    }
    return interval.map { last + $0 - now.uptime } ?? .seconds(1)
  }
}
