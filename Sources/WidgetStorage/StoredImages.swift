import WidgetCore
import WidgetProto

// Conversion between the store's images and their messages in the database.

extension StoredWidget {
  init(_ image: RecordImage) {
    self.init(
      widget: image.widget, data: image.data.map(StoredEntry.init),
      parameters: image.parameters.map(StoredEntry.init), labelsRevision: image.labelsRevision,
      presenceRevision: image.presenceRevision, positionRevision: image.positionRevision,
      statusRevision: image.statusRevision, transition: image.transition,
      transitionRevision: image.transitionRevision, contentRevision: image.contentRevision,
      contentIsCut: image.contentIsCut, owners: image.owners,
      dataKeysRevision: image.dataKeysRevision, timeline: image.timeline,
      failures: image.failures.map {
        StoredFailure(nodeID: $0.nodeID, part: $0.part, since: $0.since)
      }, timelineProblemTime: image.timelineProblemTime, replacedRevision: image.replacedRevision)
  }
}

extension RecordImage {
  /// - Parameter compactRevision: Keys removed at or before this revision are left out, because no
  ///   reader needs the removal any more.
  init(_ stored: StoredWidget, compactRevision: UInt64) {
    func entries(_ stored: [StoredEntry]) -> [RevisedEntry] {
      stored.compactMap { entry in
        guard entry.value != nil || entry.revision > compactRevision else { return nil }
        return RevisedEntry(key: entry.key, value: entry.value, revision: entry.revision)
      }
    }
    self.init(
      widget: stored.widget, data: entries(stored.data), parameters: entries(stored.parameters),
      labelsRevision: stored.labelsRevision, presenceRevision: stored.presenceRevision,
      positionRevision: stored.positionRevision, statusRevision: stored.statusRevision,
      transition: stored.transition, transitionRevision: stored.transitionRevision,
      contentRevision: stored.contentRevision, contentIsCut: stored.contentIsCut,
      owners: stored.owners, dataKeysRevision: stored.dataKeysRevision,
      timeline: stored.timeline,
      failures: stored.failures.map {
        FailureImage(nodeID: $0.nodeID, part: $0.part, since: $0.since)
      }, timelineProblemTime: stored.timelineProblemTime,
      replacedRevision: stored.replacedRevision)
  }
}

extension StoredEntry {
  init(_ entry: RevisedEntry) {
    self.init(key: entry.key, value: entry.value, revision: entry.revision)
  }
}

extension StoredTombstone {
  init(_ image: TombstoneImage) {
    self.init(
      id: image.id, kind: image.kind,
      createdRevision: image.createdRevision, revision: image.revision,
      transition: image.transition)
  }
}

extension TombstoneImage {
  init(_ stored: StoredTombstone) {
    self.init(
      id: stored.id, kind: stored.kind,
      createdRevision: stored.createdRevision, revision: stored.revision,
      transition: stored.transition)
  }
}
