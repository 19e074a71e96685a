import CWidgetProto
public import WidgetModel

// The messages of CatalogService.

/// Asks to apply a declared set of kinds.
public struct ApplyKindsRequest: Hashable, Sendable {
  /// The provider of the kinds, with the characters of an id. "default" if empty.
  public var provider: String
  /// The declared kinds.
  public var kinds: [Kind]
  /// Remove kinds of this provider that are not declared here.
  public var prune: Bool
  /// Change nothing: only return the result.
  public var validateOnly: Bool
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String

  public init(
    provider: String = "", kinds: [Kind] = [], prune: Bool = false, validateOnly: Bool = false,
    requestID: String = ""
  ) {
    self.provider = provider
    self.kinds = kinds
    self.prune = prune
    self.validateOnly = validateOnly
    self.requestID = requestID
  }
}

extension ApplyKindsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ApplyKindsRequest>, _ reader: Reader) throws(WireError) {
    provider = reader.string(c.pointee.provider)
    guard provider.isEmpty || provider.isIdentifier(lengthMax: WidgetID.lengthMax) else {
      throw .invalidField(path: "provider", description: Reader.idRule(WidgetID.lengthMax))
    }
    kinds = try reader.list("kinds", c.pointee.n_kinds, c.pointee.kinds) {
      (element) throws(WireError) in
      try RegisteredKind(c: element, reader).kind
    }
    prune = c.pointee.prune != 0
    validateOnly = c.pointee.validate_only != 0
    requestID = reader.string(c.pointee.request_id)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ApplyKindsRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.provider = try writer.string("provider", provider)
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.list(
      "kinds", kinds.map { RegisteredKind(kind: $0, provider: "") })
    c.pointee.prune = prune ? 1 : 0
    c.pointee.validate_only = validateOnly ? 1 : 0
    c.pointee.request_id = try writer.string("request_id", requestID)
  }
}

extension KindResult: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__KindResult>, _ reader: Reader) throws(WireError) {
    self.init(
      name: try reader.kind("name", c.pointee.name),
      action: ApplyAction(number: c.pointee.action.rawValue) ?? .unspecified,
      widgetsChanged: Int(c.pointee.widgets_changed),
      lostFields: try reader.list(
        "lost_fields", c.pointee.n_lost_fields, c.pointee.lost_fields
      ) { (c) throws(WireError) in try LostField(c: c, reader) },
      lostFieldsCount: Int(c.pointee.lost_fields_count))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__KindResult>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name.rawValue)
    c.pointee.action = Widgetd__V1__ApplyAction(rawValue: UInt32(action.rawValue))
    c.pointee.widgets_changed = UInt32(clamping: widgetsChanged)
    c.pointee.n_lost_fields = lostFields.count
    c.pointee.lost_fields = try writer.list("lost_fields", lostFields)
    c.pointee.lost_fields_count = UInt32(clamping: lostFieldsCount)
  }
}

extension LostField: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__LostField>, _ reader: Reader) throws(WireError) {
    self.init(
      widgetID: try reader.widgetID("widget_id", c.pointee.widget_id),
      path: reader.string(c.pointee.path), isSetAside: c.pointee.set_aside != 0,
      value: try reader.optional("value", c.pointee.value))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__LostField>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget_id = try writer.string("widget_id", widgetID.rawValue)
    c.pointee.path = try writer.string("path", path)
    c.pointee.set_aside = isSetAside ? 1 : 0
    if let value { c.pointee.value = try writer.message("value", value) }
  }
}

/// The outcome of ApplyKinds.
public struct ApplyKindsResponse: Hashable, Sendable {
  /// One result for each declared kind in the declared order, then one for each removed kind.
  public var results: [KindResult]
  /// The store's revision after the change.
  public var revision: Revision

  public init(results: [KindResult] = [], revision: Revision = 0) {
    self.results = results
    self.revision = revision
  }
}

extension ApplyKindsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ApplyKindsResponse>, _ reader: Reader) throws(WireError) {
    results = try reader.list("results", c.pointee.n_results, c.pointee.results) {
      (element) throws(WireError) in
      try KindResult(c: element, reader)
    }
    revision = c.pointee.revision
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ApplyKindsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_results = results.count
    c.pointee.results = try writer.list("results", results)
    c.pointee.revision = revision
  }
}

/// Asks for one kind.
public struct GetKindRequest: Hashable, Sendable {
  public var name: KindName

  public init(name: KindName) { self.name = name }
}

extension GetKindRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetKindRequest>, _ reader: Reader) throws(WireError) {
    name = try reader.kind("name", c.pointee.name)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetKindRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name.rawValue)
  }
}

/// One kind.
public struct GetKindResponse: Hashable, Sendable {
  public var kind: RegisteredKind

  public init(kind: RegisteredKind) { self.kind = kind }
}

extension GetKindResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetKindResponse>, _ reader: Reader) throws(WireError) {
    kind = try reader.required("kind", c.pointee.kind)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetKindResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.kind = try writer.message("kind", kind)
  }
}

/// Asks for a page of kinds.
public struct ListKindsRequest: Hashable, Sendable {
  /// The maximum number of kinds; 0 for the daemon's default.
  public var pageSize: Int32
  /// The previous page's `nextPageToken`.
  public var pageToken: String

  public init(pageSize: Int32 = 0, pageToken: String = "") {
    self.pageSize = pageSize
    self.pageToken = pageToken
  }
}

extension ListKindsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListKindsRequest>, _ reader: Reader) {
    pageSize = c.pointee.page_size
    pageToken = reader.string(c.pointee.page_token)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ListKindsRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.page_size = pageSize
    c.pointee.page_token = try writer.string("page_token", pageToken)
  }
}

/// A page of kinds, in order of names.
public struct ListKindsResponse: Hashable, Sendable {
  public var kinds: [RegisteredKind]
  /// The token of the next page; empty on the last page.
  public var nextPageToken: String
  /// The store's revision at the time of the call.
  public var revision: Revision

  public init(kinds: [RegisteredKind] = [], nextPageToken: String = "", revision: Revision = 0) {
    self.kinds = kinds
    self.nextPageToken = nextPageToken
    self.revision = revision
  }
}

extension ListKindsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListKindsResponse>, _ reader: Reader) throws(WireError) {
    kinds = try reader.list("kinds", c.pointee.n_kinds, c.pointee.kinds) {
      (element) throws(WireError) in
      try RegisteredKind(c: element, reader)
    }
    nextPageToken = reader.string(c.pointee.next_page_token)
    revision = c.pointee.revision
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ListKindsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.list("kinds", kinds)
    c.pointee.next_page_token = try writer.string("next_page_token", nextPageToken)
    c.pointee.revision = revision
  }
}

/// Asks to remove a kind.
public struct DeleteKindRequest: Hashable, Sendable {
  public var name: KindName
  /// If true, a kind that does not exist is not an error.
  public var allowMissing: Bool
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String

  public init(name: KindName, allowMissing: Bool = false, requestID: String = "") {
    self.name = name
    self.allowMissing = allowMissing
    self.requestID = requestID
  }
}

extension DeleteKindRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteKindRequest>, _ reader: Reader) throws(WireError) {
    name = try reader.kind("name", c.pointee.name)
    allowMissing = c.pointee.allow_missing != 0
    requestID = reader.string(c.pointee.request_id)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DeleteKindRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name.rawValue)
    c.pointee.allow_missing = allowMissing ? 1 : 0
    c.pointee.request_id = try writer.string("request_id", requestID)
  }
}

/// The outcome of DeleteKind.
public struct DeleteKindResponse: Hashable, Sendable {
  /// The store's revision after the removal.
  public var revision: Revision

  public init(revision: Revision = 0) { self.revision = revision }
}

extension DeleteKindResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteKindResponse>, _ reader: Reader) {
    revision = c.pointee.revision
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__DeleteKindResponse>, _ writer: Writer) {
    c.pointee.revision = revision
  }
}
