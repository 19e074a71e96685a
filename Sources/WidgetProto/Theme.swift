import CWidgetProto
public import WidgetModel

// The theme: widgetd/v1/theme.proto, and the calls about it in catalog_service.proto.

/// widgetd.v1.Theme: the theme of a daemon, as it is.
public struct ThemeState: Hashable, Sendable {
  /// The value of each token, by its full name.
  public var values: [String: ThemeValue]
  /// The tokens whose values were set, sorted.
  public var overridden: [String]
  /// The revision that last changed it; 0 if it was never changed.
  public var revision: Revision
  /// The etag of this theme, for UpdateTheme; empty in frames.
  public var etag: String

  public init(
    values: [String: ThemeValue] = [:], overridden: [String] = [], revision: Revision = 0,
    etag: String = ""
  ) {
    self.values = values
    self.overridden = overridden
    self.revision = revision
    self.etag = etag
  }

  public init(_ theme: RevisedTheme, etag: String = "") {
    self.init(
      values: theme.theme.values,
      overridden: theme.overrides.keys.sorted { $0.precedesByBytes($1) },
      revision: theme.revision, etag: etag)
  }

  /// For renderers.
  public var theme: Theme { Theme(values: values) }
}

extension ThemeState: ConvertibleMessage {
  /// Values that this version cannot read are left out: a later daemon may have other ones.
  init(c: UnsafePointer<Widgetd__V1__Theme>, _ reader: Reader) {
    self.init(
      values: reader.themeValues(c.pointee.n_values, c.pointee.values),
      overridden: reader.strings(c.pointee.n_overridden, c.pointee.overridden),
      revision: c.pointee.revision, etag: reader.string(c.pointee.etag))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Theme>, _ writer: Writer) throws(WireError) {
    let sorted = values.sorted { $0.key.precedesByBytes($1.key) }
    c.pointee.n_values = sorted.count
    c.pointee.values = try writer.list(
      "values", sorted, of: Widgetd__V1__Theme__ValuesEntry.self
    ) { (entry, c) throws(WireError) in
      c.pointee.key = try writer.string("key", entry.key)
      c.pointee.value = try writer.message("value", entry.value)
    }
    c.pointee.n_overridden = overridden.count
    c.pointee.overridden = try writer.strings("overridden", overridden)
    c.pointee.revision = revision
    c.pointee.etag = try writer.string("etag", etag)
  }
}

extension ThemeValue: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ThemeValue>, _ reader: Reader) throws(WireError) {
    switch c.pointee.value_case {
    case WIDGETD__V1__THEME_VALUE__VALUE_COLOR:
      self = .color(try reader.required("color", c.pointee.color))
    case WIDGETD__V1__THEME_VALUE__VALUE_OFFSET: self = .offset(c.pointee.offset)
    case WIDGETD__V1__THEME_VALUE__VALUE_FONT:
      self = .font(try reader.required("font", c.pointee.font))
    default:
      throw .invalidField(path: "", description: "has no value; set color, offset or font")
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ThemeValue>, _ writer: Writer
  ) throws(WireError) {
    switch self {
    case .color(let colors):
      c.pointee.value_case = WIDGETD__V1__THEME_VALUE__VALUE_COLOR
      c.pointee.color = try writer.message("color", colors)
    case .offset(let points):
      c.pointee.value_case = WIDGETD__V1__THEME_VALUE__VALUE_OFFSET
      c.pointee.offset = points
    case .font(let font):
      c.pointee.value_case = WIDGETD__V1__THEME_VALUE__VALUE_FONT
      c.pointee.font = try writer.message("font", font)
    }
  }
}

extension ThemeColors: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ThemeColors>, _ reader: Reader) throws(WireError) {
    let light = try reader.color("light", c.pointee.light)
    self.init(
      light: light, dark: try reader.color("dark", c.pointee.dark, default: light),
      highContrast: try reader.color("high_contrast", c.pointee.high_contrast, default: light))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ThemeColors>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.light = try writer.string("light", "\(light)")
    c.pointee.dark = try writer.string("dark", "\(dark)")
    c.pointee.high_contrast = try writer.string("high_contrast", "\(highContrast)")
  }
}

extension ThemeFont: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ThemeFont>, _ reader: Reader) throws(WireError) {
    var weight = Weight.regular
    if c.pointee.weight.rawValue != 0 {
      guard let known = Weight(number: c.pointee.weight.rawValue) else {
        throw reader.unknownEnum(
          "weight", c.pointee.weight.rawValue, "use one of the values of FontWeight")
      }
      weight = known
    }
    self.init(
      size: c.pointee.size, weight: weight, isItalic: c.pointee.italic != 0,
      isMonospaced: c.pointee.monospace != 0)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ThemeFont>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.size = size
    c.pointee.weight = Widgetd__V1__FontWeight(UInt32(weight.rawValue))
    c.pointee.italic = isItalic ? 1 : 0
    c.pointee.monospace = isMonospaced ? 1 : 0
  }
}

extension Reader {
  fileprivate func color(
    _ field: StaticString, _ text: UnsafeMutablePointer<CChar>?, default: ThemeColor? = nil
  ) throws(WireError) -> ThemeColor {
    let text = string(text)
    if text.isEmpty, let `default` { return `default` }
    if let color = ThemeColor(text) { return color }
    throw .invalidField(
      path: "\(field)",
      description: "\"\(text.prefix(32))\" is not a colour; write \(ThemeToken.Group.color.howTo)")
  }

  /// The values that can be read. Of entries with the same key the last one counts.
  fileprivate func themeValues(
    _ count: Int, _ list: CList<Widgetd__V1__Theme__ValuesEntry>?
  ) -> [String: ThemeValue] {
    guard count > 0, let list else { return [:] }
    var result: [String: ThemeValue] = [:]
    for index in 0..<count {
      guard let c = list[index], let value = c.pointee.value,
        let read = try? ThemeValue(c: value, self)
      else { continue }
      result[string(c.pointee.key)] = read
    }
    return result
  }
}

/// Asks for the theme.
public struct GetThemeRequest: Hashable, Sendable {
  public init() {}
}

extension GetThemeRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetThemeRequest>, _ reader: Reader) {}
  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__GetThemeRequest>, _ writer: Writer) {}
}

/// The theme.
public struct GetThemeResponse: Hashable, Sendable {
  public var theme: ThemeState

  public init(theme: ThemeState = ThemeState()) { self.theme = theme }
}

extension GetThemeResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetThemeResponse>, _ reader: Reader) throws(WireError) {
    theme = try reader.optional("theme", c.pointee.theme) ?? ThemeState()
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetThemeResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.theme = try writer.message("theme", theme)
  }
}

/// Asks to change the theme.
public struct UpdateThemeRequest: Hashable, Sendable {
  /// Tokens and their new values.
  public var set: [String: ThemeValue]
  /// Tokens to reset to their standard value, or to remove. Applied before `set`.
  public var unset: [String]
  /// Unset all tokens first.
  public var replace: Bool
  /// Change nothing: only check, and return the theme as it would be.
  public var validateOnly: Bool
  /// If not empty, change nothing unless the theme still has this etag.
  public var etag: String
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String

  public init(
    set: [String: ThemeValue] = [:], unset: [String] = [], replace: Bool = false,
    validateOnly: Bool = false, etag: String = "", requestID: String = ""
  ) {
    self.set = set
    self.unset = unset
    self.replace = replace
    self.validateOnly = validateOnly
    self.etag = etag
    self.requestID = requestID
  }
}

extension UpdateThemeRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpdateThemeRequest>, _ reader: Reader) throws(WireError) {
    set = [:]
    for index in 0..<c.pointee.n_set {
      guard let entry = c.pointee.set?[index] else { continue }
      let token = reader.string(entry.pointee.key)
      do throws(WireError) {
        set[token] = try reader.required("value", entry.pointee.value, as: ThemeValue.self)
      } catch {
        throw UpdateThemeRequest.placed(error, token)
      }
    }
    try reader.checkNames("unset", c.pointee.n_unset)
    unset = reader.strings(c.pointee.n_unset, c.pointee.unset)
    replace = c.pointee.replace != 0
    validateOnly = c.pointee.validate_only != 0
    etag = reader.string(c.pointee.etag)
    requestID = reader.string(c.pointee.request_id)
  }

  /// The error with the place of the value, which has the token: `set[color.primary].color.light`.
  private static func placed(_ error: WireError, _ token: String) -> WireError {
    guard case .invalidField(let path, let description) = error else {
      return error.inside("set[\(token.prefix(64))]")
    }
    let rest = path.hasPrefix("value") ? path.dropFirst("value".count) : path[...]
    return .invalidField(path: "set[\(token.prefix(64))]\(rest)", description: description)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpdateThemeRequest>, _ writer: Writer
  ) throws(WireError) {
    let sorted = set.sorted { $0.key.precedesByBytes($1.key) }
    c.pointee.n_set = sorted.count
    c.pointee.set = try writer.list(
      "set", sorted, of: Widgetd__V1__UpdateThemeRequest__SetEntry.self
    ) { (entry, c) throws(WireError) in
      c.pointee.key = try writer.string("key", entry.key)
      c.pointee.value = try writer.message("value", entry.value)
    }
    c.pointee.n_unset = unset.count
    c.pointee.unset = try writer.strings("unset", unset)
    c.pointee.replace = replace ? 1 : 0
    c.pointee.validate_only = validateOnly ? 1 : 0
    c.pointee.etag = try writer.string("etag", etag)
    c.pointee.request_id = try writer.string("request_id", requestID)
  }
}

/// The result of UpdateTheme.
public struct UpdateThemeResponse: Hashable, Sendable {
  /// The theme as it is now, or as it would be.
  public var theme: ThemeState
  /// Whether the theme differs from the former one.
  public var changed: Bool
  /// The store's revision after the change.
  public var revision: Revision

  public init(
    theme: ThemeState = ThemeState(), changed: Bool = false, revision: Revision = 0
  ) {
    self.theme = theme
    self.changed = changed
    self.revision = revision
  }
}

extension UpdateThemeResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpdateThemeResponse>, _ reader: Reader) throws(WireError) {
    theme = try reader.optional("theme", c.pointee.theme) ?? ThemeState()
    changed = c.pointee.changed != 0
    revision = c.pointee.revision
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpdateThemeResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.theme = try writer.message("theme", theme)
    c.pointee.changed = changed ? 1 : 0
    c.pointee.revision = revision
  }
}
