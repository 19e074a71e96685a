import Testing

@testable import WidgetServer

/// The order of calls about blobs, and their number under way.
@Suite struct BlobQueueTests {
  /// A connection or a call that waits.
  private final class Waiter {}

  private let waiters = (0..<3).map { _ in Waiter() }

  @Test func `a user has one call under way, and users do not wait for each other`() {
    var queue = BlobQueue()
    #expect(!queue.isBusy)
    queue.begin(1, isOwner: false)
    #expect(queue.isBusy)
    #expect(queue.holds(1, isOwner: false))
    #expect(!queue.holds(2, isOwner: false))
    #expect(queue.end(1, isOwner: false) == [])
    #expect(!queue.isBusy)
    #expect(!queue.holds(1, isOwner: false))
  }

  @Test func `the calls of a user go on in the order in which they began to wait`() {
    var queue = BlobQueue()
    var resumed: [Int] = []
    queue.begin(1, isOwner: false)
    for (index, waiter) in waiters.enumerated() {
      queue.wait(waiter, of: 1, isOwner: false) { resumed.append(index) }
    }
    // The first keeps its place, with another closure. The second leaves.
    queue.wait(waiters[0], of: 1, isOwner: false) { resumed.append(10) }
    queue.forget(waiters[1], of: 1)
    let early = queue.next(of: 1) != nil
    #expect(!early)
    #expect(queue.end(1, isOwner: false) == [1])
    while let resume = queue.next(of: 1) { resume() }
    #expect(resumed == [10, 2])
    let left = queue.removeAll().count
    #expect(left == 0)
  }

  @Test func `clients share few places, and owners have a place beside them`() {
    var queue = BlobQueue()
    let count = UInt32(BlobQueue.clientCallsMax)
    for uid in 1...count { queue.begin(uid, isOwner: false) }
    #expect(queue.holds(count + 1, isOwner: false))
    #expect(!queue.holds(0, isOwner: true))
    queue.begin(0, isOwner: true)
    queue.wait(waiters[0], of: count + 1, isOwner: false) {}
    queue.wait(waiters[1], of: 0, isOwner: true) {}
    // The end of an owner's call makes no place for clients.
    #expect(queue.end(0, isOwner: true) == [0])
    let (client, owner) = (queue.next(of: count + 1) != nil, queue.next(of: 0) != nil)
    #expect(!client)
    #expect(owner)
    #expect(queue.end(1, isOwner: false) == [count + 1])
    let later = queue.next(of: count + 1) != nil
    #expect(later)
  }
}
