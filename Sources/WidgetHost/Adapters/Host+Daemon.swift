import WidgetBundle
import WidgetClient
import WidgetModel

// Carries out the core's requests to the daemon, and reports the results.
extension Host {
  /// A session, and the task that reports its news.
  struct OpenSession {
    let session: any DaemonSession
    let following: Task<Void, Never>
  }

  func perform(_ effect: DaemonEffect) {
    switch effect {
    case .open(let id, let request): open(id, request)
    case .watch(let id, let kinds): watch(id, kinds)
    case .endWatch(let id): watches.removeValue(forKey: id)?.cancel()
    case .call(let id, let call): begin(id, call)
    case .cancel(let id): calls.removeValue(forKey: id)?.cancel()
    case .acknowledge(let id, let event): sessions[id]?.session.acknowledge(event)
    case .answerSnapshot(let id, let number, let data):
      guard let session = sessions[id]?.session else { return }
      Task { await session.answer(snapshot: number, with: data) }
    case .manage(let id, let request): manage(request, sessions[id]?.session)
    }
  }

  func heard(_ input: DaemonInput) {
    guard !hasEnded else { return }
    handle(machine.handle(input, at: now))
  }

  private func open(_ id: SessionID, _ request: SessionRequest) {
    let session = daemon.session(
      request.provider, kinds: request.kinds, takesOver: request.takesOver,
      includesAudience: request.includesAudience)
    let following = Task {
      do throws(Failure) {
        try await session.follow { await self.heard(.session(id, $0)) }
        if !Task.isCancelled { self.heard(.sessionEnded(id, nil)) }
      } catch {
        if !Task.isCancelled { self.heard(.sessionEnded(id, error)) }
      }
    }
    sessions[id] = OpenSession(session: session, following: following)
  }

  private func watch(_ id: WatchID, _ kinds: [KindName]) {
    watches[id] = Task {
      do throws(Failure) {
        try await daemon.follow(kinds: kinds) { await self.heard(.watch(id, $0)) }
      } catch {
        if !Task.isCancelled { self.heard(.watchEnded(id, error)) }
      }
    }
  }

  private func begin(_ id: CallID, _ call: DaemonCall) {
    let session: (any DaemonSession)?
    if case .close(let closed) = call {
      let open = sessions.removeValue(forKey: closed)
      open?.following.cancel()
      session = open?.session
    } else {
      session = call.session.flatMap { sessions[$0]?.session }
    }
    calls[id] = Task { [daemon, roots = options.roots, marksAtStart] in
      let result: Result<DaemonAnswer, Failure>
      do throws(Failure) {
        result = .success(
          try await Host.perform(
            call, session, daemon, roots: roots, marksAtStart))
      } catch {
        result = .failure(error)
      }
      self.answered(id, result)
    }
  }

  private func answered(_ id: CallID, _ result: Result<DaemonAnswer, Failure>) {
    guard calls.removeValue(forKey: id) != nil else { return }
    heard(.answered(id, result))
  }

  private static func perform(
    _ call: DaemonCall, _ session: (any DaemonSession)?, _ daemon: any DaemonConnection,
    roots: [String], _ marksAtStart: Set<RemovalMark>
  ) async throws(Failure) -> DaemonAnswer {
    switch call {
    case .ready: return .kinds(try await session?.ready() ?? [])
    case .declareKinds: return .kinds(try await session?.declareKinds() ?? [])
    case .flush: await session?.flush()
    case .close: await session?.close()
    case .answer(_, let id, let patch): try await session?.answer(id, patch)
    case .acknowledgeMissed(_, let last): try await session?.acknowledge(missed: last)
    case .declare(let specs, let set):
      return .results(try await daemon.declare(widgets: specs, set: set))
    case .own(let specs, let set):
      return .results(try await daemon.own(widgets: specs, set: set, .wholly))
    case .keep(let specs, let set):
      return .results(try await daemon.own(widgets: specs, set: set, .beside))
    case .foresee(let specs, let set):
      return .results(try await daemon.own(widgets: specs, set: set, .dryRun))
    case .remove(let ids): for id in ids { try await daemon.delete(id) }
    case .removeKinds(let provider): try await daemon.removeKinds(of: provider)
    case .update(let id, let patch, let provider, let etag):
      return .revision(try await daemon.update(id, patch, for: provider, etag: etag))
    case .presence(let ids, let action): try await daemon.setPresence(ids, action)
    case .send(let id, let name, let payload, let force):
      return .sequence(try await daemon.send(id, name: name, payload: payload, force: force))
    case .widget(let id): return .widget(try await daemon.widget(id, .all).widget)
    case .widgets(let kinds):
      return .widgets(try await daemon.widgets(kinds: kinds, .all).map(\.widget))
    case .errors(let kinds): return .listed(try await daemon.widgets(kinds: kinds, .errors))
    case .owners(let kinds): return .listed(try await daemon.widgets(kinds: kinds, .owners))
    case .error(let id): return .listed([try await daemon.widget(id, .errors)])
    case .standing(let kinds, let widgets):
      return .standing(try await daemon.standing(kinds: kinds, widgets: widgets))
    case .registeredKinds: return .standing(try await daemon.registeredKinds())
    case .folders(let bundles):
      let former = try await formerRoots(daemon)
      return await Host.blocking { () -> DaemonAnswer in
        var absences: [String: HostState.Absence] = [:]
        var marks: Set<String> = []
        let own = roots.filter { former.contains($0) }
        // Of several bundles in a folder, the last one was removed.
        for bundle in bundles where absences[bundle.path] != .removed {
          if !BundleFolders.isBundle(bundle.path) {
            absences[bundle.path] = BundleFolders.absence(of: bundle)
          } else if BundleFolders.isLinkRemoved(to: bundle, in: own) {
            absences[bundle.path] = .removed
          }
          guard absences[bundle.path] == .removed else { continue }
          marks.formUnion(BundleFolders.marks(of: bundle, in: own))
        }
        BundleFolders.dropMarks(in: roots, but: bundles, among: marksAtStart)
        return .absences(absences, marks: marks)
      }
    }
    return .done
  }

  /// The folders of bundles that the last host ran. The daemon has its widget until this host
  /// declares its own widget.
  private static func formerRoots(
    _ daemon: any DaemonConnection
  ) async throws(Failure) -> [String] {
    guard let id = WidgetID(HostState.provider) else { return [] }
    let widget: Widget
    do throws(Failure) {
      widget = try await daemon.widget(id, .all).widget
    } catch {
      guard error.code == "NOT_FOUND" else { throw error }
      return []
    }
    guard widget.applySet == HostState.provider, case .list(let list)? = widget.data["folders"]
    else { return [] }
    return list.compactMap { if case .string(let path) = $0 { path } else { nil } }
  }

  /// Carries out calls about bundles one after the other, because they change the same folder.
  private func manage(_ request: ProviderBundleRequest, _ session: (any DaemonSession)?) {
    let (earlier, manager, root) = (managing, manager, options.roots.first)
    managing = Task {
      await earlier?.value
      if case .install = request.request, let root {
        await Host.awaitRemovals(in: root, atMost: BundleRemovalMark.waitMax)
      }
      let outcome = await Task.detached { manager(request.request) }.value
      // The host watches the folder, so an installed bundle runs without a call from here.
      try? await session?.answer(request, with: outcome)
    }
  }
}

extension DaemonCall {
  /// The session that the call goes through; nil if it needs none.
  fileprivate var session: SessionID? {
    switch self {
    case .ready(let id), .declareKinds(let id), .flush(let id), .close(let id),
      .answer(let id, _, _), .acknowledgeMissed(let id, _):
      id
    default: nil
    }
  }
}

extension ReadMask {
  /// What the errors of bundles depend on.
  fileprivate static let errors =
    (try? ReadMask(paths: ["activity", "apply_set", "error", "etag", "stale"])) ?? .all
  /// The owners of fields, and the values of the data.
  fileprivate static let owners = (try? ReadMask(paths: ["apply_set", "data", "owners"])) ?? .all
}
