import WidgetModel

@testable import WidgetCore

/// The work of one command on a copy of the model's state. If the command throws, the draft is
/// dropped.
struct Draft {
  let limits: StoreLimits
  let caller: Caller
  let now: Timestamp
  let revision: Revision
  var widgets: [WidgetID: Widget]
  var order: [WidgetID]
  var owners: [WidgetID: ModelOwners]
  var numbering: [KindName: UInt64]
  var events: ModelEvents
  var theme: ModelTheme
  var touched: Set<WidgetID> = []
  /// The touched widgets of which only the owners of fields changed.
  var reowned: Set<WidgetID> = []
  /// The number of removed widgets and keys.
  var removalCount = 0
  var isChange = false

  init(model: Model, caller: Caller, now: Timestamp) {
    limits = model.limits
    self.caller = caller
    self.now = now
    revision = model.revision + 1
    widgets = model.widgets
    order = model.order
    owners = model.owners
    numbering = model.numbering
    events = model.events
    theme = model.theme
  }

  mutating func run(_ command: Command) throws(StoreError) -> Commit.Outcome {
    switch command {
    case .create(let spec, _): return try create(spec)
    case .update(let id, let patch, let expected, _, _):
      let widget = try existing(id, expected)
      try checkShape(patch)
      var patch = patch
      let released = try release(&patch, of: widget)
      let new = patched(widget, patch)
      try checkActivity(
        new, over: widget, data: "patch.set_data", parameters: "patch.set_parameters")
      var after = owners[id]
      after?.changed(from: widget, to: new, by: FieldOwner.user(caller.uid))
      for (path, owner) in released { after?[path] = owner }
      try store(new, replacing: widget, owners: after)
      return .updated(id)
    case .delete(let id, let expected, let allowMissing, _):
      if widgets[id] == nil && allowMissing { return .deleted }
      _ = try existing(id, expected)
      remove(id)
      return .deleted
    case .setPresence(let target, let action, _): return try setPresence(target, action)
    case .move(let id, let destination, _):
      try move(id, destination)
      return .updated(id)
    case .apply(let declaration, _): return try declare(declaration)
    case .sendEvent(let draft): return try send(draft)
    case .markFailure(let id, let failure):
      try mark(id, failure)
      return .updated(id)
    case .updateTheme(let update, let expected):
      let (outcome, differs) = try theme.run(
        update, ifRevision: expected, overridesMax: limits.themeOverridesMax, at: revision)
      isChange = differs
      return outcome
    case .startActivity(let spec, let lifetime, let staleAfter, _):
      return try startActivity(spec, lifetime, staleAfter)
    case .updateActivity(let id, let patch, let staleAfter, _):
      return try updateActivity(id, patch, staleAfter)
    case .endActivity(let id, let patch, let dismissal, _):
      return try endActivity(id, patch, dismissal)
    case .applyKinds, .deleteKind, .provide, .acknowledge:
      preconditionFailure("the workload has no kinds")
    }
  }

  // MARK: - Commands

  mutating func create(
    _ spec: WidgetSpec, activity: Activity? = nil
  ) throws(StoreError) -> Commit.Outcome {
    var number = numbering[spec.kind] ?? 0
    var id = spec.id
    if let id, widgets[id] != nil { throw .widgetExists(id) }
    while id == nil || (spec.id == nil && id.map { widgets[$0] != nil } ?? true) {
      number += 1
      id = WidgetID("\(spec.kind)-\(number)")
    }
    guard let id else { throw .invalid(field: "widget.kind", description: "") }
    try checkShape(spec, "widget")
    try insert(spec, id, applySet: "", activity: activity)
    if spec.id == nil { numbering[spec.kind] = number }
    return .created(id)
  }

  private mutating func setPresence(
    _ target: PresenceTarget, _ action: PresenceAction
  ) throws(StoreError) -> Commit.Outcome {
    var chosen: Set<WidgetID> = []
    switch target {
    case .ids(let ids):
      for id in ids { chosen.insert(try existing(id, nil).id) }
    case .all: chosen = Set(order)
    case .selector(let selector):
      chosen = Set(widgets.values.filter(selector.matches).map(\.id))
    }
    var changed: [WidgetID] = []
    for id in order where chosen.contains(id) {
      guard var widget = widgets[id] else { continue }
      let old = widget
      switch action {
      case .show: widget.presence.isVisible = true
      case .hide: widget.presence.isVisible = false
      case .enable: widget.presence.isEnabled = true
      case .disable: widget.presence.isEnabled = false
      case .toggle: widget.presence.isVisible = !widget.presence.isVisible
      }
      if widget != old {
        touch(widget)
        owners[id]?.presence(from: old, to: widget, by: FieldOwner.user(caller.uid))
        changed.append(id)
      }
    }
    return .presence(changed)
  }

  private mutating func move(
    _ id: WidgetID, _ destination: MoveDestination
  ) throws(StoreError) {
    let widget = try existing(id, nil)
    var new = order.filter { $0 != id }
    switch destination {
    case .first: new.insert(id, at: 0)
    case .last: new.append(id)
    case .before(let other), .after(let other):
      _ = try existing(other, nil)
      if other == id { return }
      var place = new.firstIndex(of: other) ?? 0
      if case .after = destination { place += 1 }
      new.insert(id, at: place)
    }
    if new == order { return }
    order = new
    touch(widget)
    if owners[id] != nil {
      owners[id]?[FieldOwner.position] = FieldOwner(
        path: FieldOwner.position, owner: FieldOwner.user(caller.uid))
    }
  }

  private mutating func declare(_ declaration: Declaration) throws(StoreError) -> Commit.Outcome {
    guard declaration.applySet.isIdentifier(lengthMax: 128) else {
      throw .invalid(field: "apply_set", description: "")
    }
    guard declaration.widgets.count <= limits.declaredWidgetsMax else {
      throw quota("declared_widgets_max", limits.declaredWidgetsMax)
    }
    for (index, spec) in declaration.widgets.enumerated() {
      let isRepeated = declaration.widgets[..<index].contains { $0.id == spec.id }
      if spec.id == nil || isRepeated {
        throw .invalid(field: "widgets[\(index)].id", description: "")
      }
      try checkShape(spec, "widgets[\(index)]")
    }
    let start = self
    var results: [ApplyResult] = []
    let ids = declaration.widgets.compactMap(\.id)
    var pruned: [ApplyResult] = []
    if declaration.prunes {
      for id in order where !ids.contains(id) && widgets[id]?.applySet == declaration.applySet {
        let lost = widgets[id].flatMap { owners[id]?.lost(with: $0) } ?? []
        remove(id)
        pruned.append(ApplyResult(id: id, action: .deleted, keptFields: lost))
      }
    }
    for (index, (id, spec)) in zip(ids, declaration.widgets).enumerated() {
      if let old = widgets[id] {
        guard old.kind == spec.kind else {
          throw .kindMismatch(id, is: old.kind, declared: spec.kind, of: old.applySet)
        }
        var new = old
        var after = owners[id]
        var result = ApplyResult(id: id, action: .updated)
        if declaration.ownsFields {
          let owning = ModelOwning(spec, on: old, owners[id], by: declaration.applySet)
          (new, after) = (owning.widget, owning.owners)
          (result.changedFields, result.keptFields) = (owning.changed, owning.kept)
          try checkActivity(
            new, over: old, data: "widgets[\(index)].set_data",
            parameters: "widgets[\(index)].set_parameters")
        } else {
          new.labels = spec.labels
          new.parameters = spec.parameters
          for entry in spec.data.entries { new.data[entry.key] = entry.value }
          try checkActivity(
            new, over: old, data: "widgets[\(index)].data",
            parameters: "widgets[\(index)].parameters")
          after?.changed(from: old, to: new, by: declaration.applySet)
        }
        new.family = spec.family ?? old.family
        new.presence.isVisible = spec.isVisible ?? old.presence.isVisible
        new.presence.isEnabled = spec.isEnabled ?? old.presence.isEnabled
        after?.named(spec, over: old, owns: declaration.ownsFields)
        new.applySet = declaration.applySet
        let isChange = new != old || after != owners[id]
        do throws(StoreError) { try store(new, replacing: old, owners: after) } catch {
          throw named(error, id, index)
        }
        if !isChange { result.action = .unchanged }
        results.append(result)
      } else {
        var table: ModelOwners?
        if declaration.ownsFields {
          table = ModelOwners()
          for place in ModelOwners.places(spec.data, spec.labels, spec.parameters) {
            table?[place.path] = FieldOwner(path: place.path, owner: declaration.applySet)
          }
        }
        do throws(StoreError) {
          try insert(spec, id, applySet: declaration.applySet, owners: table)
        } catch {
          throw named(error, id, index)
        }
        results.append(ApplyResult(id: id, action: .created))
      }
    }
    // A widget that a user has moved stays where it is.
    let arranged = ids.filter {
      !declaration.ownsFields || owners[$0]?[FieldOwner.position] == nil
    }
    let places = order.indices.filter { arranged.contains(order[$0]) }
    for (place, id) in zip(places, arranged) where order[place] != id {
      order[place] = id
      if let widget = widgets[id] { touch(widget) }
      for index in results.indices where results[index] == ApplyResult(id: id, action: .unchanged) {
        results[index].action = .updated
      }
    }
    if declaration.isDryRun { self = start }
    return .applied(results + pruned)
  }

  private mutating func send(_ draft: EventDraft) throws(StoreError) -> Commit.Outcome {
    let widget = try existing(draft.widgetID, nil)
    guard draft.name.isIdentifier(lengthMax: 64) else {
      throw .invalid(field: "name", description: "")
    }
    guard draft.nodeID.isEmpty || draft.nodeID.isIdentifier(lengthMax: 128) else {
      throw .invalid(field: "node_id", description: "")
    }
    try checkShape(draft.payload, "payload")
    if draft.payload.cost > limits.eventPayloadBytesMax {
      throw quota("event_payload_bytes_max", limits.eventPayloadBytesMax)
    }
    if !draft.isForced && !widget.presence.isVisible { throw .widgetHidden(widget.id) }
    if !draft.isForced && !widget.presence.isEnabled { throw .widgetDisabled(widget.id) }
    events.last += 1
    if events.last > events.ceiling { events.ceiling += WidgetStore.eventSequenceBlock }
    let event = Event(
      sequence: events.last, widgetID: widget.id, nodeID: draft.nodeID, name: draft.name,
      payload: draft.payload, time: now, revision: revision - 1, origin: caller,
      isForced: draft.isForced)
    events.kept.append(.init(event: event, widget: widget))
    return .accepted(sequence: events.last)
  }

  // MARK: - Parts

  func existing(
    _ id: WidgetID, _ expected: Revision?
  ) throws(StoreError) -> Widget {
    guard let widget = widgets[id] else { throw .widgetNotFound(id) }
    if let expected, expected != widget.revision {
      throw .etagMismatch(id, current: widget.revision)
    }
    return widget
  }

  /// Returns fields to their managers: the patch sets the declared values.
  private func release(
    _ patch: inout WidgetPatch, of widget: Widget
  ) throws(StoreError) -> [(path: String, owner: FieldOwner?)] {
    var released: [(path: String, owner: FieldOwner?)] = []
    for (index, path) in patch.releases.enumerated() {
      let isRepeated = patch.releases[..<index].contains { $0.hasSameBytes(as: path) }
      guard !isRepeated, let entry = owners[widget.id]?[path], !names(patch, path) else {
        throw .invalid(field: "patch.release[\(index)]", description: "")
      }
      if entry.manager.isEmpty {
        if entry.owner.contains(" ") { released.append((path, nil)) }
        continue
      }
      // The manager has lost the widget to another set.
      guard entry.manager == widget.applySet else {
        released.append((path, nil))
        continue
      }
      released.append((path, FieldOwner(path: path, owner: entry.manager)))
      guard let value = entry.declared else { continue }
      let key = String(path.drop { $0 != "." }.unicodeScalars.dropFirst())
      switch (path.prefix { $0 != "." }, value) {
      case ("data", _): patch.setData[key] = value
      case ("parameters", _): patch.setParameters[key] = value
      case (_, .string(let text)): patch.setLabels[key] = text
      default: break
      }
    }
    return released
  }

  private func names(_ patch: WidgetPatch, _ path: String) -> Bool {
    let set = ModelOwners.places(patch.setData, patch.setLabels, patch.setParameters).map(\.path)
    let unset =
      patch.unsetData.map { "data.\($0)" } + patch.unsetLabels.map { "labels.\($0)" }
      + patch.unsetParameters.map { "parameters.\($0)" }
    return (set + unset).contains { $0.hasSameBytes(as: path) }
      || (patch.replaceData && path.hasPrefix("data."))
  }

  func patched(_ widget: Widget, _ patch: WidgetPatch) -> Widget {
    var new = widget
    if patch.replaceData { new.data = [:] }
    for key in patch.unsetData { new.data[key] = nil }
    for entry in patch.setData.entries { new.data[entry.key] = entry.value }
    for key in patch.unsetParameters { new.parameters[key] = nil }
    for entry in patch.setParameters.entries { new.parameters[entry.key] = entry.value }
    for key in patch.unsetLabels { new.labels[key] = nil }
    for label in patch.setLabels.entries { new.labels[label.key] = label.value }
    if let isStale = patch.isStale { new.isStale = isStale }
    if let error = patch.error {
      new.error = error
      let marks = (widget.error?.all ?? []).filter { $0.reason == "REDUCER_FAILED" }
      if let error {
        if error.since == nil {
          let isSame = widget.error.map { $0.reason == error.reason } ?? false
          new.error?.since = isSame ? widget.error?.since : now
        }
        let others = marks.filter { mark in
          mark.reason != error.reason || mark.message != error.message
        }
        new.error = WidgetError(
          joining: (new.error?.all ?? []) + others.prefix(max(0, 32 - error.further.count)))
      } else if widget.error?.reason != "REDUCER_FAILED" {
        new.error = WidgetError(joining: marks)
      }
    }
    return new
  }

  private mutating func insert(
    _ spec: WidgetSpec, _ id: WidgetID, applySet: String, owners table: ModelOwners? = nil,
    activity: Activity? = nil
  ) throws(StoreError) {
    let widget = Widget(
      id: id, kind: spec.kind, family: spec.family ?? .medium, labels: spec.labels,
      presence: Presence(isVisible: spec.isVisible ?? true, isEnabled: spec.isEnabled ?? true),
      parameters: spec.parameters, data: spec.data, createdRevision: revision,
      revision: revision, createTime: now, updateTime: now, ownerUID: caller.uid,
      applySet: applySet, activity: activity)
    if widgets.count >= limits.widgetsMax { throw quota("widgets_max", limits.widgetsMax) }
    if widgets.values.count(where: { $0.ownerUID == caller.uid }) >= limits.widgetsPerUIDMax {
      throw quota("widgets_per_uid_max", limits.widgetsPerUIDMax)
    }
    try admit(widget, over: nil, owners: table)
    widgets[id] = widget
    owners[id] = table
    order.append(id)
    touch(widget)
  }

  mutating func store(
    _ new: Widget, replacing old: Widget, owners after: ModelOwners?
  ) throws(StoreError) {
    try admit(new, over: old, owners: after)
    guard new != old || after != owners[old.id] else { return }
    if new == old { reowned.insert(old.id) }
    owners[old.id] = after
    for (a, b) in [(old.data, new.data), (old.parameters, new.parameters)] {
      removalCount += a.keys.count { b[$0] == nil }
    }
    touch(new)
  }

  mutating func touch(_ widget: Widget) {
    var widget = widget
    widget.revision = revision
    widget.updateTime = now
    widgets[widget.id] = widget
    touched.insert(widget.id)
    isChange = true
  }

  mutating func remove(_ id: WidgetID) {
    widgets[id] = nil
    owners[id] = nil
    order.removeAll { $0 == id }
    removalCount += 1
    isChange = true
  }

  // MARK: - Limits

  private func quota(_ limit: String, _ maximum: Int) -> StoreError {
    .quotaExceeded(limit: limit, maximum: maximum)
  }

  /// An error about the size of a declared widget names the widget.
  private func named(_ error: StoreError, _ id: WidgetID, _ index: Int) -> StoreError {
    guard case .quotaExceeded(limit: "widget_bytes_max", _) = error else { return error }
    return .inWidget(index, of: id, error)
  }

  private func cost(_ widget: Widget, _ owners: ModelOwners?) -> Int {
    256 + (owners?.cost ?? 0)
      + widget.labels.entries.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 16 }
      + widget.data.cost + widget.parameters.cost + widget.applySet.utf8.count
      + (widget.error?.all.reduce(0) { $0 + $1.reason.utf8.count + $1.message.utf8.count } ?? 0)
  }

  private func admit(
    _ new: Widget, over old: Widget?, owners after: ModelOwners?
  ) throws(StoreError) {
    if max(new.data.count, new.parameters.count) > limits.keysPerWidgetMax {
      throw quota("keys_per_widget_max", limits.keysPerWidgetMax)
    }
    if new.labels.count > limits.labelsPerWidgetMax {
      throw quota("labels_per_widget_max", limits.labelsPerWidgetMax)
    }
    let growth = cost(new, after) - (old.map { cost($0, owners[$0.id]) } ?? 0)
    guard growth > 0 else { return }
    if cost(new, after) > limits.widgetBytesMax {
      throw quota("widget_bytes_max", limits.widgetBytesMax)
    }
    let used = widgets.values.filter { $0.ownerUID == new.ownerUID }.reduce(0) {
      $0 + cost($1, owners[$1.id])
    }
    if used + growth > limits.stateBytesPerUIDMax {
      throw quota("state_bytes_per_uid_max", limits.stateBytesPerUIDMax)
    }
  }

  // MARK: - Shape

  func checkShape(_ spec: WidgetSpec, _ field: String) throws(StoreError) {
    try checkShape(spec.labels, "\(field).labels")
    try checkShape(spec.data, "\(field).data")
    try checkShape(spec.parameters, "\(field).parameters")
  }

  func checkShape(_ patch: WidgetPatch) throws(StoreError) {
    try checkShape(patch.setData, "patch.set_data")
    try checkShape(patch.setParameters, "patch.set_parameters")
    try checkShape(patch.setLabels, "patch.set_labels")
    if case .some(.some(let error)) = patch.error, error.reason.isEmpty {
      throw .invalid(field: "patch.error.reason", description: "")
    }
  }

  private func checkShape(_ map: ValueMap, _ field: String) throws(StoreError) {
    for entry in map.entries {
      if entry.key.isEmpty || entry.key.utf8.count > limits.keyBytesMax {
        throw .invalid(field: field, description: "")
      }
      if depth(entry.value) > limits.valueDepthMax {
        throw .invalid(field: "\(field)[\(entry.key)]", description: "")
      }
    }
  }

  private func checkShape(_ labels: Labels, _ field: String) throws(StoreError) {
    for label in labels.entries {
      if label.key.isEmpty || label.key.utf8.count > limits.keyBytesMax {
        throw .invalid(field: field, description: "")
      }
      if label.value.utf8.count > limits.keyBytesMax {
        throw .invalid(field: "\(field)[\(label.key)]", description: "")
      }
    }
  }

  private func depth(_ value: Value) -> Int {
    switch value {
    case .list(let values): 1 + (values.map(depth).max() ?? 0)
    case .map(let map): 1 + (map.entries.map { depth($0.value) }.max() ?? 0)
    default: 0
    }
  }
}
