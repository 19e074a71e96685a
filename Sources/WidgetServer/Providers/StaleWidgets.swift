import NIOCore
import WidgetCore
import WidgetModel

/// Makes the widgets of providers without a session stale.
final class StaleWidgets {
  private let context: ServiceContext
  private var lost = LostProviders()

  init(_ context: ServiceContext) { self.context = context }

  /// The providers whose widgets are not stale yet.
  var lostProviders: Set<String> { lost.abandoned }
  /// Whether widgets are to be made stale, and the store refused the change.
  var waitsForRetry: Bool { lost.waitsForRetry }

  /// Whether the next turn has widgets to make stale.
  var hasMore: Bool {
    !lost.abandoned.isEmpty && !lost.waitsForRetry && context.phase == .serving
  }

  // MARK: - Gone and back

  /// A provider's session is over.
  func lose(_ provider: String) {
    lost.lose(provider)
    context.turn.open()
  }

  func comeBack(_ provider: String) { lost.comeBack(provider) }

  /// Gives the providers of the process before some time to come back.
  func awaitReturns() {
    lost.await(context.store.attendingProviders)
    lookAtAbsent(at: context.startedAt)
  }

  /// Checks whether absent providers have had their time to come back.
  func lookAtAbsent(at instant: NIODeadline) {
    switch lost.lookAtAbsent(at: instant, start: context.startedAt) {
    case .lookAgain(let next): context.schedule(at: next) { self.lookAtAbsent(at: .now()) }
    case .isOver: context.turn.open()
    case nil: break
    }
  }

  // MARK: - In a turn

  /// Makes the widgets of all lost providers stale, as a part of the turn under way.
  ///
  /// A provider that is back is asked for fresh data. Until it answers, its widgets are stale.
  func mark() {
    guard context.phase == .serving else { return }
    commit(lost.takeAll(at: .now()))
  }

  /// Makes a provider's widgets stale before a frame of its next session makes them fresh.
  func mark(before provider: String) {
    guard lost.isLost(provider), context.phase == .serving else { return }
    commit(lost.take([provider]))
  }

  private func commit(_ names: Set<String>) {
    guard !names.isEmpty else { return }
    context.turn.noteOwnChange()
    _ = try? context.commit(
      .abandon(providers: names), by: Caller(uid: 0, pid: 0, client: ""))
  }

  func groupEnded() { lost.groupEnded() }

  /// The turn's group was taken back.
  func groupFailed() {
    guard lost.groupFailed(at: .now()) else { return }
    context.schedule(in: LostProviders.retryPause + .milliseconds(1)) { self.context.turn.open() }
  }

  /// Retries now the changes that the store did not take.
  func retryNow() {
    lost.retryNow()
    context.turn.open()
  }
}
