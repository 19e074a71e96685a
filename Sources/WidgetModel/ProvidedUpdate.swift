/// What a provider changes about one of its widgets.
public struct ProvidedUpdate: Hashable, Sendable {
  public var id: WidgetID
  /// May be empty: then it says that what the widget holds is still true.
  public var patch: WidgetPatch
  public var transition: Transition?

  public init(
    _ id: WidgetID, _ patch: WidgetPatch = WidgetPatch(), transition: Transition? = nil
  ) {
    self.id = id
    self.patch = patch
    self.transition = transition
  }
}

/// Why a provider is asked about a widget. Of several reasons, the first.
public enum DataRequestReason: UInt8, Hashable, Sendable, CaseIterable {
  /// Something that this version does not know.
  case unspecified
  case created
  /// The provider came back, or the widget's kind is its own now.
  case providerReturned
  case parametersChanged
  /// Somebody asked for fresh data.
  case refresh
  /// Its timeline ended, or its refresh time came.
  case timeline
}
