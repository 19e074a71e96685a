import WidgetBundle
import WidgetModel

// Widgets that a bundle's file no longer has. The edit may be a slip, so widgets on which users
// have set values stay for a while, stale.
extension DaemonConversation {
  struct Hold: Hashable, Sendable {
    /// The time at which the widget is removed; nil if it has passed.
    var end: Duration?
  }

  /// The claims of a bundle, with those that it has taken over from a bundle with a former id.
  func claims(of bundle: Bundle) -> BundleClaims {
    BundleClaims(
      of: bundle,
      inherited: Set(
        withdrawals.filter { $0.value.heir == bundle.id }.keys.map(HostState.provider(of:))))
  }

  /// The widgets of the bundle that the file no longer has, or has with another kind.
  private func leaving(_ bundle: Bundle, _ known: [Widget]) -> Set<WidgetID> {
    let set = HostState.provider(of: bundle.id)
    let kinds = Dictionary(
      bundle.widgets.compactMap { spec in spec.id.map { ($0, spec.kind) } }
    ) { first, _ in first }
    return Set(known.filter { $0.applySet == set && kinds[$0.id] != $0.kind }.map(\.id))
  }

  /// Declares the widgets. If some would be removed, first asks which values of users go with them.
  mutating func foresee(_ known: [Widget], _ generation: UInt64) {
    guard let link = links[generation] else { return }
    let bundle = link.bundle
    let leaving = leaving(bundle, known)
    for (id, hold) in holds[bundle.id] ?? [:] where !leaving.contains(id) {
      holds[bundle.id]?[id] = nil
      guard hold.end != nil, known.contains(where: { $0.id == id }) else { continue }
      outputs.append(.note("bundle \(bundle.id): the file has widget \(id) again"))
      call(.update(id, WidgetPatch(isStale: false, error: .some(nil)), provider: ""))
    }
    guard !leaving.isEmpty, !link.isInstalled else { return own(known, generation) }
    let call = call(
      .foresee(specs(bundle, known, without: leaving), set: HostState.provider(of: bundle.id)),
      for: .work(generation))
    links[generation]?.begin(.foreseeing(call, known: known))
  }

  private func specs(
    _ bundle: Bundle, _ known: [Widget], without ids: Set<WidgetID>
  ) -> [WidgetSpec] {
    claims(of: bundle).specs(beside: known).filter { spec in
      spec.id.map { !ids.contains($0) } ?? true
    }
  }

  /// Continues the declaration after an answer. Returns whether the answer belongs to this.
  mutating func continues(
    _ work: BundleLink.Work, _ answer: DaemonAnswer, _ generation: UInt64, at now: HostTime
  ) -> Bool {
    switch work {
    case .foreseeing(_, let known):
      guard case .results(let results) = answer else { return false }
      foreseen(results, known, generation, at: now)
    case .removing(_, let known): keep(known, generation)
    default: return false
    }
    return true
  }

  private mutating func foreseen(
    _ results: [ApplyResult], _ known: [Widget], _ generation: UInt64, at now: HostTime
  ) {
    guard let bundle = links[generation]?.bundle else { return }
    let lost = Dictionary(grouping: BundleClaims.lost(results), by: \.widget)
    let leaving = leaving(bundle, known).sorted(by: WidgetID.inOrder)
    var rest: [WidgetID] = []
    for id in leaving {
      guard let fields = lost[id]?.map(\.field.path) else {
        holds[bundle.id]?[id] = nil
        rest.append(id)
        continue
      }
      if let hold = holds[bundle.id]?[id] {
        if hold.end == nil { rest.append(id) }
        continue
      }
      hold(id, of: bundle, losing: fields, at: now)
    }
    guard rest.count < leaving.count else { return own(known, generation) }
    guard !rest.isEmpty else { return keep(known, generation) }
    let call = call(.remove(rest), for: .work(generation))
    links[generation]?.begin(.removing(call, known: known.filter { !rest.contains($0.id) }))
    for field in rest.flatMap({ lost[$0] ?? [] }) {
      outputs.append(.kept(field, bundle: bundle.id))
    }
    for id in rest { holds[bundle.id]?[id] = nil }
  }

  /// Keeps a widget for a while, stale.
  private mutating func hold(
    _ id: WidgetID, of bundle: Bundle, losing fields: [String], at now: HostTime
  ) {
    holds[bundle.id, default: [:]][id] = Hold(end: now.uptime + limits.absenceMax)
    let what =
      bundle.widgets.contains { $0.id == id }
      ? "gives this widget another kind" : "no longer has this widget"
    let list =
      fields.prefix(limits.othersShownMax).joined(separator: ", ")
      + (fields.count > limits.othersShownMax ? ", …" : "")
    let problem =
      "the file of bundle \(bundle.id) \(what); undo that within"
      + " \(limits.absenceMax.components.seconds) seconds, or the widget is removed with the values"
      + " that users have set: \(list)"
    report("bundle \(bundle.id): widget \(id): \(problem)")
    let error = WidgetError(reason: BundleInstance.invalid, message: problem)
    call(.update(id, WidgetPatch(isStale: true, error: .some(error)), provider: ""))
  }

  /// Declares the widgets of the file beside those that stay for a while.
  private mutating func keep(_ known: [Widget], _ generation: UInt64) {
    guard let bundle = links[generation]?.bundle else { return }
    let held = Set((holds[bundle.id] ?? [:]).keys)
    let taken = claims(of: bundle).taken(from: known, before: declaredFields[bundle.id] ?? [:])
    let call = call(
      .keep(specs(bundle, known, without: held), set: HostState.provider(of: bundle.id)),
      for: .work(generation))
    links[generation]?.own(call, taking: taken)
  }

  /// Removes the widgets whose time is over.
  mutating func endHolds(at now: HostTime) {
    for (bundle, held) in holds {
      let due = held.filter { $0.value.end.map { $0 <= now.uptime } ?? false }.map(\.key)
      guard !due.isEmpty else { continue }
      for id in due { holds[bundle]?[id]?.end = nil }
      for (generation, link) in links where link.bundle.id == bundle {
        links[generation]?.declareAgain()
      }
    }
  }
}
