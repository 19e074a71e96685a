import Testing
import WidgetModel

@testable import WidgetServer

/// The removals that the store keeps for readers that rounds left to later turns.
@Suite struct `Postponed readers` {
  private static let turnsMax = PostponedReaders.turnsMax

  private static func endTurns(
    _ count: Int, of readers: inout PostponedReaders, isLast: Bool = false, removalCount: Int = 0
  ) {
    for _ in 0..<count {
      readers.endTurn(isLast: isLast, removalCount: removalCount, tombstonesMax: 100)
    }
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
    #expect(readers.revision == nil)
  }
}
