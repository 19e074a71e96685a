import WidgetCore
import WidgetModel
import WidgetProto

/// The names of fields in errors about widgets that are too large.
extension RPCStatus {
  /// The status of a refused command. If a widget is too large, the status names the widget, and the
  /// request's largest field for it.
  ///
  /// - Parameter stored: The fields that a widget has; nil if there is no such widget.
  init(_ error: StoreError, of command: Command, _ stored: (WidgetID) -> WidgetSpec?) {
    self.init(error)
    guard let large = LargeWidget(error, of: command) else { return }
    self = .quotaExceeded(
      LargeWidget.limit, large.maximum, field: large.field.path, hasMost: large.hasMost(stored))
    if let id = large.id { errorInfo?.metadata["widget_id"] = id.rawValue }
  }
}

/// A widget that a command would make too large.
private struct LargeWidget {
  static let limit = "widget_bytes_max"

  let maximum: Int
  /// nil if the daemon chooses the id.
  let id: WidgetID?
  /// The changes that the request makes.
  let patch: WidgetPatch
  /// The largest field of the request.
  let field: LargestField

  /// nil if the error has another reason, or if the request sets no such field.
  init?(_ error: StoreError, of command: Command) {
    switch error {
    case .quotaExceeded(limit: LargeWidget.limit, let maximum):
      switch command {
      case .create(let spec, _), .startActivity(let spec, _, _, _):
        self.init(spec, at: "widget", maximum)
      case .update(let id, let patch, _, _, _): self.init(patch, of: id, at: "patch", maximum)
      default: return nil
      }
    case .inWidget(let index, _, .quotaExceeded(limit: LargeWidget.limit, let maximum)):
      guard case .apply(let declaration, _) = command, declaration.widgets.indices.contains(index)
      else { return nil }
      self.init(declaration.widgets[index], at: "widgets[\(index)]", maximum)
    case .inUpdate(let index, let id, .quotaExceeded(limit: LargeWidget.limit, let maximum)):
      guard case .provide(let updates, _) = command, updates.indices.contains(index) else {
        return nil
      }
      self.init(updates[index].patch, of: id, at: "updates[\(index)].patch", maximum)
    default: return nil
    }
  }

  private init?(_ spec: WidgetSpec, at path: String, _ maximum: Int) {
    guard let field = spec.largestField else { return nil }
    self.maximum = maximum
    id = spec.id
    patch = WidgetPatch(
      setData: spec.data, setParameters: spec.parameters,
      timeline: spec.timeline.map { .some($0) })
    self.field = field.inside(path)
  }

  private init?(_ patch: WidgetPatch, of id: WidgetID, at path: String, _ maximum: Int) {
    guard let field = patch.largestField else { return nil }
    self.maximum = maximum
    self.id = id
    self.patch = patch
    self.field = field.inside(path)
  }

  /// Whether the field has more than half of the widget's bytes after the command.
  func hasMost(_ stored: (WidgetID) -> WidgetSpec?) -> Bool {
    let former = id.flatMap(stored)
    var bytes = patch.setData.fieldBytes() + patch.setParameters.fieldBytes()
    if let timeline = patch.timeline {
      bytes += timeline?.costBytes ?? 0
    } else {
      bytes += former?.timeline?.costBytes ?? 0
    }
    if let former {
      let unsetData = Set(patch.unsetData)
      let unsetParameters = Set(patch.unsetParameters)
      bytes += former.data.fieldBytes {
        !patch.replaceData && patch.setData[$0] == nil && !unsetData.contains($0)
      }
      bytes += former.parameters.fieldBytes {
        patch.setParameters[$0] == nil && !unsetParameters.contains($0)
      }
    }
    // The rest of the widget, such as its labels, has few bytes, but they count too.
    return field.bytes > max(bytes, maximum) / 2
  }
}

extension ValueMap {
  /// The bytes of the fields with these keys, as quotas count them.
  fileprivate func fieldBytes(where isCounted: (String) -> Bool = { _ in true }) -> Int {
    entries.reduce(0) {
      isCounted($1.key) ? $0 + $1.key.utf8.count + $1.value.costBytes : $0
    }
  }
}
