import WidgetClient
import WidgetModel
import WidgetProto

/// Paths of `--field` that give nothing, because a widget has no such value and its kind declares
/// none. `watch` and `ls` report them, because an empty cell does not show the reason.
extension FieldOptions {
  /// - Parameters:
  ///   - widget: has all data, parameters and labels.
  ///   - kind: its kind. Nil if it is not registered.
  /// - Returns: nil if there is no doubt.
  static func doubt(
    about path: String, of widget: Widget, _ kind: Kind?, waits: Bool
  ) -> String? {
    for scope in scopes {
      guard let rest = path[...].droppingPrefix("\(scope)."), !rest.isEmpty else { continue }
      let place = ValuePath(String(rest))
      let hasValue: Bool
      let declared: [String]
      let keys: [String]
      switch scope {
      case "data":
        hasValue = place.value(in: widget.data) != nil
        declared = (kind?.data ?? []).map(\.name)
        keys = widget.data.entries.map(\.key)
      case "parameters":
        hasValue = place.value(in: widget.parameters) != nil
        declared = (kind?.parameters ?? []).map(\.name)
        keys = widget.parameters.entries.map(\.key)
      default:
        hasValue = widget.labels[place.text] != nil
        declared = []
        keys = widget.labels.entries.map(\.key)
      }
      let isDeclared = place.keys.contains { key in declared.contains { $0.hasSameBytes(as: key) } }
      guard !hasValue, !isDeclared else { return nil }
      let mayCome = waits && (scope == "labels" || kind?.isOpen ?? true)
      let near = place.text.closest(among: declared + keys)
      return "widget \"\(widget.id)\" has no \(path)" + (mayCome ? " yet; waiting for it" : "")
        + (near.map { "; did you mean \(scope).\($0)?" } ?? "")
    }
    return nil
  }

  private static let scopes = ["data", "parameters", "labels"]

  /// Reports on standard error the paths that give nothing for these widgets. Returns whether there
  /// are any.
  ///
  /// - Parameter waits: whether the command shows later values, too.
  @discardableResult
  static func noteDoubts(
    about paths: [String], of ids: [WidgetID], waits: Bool, _ session: Session
  ) async -> Bool {
    let paths = paths.filter { path in scopes.contains { path.hasPrefix("\($0).") } }
    guard !paths.isEmpty, !ids.isEmpty, let mask = try? ReadMask(paths: scopes),
      let found = try? await session.list(Selector(ids: ids), mask: mask).widgets
    else { return false }
    var kinds: [KindName: Kind] = [:]
    for name in Set(found.map(\.widget.kind)) {
      let answer = try? await session.client.getKind(
        GetKindRequest(name: name), options: session.options)
      kinds[name] = answer?.kind.kind
    }
    var hasDoubts = false
    for tagged in found {
      let widget = tagged.widget
      for path in paths {
        guard let words = doubt(about: path, of: widget, kinds[widget.kind], waits: waits) else {
          continue
        }
        hasDoubts = true
        Output.writeError("widgetctl: \(words.safeForTerminal)\n")
      }
    }
    return hasDoubts
  }
}
