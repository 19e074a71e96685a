import NIOCore
import WidgetModel

/// The lease of a session: the time that its provider may be silent.
struct Lease {
  /// The maximum time without a message from the provider.
  private(set) var duration: Duration
  private var heardAt: NIODeadline
  private var watch = LeaseWatch()

  static let durationDefault = Duration.seconds(15)
  static let durations = Duration.seconds(1)...Duration.seconds(300)

  init(from instant: NIODeadline) {
    duration = Lease.durationDefault
    heardAt = instant
  }

  /// The end of the lease, without another message.
  var end: NIODeadline { heardAt + length }

  var length: TimeAmount { .nanoseconds(duration.nanoseconds) }

  mutating func heard(at instant: NIODeadline) { heardAt = instant }

  mutating func take(_ duration: Duration) { self.duration = duration }

  /// Checks whether the lease is over.
  mutating func look(at instant: NIODeadline) -> LeaseWatch.Verdict {
    watch.look(at: instant, end: end)
  }
}
