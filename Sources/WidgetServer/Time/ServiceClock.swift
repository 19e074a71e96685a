public import WidgetModel
import WidgetTimers

/// The wall clock of a daemon. The daemon reads all its dates here.
///
/// A fake clock stands still until somebody moves it. It is for tests and tutorials. Deadlines,
/// leases and pauses do not use this clock: they are in running time.
///
/// Confined to the event loop after the start.
public final class ServiceClock: @unchecked Sendable {
  private let read: (() -> Timestamp)?
  private var fakeTime: Timestamp

  /// The system's clock.
  public static var real: ServiceClock { ServiceClock(read: { .wallClock() }, fakeTime: .epoch) }

  /// A clock that stands still at a time.
  public static func fake(at time: Timestamp = .fakeStart) -> ServiceClock {
    ServiceClock(read: nil, fakeTime: time)
  }

  private init(read: (() -> Timestamp)?, fakeTime: Timestamp) {
    self.read = read
    self.fakeTime = fakeTime
  }

  var isFake: Bool { read == nil }
  var now: Timestamp { read?() ?? fakeTime }

  /// Moves a fake clock.
  func set(_ time: Timestamp) { fakeTime = time }
}

extension Timestamp {
  /// The start of a fake clock: 2026-01-01T00:00:00Z.
  public static let fakeStart = Timestamp(nanosecondsSinceEpoch: 1_767_225_600_000_000_000)
}
