@testable import WidgetServer

/// Work of one part, which is a closure.
final class ClosureWork: SlicedWork {
  let share = WorkShare(uid: 1)
  let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }

  func work(_ slice: TimeSlice) -> Bool {
    body()
    return false
  }

  func abandon() {}
}
