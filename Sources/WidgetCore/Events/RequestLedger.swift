import DequeModule
import WidgetModel

/// Answers to requests with a request id, so that a retry gets the first answer.
///
/// The ledger is bounded in number, bytes and time. Above a bound, it evicts the oldest answer of
/// the user with the most answers or bytes: see `UserShares`. All answers have the same lifetime, so
/// the queue is in order of expiry too.
///
/// An answer that has expired stays until `expire`. If its id is used again before that, the new
/// answer hides the old one. If the new answer is taken back, the old one is valid again.
///
/// Invariants: `answers` holds the last answer of each key in the queue; `shares` has the cost of
/// all in the queue.
struct RequestLedger {
  private(set) var answers: [Key: RequestImage] = [:]
  private(set) var queue: Deque<RequestImage> = []
  private(set) var shares = UserShares()

  struct Key: Hashable {
    let uid: UInt32
    let requestID: String

    static func == (a: Key, b: Key) -> Bool {
      a.uid == b.uid && a.requestID.hasSameBytes(as: b.requestID)
    }
  }

  /// When the oldest answer expires.
  var nextDeadline: RunningTime? { queue.first?.expires }

  subscript(uid: UInt32, requestID: String) -> RequestImage? {
    answers[Key(uid: uid, requestID: requestID)]
  }

  /// Keeps an answer, and replaces an older one with the same id.
  mutating func insert(_ image: RequestImage) {
    answers[image.key] = image
    queue.append(image)
    shares.add(image.costBytes, of: image.uid)
  }

  /// Takes the last answer back. O(answers).
  mutating func undoInsert() {
    guard let image = queue.popLast() else { return }
    shares.remove(image.costBytes, of: image.uid)
    answers[image.key] = queue.last { $0.key == image.key }
  }

  /// The newest answers, oldest first.
  func newest(_ count: Int) -> [RequestImage] { Array(queue.suffix(count)) }

  /// Evicts answers above the limits. O(answers), however many are evicted.
  mutating func trim(countMax: Int, bytesMax: Int) {
    var users = shares.largest(countMax: countMax, bytesMax: bytesMax)
    // In most cases, the oldest answer of all goes.
    while let first = queue.first, users.contains(first.uid) {
      queue.removeFirst()
      forget(first)
      users = shares.largest(countMax: countMax, bytesMax: bytesMax)
    }
    if !users.isEmpty { trim(from: users, countMax: countMax, bytesMax: bytesMax) }
  }

  /// Evicts answers of these users, and then of the next ones, behind answers that stay.
  private mutating func trim(from users: Set<UInt32>, countMax: Int, bytesMax: Int) {
    var users = users
    var positions: [UInt32: ArraySlice<Int>] = [:]
    for (position, image) in queue.enumerated() {
      positions[image.uid, default: []].append(position)
    }
    var stays = [Bool](repeating: true, count: queue.count)
    while let position = users.compactMap({ positions[$0]?.first }).min() {
      let image = queue[position]
      stays[position] = false
      positions[image.uid]?.removeFirst()
      forget(image)
      users = shares.largest(countMax: countMax, bytesMax: bytesMax)
    }
    queue = Deque(zip(queue, stays).lazy.filter(\.1).map(\.0))
  }

  mutating func expire(at now: RunningTime) {
    while let first = queue.first, first.expires <= now {
      queue.removeFirst()
      forget(first)
    }
  }

  private mutating func forget(_ image: RequestImage) {
    shares.remove(image.costBytes, of: image.uid)
    // A newer answer with the same id stays.
    if answers[image.key]?.expires == image.expires { answers[image.key] = nil }
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
