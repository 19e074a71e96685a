import WidgetModel

@testable import WidgetCore

/// Everything that a caller can see of a store, and the state that decides its next answers.
///
/// Two stores with equal observations give the same answers, except for the ids of internal slots.
struct Observation: Equatable {
  var revision: Revision
  var compactRevision: Revision
  var widgets: [Widget]
  var deltas: [[Result<Delta, StoreError>]]
  var events: [EventPage]
  var answers: [RequestImage]
  var nextDeadline: RunningTime?
  var usage: [UInt32: [Int]]
  var numbering: [KindName: UInt64]
  var lastEventSequence: UInt64
  var eventSequenceCeiling: UInt64
  var removals: [Removed]
  /// The part of each widget that a transfer would send.
  var chunks: [WidgetID: Widget]
  var kinds: [RegisteredKind]

  /// A remembered removal. A key without a widget is one of a widget that is gone itself.
  struct Removed: Hashable {
    var revision: Revision
    var widget: WidgetID?
    var key: String?
  }

  static let selectors = [
    Selector(), Selector(ids: ["a", "c", "missing"]), Selector(kinds: ["k"]),
    Selector(families: [.medium]),
    Selector(labels: [LabelRequirement(key: "on", operator: .exists)]),
  ]
}

extension WidgetStore {
  /// The visible state of the store for these cursors. Default: all cursors.
  func observation(cursors: [Revision]? = nil) -> Observation {
    let cursors = cursors ?? Array(0...(revision + 1))
    return Observation(
      revision: revision,
      compactRevision: compactRevision,
      widgets: list(after: nil, limit: .max).widgets,
      deltas: Observation.selectors.map { selector in
        cursors.map { cursor in
          Result { () throws(StoreError) in
            try changes(since: cursor, selecting: selector).normalized
          }
        }
      },
      events: (0...(min(lastEventSequence, 20) + 1)).map { events(after: $0) }
        + [events(after: lastEventSequence)],
      answers: ledger.newest(.max),
      nextDeadline: nextDeadline,
      usage: records.usage.mapValues { [$0.widgets, $0.bytes] },
      numbering: numbering.filter { $0.value > 0 },
      lastEventSequence: lastEventSequence,
      eventSequenceCeiling: eventSequenceCeiling,
      removals: tombstones.dropFirst(forgottenCount).map { removal in
        switch removal.what {
        case .widget(let tombstone):
          .init(revision: removal.revision, widget: tombstone.id, key: nil)
        case .key(let key, _, let slot, let created):
          .init(
            revision: removal.revision,
            widget: records[Int(slot)].flatMap { $0.createdRevision == created ? $0.id : nil },
            key: key)
        }
      },
      chunks: Dictionary(
        uniqueKeysWithValues: (0..<chunkCount).flatMap { widgets(inChunk: $0) }
          .map { ($0.id, $0) }),
      kinds: kinds(after: "", limit: .max).kinds)
  }
}

extension Observation {
  /// The part that survives a restart: everything except past events, the numbers of automatic ids,
  /// and the removed keys of removed widgets.
  var durable: Observation {
    var result = self
    result.events = []
    result.lastEventSequence = 0
    result.numbering = [:]
    result.removals = removals.filter { $0.widget != nil }.sorted { a, b in
      (a.revision, a.widget?.rawValue ?? "", a.key ?? "")
        < (b.revision, b.widget?.rawValue ?? "", b.key ?? "")
    }
    return result
  }
}

extension Delta {
  /// Sorts the changes of one revision, whose order is not guaranteed.
  var normalized: Delta {
    var result = self
    result.changes.sort { a, b in a.sortKey < b.sortKey }
    return result
  }
}

extension WidgetChange {
  fileprivate var sortKey: (Int, Revision, String) {
    switch self {
    case .removed(let id, _): (0, 0, id.rawValue)
    case .added(let widget, _): (1, widget.revision, widget.id.rawValue)
    case .updated(let update): (1, update.revision, update.id.rawValue)
    }
  }
}
