import WidgetModel

/// The parts of a widget that commands change, and the revision that last changed each part.
///
/// This is a value. The state of a widget in the store changes only through `RecordTable`.
struct RecordState {
  /// The last change of any part. `RecordTable` sets it with every change.
  var revision: Revision
  var updateTime: Timestamp

  var labels: Labels = [:]
  var labelsRevision: Revision
  var presence = Presence()
  var presenceRevision: Revision
  var position: Int64
  var positionRevision: Revision
  /// Family, stale, error and apply set change rarely, so they share one revision.
  var family: Family
  var isStale = false
  @Boxed var error: WidgetError?
  var applySet = ""
  var statusRevision: Revision
  var data = RevisedMap()
  var parameters = RevisedMap()
  /// The owners of fields; nil if no manager ever declared the widget.
  @Boxed var ownership: Ownership?
  /// Whether a manager ever declared the widget.
  var isOwned: Bool { _ownership.isThere }
  /// The latest hint, and the revision it came with.
  @Boxed var transition: Transition?
  var transitionRevision: Revision = 0
  /// Readers from before this revision get the widget as a whole, because its former state is lost
  /// and the changes are unknown, or because its removed keys have no tombstones.
  var replacedRevision: Revision = 0
  /// When the widget's family last changed.
  var familyRevision: Revision = 0
  /// The timeline that its provider set; nil for none.
  @Boxed var timeline: Timeline?
  /// Its place in its timeline or schedule; nil if it has neither. `RecordTable` keeps it up to
  /// date.
  @Boxed var moment: Moment?
  /// The activity that it shows; nil for none. It changes with the status.
  @Boxed var activity: Activity?
  var isActivity: Bool { _activity.isThere }
  /// When it last lost its moment.
  var momentClearedRevision: Revision = 0
  /// The memory of the compiled expression that the parameters of a stack have; 0 for none.
  var expressionBytes = 0
  /// The cost of the widget against its owner's quota: always `cost`.
  var costBytes = 0

  /// A widget without any content yet.
  init(family: Family, position: Int64, revision: Revision, time: Timestamp) {
    self.family = family
    self.position = position
    self.revision = revision
    labelsRevision = revision
    presenceRevision = revision
    positionRevision = revision
    statusRevision = revision
    updateTime = time
  }

  /// The cost of an empty widget.
  static let baseCostBytes = 256

  /// The cost of the whole widget against its owner's quota. O(keys).
  var cost: Int {
    RecordState.baseCostBytes + labels.costBytes + data.costBytes + parameters.costBytes
      + error.costBytes + applySet.utf8.count + (ownership?.costBytes ?? 0)
      + (timeline?.costBytes ?? 0) + expressionBytes
  }

  /// The last step of every change.
  mutating func finish(_ transition: Transition?, at revision: Revision, time: Timestamp) {
    updateTime = time
    if let transition {
      self.transition = transition
      transitionRevision = revision
    }
  }

  /// Removes the errors of failed reducers.
  mutating func clearMarks(at revision: Revision) {
    error = WidgetError(joining: error?.all.filter { !ReducerFailure.isMark($0) } ?? [])
    statusRevision = revision
    costBytes = cost
  }

  /// Removes fields without tombstones. Readers from before the revision get the whole widget.
  mutating func remove(
    _ fields: [(part: FieldOwner.Part, key: String)], at revision: Revision
  ) {
    for (part, key) in fields {
      switch part {
      case .data: data.remove(key, at: revision)
      case .parameters: parameters.remove(key, at: revision)
      case .labels: break
      }
    }
    replacedRevision = revision
    costBytes = cost
  }

  /// Applies a patch. Keys in both `set…` and `unset…` are set.
  mutating func apply(_ patch: WidgetPatch, at revision: Revision) {
    var unset = patch.unsetData
    if patch.replaceData { unset = data.keys }
    for key in unset where patch.setData[key] == nil {
      _ = data.unset(key, at: revision)
    }
    for entry in patch.setData.entries { _ = data.set(entry.key, to: entry.value, at: revision) }
    guard !patch.changesOnlyData else { return }
    for key in patch.unsetParameters where patch.setParameters[key] == nil {
      _ = parameters.unset(key, at: revision)
    }
    for entry in patch.setParameters.entries {
      _ = parameters.set(entry.key, to: entry.value, at: revision)
    }
    if patch.changesLabels, case let newLabels = labels.applying(patch), newLabels != labels {
      labels = newLabels
      labelsRevision = revision
    }
    if let isStale = patch.isStale {
      if isStale != self.isStale {
        self.isStale = isStale
        statusRevision = revision
      }
      // Somebody has set `stale`, so a clock that is set back does not change it.
      moment?.stayStale()
    }
    if let timeline = patch.timeline { self.timeline = timeline }
    if let error = patch.error, error != self.error {
      self.error = error
      statusRevision = revision
    }
  }
}

/// Keeps a rare value in separate memory, so that its absence costs only a pointer.
@propertyWrapper
struct Boxed<Value> {
  private final class Box {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private var box: Box?

  var isThere: Bool { box != nil }

  var wrappedValue: Value? {
    get { box?.value }
    set { box = newValue.map(Box.init) }
  }

  init(wrappedValue: Value?) { box = wrappedValue.map(Box.init) }
}
