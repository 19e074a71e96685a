import WidgetModel

@testable import WidgetCore

extension Draft {
  /// Adds the mark of a failed reducer to the errors of a widget, or renews it.
  mutating func mark(_ id: WidgetID, _ failure: ReducerFailure) throws(StoreError) {
    let widget = try existing(id, nil)
    var new = widget
    var errors = widget.error?.all ?? []
    var mark = failure.mark
    if let index = errors.firstIndex(where: { error in
      error.reason == "REDUCER_FAILED" && error.message.contains("\"\(failure.event)\"")
        && error.message.contains(" \(failure.key) ")
    }) {
      mark.since = errors[index].since
      errors[index] = mark
    } else {
      let marks = errors.count { $0.reason == "REDUCER_FAILED" }
      guard marks < 8, errors.count <= 32 else { return }
      mark.since = now
      errors.append(mark)
    }
    new.error = WidgetError(joining: errors)
    try store(new, replacing: widget, owners: owners[id])
  }
}
