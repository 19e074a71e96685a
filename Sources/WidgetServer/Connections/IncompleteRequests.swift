import NIOCore
public import WidgetProto

/// Counts the bytes of requests that have not arrived completely, and ends requests that take too
/// long to arrive. Otherwise a user could fill the daemon's memory with the beginnings of requests.
///
/// The account of a connection, or of a call over gRPC, holds the bytes of one request at a time.
/// Confined to the event loop.
final class IncompleteRequests {
  private let context: ServiceContext
  private let policy: AccessPolicy
  private var bytesByUID: [UInt32: Int] = [:]
  /// The bytes of clients, and of peers without access.
  private var bytesByLevel: [AccessPolicy.Level: Int] = [:]
  private var waiting: [ObjectIdentifier: IncompleteRequest] = [:]
  private var timer: Scheduled<Void>?
  /// The time of the timer.
  private var nextSearch = NIODeadline.distantFuture
  /// The pass of the loop that had the last search.
  private var searchPass: UInt64?

  /// The minimum time between two searches for late requests.
  private static let searchInterval = TimeAmount.seconds(1)
  /// The maximum time of one search. The next search continues after a pause.
  private static let searchMax = TimeAmount.milliseconds(2)
  private static let pause = TimeAmount.milliseconds(1)

  init(_ context: ServiceContext, _ policy: AccessPolicy) {
    self.context = context
    self.policy = policy
  }

  func account(of peer: Peer) -> IncompleteRequest {
    IncompleteRequest(of: peer.uid, policy.level(of: peer), in: self)
  }

  /// The size of the user's incomplete requests, in bytes.
  func bytes(of uid: UInt32) -> Int { bytesByUID[uid, default: 0] }

  /// Counts the bytes that an account holds now. Returns which limit they exceed; then nothing is
  /// counted for the account.
  fileprivate func hold(
    _ bytes: Int, for account: IncompleteRequest, uncountedMax: Int
  ) -> RPCStatus? {
    let refusal = bytes > account.bytes ? refusal(of: bytes - account.bytes, for: account) : nil
    account.isUncounted = refusal != nil && bytes <= uncountedMax
    set(refusal == nil ? bytes : 0, for: account)
    return account.isUncounted ? nil : refusal
  }

  private func refusal(of added: Int, for account: IncompleteRequest) -> RPCStatus? {
    let limits = context.limits
    let ofLevel = bytesByLevel[account.level, default: 0] + added
    switch account.level {
    case .nothing where ofLevel > limits.incompleteBytesUnauthorizedMax:
      return .quotaExceeded(
        "incomplete_bytes_unauthorized_max", limits.incompleteBytesUnauthorizedMax)
    case .client where ofLevel > limits.incompleteBytesMax:
      return .quotaExceeded("incomplete_bytes_max", limits.incompleteBytesMax)
    case .nothing, .client, .owner: break
    }
    guard bytes(of: account.uid) + added > limits.incompleteBytesPerUIDMax else {
      return nil
    }
    return .quotaExceeded("incomplete_bytes_per_uid_max", limits.incompleteBytesPerUIDMax)
  }

  private func set(_ bytes: Int, for account: IncompleteRequest) {
    let change = bytes - account.bytes
    if change != 0 {
      context.counters.countBytes(change)
      let ofUser = self.bytes(of: account.uid) + change
      bytesByUID[account.uid] = ofUser > 0 ? ofUser : nil
      bytesByLevel[account.level, default: 0] += change
      account.bytes = bytes
    }
    let waits = bytes > 0 || account.isUncounted
    guard waits != account.isWaiting else { return }
    account.isWaiting = waits
    guard waits else { return waiting[ObjectIdentifier(account)] = nil }
    account.deadline = nextDeadline
    waiting[ObjectIdentifier(account)] = account
    // With a limit that was lowered, a request can be due before all earlier ones.
    if account.isTimed,
      max(account.deadline, .now() + IncompleteRequests.searchInterval) < nextSearch
    {
      timer?.cancel()
      timer = nil
    }
    scheduleSearch()
  }

  // MARK: - Requests that are late

  private var nextDeadline: NIODeadline {
    .now() + .milliseconds(Int64(context.limits.requestMilliseconds))
  }

  private func scheduleSearch(after interval: TimeAmount = searchInterval) {
    let deadlines = waiting.values.lazy.filter(\.isTimed).map(\.deadline)
    guard timer == nil, let first = deadlines.min() else { return }
    nextSearch = max(first, .now() + interval)
    timer = context.schedule(at: nextSearch) { [self] in
      timer = nil
      // If other tasks took long, the timer can be due before the loop has read.
      let pass = context.turn.loopPass?()
      guard pass == nil || pass != searchPass else {
        return scheduleSearch(after: IncompleteRequests.pause)
      }
      searchPass = pass
      let isDone = endLate(at: .now())
      scheduleSearch(after: isDone ? IncompleteRequests.searchInterval : IncompleteRequests.pause)
    }
  }

  /// Ends late requests. Returns false if the time of the search was over before the last one.
  private func endLate(at now: NIODeadline) -> Bool {
    let slice = context.work.slice(of: IncompleteRequests.searchMax)
    var count = 0
    for account in Array(waiting.values) where account.isTimed && account.deadline <= now {
      // Each search looks at one late request at least, however busy the machine is.
      guard count == 0 || !slice.isOver else { return false }
      count += 1
      // The daemon may not have processed the rest yet.
      if account.endLate() { _ = account.hold(0) } else { account.deadline = nextDeadline }
    }
    return true
  }

  /// Whether a timer waits for a request to be late.
  var isSearching: Bool { timer != nil }

  func cancelTimer() { timer?.cancel() }
}

/// The bytes of one request that has not arrived completely. Confined to the event loop.
public final class IncompleteRequest {
  fileprivate let uid: UInt32
  fileprivate let level: AccessPolicy.Level
  fileprivate(set) var bytes = 0
  fileprivate var deadline = NIODeadline.distantFuture
  /// Whether bytes stay that no limit counts; see `hold`.
  fileprivate var isUncounted = false
  /// Whether the deadline counts.
  fileprivate var isWaiting = false
  /// Whether the request has to arrive in time. The account of an open conversation only counts its
  /// bytes, and sets no timer.
  public var isTimed = true
  private let all: IncompleteRequests

  /// Ends the request, because it has not arrived within `request_milliseconds`. Returns false if
  /// the daemon itself causes the delay.
  public var endLate: () -> Bool = { true }

  fileprivate init(of uid: UInt32, _ level: AccessPolicy.Level, in all: IncompleteRequests) {
    self.uid = uid
    self.level = level
    self.all = all
  }

  /// Notes how many bytes of the request have arrived; 0 if it is complete or over. Returns the
  /// refusal if a limit forbids to hold them; the caller must then drop them.
  ///
  /// - Parameter uncountedMax: If a limit forbids to hold the bytes, up to so many stay without being
  ///   counted. They have to be complete in time, too.
  public func hold(_ bytes: Int, uncountedMax: Int = 0) -> RPCStatus? {
    guard bytes != self.bytes || isUncounted else { return nil }
    return all.hold(bytes, for: self, uncountedMax: uncountedMax)
  }
}
