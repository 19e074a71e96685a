public import WidgetModel

/// The reason why the store refused a command. A command that throws does not change the store.
///
/// Every case has a stable `reason`; `WidgetServer` maps each to a canonical code in one exhaustive
/// switch, so a new case does not compile until its code is decided.
public indirect enum StoreError: Error, Hashable, Sendable {
  /// No widget has this id.
  case widgetNotFound(WidgetID)
  /// A widget with this id exists already.
  case widgetExists(WidgetID)
  /// The widget changed since the caller read it.
  case etagMismatch(WidgetID, current: Revision)
  /// The widget takes no events because it is hidden.
  case widgetHidden(WidgetID)
  /// The widget takes no events because it is disabled.
  case widgetDisabled(WidgetID)
  /// The widget's content has no such node now.
  case nodeNotFound(WidgetID, String)
  /// The node, or one that it is in, is hidden.
  case nodeHidden(WidgetID, String)
  /// The node, or one that it is in, is disabled.
  case nodeDisabled(WidgetID, String)
  /// The kind of a widget differs from the declared one. The kind of a widget cannot change.
  case kindMismatch(WidgetID, is: KindName, declared: KindName, of: String)
  /// No kind has this name.
  case kindNotFound(KindName)
  /// The kind belongs to another provider.
  case kindClaimed(KindName, by: String)
  /// The theme changed since the caller read it.
  case themeChanged(current: Revision)
  /// The widget is not an activity.
  case notAnActivity(WidgetID)
  /// The activity has ended, so its state and its end stay.
  case activityEnded(WidgetID)
  /// A reducer of the widget's kind cannot handle the event.
  case reducerFailed(WidgetID, event: String, ReducerFailure)
  /// A part of a request is invalid. `field` is its path in the request.
  case invalid(field: String, description: String)
  /// Values of a submitted form are wrong. There is at least one problem.
  case invalidForm([FormField.Problem])
  /// A limit is reached. `limit` is the name of a `StoreLimits` property.
  case quotaExceeded(limit: String, maximum: Int)
  /// A cursor lies before the revisions that the store still has.
  case revisionCompacted(compactRevision: Revision)
  /// A cursor lies in the future: it belongs to another history.
  case revisionUnknown(current: Revision)
  /// This provider does not have the widget's kind.
  case notProvided(WidgetID, kind: KindName, by: String)
  /// One of several updates failed; the first one has number 0.
  case inUpdate(Int, of: WidgetID, StoreError)
  /// A declared widget is too large; the first one has number 0.
  case inWidget(Int, of: WidgetID, StoreError)
  /// The user already used the request id for another request.
  case requestIDReused(String)

  /// Stable, machine-readable, UPPER_SNAKE_CASE.
  public var reason: String {
    switch self {
    case .widgetNotFound: "WIDGET_NOT_FOUND"
    case .widgetExists: "WIDGET_EXISTS"
    case .etagMismatch: "ETAG_MISMATCH"
    case .widgetHidden: "WIDGET_HIDDEN"
    case .widgetDisabled: "WIDGET_DISABLED"
    case .nodeNotFound: "NODE_NOT_FOUND"
    case .nodeHidden: "NODE_HIDDEN"
    case .nodeDisabled: "NODE_DISABLED"
    case .kindMismatch: "KIND_MISMATCH"
    case .kindNotFound: "KIND_NOT_FOUND"
    case .kindClaimed: "KIND_CLAIMED"
    case .themeChanged: "ETAG_MISMATCH"
    case .notAnActivity: "NOT_AN_ACTIVITY"
    case .activityEnded: "ACTIVITY_ENDED"
    case .reducerFailed: ReducerFailure.reason
    case .invalid, .invalidForm: "INVALID_FIELD"
    case .quotaExceeded: "QUOTA_EXCEEDED"
    case .revisionCompacted: "REVISION_COMPACTED"
    case .revisionUnknown: "REVISION_UNKNOWN"
    case .notProvided: "NOT_PROVIDED"
    case .inUpdate(_, _, let error), .inWidget(_, _, let error): error.reason
    case .requestIDReused: "REQUEST_ID_REUSED"
    }
  }
}
