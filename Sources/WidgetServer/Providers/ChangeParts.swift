import WidgetModel
import WidgetProto

/// The parts of the state that changes of a provider set.
///
/// If later changes set every part that a refused change would have set, nothing of the refused
/// change is missing.
///
/// It has a limited number of parts, as hashes. So it takes little memory, however large the
/// changes are.
struct ChangeParts {
  enum Part: Hashable {
    case kind(KindName), prune
    case widget(WidgetID), stale(WidgetID), error(WidgetID), timeline(WidgetID)
    case data(WidgetID, String), allData(WidgetID), parameter(WidgetID, String)
    case label(WidgetID, String), release(WidgetID, String)
  }

  private var hashes: Set<Int> = []
  /// Whether the changes have more parts.
  private var isCut = false

  static let countMax = 1_024

  var isEmpty: Bool { hashes.isEmpty && !isCut }

  mutating func insert(_ part: Part) {
    if !isCut { insert(hash: part.hashValue) }
  }

  private mutating func insert(hash: Int) {
    if hashes.count < ChangeParts.countMax || hashes.contains(hash) {
      hashes.insert(hash)
    } else {
      isCut = true
    }
  }

  mutating func formUnion(_ other: ChangeParts) {
    for hash in other.hashes { insert(hash: hash) }
    isCut = isCut || other.isCut
  }

  mutating func subtract(_ other: ChangeParts) { hashes.subtract(other.hashes) }

  /// Whether other changes set all of the parts.
  func isCovered(by other: ChangeParts) -> Bool { !isCut && hashes.isSubset(of: other.hashes) }

  mutating func insert(_ patch: WidgetPatch, of id: WidgetID) {
    // Each update says that the widget is fresh.
    insert(.widget(id))
    for entry in patch.setData.entries { insert(.data(id, entry.key)) }
    for key in patch.unsetData { insert(.data(id, key)) }
    if patch.replaceData { insert(.allData(id)) }
    guard !patch.changesOnlyData else { return }
    for entry in patch.setParameters.entries { insert(.parameter(id, entry.key)) }
    for key in patch.unsetParameters { insert(.parameter(id, key)) }
    for entry in patch.setLabels.entries { insert(.label(id, entry.key)) }
    for key in patch.unsetLabels { insert(.label(id, key)) }
    for field in patch.releases { insert(.release(id, field)) }
    if patch.isStale != nil { insert(.stale(id)) }
    if patch.error != nil { insert(.error(id)) }
    if patch.timeline != nil { insert(.timeline(id)) }
  }
}

extension ServedSession {
  /// The parts of the state that a frame sets. Call it before the frame is carried out.
  func parts(of frame: ProvideRequest) -> ChangeParts {
    var parts = ChangeParts()
    switch frame {
    case .kinds(let declared):
      for kind in declared.kinds { parts.insert(.kind(kind.name)) }
      if declared.prune { parts.insert(.prune) }
    case .update(let update):
      for changed in update.updates { parts.insert(changed.patch, of: changed.id) }
    case .answer(let answer):
      if let id = widget(ofRequest: answer.dataRequestID) { parts.insert(answer.patch, of: id) }
    case .acknowledge(let acknowledge):
      guard let error = acknowledge.error, let id = widget(ofEvent: acknowledge.sequence) else {
        break
      }
      parts.insert(WidgetPatch(error: .some(error)), of: id)
    case .open, .keepAlive, .bundleAnswer, .snapshot: break
    }
    return parts
  }
}
