import WidgetClient
import WidgetModel

// The output of `-o json`, `jsonl` and `yaml`: the fields of the messages in lowerCamelCase, enums
// as lower-case words, 64-bit revisions as numbers, times in RFC 3339, durations in seconds
// ("1.5s"). Data and parameters are plain JSON; see `DataDocument` for values without a JSON type.
// Presence is flat (`visible`, `enabled`, and `state`, which follows from both), as in a file for
// `apply`.

extension Widget {
  /// The widget as a document. Fields with their default (no error, not stale, no set) are left
  /// out.
  ///
  /// - Parameter stored: the timeline that was set.
  func document(
    etag: String = "", mask: ReadMask = .all, stored: Timeline? = nil
  ) -> Value {
    var map: ValueMap = [
      "id": .string(id.rawValue), "kind": .string(kind.rawValue), "revision": .revision(revision),
      "createdRevision": .revision(createdRevision),
    ]
    if mask.wants(.family) { map["family"] = .string(family.name) }
    if mask.wants(.labels) { map["labels"] = labels.document }
    if mask.wants(.presence) { map.set(presence) }
    if mask.wants(.position) { map["position"] = .int(position) }
    if mask.wants(.parameters) || !mask.parameterKeys.isEmpty {
      map["parameters"] = .map(parameters)
    }
    if mask.wants(.data) || !mask.dataKeys.isEmpty { map["data"] = .map(data) }
    if mask.wants(.stale), isStale { map["stale"] = .bool(true) }
    if mask.wants(.error), let error { map["error"] = error.document }
    if mask.wants(.createTime) { map["createTime"] = .string(RFC3339.text(createTime)) }
    if mask.wants(.updateTime) { map["updateTime"] = .string(RFC3339.text(updateTime)) }
    if mask.wants(.ownerUID) { map["ownerUid"] = .int(Int64(ownerUID)) }
    if mask.wants(.applySet), !applySet.isEmpty { map["applySet"] = .string(applySet) }
    if mask.wants(.content), let content { map["content"] = content.document }
    let status = mask.wants(.timeline) ? timeline?.documentMap : nil
    if let whole = stored?.added(to: status ?? [:]) ?? status, !whole.entries.isEmpty {
      map["timeline"] = .map(whole)
    }
    if mask.wants(.activity), let activity { map["activity"] = activity.document }
    if !etag.isEmpty { map["etag"] = .string(etag) }
    return .map(map)
  }
}

extension Value {
  /// A revision or sequence number. These count from 0 in steps of 1, and stay far below 2^63.
  static func revision(_ number: UInt64) -> Value {
    Int64(exactly: number).map { .int($0) } ?? .string("\(number)")
  }
}

extension ValueMap {
  fileprivate mutating func set(_ presence: Presence) {
    self["visible"] = .bool(presence.isVisible)
    self["enabled"] = .bool(presence.isEnabled)
    self["state"] = .string(presence.state.name)
  }
}

extension Labels {
  var document: WidgetModel.Value {
    .map(ValueMap(entries.map { .init(key: $0.key, value: .string($0.value)) }))
  }
}

extension WidgetError {
  var document: Value {
    var map: ValueMap = ["reason": .string(reason), "message": .string(message)]
    if let since { map["since"] = .string(RFC3339.text(since)) }
    if !further.isEmpty { map["further"] = .list(further.map(\.document)) }
    return .map(map)
  }
}

extension Transition {
  var document: Value {
    var map: ValueMap = ["curve": .string(curve.name)]
    if let duration { map["duration"] = .string(DurationSyntax.seconds(duration)) }
    if springResponse != 0 { map["springResponse"] = .double(springResponse) }
    if springDamping != 0 { map["springDamping"] = .double(springDamping) }
    return .map(map)
  }
}

extension Event {
  var document: Value {
    var map: ValueMap = [
      "type": .string("event"), "sequence": .revision(sequence),
      "widgetId": .string(widgetID.rawValue), "name": .string(name), "payload": .map(payload),
      "time": .string(RFC3339.text(time)), "revision": .revision(revision),
    ]
    if !nodeID.isEmpty { map["nodeId"] = .string(nodeID) }
    if isForced { map["forced"] = .bool(true) }
    var origin: ValueMap = ["uid": .int(Int64(self.origin.uid))]
    if self.origin.pid != 0 { origin["pid"] = .int(Int64(self.origin.pid)) }
    if !self.origin.client.isEmpty { origin["client"] = .string(self.origin.client) }
    map["origin"] = .map(origin)
    return .map(map)
  }
}

extension EventGap {
  var document: Value {
    .map([
      "type": .string("gap"), "firstSequence": .revision(firstSequence),
      "lastSequence": .revision(lastSequence),
    ])
  }
}

extension WidgetChange {
  /// `{"added": {…}}`, `{"updated": {…}}` or `{"removed": {…}}`.
  func document(mask: ReadMask) -> Value {
    switch self {
    case .added(let widget, let transition):
      var map: ValueMap = ["widget": widget.document(mask: mask)]
      if let transition { map["transition"] = transition.document }
      return .map(["added": .map(map)])
    case .updated(let update):
      return .map(["updated": update.document(mask: mask)])
    case .removed(let id, let transition):
      var map: ValueMap = ["id": .string(id.rawValue)]
      if let transition { map["transition"] = transition.document }
      return .map(["removed": .map(map)])
    }
  }
}

extension WidgetUpdate {
  func document(mask: ReadMask) -> Value {
    var map: ValueMap = [
      "id": .string(id.rawValue), "revision": .revision(revision),
    ]
    if mask.wants(.updateTime) { map["updateTime"] = .string(RFC3339.text(updateTime)) }
    if !setData.isEmpty { map["setData"] = .map(setData) }
    if !unsetData.isEmpty { map["unsetData"] = .list(unsetData.map { .string($0) }) }
    if !setParameters.isEmpty { map["setParameters"] = .map(setParameters) }
    if !unsetParameters.isEmpty {
      map["unsetParameters"] = .list(unsetParameters.map { .string($0) })
    }
    if let labels { map["labels"] = labels.document }
    if let presence { map.set(presence) }
    if let position { map["position"] = .int(position) }
    if let isStale { map["stale"] = .bool(isStale) }
    if let error { map["error"] = error?.document ?? .null }
    if let transition { map["transition"] = transition.document }
    if let applySet { map["applySet"] = .string(applySet) }
    if let family { map["family"] = .string(family.name) }
    if let content { map["content"] = content.document }
    switch timeline {
    case .some(let status?): map["timeline"] = status.document
    case .some(nil): map["timelineCleared"] = .bool(true)
    case nil: break
    }
    if let activity { map["activity"] = activity.document }
    return .map(map)
  }
}

extension Content {
  var document: Value {
    .map(["rootId": .string(rootID), "nodes": .list(nodes.map(\.document))])
  }
}

extension Node {
  var document: Value {
    var map: ValueMap = ["id": .string(id), "type": .string(type?.name ?? "unknown")]
    if !properties.isEmpty { map["properties"] = .map(properties) }
    if !childIDs.isEmpty { map["childIds"] = .list(childIDs.map { .string($0) }) }
    if !events.isEmpty { map["events"] = .list(events.map { .string($0) }) }
    if !problem.isEmpty { map["problem"] = .string(problem) }
    if let problemSince { map["problemSince"] = .string(RFC3339.text(problemSince)) }
    return .map(map)
  }
}

extension ContentChange {
  var document: Value {
    var map: ValueMap = [:]
    if replaces { map["replace"] = .bool(true) }
    if !rootID.isEmpty { map["rootId"] = .string(rootID) }
    if !setNodes.isEmpty { map["setNodes"] = .list(setNodes.map(\.document)) }
    if !removedIDs.isEmpty { map["removedNodeIds"] = .list(removedIDs.map { .string($0) }) }
    return .map(map)
  }
}

extension WatchFrame {
  /// One object per frame, distinguished by `type`. An event batch is one object per event.
  func documents(mask: ReadMask) -> [Value] {
    func token(_ bytes: [UInt8]) -> Value { .string(PaddedBase64.encode(bytes)) }
    switch self {
    case .opened(let opened):
      return [
        .map([
          "type": .string("opened"), "epoch": .string("\(opened.epoch)"),
          "revision": .revision(opened.revision),
        ])
      ]
    case .snapshot(let chunk):
      var map: ValueMap = [
        "type": .string("snapshot"),
        "widgets": .list(chunk.widgets.map { $0.document(mask: mask) }),
      ]
      if !chunk.removedIDs.isEmpty {
        map["removedIds"] = .list(chunk.removedIDs.map { .string($0.rawValue) })
      }
      return [.map(map)]
    case .synced(let synced):
      return [
        .map([
          "type": .string("synced"), "revision": .revision(synced.revision),
          "resumeToken": token(synced.resumeToken),
        ])
      ]
    case .changes(let set):
      var map: ValueMap = [
        "type": .string("changes"), "fromRevision": .revision(set.fromRevision),
        "changes": .list(set.changes.map { $0.document(mask: mask) }),
      ]
      if set.more {
        map["more"] = .bool(true)
      } else {
        map["toRevision"] = .revision(set.toRevision)
        map["resumeToken"] = token(set.resumeToken)
      }
      return [.map(map)]
    case .events(let batch):
      return batch.events.map(\.document)
    case .gap(let gap):
      return [gap.document]
    case .progress(let progress):
      return [
        .map([
          "type": .string("progress"), "revision": .revision(progress.revision),
          "resumeToken": token(progress.resumeToken),
          "lastSequence": .revision(progress.lastSequence),
        ])
      ]
    case .theme(let theme):
      guard case .map(var map) = theme.document else { return [] }
      map["type"] = .string("theme")
      map["etag"] = nil
      return [.map(map)]
    case .upcoming(let upcoming):
      return [
        .map([
          "type": .string("upcoming"),
          "widgets": .list(
            upcoming.widgets.map { widget in
              .map([
                "id": .string(widget.id.rawValue),
                "entries": .list(widget.entries.map(\.document)), "more": .bool(widget.more),
              ])
            }),
        ])
      ]
    case .store(let store):
      var map: ValueMap = ["type": .string("store"), "takesChanges": .bool(store.failure == nil)]
      if let failure = store.failure { map["failure"] = failure.document }
      return [.map(map)]
    case .reset(let reason):
      return [
        .map([
          "type": .string("reset"),
          "reason": .string(reason == .compacted ? "compacted" : "epochChanged"),
        ])
      ]
    case .disconnected:
      return [.map(["type": .string("disconnected")])]
    case .reconnected:
      return [.map(["type": .string("reconnected")])]
    }
  }
}

extension RecentError {
  /// The fields of widgetd.v1.RecentError, with the code by name.
  var document: Value {
    var map: ValueMap = [
      "time": .string(RFC3339.text(time)), "code": .string(code.name), "reason": .string(reason),
      "area": .string(area), "message": .string(message), "count": .revision(count),
    ]
    if let peerUID { map["peerUid"] = .int(Int64(peerUID)) }
    return .map(map)
  }
}

extension GetStatsResponse {
  /// The epoch is text: it is a random 64-bit number that JSON readers would round.
  var document: Value {
    func numbers(_ map: [String: UInt64]) -> Value {
      .map(ValueMap(map.map { .init(key: $0.key, value: .revision($0.value)) }))
    }
    var map: ValueMap = [
      "version": .string(version), "startTime": .string(RFC3339.text(startTime)),
      "uptime": .string(DurationSyntax.seconds(uptime)), "store": .string(store),
      "epoch": .string("\(epoch)"), "revision": .revision(revision),
      "compactRevision": .revision(compactRevision), "widgets": .revision(widgets),
      "stateBytes": .revision(stateBytes), "lastSequence": .revision(lastSequence),
      "connections": .revision(connections), "subscriptions": .revision(subscriptions),
      "counters": numbers(counters), "limits": numbers(limits), "pid": .int(Int64(pid)),
      "recentErrors": .list(recentErrors.map(\.document)), "usage": numbers(usage),
      "memoryBytes": .revision(memoryBytes), "providers": .revision(providers),
    ]
    if let storeFailure { map["storeFailure"] = storeFailure.document }
    return .map(map)
  }
}

extension StoreFailure {
  var document: Value {
    .map(["message": .string(message), "since": .string(RFC3339.text(since))])
  }
}

extension FieldOwner {
  var document: Value {
    var map: ValueMap = ["path": .string(path), "owner": .string(owner)]
    if !manager.isEmpty { map["manager"] = .string(manager) }
    if let declared { map["declared"] = declared }
    return .map(map)
  }

  /// The field's value in a table of owners: `-` for none, and for a value that is set aside while
  /// the field has an owner.
  func text(in widget: Widget, of owners: [FieldOwner]) -> String {
    if isAside, owners.contains(where: { $0.path == path && !$0.isAside }) { return "-" }
    return value(in: widget).map(JSONWriter.compact) ?? "-"
  }
}
