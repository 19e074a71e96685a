import NIOCore
import WidgetCore
import WidgetModel

/// All subscriptions with the same filter. Their messages are encoded once for all.
final class WatchGroup: RoundMember {
  let key: KeptHash<Filter>
  let filterHash: UInt64
  /// The current members are those that are caught up.
  var members = RoundMembers<Subscription>()
  /// The index in the list of groups, which sets it.
  var place = 0
  /// Nil if no member has a `batch_delay`.
  var batchDelays: BatchDelays?

  /// Frames that its members share.
  let snapshots = ChunkFrames()
  /// The frames of the first pass of transfers of changes. Members that fell behind together share
  /// them.
  private(set) var transfers: [ChunkFrames] = []
  var changes = ChangeFrames()
  /// The event frames that its members got last in this turn.
  var events: EventFrames?

  /// The filter of a stream.
  enum Filter: Hashable {
    case widgets(
      Selector, ReadMask, includesEvents: Bool, contentFamily: Family?, upcomingEntries: Int,
      isRedacted: Bool)
    case events(Selector, names: [String])

    var selector: Selector {
      switch self {
      case .widgets(let selector, _, _, _, _, _), .events(let selector, _): selector
      }
    }

    var mask: ReadMask {
      if case .widgets(_, let mask, _, _, _, _) = self { mask } else { .all }
    }

    var wantsState: Bool {
      if case .widgets = self { true } else { false }
    }

    var wantsEvents: Bool {
      switch self {
      case .widgets(_, _, let includesEvents, _, _, _): includesEvents
      case .events: true
      }
    }

    /// The family whose content is wanted; nil for each widget's family, and for no content.
    var contentFamily: Family? {
      guard mask.wants(.content), case .widgets(_, _, _, let family, _, _) = self else {
        return nil
      }
      return family
    }

    /// The number of entries of each timeline that the reader gets in advance.
    var upcomingEntries: Int {
      if case .widgets(_, _, _, _, let count, _) = self { count } else { 0 }
    }

    /// Whether the reader gets a redacted view.
    var isRedacted: Bool {
      if case .widgets(_, _, _, _, _, let isRedacted) = self { isRedacted } else { false }
    }

    var eventNames: [String] {
      if case .events(_, let names) = self { names } else { [] }
    }

    /// The memory of the terms: ids, kinds, families, label conditions, keys of the mask and names
    /// of events. The compiled expression counts separately. Each id also has an entry among the
    /// watched ids (`WatchedSelectors`), or in the set of a `WidgetTest`.
    var termBytes: Int {
      let (selector, mask) = (selector, mask)
      var bytes = selector.families.count
      for id in selector.ids { bytes += Filter.bytes(of: id.rawValue) + Filter.entryBytes }
      // Each kind is in a set, too.
      for kind in selector.kinds { bytes += 2 * Filter.bytes(of: kind.rawValue) }
      for label in selector.labels {
        bytes += Filter.bytes(of: label.key)
        for value in label.values { bytes += Filter.bytes(of: value) }
      }
      for text in mask.dataKeys { bytes += Filter.bytes(of: text) }
      for text in mask.parameterKeys { bytes += Filter.bytes(of: text) }
      for text in eventNames { bytes += Filter.bytes(of: text) }
      return bytes
    }

    /// The memory of an id's entry in a table, with the room for further entries.
    private static let entryBytes = 48

    /// The memory of a text in an array. Texts of up to 15 bytes need no other storage.
    private static func bytes(of text: String) -> Int {
      let count = text.utf8.count
      return count > 15 ? 48 + count : 16
    }
  }

  /// The content of the widgets that the members take.
  let content: ContentChoice

  /// The memory of the filter's terms, in bytes.
  let termBytes: Int

  convenience init(_ filter: Filter) { self.init(KeptHash(filter)) }

  init(_ key: KeptHash<Filter>) {
    let filter = key.value
    self.key = key
    termBytes = filter.termBytes
    content = ContentChoice(filter.contentFamily, filter.mask, isRedacted: filter.isRedacted)
    filterHash = WatchGroup.hash(filter)
    sharesWidgets = filter.mask.isEverything && content == .own && filter.upcomingEntries == 0
  }

  deinit { horizon.forget() }

  var filter: Filter { key.value }
  var isEmpty: Bool { members.isEmpty }

  /// The date until which the members know the content of widgets; see `upcomingEntries`.
  var horizon = UpcomingHorizon()

  /// The maximum number of widgets that members get at once, so that the upcoming entries of all of
  /// them are made within a turn's budget. A widget whose entries are left out needs the daemon at each
  /// change.
  var widgetsAtOnceMax: Int {
    let entries = filter.upcomingEntries
    return entries > 0 ? max(1, WatchGroup.entriesAtOnce / (entries + 1)) : .max
  }

  /// The maximum number of entries that are made at once. With a small content, they cost a fifth of
  /// `content_cost_max`.
  private static let entriesAtOnce = 512

  /// Whether its members read content for another family, which may have to be made for them.
  var makesContent: Bool { content.family != nil }

  /// Whether its members take whole widgets with each widget's content, so that they share encoded
  /// widgets with other groups. Members that get entries in advance need the widgets themselves.
  let sharesWidgets: Bool

  /// Whether a change of any widget can matter to its members. A selector with ids is about these alone.
  var readsAllChanges: Bool { filter.wantsState && filter.selector.ids.isEmpty }

  /// The frames for members that hold the state of a revision. New ones replace the least recently used
  /// ones.
  func transfers(since cursor: Revision) -> ChunkFrames {
    if let known = transfers.first(where: { $0.cursor == cursor }) { return known }
    if transfers.count >= WatchGroup.transfersMax,
      let oldest = transfers.indices.min(by: { transfers[$0].usedAt < transfers[$1].usedAt })
    {
      transfers.remove(at: oldest).removeAll()
    }
    let frames = ChunkFrames(since: cursor)
    transfers.append(frames)
    return frames
  }

  /// The frames are not used any more.
  func dropTransfers(_ frames: ChunkFrames) { transfers.removeAll { $0 === frames } }

  private static let transfersMax = 3

  func forgetFrames() {
    snapshots.removeAll()
    transfers.removeAll()
    changes.removeAll()
    events = nil
  }

  /// The hash in a resume token. The same conditions in another order have the same hash, in every
  /// process.
  private static func hash(_ filter: Filter) -> UInt64 {
    let (selector, mask) = (filter.selector, filter.mask)
    var hash = StableHash()
    func combine(_ name: String, _ terms: [String]) {
      hash.combine(name)
      for term in Set(terms).sorted(by: { $0.precedesByBytes($1) }) { hash.combine(term) }
    }
    combine("ids", selector.ids.map(\.rawValue))
    combine("kinds", selector.kinds.map(\.rawValue))
    combine("families", selector.families.map { "\($0.rawValue)" })
    combine(
      "labels",
      selector.labels.map { requirement in
        let values = requirement.values.sorted { $0.precedesByBytes($1) }
        return "\(requirement.key)\u{1}\(requirement.operator.rawValue)\u{1}"
          + values.joined(separator: "\u{2}")
      })
    if !selector.expression.isEmpty { combine("expression", [selector.expression]) }
    combine("mask", mask.isEverything ? [] : ["only"])
    combine("fields", mask.fields.map(\.rawValue))
    combine("data", mask.dataKeys)
    combine("parameters", mask.parameterKeys)
    if let family = filter.contentFamily { combine("content_family", ["\(family.rawValue)"]) }
    if filter.upcomingEntries > 0 { combine("upcoming", ["\(filter.upcomingEntries)"]) }
    if filter.isRedacted { combine("redacted", []) }
    return hash.value
  }
}

extension ContentChoice {
  /// The content that a request takes.
  init(_ family: Family?, _ mask: ReadMask, isRedacted: Bool) {
    guard !isRedacted else {
      self = .redacted(mask.wants(.content) ? family : nil)
      return
    }
    self = mask.wants(.content) ? family.map { .family($0) } ?? .own : .none
  }
}
