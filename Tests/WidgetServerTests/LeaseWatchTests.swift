import NIOCore
import Testing

@testable import WidgetServer

/// The end of a silent provider's lease.
struct LeaseWatchTests {
  private let end = NIODeadline.uptimeNanoseconds(15_000_000_000)
  private let moment = LeaseWatch.secondLook

  @Test func `a provider is checked when its lease ends`() {
    var watch = LeaseWatch()
    #expect(watch.look(at: end - .nanoseconds(1), end: end) == .lookAgain(at: end))
  }

  @Test func `a silent provider is lost at the second check, not at the first`() {
    var watch = LeaseWatch()
    #expect(watch.look(at: end, end: end) == .lookAgain(at: end + moment))
    #expect(watch.look(at: end + .milliseconds(1), end: end) == .lookAgain(at: end + moment))
    #expect(watch.look(at: end + moment, end: end) == .isOver)
  }

  @Test func `a provider that is heard between the checks gets a new lease and two checks`() {
    var watch = LeaseWatch()
    _ = watch.look(at: end, end: end)
    let next = end + .seconds(15)
    #expect(watch.look(at: end + moment, end: next) == .lookAgain(at: next))
    #expect(watch.look(at: next, end: next) == .lookAgain(at: next + moment))
  }

  @Test func `a late second check is repeated before a provider counts as silent`() {
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

  @Test func `a silent provider of a daemon that is always busy is lost in the end`() {
    var watch = LeaseWatch()
    var instant = end
    for _ in 0...LeaseWatch.lateLooksMax {
      let next = instant + moment
      #expect(watch.look(at: instant, end: end) == .lookAgain(at: next))
      instant = next + .seconds(1)
    }
    #expect(watch.look(at: instant, end: end) == .isOver)
  }
}
