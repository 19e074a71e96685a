import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Answers kept for retries.
struct RequestLedgerTests {
  private func makeStore(_ change: (inout StoreLimits) -> Void = { _ in }) -> Store {
    Store(
      limits: .with {
        $0.requestLifetime = .seconds(60)
        change(&$0)
      })
  }

  private func recall(
    _ id: String, uid: UInt32 = 1, fingerprint: UInt64 = 7, at now: RunningTime = .at(0),
    in store: Store
  ) throws -> [UInt8]? {
    try store.recall(requestID: id, of: uid, fingerprint: fingerprint, at: now)
  }

  private func remember(
    _ id: String, uid: UInt32 = 1, response: [UInt8] = [1], at now: RunningTime = .at(0),
    in store: inout Store
  ) {
    store.remember(requestID: id, of: uid, fingerprint: 7, response: response, at: now)
  }

  @Test func `a retry gets the same answer`() throws {
    var store = makeStore()
    #expect(try recall("r", in: store) == nil)
    remember("r", response: [1, 2, 3], in: &store)
    #expect(try recall("r", in: store) == [1, 2, 3])
    #expect(try recall("r", at: .at(59), in: store) == [1, 2, 3])
    store.commitGroup(at: .at(1))
    #expect(try recall("r", in: store) == [1, 2, 3])
  }

  @Test func `another request with the same id is refused`() throws {
    var store = makeStore()
    remember("r", in: &store)
    #expect(throws: StoreError.requestIDReused("r")) {
      try recall("r", fingerprint: 8, in: store)
    }
  }

  @Test func `another user's request with the same id is another request`() throws {
    var store = makeStore()
    remember("r", uid: 1, response: [1], in: &store)
    #expect(try recall("r", uid: 2, fingerprint: 8, in: store) == nil)
    remember("r", uid: 2, response: [2], in: &store)
    #expect(try recall("r", uid: 1, in: store) == [1])
    #expect(try recall("r", uid: 2, in: store) == [2])
  }

  @Test func `ids that only look alike are different`() throws {
    var store = makeStore()
    remember("\u{E9}", response: [1], in: &store)
    #expect(try recall("e\u{301}", fingerprint: 9, in: store) == nil)
    remember("e\u{301}", response: [2], in: &store)
    #expect(try recall("\u{E9}", in: store) == [1])
    #expect(try recall("e\u{301}", in: store) == [2])
  }

  @Test func `an answer expires at its time and not before`() throws {
    var store = makeStore()
    remember("r", at: .at(5), in: &store)
    #expect(store.nextDeadline == .at(65))
    #expect(try recall("r", at: .at(64, nanoseconds: 999_999_999), in: store) != nil)
    #expect(try recall("r", at: .at(65), in: store) == nil)
    #expect(try recall("r", fingerprint: 99, at: .at(65), in: store) == nil)
    store.commitGroup(at: .at(64, nanoseconds: 999_999_999))
    #expect(store.nextDeadline == .at(65))
    store.commitGroup(at: .at(65))
    #expect(store.nextDeadline == nil)
    #expect(try recall("r", at: .at(5), in: store) == nil)
  }

  @Test func `the next deadline is that of the oldest answer`() throws {
    var store = makeStore()
    #expect(store.nextDeadline == nil)
    for second in 1...3 { remember("r\(second)", at: .at(Int64(second)), in: &store) }
    #expect(store.nextDeadline == .at(61))
    store.commitGroup(at: .at(62))
    #expect(store.nextDeadline == .at(63))
    #expect(try recall("r2", at: .at(61), in: store) == nil)
    #expect(try recall("r3", at: .at(62), in: store) != nil)
  }

  @Test func `the oldest answers are evicted when there are too many`() throws {
    var store = makeStore { $0.requestsKeptMax = 2 }
    for second in 1...3 { remember("r\(second)", at: .at(Int64(second)), in: &store) }
    #expect(try recall("r1", in: store) != nil)
    store.commitGroup(at: .at(3))
    #expect(try recall("r1", in: store) == nil)
    #expect(try recall("r2", in: store) != nil)
    #expect(try recall("r3", in: store) != nil)
    store.commitGroup(at: .at(3))
    #expect(try recall("r2", in: store) != nil)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the oldest answers are evicted when they have too many bytes`() throws {
    // An answer costs 128 bytes, its id and itself: here 200.
    var store = makeStore { $0.requestBytesKeptMax = 400 }
    let response = [UInt8](repeating: 0, count: 70)
    for second in 1...2 {
      remember("r\(second)", response: response, at: .at(Int64(second)), in: &store)
    }
    store.commitGroup(at: .at(3))
    #expect(try recall("r1", in: store) != nil)
    remember("r3", response: response, at: .at(3), in: &store)
    store.commitGroup(at: .at(3))
    #expect(try recall("r1", in: store) == nil)
    #expect(try recall("r2", in: store) != nil)
    #expect(store.checkInvariants() == [])
  }

  /// User 1 has two answers, and user 2 goes on and on.
  @Test func `many answers of a user evict only answers of this user`() throws {
    // An answer costs 128 bytes, its id and itself: here 131.
    for (count, bytes) in [(6, 10_000), (100, 6 * 131)] {
      var store = makeStore {
        $0.requestsKeptMax = count
        $0.requestBytesKeptMax = bytes
      }
      for id in ["a1", "a2"] { remember(id, uid: 1, in: &store) }
      for number in 11...50 {
        remember("\(number)", uid: 2, in: &store)
        store.commitGroup(at: .at(0))
      }
      for id in ["a1", "a2"] { #expect(try recall(id, uid: 1, in: store) != nil) }
      let kept = try (11...50).filter { try recall("\($0)", uid: 2, in: store) != nil }
      #expect(kept == [47, 48, 49, 50])
      #expect(store.checkInvariants() == [])
      // Of equal shares, the oldest answer goes.
      for id in ["a3", "a4"] { remember(id, uid: 1, in: &store) }
      store.commitGroup(at: .at(0))
      let ids = store.answers.map(\.requestID)
      #expect(ids == ["a2", "48", "49", "50", "a3", "a4"])
    }
  }

  @Test func `expired answers do not evict others`() throws {
    var store = makeStore { $0.requestsKeptMax = 2 }
    remember("r1", uid: 2, at: .at(1), in: &store)
    for second in [2, 61] { remember("r\(second)", uid: 1, at: .at(Int64(second)), in: &store) }
    store.commitGroup(at: .at(61))
    #expect(store.answers.map(\.requestID) == ["r2", "r61"])
  }

  @Test func `an answer larger than the limit is evicted, and trimming ends`() throws {
    var store = makeStore { $0.requestBytesKeptMax = 10 }
    remember("r", response: [UInt8](repeating: 0, count: 500), in: &store)
    store.commitGroup(at: .at(0))
    #expect(try recall("r", in: store) == nil)
    #expect(store.nextDeadline == nil)
  }

  @Test func `an id whose answer has expired can be used again before it is swept`() throws {
    var store = makeStore { $0.requestBytesKeptMax = 10_000 }
    remember("r", response: [UInt8](repeating: 1, count: 900), at: .at(0), in: &store)
    remember("other", response: [9], at: .at(30), in: &store)
    store.commitGroup(at: .at(30))
    #expect(try recall("r", at: .at(60), in: store) == nil)
    remember("r", response: [2], at: .at(60), in: &store)
    #expect(store.checkInvariants() == [])
    #expect(store.pendingGroup().requests.map(\.response) == [[2]])

    var rolledBack = store
    rolledBack.rollbackGroup()
    #expect(try recall("other", at: .at(60), in: rolledBack) == [9])
    #expect(try recall("r", at: .at(60), in: rolledBack) == nil)
    #expect(try recall("r", at: .at(59), in: rolledBack)?.count == 900)
    #expect(rolledBack.checkInvariants() == [])

    store.commitGroup(at: .at(60))
    #expect(try recall("r", at: .at(119), in: store) == [2])
    #expect(try recall("other", at: .at(61), in: store) == [9])
    #expect(store.nextDeadline == .at(90))
    store.commitGroup(at: .at(120))
    #expect(store.nextDeadline == nil)
    #expect(store.checkInvariants() == [])
  }

  @Test func `answers come back with a restored store, oldest first`() throws {
    var store = makeStore { $0.requestsKeptMax = 2 }
    var image = StoreImage(epoch: 1)
    for second in 1...2 { remember("r\(second)", at: .at(Int64(second)), in: &store) }
    #expect(store.hasPendingGroup)
    image.apply(store.pendingGroup())
    image.requests.reverse()
    var restored = Store(image: image, limits: store.limits, isRevocable: true)
    #expect(restored.nextDeadline == .at(61))
    remember("r3", at: .at(3), in: &restored)
    restored.commitGroup(at: .at(3))
    #expect(try recall("r1", in: restored) == nil)
    #expect(try recall("r2", in: restored) == [1])
  }

  // MARK: - Random histories

  /// The answers in order, and the same rules without any index.
  private struct NaiveLedger {
    var images: [RequestImage] = []

    func last(_ uid: UInt32, _ id: String) -> RequestImage? {
      images.last { $0.uid == uid && $0.requestID == id }
    }

    mutating func expire(at now: RunningTime) { images.removeAll { $0.expires <= now } }

    mutating func trim(countMax: Int, bytesMax: Int) {
      while images.count > countMax { evict { _ in 1 } }
      while images.reduce(0, { $0 + $1.costBytes }) > bytesMax { evict(\.costBytes) }
    }

    /// Evicts the oldest answer of the users with the most.
    private mutating func evict(_ size: (RequestImage) -> Int) {
      var sizes: [UInt32: Int] = [:]
      for image in images { sizes[image.uid, default: 0] += size(image) }
      let most = sizes.values.max()
      guard let index = images.firstIndex(where: { sizes[$0.uid] == most }) else { return }
      images.remove(at: index)
    }
  }

  /// User 1 seldom makes a request, so its answers are the oldest.
  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `after random requests and rollbacks, the same answers are kept as by the plain rules`(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    let countMax = 2 + random.below(12)
    let bytesMax = random.chance(50) ? 100_000 : 131 * (2 + random.below(12))
    var (ledger, naive) = (RequestLedger(), NaiveLedger())
    var hidden: [RequestImage?] = []
    var (now, committed) = (Int64(0), NaiveLedger())
    for step in 0..<200 {
      switch random.below(10) {
      case 0...6:
        now += 1
        let uid: UInt32 = random.chance(8) ? 1 : 2 + UInt32(random.below(2))
        let image = RequestImage(
          uid: uid, requestID: "r\(random.below(20))", fingerprint: random.next(),
          response: [UInt8](repeating: 0, count: random.below(200)), expires: .at(now + 40))
        let replaced = ledger.insert(image)
        #expect(replaced == naive.last(uid, image.requestID), "seed \(seed), step \(step)")
        hidden.append(replaced)
        naive.images.append(image)
      case 7:
        while let replaced = hidden.popLast() { ledger.undoInsert(hiding: replaced) }
        naive = committed
      default:
        ledger.expire(at: .at(now))
        naive.expire(at: .at(now))
        ledger.trim(countMax: countMax, bytesMax: bytesMax)
        naive.trim(countMax: countMax, bytesMax: bytesMax)
        // The holes of evicted answers do not pile up.
        #expect(ledger.queue.count <= 2 * naive.images.count, "seed \(seed), step \(step)")
        hidden = []
        committed = naive
      }
      #expect(ledger.newest(.max) == naive.images, "seed \(seed), step \(step)")
      #expect(ledger.newest(3) == Array(naive.images.suffix(3)), "seed \(seed), step \(step)")
      #expect(ledger.nextDeadline == naive.images.first?.expires, "seed \(seed), step \(step)")
      #expect(ledger.checkInvariants() == [], "seed \(seed), step \(step)")
    }
  }
}
