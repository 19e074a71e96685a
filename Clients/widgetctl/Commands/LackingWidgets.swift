import WidgetClient
import WidgetModel

/// The widgets that lack a required parameter of a changed kind.
///
/// The daemon keeps such widgets: only a widget that is created or changed must have the parameter.
struct LackingWidgets {
  /// The number of widgets that are named.
  static let shown = 20

  /// Asks the daemon, if a changed kind requires parameters.
  ///
  /// - Parameter declared: The widgets that the same command declares, which have the parameters.
  static func lines(
    _ kinds: [Kind], _ results: [KindResult], declared: [WidgetSpec], _ session: Session
  ) async throws(ClientError) -> [String] {
    let changed = Set(results.filter { $0.action == .updated }.map(\.name))
    let demanding = kinds.filter { kind in
      changed.contains(kind.name) && kind.parameters.contains(where: \.isRequired)
    }
    guard !demanding.isEmpty, let mask = try? ReadMask(paths: ["parameters", "position"]) else {
      return []
    }
    let widgets = try await session.list(Selector(kinds: demanding.map(\.name)), mask: mask).widgets
    let ids = Set(declared.compactMap(\.id))
    return lines(demanding, widgets.map(\.widget).filter { !ids.contains($0.id) })
  }

  /// `  cpu: lacks the parameter "place", which the changed kind requires; set it with …`
  static func lines(_ kinds: [Kind], _ widgets: [Widget]) -> [String] {
    var lines: [String] = []
    for widget in widgets {
      guard let kind = kinds.first(where: { $0.name == widget.kind }) else { continue }
      for field in kind.parameters where field.isRequired && widget.parameters[field.name] == nil {
        lines.append(
          "  \(widget.id): lacks the parameter \"\(field.name)\", which the changed kind requires; "
            + "set it with `widgetctl set \(widget.id) --param \(field.name)=VALUE`")
      }
    }
    guard lines.count > shown else { return lines }
    return lines.prefix(shown) + ["  and \(lines.count - shown) more without a required parameter"]
  }
}
