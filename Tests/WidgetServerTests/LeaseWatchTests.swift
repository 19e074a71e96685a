import NIOCore
import Testing

@testable import WidgetServer

/// When somebody who is silent is given up.
struct LeaseWatchTests {
  private let end = NIODeadline.uptimeNanoseconds(15_000_000_000)
  private let moment = LeaseWatch.secondLook

  @Test func `who has time is looked at when it is over`() {
    var watch = LeaseWatch()
    #expect(watch.look(at: end - .nanoseconds(1), end: end) == .lookAgain(at: end))
  }

  @Test func `who is silent is given up at the second look`() {
    var watch = LeaseWatch()
    #expect(watch.look(at: end, end: end) == .lookAgain(at: end + moment))
    #expect(watch.look(at: end + .milliseconds(1), end: end) == .lookAgain(at: end + moment))
    #expect(watch.look(at: end + moment, end: end) == .isOver)
  }

  @Test func `who is heard between the looks has time again, and two looks`() {
    var watch = LeaseWatch()
    _ = watch.look(at: end, end: end)
    let next = end + .seconds(15)
    #expect(watch.look(at: end + moment, end: next) == .lookAgain(at: next))
    #expect(watch.look(at: next, end: next) == .lookAgain(at: next + moment))
  }

  @Test func `a second look that is late does not count, however often`() {
    var watch = LeaseWatch()
    var instant = end + .seconds(17)
    for _ in 0..<5 {
      let next = instant + moment
      #expect(watch.look(at: instant, end: end) == .lookAgain(at: next))
      instant = next + LeaseWatch.lateness
    }
    #expect(
      watch.look(at: instant, end: end) == .lookAgain(at: instant + moment))
    #expect(
      watch.look(at: instant + moment + .milliseconds(49), end: end) == .isOver)
  }
}
