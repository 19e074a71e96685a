import CWidgetProto
public import WidgetModel

// The messages of CatalogService about bundles, and the frames in which a host gets and answers them.

/// A bundle in the host's folder.
public struct InstalledBundle: Hashable, Sendable {
  public var id: String
  /// Empty if its file cannot be used.
  public var version: String
  /// The bundle's folder on the host's machine.
  public var folder: String
  /// The problem in its file. Empty if there is none.
  public var problem: String
  /// The digest of the archive that was installed; empty without an archive.
  public var sha256: String
  /// The version that a rollback brings back; empty if there is none.
  public var formerVersion: String
  public var kinds: [String]
  public var widgets: [String]
  /// The kinds of these widgets, in the same order. An older host does not tell them.
  public var widgetKinds: [String]

  public init(
    id: String = "", version: String = "", folder: String = "", problem: String = "",
    sha256: String = "", formerVersion: String = "", kinds: [String] = [], widgets: [String] = [],
    widgetKinds: [String] = []
  ) {
    self.id = id
    self.version = version
    self.folder = folder
    self.problem = problem
    self.sha256 = sha256
    self.formerVersion = formerVersion
    self.kinds = kinds
    self.widgets = widgets
    self.widgetKinds = widgetKinds
  }
}

extension InstalledBundle: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__InstalledBundle>, _ reader: Reader) {
    id = reader.string(c.pointee.id)
    version = reader.string(c.pointee.version)
    folder = reader.string(c.pointee.folder)
    problem = reader.string(c.pointee.problem)
    sha256 = reader.string(c.pointee.sha256)
    formerVersion = reader.string(c.pointee.former_version)
    kinds = reader.strings(c.pointee.n_kinds, c.pointee.kinds)
    widgets = reader.strings(c.pointee.n_widgets, c.pointee.widgets)
    widgetKinds = reader.strings(c.pointee.n_widget_kinds, c.pointee.widget_kinds)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__InstalledBundle>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.version = try writer.string("version", version)
    c.pointee.folder = try writer.string("folder", folder)
    c.pointee.problem = try writer.string("problem", problem)
    c.pointee.sha256 = try writer.string("sha256", sha256)
    c.pointee.former_version = try writer.string("former_version", formerVersion)
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.strings("kinds", kinds)
    c.pointee.n_widgets = widgets.count
    c.pointee.widgets = try writer.strings("widgets", widgets)
    c.pointee.n_widget_kinds = widgetKinds.count
    c.pointee.widget_kinds = try writer.strings("widget_kinds", widgetKinds)
  }
}

/// Asks to install a bundle.
public struct InstallBundleRequest: Hashable, Sendable {
  /// A bundle's file, or an archive of its folder.
  public var content: [UInt8]
  public var fileName: String
  /// The digest that the content must have, in hexadecimal digits; empty for any.
  public var sha256: String
  /// Also replace another bundle in the bundle's folder.
  public var force: Bool

  public init(
    content: [UInt8] = [], fileName: String = "", sha256: String = "", force: Bool = false
  ) {
    self.content = content
    self.fileName = fileName
    self.sha256 = sha256
    self.force = force
  }
}

extension InstallBundleRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__InstallBundleRequest>, _ reader: Reader) {
    content = reader.bytes(c.pointee.content)
    fileName = reader.string(c.pointee.file_name)
    sha256 = reader.string(c.pointee.sha256)
    force = c.pointee.force != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__InstallBundleRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.content = try writer.bytes(content)
    c.pointee.file_name = try writer.string("file_name", fileName)
    c.pointee.sha256 = try writer.string("sha256", sha256)
    c.pointee.force = force ? 1 : 0
  }
}

/// The result of an installation.
public struct InstallBundleResponse: Hashable, Sendable {
  public var bundle: InstalledBundle
  /// The version that was replaced; empty if there was none.
  public var formerVersion: String
  public var warnings: [String]
  /// The id in the file of the replaced version; empty if it is unknown.
  public var formerID: String
  /// Whether the same content was already installed, so that nothing has changed. An older host does
  /// not tell this.
  public var isUnchanged: Bool

  public init(
    bundle: InstalledBundle = InstalledBundle(), formerVersion: String = "",
    warnings: [String] = [], formerID: String = "", isUnchanged: Bool = false
  ) {
    self.bundle = bundle
    self.formerVersion = formerVersion
    self.warnings = warnings
    self.formerID = formerID
    self.isUnchanged = isUnchanged
  }
}

extension InstallBundleResponse: ConvertibleMessage {
  init(
    c: UnsafePointer<Widgetd__V1__InstallBundleResponse>, _ reader: Reader
  ) throws(WireError) {
    bundle = try reader.required("bundle", c.pointee.bundle)
    formerVersion = reader.string(c.pointee.former_version)
    warnings = reader.strings(c.pointee.n_warnings, c.pointee.warnings)
    formerID = reader.string(c.pointee.former_id)
    isUnchanged = c.pointee.unchanged != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__InstallBundleResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.bundle = try writer.message("bundle", bundle)
    c.pointee.former_version = try writer.string("former_version", formerVersion)
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.strings("warnings", warnings)
    c.pointee.former_id = try writer.string("former_id", formerID)
    c.pointee.unchanged = isUnchanged ? 1 : 0
  }
}

/// Asks for the bundles in the host's folder.
public struct ListBundlesRequest: Hashable, Sendable {
  public init() {}
}

extension ListBundlesRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListBundlesRequest>, _ reader: Reader) {}
  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__ListBundlesRequest>, _ writer: Writer) {}
}

/// The bundles in the host's folder.
public struct ListBundlesResponse: Hashable, Sendable {
  public var bundles: [InstalledBundle]
  public var folder: String

  public init(bundles: [InstalledBundle] = [], folder: String = "") {
    self.bundles = bundles
    self.folder = folder
  }
}

extension ListBundlesResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListBundlesResponse>, _ reader: Reader) throws(WireError) {
    bundles = try reader.list("bundles", c.pointee.n_bundles, c.pointee.bundles) {
      (element) throws(WireError) in
      InstalledBundle(c: element, reader)
    }
    folder = reader.string(c.pointee.folder)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ListBundlesResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_bundles = bundles.count
    c.pointee.bundles = try writer.list("bundles", bundles)
    c.pointee.folder = try writer.string("folder", folder)
  }
}

/// Asks to delete a bundle.
public struct DeleteBundleRequest: Hashable, Sendable {
  public var id: String
  /// Also delete files that a user wrote into the bundle's folder.
  public var force: Bool

  public init(id: String = "", force: Bool = false) {
    self.id = id
    self.force = force
  }
}

extension DeleteBundleRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteBundleRequest>, _ reader: Reader) {
    id = reader.string(c.pointee.id)
    force = c.pointee.force != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DeleteBundleRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.force = force ? 1 : 0
  }
}

/// The answer to `DeleteBundleRequest`: the bundle is deleted.
public struct DeleteBundleResponse: Hashable, Sendable {
  /// A warning for each other bundle that `force` has deleted, too.
  public var warnings: [String]

  public init(warnings: [String] = []) { self.warnings = warnings }
}

extension DeleteBundleResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteBundleResponse>, _ reader: Reader) {
    warnings = reader.strings(c.pointee.n_warnings, c.pointee.warnings)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DeleteBundleResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.strings("warnings", warnings)
  }
}

/// Asks to bring back a former version of a bundle.
public struct RollbackBundleRequest: Hashable, Sendable {
  public var id: String
  /// Empty for the last one.
  public var version: String

  public init(id: String = "", version: String = "") {
    self.id = id
    self.version = version
  }
}

extension RollbackBundleRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RollbackBundleRequest>, _ reader: Reader) {
    id = reader.string(c.pointee.id)
    version = reader.string(c.pointee.version)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RollbackBundleRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.version = try writer.string("version", version)
  }
}

/// The result of a rollback.
public struct RollbackBundleResponse: Hashable, Sendable {
  public var bundle: InstalledBundle
  /// The version that was replaced; empty if it could not be read.
  public var formerVersion: String
  public var warnings: [String]
  /// The id in the file of the replaced version; empty if it is unknown.
  public var formerID: String
  /// The kinds of the restored version, only with their data and parameters. An older host does not
  /// tell them.
  public var kinds: [Kind]

  public init(
    bundle: InstalledBundle = InstalledBundle(), formerVersion: String = "",
    warnings: [String] = [], formerID: String = "", kinds: [Kind] = []
  ) {
    self.bundle = bundle
    self.formerVersion = formerVersion
    self.warnings = warnings
    self.formerID = formerID
    self.kinds = kinds
  }
}

extension RollbackBundleResponse: ConvertibleMessage {
  init(
    c: UnsafePointer<Widgetd__V1__RollbackBundleResponse>, _ reader: Reader
  ) throws(WireError) {
    bundle = try reader.required("bundle", c.pointee.bundle)
    formerVersion = reader.string(c.pointee.former_version)
    warnings = reader.strings(c.pointee.n_warnings, c.pointee.warnings)
    formerID = reader.string(c.pointee.former_id)
    kinds = try reader.list("kinds", c.pointee.n_kinds, c.pointee.kinds) {
      (element) throws(WireError) in
      try RegisteredKind(c: element, reader).kind
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RollbackBundleResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.bundle = try writer.message("bundle", bundle)
    c.pointee.former_version = try writer.string("former_version", formerVersion)
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.strings("warnings", warnings)
    c.pointee.former_id = try writer.string("former_id", formerID)
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.list(
      "kinds", kinds.map { RegisteredKind(kind: $0, provider: "") })
  }
}

// MARK: - Frames

/// A call about bundles, for the provider that manages them.
public struct ProvideBundleRequest: Hashable, Sendable {
  public enum Request: Hashable, Sendable {
    case install(InstallBundleRequest)
    case list(ListBundlesRequest)
    case delete(DeleteBundleRequest)
    case rollback(RollbackBundleRequest)
    case setDefaults(SetBundleDefaultsRequest)
    case diff(DiffBundleRequest)
    /// A request that only newer daemons send.
    case unknown
  }

  /// The number of the request, for the answer.
  public var id: UInt64
  public var request: Request

  public init(id: UInt64, request: Request) {
    self.id = id
    self.request = request
  }
}

extension ProvideBundleRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideBundleRequest>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    switch c.pointee.request_case {
    case WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_INSTALL:
      request = .install(try reader.required("install", c.pointee.install))
    case WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_LIST:
      request = .list(try reader.required("list", c.pointee.list))
    case WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_DELETE_BUNDLE:
      request = .delete(try reader.required("delete_bundle", c.pointee.delete_bundle))
    case WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_ROLLBACK:
      request = .rollback(try reader.required("rollback", c.pointee.rollback))
    case WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_SET_DEFAULTS:
      request = .setDefaults(try reader.required("set_defaults", c.pointee.set_defaults))
    case WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_DIFF:
      request = .diff(try reader.required("diff", c.pointee.diff))
    default: request = .unknown
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideBundleRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    switch request {
    case .install(let message):
      c.pointee.request_case = WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_INSTALL
      c.pointee.install = try writer.message("install", message)
    case .list(let message):
      c.pointee.request_case = WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_LIST
      c.pointee.list = try writer.message("list", message)
    case .delete(let message):
      c.pointee.request_case = WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_DELETE_BUNDLE
      c.pointee.delete_bundle = try writer.message("delete_bundle", message)
    case .rollback(let message):
      c.pointee.request_case = WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_ROLLBACK
      c.pointee.rollback = try writer.message("rollback", message)
    case .setDefaults(let message):
      c.pointee.request_case = WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_SET_DEFAULTS
      c.pointee.set_defaults = try writer.message("set_defaults", message)
    case .diff(let message):
      c.pointee.request_case = WIDGETD__V1__PROVIDE_BUNDLE_REQUEST__REQUEST_DIFF
      c.pointee.diff = try writer.message("diff", message)
    case .unknown: break
    }
  }
}

/// The answer to a call about bundles.
public struct ProvideBundleAnswer: Hashable, Sendable {
  public enum Outcome: Hashable, Sendable {
    case install(InstallBundleResponse)
    case list(ListBundlesResponse)
    case delete(DeleteBundleResponse)
    case rollback(RollbackBundleResponse)
    case setDefaults(SetBundleDefaultsResponse)
    case diff(DiffBundleResponse)
    /// The caller gets this as the status of the call.
    case error(RPCStatus)
  }

  /// The provider's number for the frame. With 0, the daemon reports only a failure.
  public var id: UInt64
  public var bundleRequestID: UInt64
  public var outcome: Outcome

  public init(id: UInt64 = 0, bundleRequestID: UInt64, outcome: Outcome) {
    self.id = id
    self.bundleRequestID = bundleRequestID
    self.outcome = outcome
  }
}

extension ProvideBundleAnswer: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideBundleAnswer>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    bundleRequestID = c.pointee.bundle_request_id
    switch c.pointee.outcome_case {
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_INSTALL:
      outcome = .install(try reader.required("install", c.pointee.install))
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_LIST:
      outcome = .list(try reader.required("list", c.pointee.list))
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_DELETE_BUNDLE:
      outcome = .delete(try reader.required("delete_bundle", c.pointee.delete_bundle))
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_ROLLBACK:
      outcome = .rollback(try reader.required("rollback", c.pointee.rollback))
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_SET_DEFAULTS:
      outcome = .setDefaults(try reader.required("set_defaults", c.pointee.set_defaults))
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_DIFF:
      outcome = .diff(try reader.required("diff", c.pointee.diff))
    case WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_ERROR:
      let error: ProvideError = try reader.required("error", c.pointee.error)
      outcome = .error(error.status)
    default:
      throw .invalidField(
        path: "outcome",
        description:
          "must be install, list, delete_bundle, rollback, set_defaults, diff or error")
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideBundleAnswer>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.bundle_request_id = bundleRequestID
    switch outcome {
    case .install(let message):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_INSTALL
      c.pointee.install = try writer.message("install", message)
    case .list(let message):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_LIST
      c.pointee.list = try writer.message("list", message)
    case .delete(let message):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_DELETE_BUNDLE
      c.pointee.delete_bundle = try writer.message("delete_bundle", message)
    case .rollback(let message):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_ROLLBACK
      c.pointee.rollback = try writer.message("rollback", message)
    case .setDefaults(let message):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_SET_DEFAULTS
      c.pointee.set_defaults = try writer.message("set_defaults", message)
    case .diff(let message):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_DIFF
      c.pointee.diff = try writer.message("diff", message)
    case .error(let status):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_BUNDLE_ANSWER__OUTCOME_ERROR
      c.pointee.error = try writer.message("error", ProvideError(status))
    }
  }
}
