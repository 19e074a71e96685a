import WidgetBundle
public import WidgetModel

/// A question of the daemon: what would an instance of a kind show now?
public struct SnapshotQuestion: Hashable, Sendable {
  /// Names the question in the answer.
  public let number: UInt64
  public let kind: KindName
  public let family: Family
  /// With the defaults.
  public let parameters: ValueMap
  /// The user who asks.
  public let uid: UInt32
  /// Whether an owner asks. Others may not choose the parameters, because programs and servers get
  /// them.
  public let isOwner: Bool

  public init(
    number: UInt64, kind: KindName, family: Family, parameters: ValueMap, uid: UInt32,
    isOwner: Bool
  ) {
    self.number = number
    self.kind = kind
    self.family = family
    self.parameters = parameters
    self.uid = uid
    self.isOwner = isOwner
  }
}

// Previews: an instance with a single widget that nobody else sees. It reads the widget's sources.
// Its triggers do not fire, so it changes nothing.
extension BundleInstance {
  /// An instance of the same bundle for a preview.
  func preview(generation: UInt64, seed: UInt64) -> BundleInstance {
    BundleInstance(previewOf: self, generation: generation, seed: seed)
  }

  /// The widget of a preview; nil if the bundle does not have the kind.
  func previewWidget(for question: SnapshotQuestion) -> Widget? {
    guard let kind = kinds[question.kind]?.kind.kind, let id = BundleInstance.previewID else {
      return nil
    }
    let defaults = kind.data.compactMap { field in
      field.defaultValue.map { ValueMap.Entry(key: field.name, value: $0) }
    }
    return Widget(
      id: id, kind: question.kind, family: question.family, parameters: question.parameters,
      data: ValueMap(defaults))
  }

  /// The id of the widget in a preview.
  static let previewID = WidgetID("preview")

  /// Whether the bundle or an owner has chosen these parameters: they are the defaults,
  /// recommended, or those of a widget.
  func knows(_ parameters: ValueMap, of name: KindName) -> Bool {
    guard let kind = kinds[name]?.kind.kind else { return false }
    var defaults = ValueMap()
    for field in kind.parameters { defaults[field.name] = field.defaultValue }
    let recommended = kind.recommendations.map { recommendation in
      var map = defaults
      for entry in recommendation.parameters.entries { map[entry.key] = entry.value }
      return map
    }
    return ([defaults] + recommended).contains(parameters)
      || widgets.contains { $0.heard.kind == name && $0.view.parameters == parameters }
  }

  /// Whether a source of a preview has not given its first result yet.
  ///
  /// - Parameter heard: the requests of continuous sources that have given a result.
  func isReading(besides heard: Set<RequestID>) -> Bool {
    let isWaiting = requests.isReading(besides: heard)
    guard !isWaiting, let id = BundleInstance.previewID, let facts = facts(of: id) else {
      return isWaiting
    }
    return facts.kind.sources.indices.contains { index in
      let state = state(id, index)
      guard !state.isQueued, !state.isWantedAgain else { return true }
      // The input has changed, so the source is read again in a moment.
      guard !facts.kind.sources[index].dependencies.isEmpty,
        let deadline = timers[.source(id, index)]
      else { return false }
      return deadline <= now.uptime + limits.fileSpacing
    }
  }
}
