import WidgetModel
import WidgetProto

/// The events of a provider across its sessions: the delivered ones, and those that the program has
/// handled.
///
/// Invariant: `delivered` is not above `highestSeen`.
struct ProviderEvents {
  private(set) var epoch: UInt64
  /// The program has handled all events up to this one.
  private(set) var acknowledged: UInt64?
  /// The errors of events that will come again.
  private var failures: [UInt64: WidgetError] = [:]
  /// The highest event that came in this session.
  private var delivered: UInt64 = 0
  /// The highest event, or end of a gap, that came in this epoch.
  private var highestSeen: UInt64 = 0
  /// Events of this epoch that were delivered and not acknowledged. An event of an earlier epoch
  /// may have the same number, and must not count as one of these.
  private var handedOut: [UInt64: Event] = [:]

  init(epoch: UInt64, acknowledged: UInt64?) {
    self.epoch = epoch
    self.acknowledged = acknowledged
  }

  // MARK: - Sessions

  mutating func sessionOpened(epoch: UInt64, firstSequence: UInt64) {
    // Numbers of another epoch have no meaning.
    if self.epoch != 0, epoch != self.epoch {
      (acknowledged, failures, handedOut, highestSeen) = (nil, [:], [:], 0)
    }
    self.epoch = epoch
    // Events from now on are wanted, also if the connection is lost before the first
    // acknowledgement.
    if acknowledged == nil, firstSequence > 0 { acknowledged = firstSequence - 1 }
    delivered = 0
  }

  mutating func sessionLost() { delivered = 0 }

  // MARK: - Events in

  enum Arrival {
    /// Deliver the event.
    case new
    /// The program has handled the event: acknowledge it, with this error.
    case known(WidgetError?)
  }

  mutating func receive(_ event: Event) -> Arrival {
    pass(event.sequence)
    let failure = failures.removeValue(forKey: event.sequence)
    guard failure == nil, event.sequence > acknowledged ?? 0 else { return .known(failure) }
    handedOut[event.sequence] = event
    return .new
  }

  /// An event, or a gap up to this event, came.
  mutating func pass(_ sequence: UInt64) {
    delivered = sequence
    highestSeen = max(highestSeen, sequence)
  }

  // MARK: - Acknowledging

  /// The session in which the provider has got an event.
  enum Place {
    /// In no session of this epoch.
    case unknown
    case earlierSession
    case thisSession
  }

  func place(of sequence: UInt64) -> Place {
    guard sequence <= highestSeen else { return .unknown }
    return sequence <= delivered ? .thisSession : .earlierSession
  }

  /// Whether an event of this epoch was delivered, and is not acknowledged.
  func isHandedOut(_ event: Event) -> Bool { handedOut[event.sequence] == event }

  /// The daemon has the acknowledgement of all events up to this one.
  mutating func acknowledge(_ sequence: UInt64) {
    acknowledged = max(sequence, acknowledged ?? 0)
    handedOut = handedOut.filter { $0.key > sequence }
  }

  /// Remembers that an event of an earlier session is handled. The event will come again.
  mutating func keep(_ sequence: UInt64, _ error: WidgetError?) {
    handedOut = handedOut.filter { $0.key > sequence }
    failures[sequence] = error
    let whole = error == nil ? sequence : sequence - min(sequence, 1)
    acknowledged = max(whole, acknowledged ?? 0)
  }
}
