import CWidgetProto
public import WidgetModel

// A declared set of widgets, and the changes that were made for it.

/// Asks to apply a declared set of widgets.
public struct ApplyWidgetsRequest: Hashable, Sendable {
  /// The set's name; "default" if empty. An id's alphabet.
  public var applySet: String
  /// The declared widgets, in the declared order. Each has an id.
  public var widgets: [WidgetSpec]
  /// Remove widgets that an earlier request with the same `applySet` declared and this one does
  /// not.
  public var prune: Bool
  /// Change nothing: only return the result.
  public var validateOnly: Bool
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String
  public var transition: Transition?
  /// The set owns the fields that it declares. Fields of other owners, and fields that are not
  /// declared, do not change.
  public var ownFields: Bool

  public init(
    applySet: String = "", widgets: [WidgetSpec] = [], prune: Bool = false,
    validateOnly: Bool = false, requestID: String = "", transition: Transition? = nil,
    ownFields: Bool = false
  ) {
    self.ownFields = ownFields
    self.applySet = applySet
    self.widgets = widgets
    self.prune = prune
    self.validateOnly = validateOnly
    self.requestID = requestID
    self.transition = transition
  }
}

extension ApplyWidgetsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ApplyWidgetsRequest>, _ reader: Reader) throws(WireError) {
    applySet = try reader.applySet(c.pointee.apply_set)
    widgets = try reader.list("widgets", c.pointee.n_widgets, c.pointee.widgets) {
      (element) throws(WireError) in
      _ = try reader.widgetID("id", element.pointee.id)
      return try WidgetSpec(c: element, reader)
    }
    prune = c.pointee.prune != 0
    validateOnly = c.pointee.validate_only != 0
    requestID = reader.string(c.pointee.request_id)
    transition = try reader.requestTransition(c.pointee.transition)
    ownFields = c.pointee.own_fields != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ApplyWidgetsRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.apply_set = try writer.string("apply_set", applySet)
    c.pointee.n_widgets = widgets.count
    c.pointee.widgets = try writer.list("widgets", widgets)
    c.pointee.prune = prune ? 1 : 0
    c.pointee.validate_only = validateOnly ? 1 : 0
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
    c.pointee.own_fields = ownFields ? 1 : 0
  }
}

extension ApplyResult: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ApplyResult>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id),
      action: ApplyAction(number: c.pointee.action.rawValue) ?? .unspecified,
      changedFields: reader.strings(c.pointee.n_changed_fields, c.pointee.changed_fields),
      keptFields: try reader.owners(
        "kept_fields", c.pointee.n_kept_fields, c.pointee.kept_fields))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ApplyResult>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.action = Widgetd__V1__ApplyAction(rawValue: UInt32(action.rawValue))
    c.pointee.n_changed_fields = changedFields.count
    c.pointee.changed_fields = try writer.strings("changed_fields", changedFields)
    c.pointee.n_kept_fields = keptFields.count
    c.pointee.kept_fields = try writer.list("kept_fields", keptFields)
  }
}

/// The outcome of ApplyWidgets.
public struct ApplyWidgetsResponse: Hashable, Sendable {
  /// One result for each declared widget in the declared order, then one for each removed widget.
  /// If very many are removed, only the first ones.
  public var results: [ApplyResult]
  /// The store's revision after the change.
  public var revision: Revision
  /// The number of removed widgets.
  public var deletedCount: UInt64
  /// Possible mistakes. The request was carried out all the same.
  public var warnings: [RequestWarning]

  public init(
    results: [ApplyResult] = [], revision: Revision = 0, deletedCount: UInt64 = 0,
    warnings: [RequestWarning] = []
  ) {
    self.warnings = warnings
    self.results = results
    self.revision = revision
    self.deletedCount = deletedCount
  }
}

extension ApplyWidgetsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ApplyWidgetsResponse>, _ reader: Reader) throws(WireError) {
    results = try reader.list("results", c.pointee.n_results, c.pointee.results) {
      (element) throws(WireError) in
      try ApplyResult(c: element, reader)
    }
    revision = c.pointee.revision
    deletedCount = c.pointee.deleted_count
    warnings = try reader.warnings(c.pointee.n_warnings, c.pointee.warnings)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ApplyWidgetsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_results = results.count
    c.pointee.results = try writer.list("results", results)
    c.pointee.revision = revision
    c.pointee.deleted_count = deletedCount
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.list("warnings", warnings)
  }
}
