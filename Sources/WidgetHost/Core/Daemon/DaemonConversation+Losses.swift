import WidgetBundle
import WidgetModel

// The values that go with the widgets which a bundle's file no longer has. They decide whether such
// a widget stays for a while.
extension DaemonConversation {
  /// Declares the widgets. If the declaration may have to name values that it replaces, first asks for
  /// the values that the file had when a host declared the widgets last.
  mutating func foresee(_ known: [Widget], _ generation: UInt64) {
    guard let link = links[generation] else { return }
    let kinds = differing(known, from: link)
    guard !kinds.isEmpty else { return foreseeLosses(known, generation) }
    let call = call(.owners(of: kinds), for: .work(generation))
    links.change(generation) { $0.begin(.remembering(call, known: known)) }
  }

  /// The kinds of the bundle's widgets that have other values than the file. Before the first
  /// declaration of this host, all its widgets count. Later, only those count that the last version of
  /// this bundle did not declare: a former id or another bundle had them, or they were about to be
  /// removed.
  private func differing(_ known: [Widget], from link: BundleLink) -> [KindName] {
    let bundle = link.bundle
    let claims = claims(of: link)
    let isFirst = declarations.kinds(of: bundle.id) == nil
    let declared = declarations.fields(of: bundle.id)
    let found = known.filter { widget in
      guard claims.isOwn(widget), isFirst || declared[widget.id] == nil,
        let spec = bundle.widgets.first(where: { $0.id == widget.id && $0.kind == widget.kind })
      else { return false }
      return spec.data.entries.contains { widget.data[$0.key] != $0.value }
        || spec.parameters.entries.contains { widget.parameters[$0.key] != $0.value }
        || spec.labels.entries.contains { widget.labels[$0.key] != $0.value }
    }
    return Set(found.map(\.kind)).sorted { $0.rawValue < $1.rawValue }
  }

  /// Notes which fields the last version of a bundle declared, and with which values.
  private mutating func remember(
    _ listed: [ListedWidget], among known: [Widget], _ generation: UInt64
  ) {
    guard let link = links[generation] else { return }
    let claims = claims(of: link)
    var sets: [WidgetID: String] = [:]
    for widget in known where claims.isOwn(widget) { sets[widget.id] = widget.applySet }
    var owners: [WidgetID: BundleDeclarations.FormerOwners] = [:]
    for item in listed {
      guard let set = sets[item.widget.id] else { continue }
      owners[item.widget.id] = BundleDeclarations.FormerOwners(set: set, fields: item.owners)
    }
    declarations.remember(owners, of: link.bundle.id)
  }

  /// Declares the widgets. If some would be removed, first asks which values go with them.
  private mutating func foreseeLosses(_ known: [Widget], _ generation: UInt64) {
    guard let link = links[generation] else { return }
    let leaving = leaving(link, known)
    links.change(generation) { $0.keepLosses(without: Set(known.map(\.id))) }
    freshen(known, but: Set(leaving.map(\.id)), of: link)
    let sets = Set(leaving.map(\.applySet))
    guard !sets.isEmpty else { return own(known, generation) }
    ask(about: sets.sorted(), known, [], generation)
  }

  /// Asks which values of users go with the widgets that leave the first of these sets.
  private mutating func ask(
    about sets: [String], _ known: [Widget], _ results: [ApplyResult], _ generation: UInt64
  ) {
    guard let link = links[generation], let set = sets.first else { return }
    let isOwn = set == HostState.provider(of: link.bundle.id)
    let leaving = Set(leaving(link, known).map(\.id))
    let call = call(
      .foresee(isOwn ? specs(link, known, without: leaving) : [], set: set),
      for: .work(generation))
    links.change(generation) {
      $0.begin(.foreseeing(call, known: known, sets: Array(sets.dropFirst()), results: results))
    }
  }

  func specs(
    _ link: BundleLink, _ known: [Widget], without ids: Set<WidgetID>
  ) -> [WidgetSpec] {
    claims(of: link).specs(beside: known).filter { spec in
      spec.id.map { !ids.contains($0) } ?? true
    }
  }

  /// Continues the declaration after an answer. Returns whether the answer belongs to this.
  mutating func continues(
    _ work: BundleLink.Work, _ answer: DaemonAnswer, _ generation: UInt64, at now: HostTime
  ) -> Bool {
    switch work {
    case .remembering(_, let known):
      if case .listed(let listed) = answer { remember(listed, among: known, generation) }
      foreseeLosses(known, generation)
    case .foreseeing(_, let known, let sets, let results):
      guard case .results(let more) = answer else { return false }
      guard sets.isEmpty else {
        ask(about: sets, known, results + more, generation)
        return true
      }
      attribute(results + more, known, generation, at: now)
    case .attributing(_, let known, let results):
      guard case .listed(let listed) = answer else { return false }
      let owners = Dictionary(listed.map { ($0.widget.id, $0.owners) }) { first, _ in first }
      foreseen(results, known, owners, generation, at: now)
    case .removing(_, let known):
      guard let link = links[generation] else { return false }
      let claims = claims(of: link)
      holds.keep(only: Set(known.map(\.id)), of: claims)
      let isHolding = !holds.widgets(of: claims).isEmpty
      if isHolding { keep(known, generation) } else { own(known, generation) }
    default: return false
    }
    return true
  }

  /// Asks for the owners of fields if events or actions may have set further values of the widgets
  /// that leave.
  private mutating func attribute(
    _ results: [ApplyResult], _ known: [Widget], _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation] else { return }
    let named = Set(BundleClaims.lost(results).map(\.name))
    let unclear = leaving(link, known).filter { widget in
      unrecorded(in: widget, [], of: link.bundle).contains { !named.contains($0.name) }
    }
    guard !unclear.isEmpty else { return foreseen(results, known, [:], generation, at: now) }
    let kinds = Set(unclear.map(\.kind)).sorted { $0.rawValue < $1.rawValue }
    let call = call(.owners(of: kinds), for: .work(generation))
    links.change(generation) { $0.begin(.attributing(call, known: known, results: results)) }
  }

  /// The values of a widget that go with it, and that events or actions have set in fields without a
  /// record of the owner.
  ///
  /// - Parameter owners: the owners of its fields; nil if they are unknown.
  func unrecorded(
    in widget: Widget, _ owners: [FieldOwner]?, of bundle: Bundle
  ) -> [BundleClaims.KeptField] {
    guard let owners else { return [] }
    let set = widget.applySet.dropFirst(HostState.provider(of: "").count)
    let present = bundle.kinds.first { $0.kind.name == widget.kind }
    guard
      let rule = declarations.lossRule(for: widget.kind, of: String(set), beside: present)
    else { return [] }
    return LostFields.values(of: widget, owners, by: rule)
      .filter { $0.owner == FieldOwner.unrecorded }
      .map { BundleClaims.KeptField(widget: widget.id, field: $0, isLost: true) }
  }
}
