import CWidgetProto
public import WidgetModel

// What requests say about a widget: WidgetSpec and WidgetPatch.

/// What a widget should be. Used to create one and to declare a set.
public struct WidgetSpec: Hashable, Sendable {
  /// nil: the daemon picks one. Required in `ApplyWidgetsRequest`.
  public var id: WidgetID?
  public var kind: KindName
  /// nil: medium for a new widget, unchanged otherwise.
  public var family: Family?
  public var labels: Labels
  /// nil: true for a new widget, unchanged otherwise. So is `isEnabled`.
  public var isVisible: Bool?
  public var isEnabled: Bool?
  public var parameters: ValueMap
  public var data: ValueMap

  public init(
    id: WidgetID? = nil, kind: KindName, family: Family? = nil, labels: Labels = [:],
    isVisible: Bool? = nil, isEnabled: Bool? = nil, parameters: ValueMap = [:],
    data: ValueMap = [:]
  ) {
    self.id = id
    self.kind = kind
    self.family = family
    self.labels = labels
    self.isVisible = isVisible
    self.isEnabled = isEnabled
    self.parameters = parameters
    self.data = data
  }
}

extension WidgetSpec: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetSpec>, _ reader: Reader) throws(WireError) {
    id = try reader.optionalWidgetID("id", c.pointee.id)
    kind = try reader.kind("kind", c.pointee.kind)
    let number = c.pointee.family.rawValue
    family = Family(number: number)
    if number != 0, family == nil {
      throw reader.unknownEnum("family", number, "use one of the values of Family")
    }
    labels = try reader.labels("labels", c.pointee.n_labels, c.pointee.labels)
    if c.pointee._visible_case == WIDGETD__V1__WIDGET_SPEC___VISIBLE_VISIBLE {
      isVisible = c.pointee.visible != 0
    }
    if c.pointee._enabled_case == WIDGETD__V1__WIDGET_SPEC___ENABLED_ENABLED {
      isEnabled = c.pointee.enabled != 0
    }
    parameters = try reader.values("parameters", c.pointee.n_parameters, c.pointee.parameters)
    data = try reader.values("data", c.pointee.n_data, c.pointee.data)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WidgetSpec>, _ writer: Writer
  ) throws(WireError) {
    if let id { c.pointee.id = try writer.string("id", id.rawValue) }
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    if let family { c.pointee.family = Widgetd__V1__Family(family) }
    c.pointee.n_labels = labels.count
    c.pointee.labels = try writer.entries(
      "labels", labels, of: Widgetd__V1__WidgetSpec__LabelsEntry.self)
    if let isVisible {
      c.pointee._visible_case = WIDGETD__V1__WIDGET_SPEC___VISIBLE_VISIBLE
      c.pointee.visible = isVisible ? 1 : 0
    }
    if let isEnabled {
      c.pointee._enabled_case = WIDGETD__V1__WIDGET_SPEC___ENABLED_ENABLED
      c.pointee.enabled = isEnabled ? 1 : 0
    }
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.entries(
      "parameters", parameters, of: Widgetd__V1__WidgetSpec__ParametersEntry.self)
    c.pointee.n_data = data.count
    c.pointee.data = try writer.entries("data", data, of: Widgetd__V1__WidgetSpec__DataEntry.self)
  }
}

/// What to change about a widget. What is not named stays.
public struct WidgetPatch: Hashable, Sendable {
  public var setData: ValueMap
  /// Keys that do not exist are fine.
  public var unsetData: [String]
  /// Remove all data keys that `setData` does not name.
  public var replaceData: Bool
  public var setParameters: ValueMap
  public var unsetParameters: [String]
  public var setLabels: Labels
  public var unsetLabels: [String]
  /// Marks the widget stale or fresh; nil leaves it.
  public var isStale: Bool?
  /// nil leaves it, `.some(nil)` clears it.
  public var error: WidgetError??

  public init(
    setData: ValueMap = [:], unsetData: [String] = [], replaceData: Bool = false,
    setParameters: ValueMap = [:], unsetParameters: [String] = [], setLabels: Labels = [:],
    unsetLabels: [String] = [], isStale: Bool? = nil, error: WidgetError?? = nil
  ) {
    self.setData = setData
    self.unsetData = unsetData
    self.replaceData = replaceData
    self.setParameters = setParameters
    self.unsetParameters = unsetParameters
    self.setLabels = setLabels
    self.unsetLabels = unsetLabels
    self.isStale = isStale
    self.error = error
  }
}

extension WidgetPatch: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetPatch>, _ reader: Reader) throws(WireError) {
    setData = try reader.values("set_data", c.pointee.n_set_data, c.pointee.set_data)
    unsetData = reader.strings(c.pointee.n_unset_data, c.pointee.unset_data)
    replaceData = c.pointee.replace_data != 0
    setParameters = try reader.values(
      "set_parameters", c.pointee.n_set_parameters, c.pointee.set_parameters)
    unsetParameters = reader.strings(c.pointee.n_unset_parameters, c.pointee.unset_parameters)
    setLabels = try reader.labels("set_labels", c.pointee.n_set_labels, c.pointee.set_labels)
    unsetLabels = reader.strings(c.pointee.n_unset_labels, c.pointee.unset_labels)
    if c.pointee._stale_case == WIDGETD__V1__WIDGET_PATCH___STALE_STALE {
      isStale = c.pointee.stale != 0
    }
    error = try reader.error("error", c.pointee.error)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WidgetPatch>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_set_data = setData.count
    c.pointee.set_data = try writer.entries(
      "set_data", setData, of: Widgetd__V1__WidgetPatch__SetDataEntry.self)
    c.pointee.n_unset_data = unsetData.count
    c.pointee.unset_data = try writer.strings("unset_data", unsetData)
    c.pointee.replace_data = replaceData ? 1 : 0
    c.pointee.n_set_parameters = setParameters.count
    c.pointee.set_parameters = try writer.entries(
      "set_parameters", setParameters, of: Widgetd__V1__WidgetPatch__SetParametersEntry.self)
    c.pointee.n_unset_parameters = unsetParameters.count
    c.pointee.unset_parameters = try writer.strings("unset_parameters", unsetParameters)
    c.pointee.n_set_labels = setLabels.count
    c.pointee.set_labels = try writer.entries(
      "set_labels", setLabels, of: Widgetd__V1__WidgetPatch__SetLabelsEntry.self)
    c.pointee.n_unset_labels = unsetLabels.count
    c.pointee.unset_labels = try writer.strings("unset_labels", unsetLabels)
    if let isStale {
      c.pointee._stale_case = WIDGETD__V1__WIDGET_PATCH___STALE_STALE
      c.pointee.stale = isStale ? 1 : 0
    }
    c.pointee.error = try writer.message("error", changed: error)
  }
}
