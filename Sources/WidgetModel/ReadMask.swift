/// The parts of a widget that a reader wants. `id`, `kind`, `revision` and `createdRevision` are
/// always included.
public struct ReadMask: Hashable, Sendable {
  /// The fields of a widget that can be left out.
  public enum Field: String, Hashable, Sendable, CaseIterable {
    case family
    case labels
    case presence
    case position
    case parameters
    case data
    case stale
    case error
    case createTime = "create_time"
    case updateTime = "update_time"
    case ownerUID = "owner_uid"
    case applySet = "apply_set"
    case content
    case timeline
    case activity
    case etag
    /// Included only if the mask names it. An empty mask does not include it.
    case owners
    /// Included only if the mask names it.
    case storedTimeline = "stored_timeline"
  }

  /// The fields that are wanted as a whole. If it and the two lists below are empty, everything is
  /// wanted.
  public let fields: Set<Field>
  /// The data keys that are wanted, sorted, unique.
  public let dataKeys: [String]
  /// The parameters that are wanted, sorted, unique.
  public let parameterKeys: [String]

  /// Everything.
  public static let all = ReadMask()

  private init() {
    fields = []
    dataKeys = []
    parameterKeys = []
  }

  /// Reads field mask paths: a field's name, `data.KEY` or `parameters.KEY`. No paths means
  /// everything. Throws the first path that names nothing.
  public init(paths: [String]) throws(UnknownPath) {
    var fields: Set<Field> = []
    var dataKeys: [String] = []
    var parameterKeys: [String] = []
    for path in paths {
      if let field = Field(rawValue: path) {
        fields.insert(field)
      } else if let key = path.key(behind: "data.") {
        dataKeys.append(key)
      } else if let key = path.key(behind: "parameters.") {
        parameterKeys.append(key)
      } else if !["id", "kind", "revision", "created_revision"].contains(path) {
        throw UnknownPath(path: path)
      }
    }
    self.fields = fields
    self.dataKeys = dataKeys.sortedByBytes
    self.parameterKeys = parameterKeys.sortedByBytes
    self.isBare = !paths.isEmpty
  }

  /// Whether the mask has only fields that are always included, so nothing else is wanted.
  private var isBare = false

  /// A path that names no field of a widget.
  public struct UnknownPath: Error, Hashable, Sendable {
    public let path: String
  }

  public var isEverything: Bool {
    !isBare && fields.isEmpty && dataKeys.isEmpty && parameterKeys.isEmpty
  }

  public func wants(_ field: Field) -> Bool {
    fields.contains(field) || (isEverything && field != .owners && field != .storedTimeline)
  }

  /// The widget without its unwanted parts, which are empty.
  public func filter(_ widget: Widget) -> Widget {
    guard !isEverything else { return widget }
    var result = Widget(
      id: widget.id, kind: widget.kind, createdRevision: widget.createdRevision,
      revision: widget.revision)
    if wants(.family) { result.family = widget.family }
    if wants(.labels) { result.labels = widget.labels }
    if wants(.presence) { result.presence = widget.presence }
    if wants(.position) { result.position = widget.position }
    if wants(.stale) { result.isStale = widget.isStale }
    if wants(.error) { result.error = widget.error }
    if wants(.createTime) { result.createTime = widget.createTime }
    if wants(.updateTime) { result.updateTime = widget.updateTime }
    if wants(.ownerUID) { result.ownerUID = widget.ownerUID }
    if wants(.applySet) { result.applySet = widget.applySet }
    if wants(.content) { result.content = widget.content }
    if wants(.timeline) { result.timeline = widget.timeline }
    if wants(.activity) { result.activity = widget.activity }
    result.data = filter(widget.data, whole: .data, keys: dataKeys)
    result.parameters = filter(widget.parameters, whole: .parameters, keys: parameterKeys)
    return result
  }

  /// The update without its unwanted parts; nil if nothing remains.
  public func filter(_ update: WidgetUpdate) -> WidgetUpdate? {
    guard !isEverything else { return update }
    var result = WidgetUpdate(
      id: update.id, revision: update.revision,
      updateTime: wants(.updateTime) ? update.updateTime : .epoch)
    if wants(.labels) { result.labels = update.labels }
    if wants(.presence) { result.presence = update.presence }
    if wants(.position) { result.position = update.position }
    if wants(.stale) { result.isStale = update.isStale }
    if wants(.error) { result.error = update.error }
    if wants(.applySet) { result.applySet = update.applySet }
    if wants(.family) { result.family = update.family }
    if wants(.content) { result.content = update.content }
    if wants(.timeline) { result.timeline = update.timeline }
    if wants(.activity) { result.activity = update.activity }
    result.setData = filter(update.setData, whole: .data, keys: dataKeys)
    result.setParameters = filter(update.setParameters, whole: .parameters, keys: parameterKeys)
    result.unsetData =
      wants(.data)
      ? update.unsetData : update.unsetData.filter { dataKeys.containsBytes(of: $0) }
    result.unsetParameters =
      wants(.parameters)
      ? update.unsetParameters
      : update.unsetParameters.filter { parameterKeys.containsBytes(of: $0) }
    guard !result.isEmpty || wants(.updateTime) else { return nil }
    result.transition = update.transition
    return result
  }

  private func filter(_ map: ValueMap, whole: Field, keys: [String]) -> ValueMap {
    if wants(whole) { return map }
    return ValueMap(keys.compactMap { key in map[key].map { .init(key: key, value: $0) } })
  }
}
