/// A change by a provider of one of its widgets.
public struct ProvidedUpdate: Hashable, Sendable {
  public var id: WidgetID
  /// May be empty, to confirm that the widget's data is still true.
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

/// The reason for asking a provider about a widget. If there are several reasons, the first.
public enum DataRequestReason: UInt8, Hashable, Sendable, CaseIterable {
  /// A reason that this version does not know.
  case unspecified
  case created
  /// The provider came back, or now owns the widget's kind.
  case providerReturned
  case parametersChanged
  /// A client asked for fresh data.
  case refresh
  /// The widget's timeline ended, or its refresh time came.
  case timeline
}
