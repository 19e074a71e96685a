import WidgetBundle
import WidgetModel

// Suspends and resumes sources with `whileWatched`, which are read only while watched.
extension BundleInstance {
  func isWatched(_ id: WidgetID) -> Bool { audience.contains(id) }

  mutating func beginAudience(isTold: Bool) {
    let before = audience
    audience.begin(isTold: isTold)
    audienceChanged(from: before)
  }

  mutating func take(attached: [WidgetID], detached: [WidgetID]) {
    let before = audience
    audience.change(attached: attached, detached: detached)
    audienceChanged(from: before)
  }

  private mutating func audienceChanged(from before: Audience) {
    guard before != audience else { return }
    for id in sortedIDs {
      let wasWatched = before.contains(id)
      guard wasWatched != isWatched(id), let sources = facts(of: id)?.kind.sources else { continue }
      for (index, source) in sources.enumerated() where source.isWhileWatched {
        if wasWatched { suspend(id, index) } else { resume(id, index, source) }
      }
    }
  }

  /// Suspends a source, because its widget is no longer watched.
  mutating func suspend(_ id: WidgetID, _ index: Int) {
    sources.suspend(id, index)
    turnOff(id, index, "no client watches the widget")
  }

  /// Resumes a source, because its widget is watched. Reads it unless the last result is recent.
  private mutating func resume(_ id: WidgetID, _ index: Int, _ source: Source) {
    trace(id, .source, source.name, "is on: a client watches the widget")
    widgets.touch(id)
    guard let state = sources[id, index], state.request == nil, !state.isQueued else {
      return
    }
    guard let wait = wait(for: source, state), wait > .zero else {
      return read(id, index, isAsked: true)
    }
    do throws(Failure) {
      let isOn = try holds(source.condition, try moment(id))
      sources.set(id, index, isOn: isOn)
      guard isOn else { return }
    } catch {
      // The reading shows the failure of the condition.
      return read(id, index, isAsked: true)
    }
    arm(id, index, source)
    if source.interval != nil, !source.isAligned {
      timers.set(.source(id, index), at: now.uptime + wait)
    }
  }

  /// The time that the last result of a source stays recent. Nil if it must be read now.
  private func wait(for source: Source, _ state: SourceState) -> Duration? {
    switch source.input {
    // The file was not watched meanwhile, and the program or connection has ended.
    case .file, .folder, .command(_, isContinuous: true), .socket: return nil
    case .bus(let input) where !input.isCall: return nil
    case .bus, .command, .http, .timer, .constant: break
    }
    guard state.attempts == 0 else { return nil }
    let interval = source.interval.map { max($0, limits.intervalMin) }
    guard let last = state.lastRead else {
      return source.isLoadedAtStart ? nil : interval ?? .seconds(1)
    }
    if source.isAligned, let interval,
      last < now.uptime - BundleInstance.past(now.wall, interval)
    {
      return nil
    }
    return interval.map { last + $0 - now.uptime } ?? .seconds(1)
  }
}
