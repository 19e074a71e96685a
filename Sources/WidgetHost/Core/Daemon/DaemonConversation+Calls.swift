import WidgetBundle
import WidgetClient
import WidgetModel

// The calls of the steps of bundles.
extension DaemonConversation {
  /// Makes a call of a bundle, after its earlier calls.
  mutating func add(_ call: Effect, _ generation: UInt64) {
    links.change(generation) { $0.add(call) }
  }

  /// Changes a widget that a bundle has served, after the bundle has ended. The call begins before
  /// those that remove the bundle.
  mutating func leave(_ id: WidgetID, _ patch: WidgetPatch, of bundle: String) {
    guard host.isHolding else { return }
    _ = call(.update(id, patch, provider: HostState.provider(of: bundle)), for: .nothing)
  }

  /// Answers a question about a kind of a bundle. If its session is over, drops the answer, because
  /// the next session numbers its questions from 1.
  mutating func answer(
    _ question: SnapshotQuestion, _ result: Result<ValueMap, Failure>, _ generation: UInt64,
    _ session: SessionID
  ) {
    guard links[generation]?.session == session else { return }
    put(.effect(.answerSnapshot(session, question.number, result)))
  }

  mutating func acknowledge(_ event: Event, _ generation: UInt64) {
    guard let session = links[generation]?.session else { return }
    put(.effect(.acknowledge(session, event)))
  }

  mutating func makeCalls(_ generation: UInt64) {
    guard !host.isOusted else { return }
    while let next = links.change(generation, { $0.nextCall() }) ?? nil,
      let link = links[generation]
    {
      let call: DaemonCall
      switch next {
      case .patch(_, let id, let patch):
        call = .update(id, patch, provider: HostState.provider(of: link.bundle.id))
      case .presence(_, let action, let ids): call = .presence(ids, action)
      case .send(_, let id, let name, let payload, let force):
        call = .send(id, name: name, payload: payload, force: force)
      case .fetchWidget(_, let id): call = .widget(id)
      case .answer(_, let id, let patch):
        guard let session = link.session else { continue }
        call = .answer(session, id, patch)
      case .acknowledge, .lead, .unlead, .readFile, .readFolder, .watchFile, .run, .web, .connect,
        .tellSocket,
        .bus, .cancel, .trace, .report, .note:
        continue
      }
      let id = self.call(call, for: .bundle(generation))
      links.change(generation) { $0.call(next, as: id) }
    }
  }

  mutating func bundleAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ generation: UInt64
  ) {
    guard let effect = links.change(generation, { $0.callAnswered() }) ?? nil else { return }
    let request: RequestID
    switch effect {
    case .patch(let id, _, _), .presence(let id, _, _), .send(let id, _, _, _, _),
      .fetchWidget(let id, _):
      request = id
    default: return
    }
    switch result {
    case .failure(let failure): tell(.failed(request, failure), generation)
    case .success(.revision(let revision)): tell(.sent(request, revision), generation)
    case .success(.sequence(let sequence)):
      tell(.emitted(request, sequence: sequence), generation)
    case .success(.widget(let widget)):
      endOutdatedHolds(.widget(widget))
      // The instance takes only widgets that its watch has.
      guard links[generation]?.servedKinds.contains(widget.kind) == true else {
        let words = "the bundle does not serve widget \(widget.id) now"
        return tell(.failed(request, Failure("FAILED_PRECONDITION", words)), generation)
      }
      tell(.fetched(request, widget), about: [widget.id], generation)
    case .success: tell(.sent(request, 0), generation)
    }
  }
}
