import NIOCore
import NIOEmbedded
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetServer

struct TurnTests {
  private final class Participant: TurnParticipant {
    var flushes = 0
    var whenFlushed: () -> Void = {}

    func flushResponses() {
      flushes += 1
      whenFlushed()
    }

    func discardResponses() {}
  }

  /// A write shows that a peer is gone, which causes answers to others.
  @Test func `a connection that joins while answers are sent sends its answers in the next turn`() {
    let loop = EmbeddedEventLoop()
    let turn = Turn(eventLoop: loop, remembersCalls: false)
    turn.atEnd = {
      turn.sendAnswers()
      turn.close(hasMore: false)
    }
    let (first, second, late) = (Participant(), Participant(), Participant())
    first.whenFlushed = {
      guard late.flushes == 0 else { return }
      turn.join(late)
    }
    turn.join(first)
    turn.join(second)
    loop.run()
    #expect(first.flushes == 1 && second.flushes == 1)
    #expect(late.flushes == 1)
    // The number of turns is finite.
    turn.join(second)
    loop.run()
    #expect(first.flushes == 1 && second.flushes == 2 && late.flushes == 1)
  }

  /// After a boot of the machine, its uptime begins again at zero.
  @Test(arguments: [9_000, 0] as [Int64])
  func `the running time goes on after a restart, and does not follow the clock`(
    uptimeAtRestart: Int64
  ) {
    let loop = EmbeddedEventLoop()
    var uptime = NIODeadline.uptimeNanoseconds(8_000_000_000_000)
    var clock = Timestamp.fakeStart
    func pass(_ turn: Turn, seconds: Int64, clockStep: Int) {
      turn.atEnd = { turn.close(hasMore: false) }
      uptime = uptime + .seconds(seconds)
      clock = clock.advanced(by: .seconds(clockStep))
      turn.open()
      loop.run()
    }
    let first = Turn(
      eventLoop: loop, remembersCalls: false, clock: { clock }, uptime: { uptime })
    pass(first, seconds: 10, clockStep: 86_400)
    #expect(first.runningTime == RunningTime(elapsed: .seconds(10)))
    pass(first, seconds: 10, clockStep: -2 * 86_400)
    #expect(first.runningTime == RunningTime(elapsed: .seconds(20)))
    #expect(first.now == clock)
    uptime = .uptimeNanoseconds(UInt64(uptimeAtRestart) * 1_000_000_000)
    let second = Turn(
      eventLoop: loop, remembersCalls: false, runningTime: first.runningTime, clock: { clock },
      uptime: { uptime })
    #expect(second.runningTime == first.runningTime)
    pass(second, seconds: 5, clockStep: 3_600)
    #expect(second.runningTime == RunningTime(elapsed: .seconds(25)))
  }

  @Test func `work that is left waits until the loop has read, however long its tasks take`() {
    let loop = EmbeddedEventLoop()
    let turn = Turn(eventLoop: loop, remembersCalls: false)
    var (pass, ended) = (UInt64(1), 0)
    turn.loopPass = { pass }
    turn.atEnd = {
      ended += 1
      turn.close(hasMore: ended == 1)
    }
    turn.open()
    loop.run()
    #expect(ended == 1)
    loop.advanceTime(by: .milliseconds(5))
    #expect(ended == 1)
    pass += 1
    loop.advanceTime(by: .milliseconds(5))
    #expect(ended == 2)
  }

  @Test func `a timer that is due in the pass that set it waits until the loop has read`() {
    let loop = EmbeddedEventLoop()
    let turn = Turn(eventLoop: loop, remembersCalls: false)
    var (pass, ended) = (UInt64(1), 0)
    turn.loopPass = { pass }
    turn.atEnd = {
      ended += 1
      turn.close(hasMore: false)
    }
    turn.open(afterPass: 1)
    loop.advanceTime(by: .milliseconds(5))
    #expect(ended == 0)
    pass += 1
    loop.advanceTime(by: .milliseconds(5))
    #expect(ended == 1)
    turn.open(afterPass: 1)
    loop.run()
    #expect(ended == 2)
  }
}
