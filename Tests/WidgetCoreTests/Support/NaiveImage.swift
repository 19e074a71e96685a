import WidgetCore
import WidgetModel

extension StoreImage {
  /// The effect of a group on a commit log, in the simplest way.
  mutating func apply(_ group: CommitGroup) {
    revision = group.revision
    compactRevision = group.compactRevision
    eventSequenceCeiling = group.eventSequenceCeiling
    records.removeAll { group.deletions.contains($0.widget.id) }
    for upsert in group.upserts {
      records.removeAll { $0.widget.id == upsert.widget.id }
      records.append(upsert)
    }
    kinds.removeAll { group.kindDeletions.contains($0.kind.name) }
    for upsert in group.kindUpserts {
      kinds.removeAll { $0.kind.name == upsert.kind.name }
      kinds.append(upsert)
    }
    for trim in group.eventTrims {
      events.removeAll { $0.kind == trim.kind && $0.event.sequence < trim.before }
      lostEvents[trim.kind] = trim.lost
    }
    if let theme = group.theme { self.theme = theme }
    events += group.events
    tombstones += group.tombstones
    tombstones.removeAll { $0.revision <= compactRevision }
    for request in group.requests {
      requests.removeAll { $0.uid == request.uid && $0.requestID == request.requestID }
      requests.append(request)
    }
  }
}
