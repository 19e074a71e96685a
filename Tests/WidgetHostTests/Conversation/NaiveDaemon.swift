import WidgetModel

@testable import WidgetHost

/// A minimal model of the daemon: its sessions, kinds and widgets, and who holds them.
///
/// `news` has the messages for sessions and watches. The simulation delivers them.
struct NaiveDaemon {
  struct Holder: Hashable {
    /// nil: a program that is not a host, or a lost connection that the daemon still counts.
    var session: SessionID?
    var host: Int
    var isRegistered = false
  }

  enum News {
    case removed(Widget)
    case changed(Widget)
    case kindsRemoved(provider: String, [KindName])
  }

  var isUp = true
  var isFull = false
  /// The answer to updates of widgets; nil if the daemon makes them.
  var updateFailure: Failure?
  /// Declarations of this widget are refused.
  var refusedID: WidgetID?
  private(set) var epoch: UInt64 = 1
  private var revision: Revision = 0
  var kinds: [KindName: String] = [:]
  private(set) var widgets: [WidgetID: Widget] = [:]
  /// The widgets with a value that a user has set.
  private(set) var valued: Set<WidgetID> = []
  /// The widgets with a value that an event has set. The daemon records no owner of it.
  private var counted: Set<WidgetID> = []
  /// The widgets with such values that calls have removed.
  var lost: Set<WidgetID> = []
  /// The sessions, by provider.
  var holders: [String: Holder] = [:]
  var news: [News] = []

  /// The answer to a change of a widget that has changed since it was read.
  static let outdated = Failure(
    "ETAG_MISMATCH", "the widget has changed since its etag was read", isTransient: true)

  var sortedWidgets: [Widget] { widgets.values.sorted { $0.id.rawValue < $1.id.rawValue } }

  /// The widgets of these kinds as a watch shows them: the content says that a kind is not registered.
  func shown(of names: [KindName]) -> [Widget] {
    sortedWidgets.filter { names.contains($0.kind) }.map { widget in
      guard kinds[widget.kind] == nil else { return widget }
      var shown = widget
      shown.content = Content(DataTable(kind: widget.kind, rows: []))
      return shown
    }
  }

  /// Ends, and loses all state.
  mutating func forget() {
    epoch += 1
    kinds = [:]
    widgets = [:]
    (valued, counted) = ([], [])
  }

  mutating func remove(_ id: WidgetID) {
    guard let widget = widgets.removeValue(forKey: id) else { return }
    valued.remove(id)
    counted.remove(id)
    news.append(.removed(widget))
  }

  /// A user sets a value.
  mutating func setValue(of id: WidgetID) {
    guard let widget = widgets[id] else { return }
    valued.insert(id)
    put(id, widget.kind, data: ["n": .string("a user's")], set: widget.applySet)
  }

  /// An event sets a value.
  mutating func count(_ id: WidgetID) {
    guard let widget = widgets[id] else { return }
    counted.insert(id)
    put(id, widget.kind, data: ["n": .string("an event's")], set: widget.applySet)
  }

  /// The owners of the fields of a widget.
  private func owners(of widget: Widget) -> [FieldOwner] {
    guard !counted.contains(widget.id) else { return [] }
    let owner = valued.contains(widget.id) ? "user 1" : widget.applySet
    return widget.data.keys.map { FieldOwner(path: "data.\($0)", owner: owner) }
  }

  /// Declares a widget. Values of users stay.
  private mutating func put(_ spec: WidgetSpec, set: String) {
    guard let id = spec.id else { return }
    let known = valued.contains(id) || counted.contains(id) ? widgets[id]?.data : nil
    put(id, spec.kind, data: known ?? spec.data, set: set)
  }

  /// Another set takes the widget, as it is.
  mutating func move(_ id: WidgetID, to set: String) {
    guard var widget = widgets[id] else { return }
    revision += 1
    (widget.applySet, widget.revision) = (set, revision)
    widgets[id] = widget
    news.append(.changed(widget))
  }

  mutating func put(_ id: WidgetID, _ kind: KindName, data: ValueMap = [:], set: String) {
    revision += 1
    var widget = Widget(id: id, kind: kind, data: data, revision: revision, applySet: set)
    if let known = widgets[id], known.kind == kind {
      (widget.isStale, widget.error) = (known.isStale, known.error)
    }
    widgets[id] = widget
    news.append(.changed(widget))
  }

  /// - Returns: the reason why the daemon refuses the kinds.
  mutating func register(_ names: [KindName], of provider: String) -> Failure? {
    if let taken = names.first(where: { kinds[$0].map { $0 != provider } ?? false }) {
      return Failure("ALREADY_EXISTS", "kind \(taken) belongs to \(kinds[taken] ?? "")")
    }
    for (name, owner) in kinds where owner == provider && !names.contains(name) {
      kinds[name] = nil
    }
    for name in names { kinds[name] = provider }
    return nil
  }

  mutating func removeKinds(_ names: [KindName]) {
    for name in names {
      guard let provider = kinds.removeValue(forKey: name) else { continue }
      news.append(.kindsRemoved(provider: provider, [name]))
    }
  }

  mutating func answer(_ call: DaemonCall) -> Result<DaemonAnswer, Failure> {
    let before = valued
    defer { lost.formUnion(before.subtracting(valued)) }
    return carryOut(call)
  }

  /// The widgets that a declaration removes.
  private func removals(_ specs: [WidgetSpec], of set: String) -> [ApplyResult] {
    let ids = Set(specs.compactMap(\.id))
    return sortedWidgets.filter { $0.applySet == set && !ids.contains($0.id) }.map {
      ApplyResult(
        id: $0.id, action: .deleted,
        keptFields: valued.contains($0.id)
          ? [FieldOwner(path: "data.n", owner: "user 1", declared: .string("a user's"))] : [])
    }
  }

  private mutating func carryOut(_ call: DaemonCall) -> Result<DaemonAnswer, Failure> {
    switch call {
    case .declare(let specs, let set), .own(let specs, let set):
      if isFull, !specs.isEmpty {
        return .failure(Failure("RESOURCE_EXHAUSTED", "no room for widgets of \(set)"))
      }
      if let refusedID, specs.contains(where: { $0.id == refusedID }) {
        return .failure(Failure("RESOURCE_EXHAUSTED", "no room for \(refusedID)"))
      }
      if let other = specs.first(where: { spec in
        spec.id.flatMap { widgets[$0] }.map { $0.kind != spec.kind } ?? false
      }) {
        return .failure(
          Failure("KIND_MISMATCH", "\(other.id?.rawValue ?? "") is of another kind"))
      }
      let isOwn = if case .own = call { true } else { false }
      let removed = removals(specs, of: set)
      for result in removed { remove(result.id) }
      for spec in specs {
        // A set that owns its fields leaves the values of others alone.
        guard let id = spec.id else { continue }
        if let widget = widgets[id], widget.applySet == set, isOwn || widget.data == spec.data {
          continue
        }
        put(spec, set: set)
      }
      return .success(.results(removed))
    case .foresee(let specs, let set): return .success(.results(removals(specs, of: set)))
    case .keep(let specs, let set):
      for spec in specs {
        guard let id = spec.id, widgets[id]?.applySet != set else { continue }
        put(spec, set: set)
      }
      return .success(.results([]))
    case .remove(let ids):
      for id in ids { remove(id) }
      return .success(.done)
    case .removeKinds(let provider):
      removeKinds(
        kinds.filter { $0.value == provider }.keys.sorted { $0.rawValue < $1.rawValue })
      return .success(.done)
    case .widgets(let names), .errors(let names):
      let known = sortedWidgets.filter { names.isEmpty || names.contains($0.kind) }
      return .success(call.answer(with: known))
    case .owners(let names):
      let known = sortedWidgets.filter { names.contains($0.kind) }
      return .success(
        .listed(known.map { ListedWidget(widget: $0, etag: "", owners: owners(of: $0)) }))
    case .standing(let names, let ids):
      var result = Circumstances()
      for name in names {
        if let owner = kinds[name] {
          result.kinds.insert(.init(name: name, provider: owner, revision: 1))
        }
      }
      for id in ids {
        if let widget = widgets[id] {
          result.widgets.insert(.init(id: id, kind: widget.kind, applySet: widget.applySet))
        }
      }
      return .success(.standing(result))
    case .registeredKinds:
      let all = kinds.map {
        Circumstances.KindStanding(name: $0.key, provider: $0.value, revision: 1)
      }
      return .success(.standing(Circumstances(kinds: Set(all))))
    case .update(let id, let patch, _, let etag):
      if let updateFailure { return .failure(updateFailure) }
      guard var widget = widgets[id] else { return .failure(Failure("NOT_FOUND", "no \(id)")) }
      guard etag.isEmpty || etag == "\(widget.revision)" else {
        return .failure(NaiveDaemon.outdated)
      }
      for entry in patch.setData.entries { widget.data[entry.key] = entry.value }
      for key in patch.unsetData { widget.data[key] = nil }
      if let error = patch.error { widget.error = error }
      if let isStale = patch.isStale { widget.isStale = isStale }
      revision += 1
      widget.revision = revision
      widgets[id] = widget
      news.append(.changed(widget))
      return .success(.revision(revision))
    case .answer(_, let id, let patch):
      guard var widget = widgets[id] else { return .failure(Failure("NOT_FOUND", "no \(id)")) }
      // An answer clears what it leaves out.
      (widget.isStale, widget.error) = (patch.isStale ?? false, patch.error ?? nil)
      revision += 1
      widget.revision = revision
      widgets[id] = widget
      news.append(.changed(widget))
      return .success(.done)
    case .error(let id):
      guard let widget = widgets[id] else { return .failure(Failure("NOT_FOUND", "no \(id)")) }
      return .success(.listing([widget]))
    case .widget(let id):
      guard let widget = widgets[id] else { return .failure(Failure("NOT_FOUND", "no \(id)")) }
      return .success(.widget(widget))
    case .ready, .declareKinds, .flush, .close, .acknowledgeMissed, .presence, .send, .folders:
      return .success(.done)
    }
  }
}
