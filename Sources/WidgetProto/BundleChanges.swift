import CWidgetProto
public import WidgetModel

// The messages of CatalogService about the settings of a bundle, and about the changes of a new
// version.

/// A setting of a bundle.
public struct BundleSetting: Hashable, Sendable {
  public var name: String
  /// The type of its values, as it is written: `list(string)`.
  public var type: String
  /// The value in use.
  public var value: Value?
  /// nil if the bundle has none.
  public var defaultValue: Value?
  public var summary: String

  public init(
    name: String = "", type: String = "", value: Value? = nil, defaultValue: Value? = nil,
    summary: String = ""
  ) {
    self.name = name
    self.type = type
    self.value = value
    self.defaultValue = defaultValue
    self.summary = summary
  }
}

extension BundleSetting: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__BundleSetting>, _ reader: Reader) throws(WireError) {
    name = reader.string(c.pointee.name)
    type = reader.string(c.pointee.type)
    value = try reader.optional("value", c.pointee.value, as: Value.self)
    defaultValue = try reader.optional(
      "default_value", c.pointee.default_value, as: Value.self)
    summary = reader.string(c.pointee.description)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__BundleSetting>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.name = try writer.string("name", name)
    c.pointee.type = try writer.string("type", type)
    c.pointee.value = try writer.message("value", optional: value)
    c.pointee.default_value = try writer.message("default_value", optional: defaultValue)
    c.pointee.description = try writer.string("description", summary)
  }
}

/// Asks to change the user's values for the settings of a bundle; without values, to list them.
public struct SetBundleDefaultsRequest: Hashable, Sendable {
  public var id: String
  public var values: ValueMap
  /// Settings that go back to the bundle's default.
  public var unset: [String]

  public init(id: String = "", values: ValueMap = [:], unset: [String] = []) {
    self.id = id
    self.values = values
    self.unset = unset
  }
}

extension SetBundleDefaultsRequest: ConvertibleMessage {
  init(
    c: UnsafePointer<Widgetd__V1__SetBundleDefaultsRequest>, _ reader: Reader
  ) throws(WireError) {
    id = reader.string(c.pointee.id)
    values = try reader.values("values", c.pointee.n_values, c.pointee.values)
    try reader.checkNames("unset", c.pointee.n_unset)
    unset = reader.strings(c.pointee.n_unset, c.pointee.unset)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SetBundleDefaultsRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.n_values = values.count
    c.pointee.values = try writer.entries(
      "values", values, of: Widgetd__V1__SetBundleDefaultsRequest__ValuesEntry.self)
    c.pointee.n_unset = unset.count
    c.pointee.unset = try writer.strings("unset", unset)
  }
}

/// All settings of a bundle.
public struct SetBundleDefaultsResponse: Hashable, Sendable {
  public var settings: [BundleSetting]
  public var warnings: [String]

  public init(settings: [BundleSetting] = [], warnings: [String] = []) {
    self.settings = settings
    self.warnings = warnings
  }
}

extension SetBundleDefaultsResponse: ConvertibleMessage {
  init(
    c: UnsafePointer<Widgetd__V1__SetBundleDefaultsResponse>, _ reader: Reader
  ) throws(WireError) {
    settings = try reader.list("settings", c.pointee.n_settings, c.pointee.settings) {
      (element) throws(WireError) in
      try BundleSetting(c: element, reader)
    }
    warnings = reader.strings(c.pointee.n_warnings, c.pointee.warnings)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SetBundleDefaultsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_settings = settings.count
    c.pointee.settings = try writer.list("settings", settings)
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.strings("warnings", warnings)
  }
}

/// Asks what installing a bundle would change.
public struct DiffBundleRequest: Hashable, Sendable {
  /// A bundle's file, or an archive of its folder.
  public var content: [UInt8]
  public var fileName: String

  public init(content: [UInt8] = [], fileName: String = "") {
    self.content = content
    self.fileName = fileName
  }
}

extension DiffBundleRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DiffBundleRequest>, _ reader: Reader) {
    content = reader.bytes(c.pointee.content)
    fileName = reader.string(c.pointee.file_name)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DiffBundleRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.content = try writer.bytes(content)
    c.pointee.file_name = try writer.string("file_name", fileName)
  }
}

/// The changes that installing a bundle would make.
public struct DiffBundleResponse: Hashable, Sendable {
  /// A part of the bundle's file.
  public struct Difference: Hashable, Sendable {
    public var path: String
    /// nil if the part is new.
    public var before: String?
    /// nil if the part is removed.
    public var after: String?

    public init(path: String = "", before: String? = nil, after: String? = nil) {
      self.path = path
      self.before = before
      self.after = after
    }
  }

  public var id: String
  public var version: String
  public var isInstalled: Bool
  public var differences: [Difference]
  /// The number of further differences.
  public var omitted: UInt32

  public init(
    id: String = "", version: String = "", isInstalled: Bool = false,
    differences: [Difference] = [], omitted: UInt32 = 0
  ) {
    self.id = id
    self.version = version
    self.isInstalled = isInstalled
    self.differences = differences
    self.omitted = omitted
  }
}

extension DiffBundleResponse.Difference: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__BundleDifference>, _ reader: Reader) {
    path = reader.string(c.pointee.path)
    before =
      c.pointee._before_case == WIDGETD__V1__BUNDLE_DIFFERENCE___BEFORE_BEFORE
      ? reader.string(c.pointee.before) : nil
    after =
      c.pointee._after_case == WIDGETD__V1__BUNDLE_DIFFERENCE___AFTER_AFTER
      ? reader.string(c.pointee.after) : nil
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__BundleDifference>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.path = try writer.string("path", path)
    if let before {
      c.pointee._before_case = WIDGETD__V1__BUNDLE_DIFFERENCE___BEFORE_BEFORE
      c.pointee.before = try writer.string("before", before)
    }
    if let after {
      c.pointee._after_case = WIDGETD__V1__BUNDLE_DIFFERENCE___AFTER_AFTER
      c.pointee.after = try writer.string("after", after)
    }
  }
}

extension DiffBundleResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DiffBundleResponse>, _ reader: Reader) throws(WireError) {
    id = reader.string(c.pointee.id)
    version = reader.string(c.pointee.version)
    isInstalled = c.pointee.installed != 0
    differences = try reader.list("differences", c.pointee.n_differences, c.pointee.differences) {
      (element) throws(WireError) in
      Difference(c: element, reader)
    }
    omitted = c.pointee.omitted
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DiffBundleResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.version = try writer.string("version", version)
    c.pointee.installed = isInstalled ? 1 : 0
    c.pointee.n_differences = differences.count
    c.pointee.differences = try writer.list("differences", differences)
    c.pointee.omitted = omitted
  }
}
