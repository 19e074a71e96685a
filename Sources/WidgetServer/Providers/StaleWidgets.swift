import NIOCore
import WidgetCore
import WidgetModel

/// Makes the widgets of providers without a session stale, in parts that fit into a turn.
///
/// A provider can have as many widgets as its users. So a turn makes only some of them stale, with its
/// group, and the next turn goes on. If a group fails, its part is repeated after a pause, and begins
/// with a single widget: other changes of the turn must not fail because the part has no room.
final class StaleWidgets {
  private let context: ServiceContext
  private var lost = LostProviders()
  private var retry = RetryPause()
  /// The maximum number of widgets of the next part.
  private var widgetsMax = StaleWidgets.widgetsMax

  /// The maximum number of widgets that one turn makes stale.
  static let widgetsMax = 256
  /// The time that a turn may take for them, without the time to store them.
  static let turnMax = TimeAmount.milliseconds(2)

  init(_ context: ServiceContext) { self.context = context }

  /// The providers whose widgets are not all stale yet.
  var lostProviders: Set<String> { lost.names }
  /// Whether widgets are to be made stale, and the store refused the change.
  var waitsForRetry: Bool { lost.hasMore && retry.isOn }

  /// Whether the next turn has widgets to make stale.
  var hasMore: Bool {
    lost.hasMore && !retry.isOn && !context.pause.isOn && context.phase == .serving
  }

  // MARK: - Gone and back

  /// A provider's session is over.
  func lose(_ provider: String) {
    lost.lose(provider)
    context.turn.open()
  }

  /// A provider has a session again. It is asked for fresh data of all its widgets.
  func comeBack(_ provider: String) {
    lost.comeBack(provider)
    forgetFailures()
  }

  /// Gives the providers of the process before some time to come back. Providers without an attended
  /// kind are not known to have had a session.
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

  /// An owner's call has made a widget fresh, or has called it fresh.
  func spare(_ id: WidgetID) {
    guard lost.hasMore, let kind = context.store.kind(of: id),
      let provider = context.store.provider(of: kind)
    else { return }
    lost.spare(id, of: provider)
  }

  // MARK: - In a turn

  /// Makes some widgets of lost providers stale, as a part of the turn under way.
  func mark() {
    guard lost.hasMore, context.phase == .serving, !context.pause.isOn,
      !retry.holds(at: .now()), var walk = lost.beginPart()
    else { return }
    let result = context.abandon(
      &walk, widgetsMax: widgetsMax, context.work.slice(of: StaleWidgets.turnMax))
    lost.endPart(walk, isChange: result.isChange, hasMore: result.hasMore)
    guard result.isChange else { return }
    context.turn.noteOwnChange()
    context.counters.countCommit()
  }

  /// The turn's group is durable.
  func groupEnded() {
    if lost.groupEnded() {
      retry.succeed()
      widgetsMax = min(widgetsMax * 2, StaleWidgets.widgetsMax)
    }
    forgetFailures()
    // Many rows would make the log longer, so they wait like the changes of calls.
    guard lost.hasMore, context.pause.isOn else { return }
    context.pause.wait(self) { [context] in context.turn.open() }
  }

  /// The turn's group was taken back.
  func groupFailed() {
    guard lost.groupFailed() else { return }
    widgetsMax = 1
    context.schedule(at: retry.fail(at: .now())) { self.context.turn.open() }
  }

  /// Forgets former failures if no widgets are left to be made stale. The next failure is then the
  /// first one.
  private func forgetFailures() {
    guard !lost.hasMore else { return }
    retry.succeed()
    widgetsMax = StaleWidgets.widgetsMax
  }

  /// Retries now the changes that the store did not take.
  func retryNow() {
    guard waitsForRetry else { return }
    retry.end()
    context.turn.open()
  }
}
