import Testing

@testable import widgetctl

/// When a bar draws, as values: frames and times in, steps out.
@Suite struct DrawPaceTests {
  private let start = ContinuousClock.now
  private let wait = DrawPace.Step.wait(DrawPace.quiet)

  private func drawn(at time: ContinuousClock.Instant) -> DrawPace {
    var pace = DrawPace()
    pace.hasDrawn(from: time, to: time)
    return pace
  }

  @Test func `the first state, and a change after a pause, are drawn at once`() {
    var pace = DrawPace()
    #expect(pace.frame(at: start) == .draw)
    pace.hasDrawn(from: start, to: start)
    #expect(pace.frame(at: start + BarSession.pause) == .draw)
    #expect(pace.timeHasPassed(at: start + .seconds(60)) == .draw)
    #expect(pace.step == .draw)
  }

  @Test func `frames that waited in the stream are drawn once, after the last one`() {
    // The bar did not read for 12 s, so 60 frames wait.
    let end = start + .seconds(12)
    var pace = drawn(at: end)
    for _ in 1...60 { #expect(pace.frame(at: end) == wait) }
    #expect(pace.isWaiting)
    #expect(pace.step == wait)
    // More frames come from the socket.
    #expect(pace.timeHasPassed(at: end) == wait)
    #expect(pace.frame(at: end) == wait)
    #expect(pace.timeHasPassed(at: end) == wait)
    #expect(pace.timeHasPassed(at: end) == .draw)
    pace.hasDrawn(from: end, to: end)
    #expect(!pace.isWaiting)
  }

  @Test func `the socket is read before a drawing even if only one frame has come`() {
    var pace = drawn(at: start)
    #expect(pace.frame(at: start) == wait)
    #expect(pace.timeHasPassed(at: start) == wait)
    #expect(pace.timeHasPassed(at: start) == .draw)
  }

  @Test func `after a long drawing, a frame that comes late has waited, too`() {
    let end = start + .seconds(12)
    var pace = DrawPace()
    pace.hasDrawn(from: start, to: end)
    #expect(pace.frame(at: end + .seconds(11)) == wait)
    pace.hasDrawn(from: start, to: end)
    #expect(pace.frame(at: end + .seconds(12)) == .draw)
  }

  @Test func `frames without end do not stop the drawing`() {
    var pace = drawn(at: start)
    #expect(pace.frame(at: start) == wait)
    let late = start + DrawPace.waitMax
    #expect(pace.frame(at: late) == wait)
    #expect(pace.timeHasPassed(at: late) == .draw)
  }

  @Test func `frames at the pace of the daemon do not wait`() {
    #expect(DrawPace.soon < BarSession.pause)
    #expect(DrawPace.quiet < DrawPace.soon)
    var (pace, now, count) = (DrawPace(), start, 0)
    for _ in 1...10 {
      if pace.frame(at: now) == .draw { count += 1 }
      pace.hasDrawn(from: now, to: now + .milliseconds(20))
      now += BarSession.pause
    }
    #expect(count == 10)
  }
}
