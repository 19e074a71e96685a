import NIOCore
import WidgetProto

/// grpc.health.v1: whether the daemon can be used, and the streams that report it.
final class HealthWatches {
  /// The services with a health; the empty name is the daemon as a whole.
  static let services =
    [""] + RPCMethod.Service.allCases.filter { $0 != .health }.map { "\($0.name)" }
    + [HealthCheckRequest.store]
  /// A stream keeps at most this many bytes of the name of its service. All names of services are
  /// shorter, so the beginning of a longer name is unknown, too.
  static let serviceBytesMax = 128

  private let context: ServiceContext
  private let storage: StorageHealth
  private var users: [UInt32: User] = [:]
  /// Each state, encoded once for all its readers.
  private var encoded: [HealthCheckResponse: EncodedMessage] = [:]

  /// The streams of one user. All of them are current, so a round visits each of them once, although
  /// streams come and go meanwhile.
  private struct User {
    var watches = RoundMembers<HealthWatch>()
    /// Whether a round is under way: the streams are told a changed state.
    var isInRound = false
    /// Whether the state has changed since the round began, so that another round follows. If the
    /// round began again at each change, changes in quick succession would keep it from the last
    /// streams.
    var isOutdated = false
  }

  init(_ context: ServiceContext, _ storage: StorageHealth) {
    self.context = context
    self.storage = storage
  }

  var isEmpty: Bool { users.isEmpty }
  /// The highest number of bytes of a watch's service.
  var longestService: Int { all.map(\.service.utf8.count).max() ?? 0 }
  private var all: [HealthWatch] { users.values.flatMap(\.watches.all) }

  private func state(of service: String) -> HealthCheckResponse {
    let works =
      service == HealthCheckRequest.store ? storage.failure == nil : !storage.isRemoved
    return HealthCheckResponse(status: context.phase == .serving && works ? .serving : .notServing)
  }

  // MARK: - Calls

  func check(_ request: HealthCheckRequest) throws(RPCStatus) -> HealthCheckResponse {
    // Swift compares texts by characters, which takes seconds for a long text of combining marks.
    guard request.service.utf8.count <= 128, HealthWatches.services.contains(request.service) else {
      throw RPCStatus(
        .notFound, "SERVICE_UNKNOWN", "There is no service \"\(request.service)\" here.",
        metadata: ["service": request.service])
    }
    return state(of: request.service)
  }

  func list() -> HealthListResponse {
    HealthListResponse(
      statuses: Dictionary(uniqueKeysWithValues: HealthWatches.services.map { ($0, state(of: $0)) })
    )
  }

  // MARK: - Streams

  /// Opens a stream of the state of a service. The protocol requires a stream for unknown services,
  /// too.
  func open(
    _ request: HealthCheckRequest, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level
  ) throws(RPCStatus) -> HealthWatch {
    let watch = try add(request, sink: sink, peer: peer, level: level)
    tell(watch)
    return watch
  }

  private func add(
    _ request: HealthCheckRequest, sink: any StreamSink, peer: Peer, level: AccessPolicy.Level,
    isTakenOver: Bool = false
  ) throws(RPCStatus) -> HealthWatch {
    try context.openStream(of: peer, level, isTakenOver: isTakenOver)
    var service = request.service
    if service.utf8.count > HealthWatches.serviceBytesMax {
      service = String(
        decoding: service.utf8.prefix(HealthWatches.serviceBytesMax), as: UTF8.self)
    }
    let watch = HealthWatch(
      sink: sink, uid: peer.uid, level: level, service: service, watches: self)
    users[peer.uid, default: User()].watches.add(watch)
    users[peer.uid]?.watches.makeCurrent(watch)
    return watch
  }

  /// Continues a stream of the former process. Its reader knows the state that this process has
  /// told, and the present state can be another one.
  func continueWatch(
    _ request: HealthCheckRequest, of handed: HandedStream, sink: any StreamSink, peer: Peer,
    level: AccessPolicy.Level
  ) throws(RPCStatus) -> HealthWatch {
    let watch = try add(request, sink: sink, peer: peer, level: level, isTakenOver: true)
    if !watch.isKnown {
      watch.told = HealthCheckResponse(status: .serviceUnknown)
    } else if !handed.lacksStore {
      watch.told = HealthCheckResponse(status: .serving)
    }
    if context.phase == .serving { tell(watch) }
    return watch
  }

  /// Sends the changed state to all readers in slices of their users' time, unless the next process
  /// does it. A reader gets the state at the time of its slice, if it does not know it yet.
  func tellAll() {
    guard context.phase == .serving else { return }
    for uid in Array(users.keys) {
      if users[uid]?.isInRound == true {
        users[uid]?.isOutdated = true
      } else {
        beginRound(of: uid)
      }
    }
  }

  private func beginRound(of uid: UInt32) {
    users[uid]?.watches.beginRound()
    users[uid]?.isInRound = true
    users[uid]?.isOutdated = false
    tellNextLater(of: uid)
  }

  private func tellNextLater(of uid: UInt32) {
    context.upkeep.add(of: uid) { [weak self] in self?.tellNext(of: uid) }
  }

  private func tellNext(of uid: UInt32) {
    guard context.phase == .serving, users[uid]?.isInRound == true else { return }
    if let watch = users[uid]?.watches.next() {
      if watch.isKnown { tell(watch) }
      tellNextLater(of: uid)
    } else if users[uid]?.isOutdated == true {
      beginRound(of: uid)
    } else {
      users[uid]?.isInRound = false
    }
  }

  private func tell(_ watch: HealthWatch) {
    let response =
      watch.isKnown ? state(of: watch.service) : HealthCheckResponse(status: .serviceUnknown)
    guard watch.told != response else { return }
    watch.told = response
    if let message = message(response) { watch.sink.send(message) }
  }

  private func message(_ response: HealthCheckResponse) -> EncodedMessage? {
    if let known = encoded[response] { return known }
    let message = context.encode(response)
    encoded[response] = message
    return message
  }

  /// Forgets a stream. Returns false if it has ended before.
  @discardableResult
  fileprivate func forget(_ watch: HealthWatch) -> Bool {
    guard watch.isOpen else { return false }
    watch.isOpen = false
    users[watch.uid]?.watches.remove(watch)
    if users[watch.uid]?.watches.isEmpty == true { users[watch.uid] = nil }
    watch.cancelDeadline()
    context.closeStream(of: watch.uid, watch.level)
    return true
  }

  /// Tells health watchers that the daemon shuts down, and ends their streams.
  ///
  /// - Parameter ending: Ends them in slices of their users' time. nil to end them at once.
  func endAll(
    in ending: StreamEnding? = nil, where isMeant: (HealthWatch) -> Bool = { _ in true }
  ) {
    let meant = all.filter(isMeant)
    if let ending {
      ending.add(meant, of: { $0.uid }) { [self] in end($0) }
    } else {
      for watch in meant { end(watch) }
    }
  }

  private func end(_ watch: HealthWatch) {
    guard watch.isOpen else { return }
    if watch.isKnown { tell(watch) }
    watch.finish(.shuttingDown)
  }

  /// Stops the timers of all streams that are left, because the loop cannot be used any more.
  func cancelTimers() { for watch in all { watch.cancelDeadline() } }
}

/// An open stream of the state of a service.
final class HealthWatch: ServedStream, RoundMember {
  let sink: any StreamSink
  let uid: UInt32
  let level: AccessPolicy.Level
  /// The name of the service, or the beginning of a longer name.
  let service: String
  /// The index among the streams of its user.
  var place = 0
  /// Whether the stream has not ended.
  fileprivate var isOpen = true
  /// Whether its service exists.
  let isKnown: Bool
  /// The state that the reader knows.
  fileprivate var told: HealthCheckResponse?
  private unowned let watches: HealthWatches
  private var deadline: StreamDeadline?

  init(
    sink: any StreamSink, uid: UInt32, level: AccessPolicy.Level, service: String,
    watches: HealthWatches
  ) {
    self.sink = sink
    self.uid = uid
    self.level = level
    self.service = service
    self.watches = watches
    isKnown = HealthWatches.services.contains(service)
  }

  /// No output waits, because each state is sent at once.
  func becameWritable() {}

  func end(at deadline: StreamDeadline) { self.deadline = deadline }
  func cancelDeadline() { deadline?.cancel() }
  func forget() { watches.forget(self) }

  func finish(_ status: RPCStatus?) {
    if watches.forget(self) { sink.finish(status) }
  }

  func handOver(streamID: UInt32) -> HandedStream {
    HandedStream(
      streamID: streamID, request: .health(HealthCheckRequest(service: service)),
      timeoutNanoseconds: deadline?.remainingNanoseconds ?? 0,
      lacksStore: told?.status != .serving)
  }
}
