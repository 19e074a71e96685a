import DequeModule
import WidgetModel

/// Answers to requests with a request id, so that a retry gets the first answer.
///
/// The ledger is bounded in number, bytes and time. Above a bound, it evicts the oldest answer of
/// the user with the most answers or bytes: see `UserShares`. All answers have the same lifetime, so
/// the queue is in order of expiry too. An eviction leaves a hole in the queue.
///
/// An answer that has expired stays until `expire`. If its id is used again before that, the new
/// answer hides the old one. If the new answer is taken back, the old one is valid again.
///
/// Invariants: `answers` holds the last answer of each key in the queue; `shares` has the cost of
/// all in the queue; `numbers` has the number of each answer by user, in order; the queue does not
/// begin with a hole.
struct RequestLedger {
  private(set) var answers: [Key: RequestImage] = [:]
  /// The answers, oldest first; nil is a hole. The first one has the number `firstNumber`.
  private(set) var queue: Deque<RequestImage?> = []
  private(set) var firstNumber = 0
  private(set) var numbers: [UInt32: Deque<Int>] = [:]
  private(set) var shares = UserShares()

  struct Key: Hashable {
    let uid: UInt32
    let requestID: String

    static func == (a: Key, b: Key) -> Bool {
      a.uid == b.uid && a.requestID.hasSameBytes(as: b.requestID)
    }
  }

  /// When the oldest answer expires.
  var nextDeadline: RunningTime? { queue.first??.expires }

  subscript(uid: UInt32, requestID: String) -> RequestImage? {
    answers[Key(uid: uid, requestID: requestID)]
  }

  /// Keeps an answer, and hides an older one with the same id. Returns the hidden one.
  @discardableResult
  mutating func insert(_ image: RequestImage) -> RequestImage? {
    let hidden = answers.updateValue(image, forKey: image.key)
    append(image)
    shares.add(image.costBytes, of: image.uid)
    return hidden
  }

  /// Takes the last answer back. `hidden` is the answer that it hides. O(1).
  mutating func undoInsert(hiding hidden: RequestImage?) {
    guard let last = queue.popLast(), let image = last else { return }
    shares.remove(image.costBytes, of: image.uid)
    numbers[image.uid]?.removeLast()
    dropIfEmpty(image.uid)
    answers[image.key] = hidden
  }

  /// The newest answers, oldest first.
  func newest(_ count: Int) -> [RequestImage] {
    var images: [RequestImage] = []
    for place in queue.indices.reversed() {
      guard images.count < count else { break }
      if let image = queue[place] { images.append(image) }
    }
    return images.reversed()
  }

  /// Evicts answers above the limits. O(answers evicted × users), amortised.
  mutating func trim(countMax: Int, bytesMax: Int) {
    while let uid = evictedUser(countMax: countMax, bytesMax: bytesMax) { removeOldest(of: uid) }
    // At least half of the places are holes, so each eviction pays for two places.
    if queue.count > 2 * shares.count { closeHoles() }
  }

  mutating func expire(at now: RunningTime) {
    while let first = queue.first, let image = first, image.expires <= now {
      removeOldest(of: image.uid)
    }
  }

  /// The user with the oldest answer of the users with the most; nil if no limit is exceeded.
  private func evictedUser(countMax: Int, bytesMax: Int) -> UInt32? {
    let users = shares.largest(countMax: countMax, bytesMax: bytesMax)
    return users.min { numbers[$0]?.first ?? .max < numbers[$1]?.first ?? .max }
  }

  private mutating func removeOldest(of uid: UInt32) {
    guard let number = numbers[uid]?.popFirst(), let image = queue[number - firstNumber] else {
      return
    }
    dropIfEmpty(uid)
    queue[number - firstNumber] = nil
    while let first = queue.first, first == nil {
      queue.removeFirst()
      firstNumber += 1
    }
    shares.remove(image.costBytes, of: uid)
    // A newer answer with the same id stays.
    if answers[image.key]?.expires == image.expires { answers[image.key] = nil }
  }

  private mutating func closeHoles() {
    let images = queue.compactMap { $0 }
    queue.removeAll()
    numbers.removeAll()
    for image in images { append(image) }
  }

  private mutating func append(_ image: RequestImage) {
    numbers[image.uid, default: []].append(firstNumber + queue.count)
    queue.append(image)
  }

  private mutating func dropIfEmpty(_ uid: UInt32) {
    if numbers[uid]?.isEmpty == true { numbers[uid] = nil }
  }
}

/// A kept answer.
public struct RequestImage: Hashable, Sendable {
  /// The user who made the request.
  public var uid: UInt32
  public var requestID: String
  /// Differs between two requests with the same id. Stable across processes.
  public var fingerprint: UInt64
  /// The encoded answer; the store does not look inside.
  public var response: [UInt8]
  /// In the store's running time, so a step of the clock changes nothing.
  public var expires: RunningTime

  public init(
    uid: UInt32, requestID: String, fingerprint: UInt64, response: [UInt8], expires: RunningTime
  ) {
    self.uid = uid
    self.requestID = requestID
    self.fingerprint = fingerprint
    self.response = response
    self.expires = expires
  }

  var key: RequestLedger.Key { RequestLedger.Key(uid: uid, requestID: requestID) }

  var costBytes: Int { 128 + requestID.utf8.count + response.count }
}
