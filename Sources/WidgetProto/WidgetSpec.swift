import CWidgetProto
public import WidgetModel

// The parts of requests about a widget: WidgetSpec and WidgetPatch.

extension WidgetSpec: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetSpec>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.optionalWidgetID("id", c.pointee.id),
      kind: try reader.kind("kind", c.pointee.kind))
    family = try reader.family("family", c.pointee.family)
    labels = try reader.labels("labels", c.pointee.n_labels, c.pointee.labels)
    if c.pointee._visible_case == WIDGETD__V1__WIDGET_SPEC___VISIBLE_VISIBLE {
      isVisible = c.pointee.visible != 0
    }
    if c.pointee._enabled_case == WIDGETD__V1__WIDGET_SPEC___ENABLED_ENABLED {
      isEnabled = c.pointee.enabled != 0
    }
    parameters = try reader.values("parameters", c.pointee.n_parameters, c.pointee.parameters)
    data = try reader.values("data", c.pointee.n_data, c.pointee.data)
    timeline = try reader.optional("timeline", c.pointee.timeline)
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
    c.pointee.timeline = try writer.message("timeline", optional: timeline)
  }
}

extension WidgetPatch: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetPatch>, _ reader: Reader) throws(WireError) {
    self.init()
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
    releases = reader.strings(c.pointee.n_release, c.pointee.release)
    let clears = c.pointee.clear_timeline != 0
    if let timeline: Timeline = try reader.optional("timeline", c.pointee.timeline) {
      guard !clears else {
        throw .invalidField(
          path: "clear_timeline", description: "set either timeline or clear_timeline")
      }
      self.timeline = .some(timeline)
    } else if clears {
      timeline = .some(nil)
    }
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
    c.pointee.n_release = releases.count
    c.pointee.release = try writer.strings("release", releases)
    if let timeline {
      c.pointee.timeline = try writer.message("timeline", optional: timeline)
      c.pointee.clear_timeline = timeline == nil ? 1 : 0
    }
  }
}

extension Reader {
  /// A family; nil for none.
  func family(
    _ field: StaticString, _ value: Widgetd__V1__Family
  ) throws(WireError) -> Family? {
    let family = Family(number: value.rawValue)
    if value.rawValue != 0, family == nil {
      throw unknownEnum(field, value.rawValue, "use one of the values of Family")
    }
    return family
  }
}
