import DequeModule
public import WidgetModel

/// Answers to requests that carried a request id, so that a retry gets the first answer again.
///
/// Bounded in number, bytes and time; the oldest answer goes first. All answers live equally long,
/// so the queue is in order of expiry too.
struct RequestLedger {
  private(set) var answers: [Key: RequestImage] = [:]
  private(set) var queue: Deque<Key> = []
  private(set) var bytes = 0

  struct Key: Hashable {
    let uid: UInt32
    let requestID: String
  }

  /// When the oldest answer expires.
  var nextDeadline: Timestamp? { queue.first.flatMap { answers[$0]?.expires } }

  subscript(uid: UInt32, requestID: String) -> RequestImage? {
    answers[Key(uid: uid, requestID: requestID)]
  }

  /// Keeps an answer under an id that has none.
  mutating func insert(_ image: RequestImage) {
    let key = Key(uid: image.uid, requestID: image.requestID)
    guard answers.updateValue(image, forKey: key) == nil else { return }
    queue.append(key)
    bytes += image.costBytes
  }

  /// Takes the last answer back.
  mutating func undoInsert() {
    guard let key = queue.popLast(), let image = answers.removeValue(forKey: key) else { return }
    bytes -= image.costBytes
  }

  /// The newest answers, oldest first.
  func newest(_ count: Int) -> [RequestImage] { queue.suffix(count).compactMap { answers[$0] } }

  mutating func trim(countMax: Int, bytesMax: Int) {
    while queue.count > countMax || bytes > bytesMax { removeFirst() }
  }

  mutating func expire(at now: Timestamp) {
    while let deadline = nextDeadline, deadline <= now { removeFirst() }
  }

  private mutating func removeFirst() {
    guard let key = queue.popFirst(), let image = answers.removeValue(forKey: key) else { return }
    bytes -= image.costBytes
  }
}

/// A kept answer.
public struct RequestImage: Hashable, Sendable {
  /// Whose request it was.
  public var uid: UInt32
  public var requestID: String
  /// Tells the request from another one with the same id. Stable across processes.
  public var fingerprint: UInt64
  /// The encoded answer; the store does not look inside.
  public var response: [UInt8]
  public var expires: Timestamp

  public init(
    uid: UInt32, requestID: String, fingerprint: UInt64, response: [UInt8], expires: Timestamp
  ) {
    self.uid = uid
    self.requestID = requestID
    self.fingerprint = fingerprint
    self.response = response
    self.expires = expires
  }

  var costBytes: Int { 128 + requestID.utf8.count + response.count }
}
