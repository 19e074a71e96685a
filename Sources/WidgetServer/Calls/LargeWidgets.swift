import WidgetCore
import WidgetModel
import WidgetProto

/// The names of fields in errors about widgets that are too large.
extension RPCStatus {
  /// The status of a refused command. If a widget is too large, the status names the field that has
  /// most of its bytes, and the widget.
  init(_ error: StoreError, of command: Command) {
    self.init(error)
    switch error {
    case .quotaExceeded(limit: RPCStatus.sizeLimit, let maximum):
      guard let (field, id) = command.largestField else { return }
      self = .quotaExceeded(RPCStatus.sizeLimit, maximum, field: field.path)
      if let id { errorInfo?.metadata["widget_id"] = id.rawValue }
    case .inUpdate(let index, let id, .quotaExceeded(limit: RPCStatus.sizeLimit, let maximum)):
      guard case .provide(let updates, _) = command, updates.indices.contains(index),
        let field = updates[index].patch.largestField?.inside("updates[\(index)].patch")
      else { return }
      self = .quotaExceeded(RPCStatus.sizeLimit, maximum, field: field.path)
      errorInfo?.metadata["widget_id"] = id.rawValue
    default: break
    }
  }

  private static var sizeLimit: String { "widget_bytes_max" }
}

extension Command {
  /// The field of the request with most of the bytes, and its widget if the request has several.
  fileprivate var largestField: (LargestField, WidgetID?)? {
    switch self {
    case .create(let spec, _), .startActivity(let spec, _, _, _):
      spec.largestField.map { ($0.inside("widget"), spec.id) }
    case .update(let id, let patch, _, _, _):
      patch.largestField.map { ($0.inside("patch"), id) }
    case .apply(let declaration, _):
      declaration.widgets.enumerated()
        .compactMap { index, spec in
          spec.largestField.map { ($0.inside("widgets[\(index)]"), spec.id) }
        }
        .max { $0.0.bytes < $1.0.bytes }
    default: nil
    }
  }
}
