import WidgetBundle
import WidgetModel

/// The snapshots that the daemon waits for: previews of bundles that read their sources.
///
/// A value without I/O. A preview ends when each of its sources has given a result, or when one has
/// failed, or after `HostLimits.snapshotTimeout`. Several previews do not disturb each other.
struct Previews: Sendable {
  enum Output: Sendable {
    case effect(Effect)
    /// The data of the preview, or the reason of its failure.
    case answer(SnapshotQuestion, of: UInt64, SessionID, Result<ValueMap, Failure>)
  }

  private struct Preview {
    let question: SnapshotQuestion
    let session: SessionID
    /// The generation of the bundle that was asked.
    let asked: UInt64
    var instance: BundleInstance
    let end: Duration
    /// The requests that adapters carry out.
    var requests: Set<RequestID> = []
    /// The requests of continuous sources that have given a result.
    var heard: Set<RequestID> = []
    /// The revision of the widget.
    var revision: Revision = 0
  }

  private let limits: HostLimits
  /// By the generation of the preview.
  private var previews: [UInt64: Preview] = [:]
  /// The number of questions that callers who are not owners may still ask, by their users.
  private var allowance: FairAllowance<UInt32>

  init(_ limits: HostLimits) {
    self.limits = limits
    allowance = FairAllowance(
      burst: limits.snapshotsBurst, perSecond: limits.snapshotsPerSecond,
      fullShares: limits.snapshotsUsersMax)
  }

  /// Whether a generation is that of a preview.
  func has(_ generation: UInt64) -> Bool { previews[generation] != nil }

  var nextDeadline: Duration? {
    previews.values.map { min($0.end, $0.instance.nextDeadline ?? $0.end) }.min()
  }

  /// Begins a preview.
  ///
  /// - Parameters:
  ///   - session: the session of the bundle in which the daemon asks.
  ///   - bundle: the running bundle that was asked.
  ///   - instance: an instance of it for the preview.
  mutating func begin(
    _ question: SnapshotQuestion, in session: SessionID, of bundle: BundleInstance,
    _ instance: BundleInstance,
    at now: HostTime
  ) -> [Output] {
    do throws(Failure) {
      guard let widget = instance.previewWidget(for: question) else {
        throw Failure("NOT_FOUND", "the bundle has no kind \"\(question.kind)\"")
      }
      // A part of the room is reserved for owners.
      let max = question.isOwner ? limits.snapshotsMax : limits.snapshotsMax / 2
      guard previews.count < max, question.isOwner || hasRoom(for: question.uid) else {
        throw Failure("RESOURCE_EXHAUSTED", "too many snapshots are being made; try again")
      }
      if !question.isOwner {
        guard bundle.knows(question.parameters, of: question.kind) else {
          throw Failure(
            "PERMISSION_DENIED",
            "only owners may use parameters that no widget of the kind has; use the parameters of "
              + "a widget")
        }
        allowance.refill(at: now.uptime)
        guard allowance.takeOne(by: question.uid) else {
          throw Failure("RESOURCE_EXHAUSTED", "too many snapshots were made; try again later")
        }
      }
      let generation = instance.generation
      previews[generation] = Preview(
        question: question, session: session, asked: bundle.generation, instance: instance,
        end: now.uptime + limits.snapshotTimeout)
      return handle(.snapshot([widget]), generation: generation, at: now)
    } catch {
      return [.answer(question, of: bundle.generation, session, .failure(error))]
    }
  }

  /// Whether a user who is no owner can have another preview. A part of the room stays free for other
  /// users.
  private func hasRoom(for uid: UInt32) -> Bool {
    let count = previews.values.count { !$0.question.isOwner && $0.question.uid == uid }
    return count < max(1, limits.snapshotsMax / 4)
  }

  /// Something happened to a preview.
  mutating func handle(_ input: BundleInput, generation: UInt64, at now: HostTime) -> [Output] {
    guard var preview = previews[generation] else { return [] }
    switch input {
    case .line(let request, _), .value(let request, _), .absent(let request, _):
      preview.heard.insert(request)
    default: break
    }
    var outputs: [Output] = []
    var inputs = [input]
    while let input = inputs.popLast() {
      for effect in preview.instance.handle(input, at: now) {
        switch effect {
        case .patch(let request, _, _):
          // No other client has the widget, so each change is made at once.
          preview.revision += 1
          inputs.append(.sent(request, preview.revision))
        case .readFile(let request, _), .readFolder(let request, _), .run(let request, _),
          .web(let request, _), .connect(let request, _), .bus(let request, _):
          preview.requests.insert(request)
          outputs.append(.effect(effect))
        case .cancel(let request):
          if preview.requests.contains(request) { outputs.append(.effect(effect)) }
        case .watchFile, .presence, .send, .lead, .unlead, .fetchWidget, .acknowledge, .answer,
          .tellSocket, .trace, .report, .note:
          break
        }
      }
    }
    previews[generation] = preview
    guard
      !preview.instance.failures.isEmpty || !preview.instance.isReading(besides: preview.heard)
    else { return outputs }
    return outputs + end(generation, result(of: preview.instance))
  }

  /// Time has passed.
  mutating func tick(at now: HostTime) -> [Output] {
    var outputs: [Output] = []
    for generation in previews.keys.sorted() {
      guard let preview = previews[generation] else { continue }
      if preview.end <= now.uptime {
        let failure = Failure("DEADLINE_EXCEEDED", "a source has given no result in time")
        outputs += end(generation, .failure(failure))
      } else if let deadline = preview.instance.nextDeadline, deadline <= now.uptime {
        outputs += handle(.tick, generation: generation, at: now)
      }
    }
    return outputs
  }

  /// Ends all previews.
  mutating func stop() -> [Output] {
    previews.keys.sorted().flatMap {
      end($0, .failure(Failure("ABORTED", "widgetd-host ends")))
    }
  }

  private mutating func end(
    _ generation: UInt64, _ result: Result<ValueMap, Failure>
  ) -> [Output] {
    guard var preview = previews.removeValue(forKey: generation) else { return [] }
    let cancelled = preview.instance.stop().filter { effect in
      if case .cancel(let request) = effect { preview.requests.contains(request) } else { false }
    }
    return cancelled.map { .effect($0) } + [
      .answer(preview.question, of: preview.asked, preview.session, result)
    ]
  }

  private func result(of instance: BundleInstance) -> Result<ValueMap, Failure> {
    if let failure = instance.failures.last {
      let words = [failure.title, failure.message].filter { !$0.isEmpty }.joined(separator: ": ")
      return .failure(Failure(failure.code, words))
    }
    let data = BundleInstance.previewID.flatMap { instance.widgets[$0]?.view.data }
    return .success(data ?? [:])
  }
}
