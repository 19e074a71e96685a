import WidgetBundle
import WidgetModel

// Watches that fail, because the kernel limits their number. A source would then show the data of its
// last reading for ever, so that is a failure of the source. A source with `every` only notices
// changes later, so the log and the bundle's widget have a remark. A missing socket is retried with the
// backoff anyway.
extension BundleInstance {
  /// A watched file may have changed.
  ///
  /// - Parameter failure: the reason why its next changes can stay unnoticed; nil if they are noticed.
  mutating func watchReports(_ id: WidgetID, _ index: Int, _ failure: Failure? = nil) {
    guard let source = source(id, index), failure == nil || !source.isContinuous else { return }
    let wasLate = lateRemark(id, index) != nil
    sources.set(id, index, watchFailure: failure)
    if !wasLate, let remark = lateRemark(id, index) {
      effects.append(.report("\(place(id, index)): \(remark)"))
    } else if wasLate, failure == nil {
      effects.append(.note("\(place(id, index)) notices changes at once again"))
    }
    fileChanged(id, index)
  }

  /// A line for each source that notices changes late.
  var lateRemarks: [String] {
    guard sources.unwatchedCount > 0 else { return [] }
    return sortedIDs.flatMap { id in
      sources[id].indices.compactMap { index -> String? in
        guard let name = source(id, index)?.name else { return nil }
        return lateRemark(id, index).map { "widget \(id): source \(name): \($0)" }
      }
    }
  }

  private func lateRemark(_ id: WidgetID, _ index: Int) -> String? {
    guard let source = source(id, index), source.interval != nil,
      let failure = state(id, index).watch?.failure
    else { return nil }
    return "the host notices changes only at the times of `every`: \(failure.message)"
  }

  /// The reason why changes of the source's file stay unnoticed; nil if they are noticed.
  func unwatched(_ id: WidgetID, _ index: Int, _ source: Source) -> Failure? {
    source.interval == nil ? state(id, index).watch?.failure : nil
  }

  /// Shows that changes of the source's file stay unnoticed, in place of the result of a reading.
  ///
  /// - Returns: false if they are noticed.
  mutating func showUnwatched(
    _ id: WidgetID, _ index: Int, _ source: Source, _ message: String, isMissing: Bool = false
  ) -> Bool {
    guard let failure = unwatched(id, index, source), let facts = facts(of: id) else {
      return false
    }
    setFailure(
      id, source.name,
      ActionStatus(
        state: .failure, title: title(of: source, id) ?? facts.failureTitle(source.name),
        message: failure.message, code: failure.code),
      cause: state(id, index).isDemanded ? .request : .time)
    if isMissing {
      sources.missed(id, index)
    } else {
      sources.succeeded(id, index, message: message)
    }
    widgets.touch(id)
    return true
  }
}
