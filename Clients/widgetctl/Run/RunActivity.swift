import Glibc
import Synchronization
import WidgetClient
import WidgetModel
import WidgetProto
import WidgetTimers

/// The activity of a running command: it follows the command's reports, keeps the widget fresh, and
/// reports the result at the end.
///
/// The activity can neither delay the command nor make it fail. If this process is killed, `RunGuard`
/// makes the widget stale. Without the guard, the widget becomes stale after `staleAfter`. The daemon ends
/// the activity when its lifetime is over.
///
/// A daemon that hangs receives the start later, perhaps after the end of the command. So the start
/// has a short stale time. It is *unconfirmed* until an answer shows that the activity is this one.
actor RunActivity {
  nonisolated let id: WidgetID
  /// The path of the daemon's socket.
  nonisolated var socketPath: String { client.socketPath }
  private let client: WidgetClient
  private let request: StartActivityRequest
  /// Whether nobody else can have this id.
  private let isUnique: Bool
  private var isConfirmed: Bool
  private var spec: WidgetSpec { request.widget }
  private let staleAfter: Duration
  private let dismissal: Activity.Dismissal

  /// The maximum time for which the command waits for the daemon before it starts.
  static let patience = Duration.seconds(2)
  /// The maximum stale time of a start. The first update sets the right time.
  static let startStaleMax = Duration.seconds(10)
  /// The minimum time between two updates.
  private static let pause = Duration.milliseconds(100)
  private static let options = CallOptions(timeout: .seconds(5))

  private init(
    _ id: WidgetID, _ request: StartActivityRequest, isUnique: Bool, isConfirmed: Bool,
    staleAfter: Duration, _ dismissal: Activity.Dismissal, _ client: WidgetClient
  ) {
    self.id = id
    self.request = request
    self.isUnique = isUnique
    self.isConfirmed = isConfirmed
    self.staleAfter = staleAfter
    self.dismissal = dismissal
    self.client = client
  }

  /// Starts the activity. Takes over the id of an earlier command that was killed.
  ///
  /// - Parameter late: Gets the error if the daemon has not answered, and may still start the
  ///   activity.
  static func start(
    _ spec: WidgetSpec, staleAfter: Duration, _ dismissal: Activity.Dismissal,
    _ client: WidgetClient, late: (ClientError) -> Void
  ) async throws(ClientError) -> RunActivity {
    let options = CallOptions(timeout: patience)
    var spec = spec
    let isUnique = spec.id == nil
    let id = spec.id ?? uniqueID()
    spec.id = id
    let request = StartActivityRequest(
      widget: spec, staleAfter: min(staleAfter, startStaleMax),
      requestID: "run-start-\(getpid())-\(Timestamp.wallClock().nanosecondsSinceEpoch)")
    func activity(isConfirmed: Bool, _ request: StartActivityRequest) -> RunActivity {
      RunActivity(
        id, request, isUnique: isUnique, isConfirmed: isConfirmed, staleAfter: staleAfter,
        dismissal, client)
    }
    do throws(ClientError) {
      _ = try await client.startActivity(request, options: options)
      return activity(isConfirmed: true, request)
    } catch {
      switch error {
      case .deadlineExceeded(_, mayBeMade: true), .connectionLost(_, mayBeMade: true):
        late(error)
        return activity(isConfirmed: false, request)
      default: break
      }
      guard error.reason == "WIDGET_EXISTS",
        let left = try? await client.getWidget(GetWidgetRequest(id: id), options: options).widget,
        left.isStale, left.activity?.state == .active
      else { throw error }
      _ = try await client.endActivity(
        EndActivityRequest(id: id, dismissal: .immediate), options: options)
      var again = request
      again.requestID += "-again"
      _ = try await client.startActivity(again, options: options)
      return activity(isConfirmed: true, again)
    }
  }

  private static func uniqueID() -> WidgetID {
    let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    guard let id = WidgetID("run-\(number)") else { preconditionFailure("\(number)") }
    return id
  }

  /// Makes sure that the activity is this one. The daemon answers the same request again, or starts
  /// the activity now.
  private func confirm(_ options: CallOptions) async throws(ClientError) {
    guard !isConfirmed else { return }
    _ = try await client.startActivity(request, options: options)
    isConfirmed = true
  }

  // MARK: - While the command runs

  /// The last report of the command that was not sent yet.
  final class News: Sendable {
    private let latest = Mutex<ProgressLine?>(nil)
    private let post: AsyncStream<Void>.Continuation
    let arrivals: AsyncStream<Void>

    init() {
      (arrivals, post) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ line: ProgressLine) {
      latest.withLock { $0 = $0.map { line.after($0) } ?? line }
      post.yield()
    }

    /// Asks for an update without news.
    func wake() { post.yield() }

    fileprivate func take() -> ValueMap {
      latest.withLock { line in
        defer { line = nil }
        return line?.data ?? [:]
      }
    }
  }

  /// Sends the reports until the task is cancelled.
  func follow(_ news: News) async {
    await withTaskGroup { group in
      group.addTask {
        while (try? await Task.sleep(for: await self.renewal)) != nil { news.wake() }
      }
      // Sets the stale time.
      news.wake()
      for await _ in news.arrivals {
        guard !Task.isCancelled, await update(news.take()) else { break }
        guard (try? await Task.sleep(for: RunActivity.pause)) != nil else { break }
      }
      group.cancelAll()
    }
  }

  private var renewal: Duration {
    (isConfirmed ? staleAfter : min(staleAfter, RunActivity.startStaleMax)) / 3
  }

  /// Returns whether further updates are useful.
  private func update(_ data: ValueMap) async -> Bool {
    do throws(ClientError) {
      try await confirm(RunActivity.options)
      _ = try await client.updateActivity(
        UpdateActivityRequest(id: id, patch: StatePatch(setData: data), staleAfter: staleAfter),
        options: RunActivity.options)
      return true
    } catch {
      // A daemon that restarts comes back. An activity that ended or was removed does not.
      return error.status == nil || error.status?.code == .unavailable
    }
  }

  // MARK: - The end

  /// Reports the result of the command. Retries for a short time if the daemon is away.
  ///
  /// - Returns: the daemon's words if it refused the time for which the outcome stays. The outcome then
  ///   stays for the daemon's maximum.
  func end(_ outcome: String, _ status: String) async throws(ClientError) -> String? {
    var data: ValueMap = ["outcome": .string(outcome)]
    if !status.isEmpty { data["status"] = .string(status) }
    // The last progress and status are obsolete.
    var request = EndActivityRequest(
      id: id, patch: StatePatch(setData: data, unsetData: ["progress", "status"]),
      dismissal: dismissal,
      requestID: "run-\(getpid())-\(Timestamp.wallClock().nanosecondsSinceEpoch)")
    // The daemon has not answered for a while already.
    let options = isConfirmed ? RunActivity.options : CallOptions(timeout: RunActivity.patience)
    // Another activity may have an id that the user chose, and must not be ended.
    if !isUnique { try await confirm(options) }
    var attempts = 5
    var refusal: String?
    while true {
      attempts -= 1
      do throws(ClientError) {
        _ = try await client.endActivity(request, options: options)
        return refusal
      } catch {
        switch error {
        case .status(let answer)
        where refusal == nil && answer.fieldViolations.contains { $0.field == "dismiss_after" }:
          refusal = answer.message
          request.dismissal = .standard
          request.requestID += "-standard"
        case .status(let answer) where answer.errorInfo?.reason == "ACTIVITY_ENDED":
          // The lifetime ended before the command. A new activity shows the outcome.
          try await endAgain(data, request)
          return refusal
        case .status(let answer) where answer.errorInfo?.reason == "WIDGET_NOT_FOUND":
          // Somebody removed the widget, so there is nothing to end.
          return nil
        case .status(let answer) where answer.code != .unavailable: throw error
        // A daemon that hangs must not delay the end of the command.
        case .deadlineExceeded: throw error
        default:
          guard attempts > 0 else { throw error }
          try? await Task.sleep(for: .milliseconds(300))
        }
      }
    }
  }

  private func endAgain(
    _ data: ValueMap, _ request: EndActivityRequest
  ) async throws(ClientError) {
    guard
      let widget = try? await client.getWidget(
        GetWidgetRequest(id: id), options: RunActivity.options
      ).widget, widget.activity?.state == .expired
    else { return }
    var spec = spec
    (spec.id, spec.data) = (id, data)
    _ = try await client.startActivity(
      StartActivityRequest(widget: spec), options: RunActivity.options)
    _ = try await client.endActivity(
      EndActivityRequest(id: id, dismissal: request.dismissal), options: RunActivity.options)
  }
}
