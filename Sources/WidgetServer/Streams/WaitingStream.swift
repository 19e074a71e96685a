import WidgetModel
import WidgetProto

/// A stream whose request is decoded, and that is not open yet.
///
/// Confined to the event loop.
struct WaitingStream {
  /// Opens a stream whose request is decoded. Call when the turn's group is durable.
  typealias Begin = () throws(RPCStatus) -> any ServedStream

  private let reservation: StreamReservation
  private let begin: Begin

  /// A connection's further requests wait while this many of its streams wait. To open a stream can
  /// take long.
  static let countMax = 16

  init(_ reservation: StreamReservation, begin: @escaping Begin) {
    self.reservation = reservation
    self.begin = begin
  }

  /// Opens the stream. From now on, it counts as an open one.
  func open() throws(RPCStatus) -> any ServedStream {
    reservation.release()
    return try begin()
  }

  /// Stops counting a stream that is not opened.
  func drop() { reservation.release() }
}

/// The place of a stream that is not open yet, in the accounts of its user.
///
/// The daemon reads requests faster than it opens their streams. So a waiting stream counts like an
/// open one, with the memory of its request. Otherwise waiting requests could fill the memory, and
/// the limits for streams would refuse them only after their wait.
///
/// Confined to the event loop.
final class StreamReservation {
  private let context: ServiceContext
  private let uid: UInt32
  private let level: AccessPolicy.Level
  private let bytes: Int
  private var isReleased = false

  /// Throws if the user may have no further stream.
  ///
  /// - Parameter bytes: The memory of the request.
  init(
    of peer: Peer, _ level: AccessPolicy.Level, bytes: Int, in context: ServiceContext
  ) throws(RPCStatus) {
    try context.reserveStream(of: peer, level, bytes: bytes)
    self.context = context
    self.level = level
    self.bytes = bytes
    uid = peer.uid
  }

  /// Ends the reservation, if it has not ended.
  func release() {
    guard !isReleased else { return }
    isReleased = true
    context.releaseStream(of: uid, level, bytes: bytes)
  }
}

extension WatchGroup.Filter {
  init(_ request: WatchWidgetsRequest) {
    self = .widgets(
      request.selector, request.readMask, includesEvents: request.includeEvents,
      contentFamily: request.contentFamily, upcomingEntries: request.upcomingEntries,
      isRedacted: request.isRedacted)
  }

  init(_ request: WatchEventsRequest) {
    self = .events(request.selector, names: request.names)
  }

  /// The memory of the terms with the set of ids, and of the expression's text.
  var decodedBytes: Int { termBytes + selector.idSetBytes + selector.expression.utf8.count }
}
