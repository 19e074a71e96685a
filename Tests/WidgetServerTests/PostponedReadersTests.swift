import NIOCore
import Testing
import WidgetModel

@testable import WidgetServer

/// The removals that the store keeps for readers that rounds left to later turns.
@Suite struct `Postponed readers` {
  private static let turnsMax = PostponedReaders.turnsMax

  private static func endTurns(
    _ count: Int, of readers: inout PostponedReaders, isLast: Bool = false, at seconds: Int64 = 0,
    removalCount: Int = 0
  ) {
    for _ in 0..<count {
      readers.endTurn(
        isLast: isLast, at: at(seconds), removalCount: removalCount, tombstonesMax: 100)
    }
  }

  private static func at(_ seconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(0) + .seconds(seconds)
  }

  @Test func `are protected until all were served`() {
    var readers = PostponedReaders()
    #expect(readers.revision == nil)
    readers.postpone(at: 5, removalCount: 0)
    readers.postpone(at: 7, removalCount: 0)
    Self.endTurns(1, of: &readers)
    #expect(readers.revision == 5)
    Self.endTurns(1, of: &readers, isLast: true)
    #expect(readers.revision == nil)
  }

  @Test func `are protected for a number of turns that later readers do not prolong`() {
    var readers = PostponedReaders()
    readers.postpone(at: 5, removalCount: 0)
    Self.endTurns(Self.turnsMax, of: &readers)
    #expect(readers.revision == 5)
    Self.endTurns(1, of: &readers)
    #expect(readers.revision == nil)
  }

  @Test func `that come while others wait have as many turns, also if they come last`() {
    var readers = PostponedReaders()
    readers.postpone(at: 5, removalCount: 0)
    Self.endTurns(Self.turnsMax, of: &readers)
    readers.postpone(at: 9, removalCount: 0)
    readers.postpone(at: 12, removalCount: 0)
    Self.endTurns(1, of: &readers)
    #expect(readers.revision == 9)
    Self.endTurns(Self.turnsMax, of: &readers)
    #expect(readers.revision == 9)
    Self.endTurns(1, of: &readers)
    #expect(readers.revision == nil)
  }

  @Test func `do not keep removals without a bound`() {
    var readers = PostponedReaders()
    let maximum = 100 * PostponedReaders.removalsFactor
    // The removals of the command before the round do not count.
    readers.postpone(at: 5, removalCount: 10_000)
    Self.endTurns(1, of: &readers, removalCount: 10_000 + maximum)
    #expect(readers.revision == 5)
    readers.postpone(at: 9, removalCount: 10_000 + maximum)
    Self.endTurns(1, of: &readers, removalCount: 10_100 + maximum)
    // The next generation has as much room.
    #expect(readers.revision == 9)
    Self.endTurns(1, of: &readers, removalCount: 10_100 + 2 * maximum)
    #expect(readers.revision == 9)
    Self.endTurns(1, of: &readers, removalCount: 10_200 + 2 * maximum)
    #expect(readers.revision == nil)
  }

  @Test func `with a delay are protected until they are served after its end`() {
    var readers = PostponedReaders()
    readers.postpone(at: 5, removalCount: 0, delayedUntil: Self.at(10))
    Self.endTurns(2 * Self.turnsMax, of: &readers, isLast: true, at: 9)
    #expect(readers.revision == 5)
    // Another turn can come before the readers become ready.
    Self.endTurns(1, of: &readers, isLast: true, at: 10)
    #expect(readers.revision == 5)
    Self.endTurns(2, of: &readers, at: 10)
    #expect(readers.revision == 5)
    Self.endTurns(1, of: &readers, isLast: true, at: 10)
    #expect(readers.revision == nil)
  }

  @Test func `with a delay are protected for a number of turns after its end`() {
    var readers = PostponedReaders()
    readers.postpone(at: 5, removalCount: 0, delayedUntil: Self.at(10))
    Self.endTurns(2 * Self.turnsMax, of: &readers, at: 9)
    Self.endTurns(1 + Self.turnsMax, of: &readers, at: 10)
    #expect(readers.revision == 5)
    Self.endTurns(1, of: &readers, at: 10)
    #expect(readers.revision == nil)
  }

  @Test func `that are further behind are protected at once`() {
    var readers = PostponedReaders()
    readers.postpone(at: 9, removalCount: 0)
    readers.postpone(at: 12, removalCount: 0)
    readers.postpone(at: 7, removalCount: 0, delayedUntil: Self.at(10))
    #expect(readers.revision == 7)
    Self.endTurns(1, of: &readers, isLast: true, at: 9)
    #expect(readers.revision == 7)
  }

  @Test func `with a later delay do not prolong that of others`() {
    var readers = PostponedReaders()
    readers.postpone(at: 5, removalCount: 0, delayedUntil: Self.at(10))
    for second in 1..<20 as Range<Int64> {
      readers.postpone(
        at: Revision(5 + second), removalCount: 0, delayedUntil: Self.at(second + 10))
      Self.endTurns(1, of: &readers, isLast: true, at: second)
    }
    #expect(readers.revision == 6)
    // The end of the delay, and the turn in which the readers are served, for two generations.
    Self.endTurns(4, of: &readers, isLast: true, at: 40)
    #expect(readers.revision == nil)
  }

  @Test func `with a delay keep no more removals than the store remembers`() {
    var readers = PostponedReaders()
    readers.postpone(at: 5, removalCount: 0, delayedUntil: Self.at(10))
    Self.endTurns(1, of: &readers, isLast: true, removalCount: 100)
    #expect(readers.revision == 5)
    Self.endTurns(1, of: &readers, isLast: true, removalCount: 101)
    #expect(readers.revision == nil)
  }
}
