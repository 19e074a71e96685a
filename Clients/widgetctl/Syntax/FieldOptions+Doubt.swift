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
    guard let lookup = Lookup(path, in: widget, kind), !lookup.isKnown else { return nil }
    let mayCome = waits && (lookup.scope == "labels" || kind?.isOpen ?? true)
    return "widget \"\(widget.id)\" has no \(path)" + (mayCome ? " yet; waiting for it" : "")
      + lookup.question(among: lookup.names)
  }

  /// - Parameters:
  ///   - widgets: have all data, parameters and labels.
  ///   - kinds: their kinds, as far as these are registered.
  ///   - waits: see `noteAbsence`.
  /// - Returns: nil if a widget has the value, or its kind declares it.
  static func absence(
    of path: String, in widgets: [Widget], _ kinds: [KindName: Kind], waits: Bool = false
  ) -> String? {
    let lookups = widgets.compactMap { Lookup(path, in: $0, kinds[$0.kind]) }
    guard let first = lookups.first, !lookups.contains(where: \.isKnown) else { return nil }
    // Other widgets with the value can come.
    return "no \(waits ? "watched" : "listed") widget has \(path)"
      + (waits ? " yet; waiting for it" : "")
      + first.question(among: Set(lookups.flatMap(\.names)).sorted())
  }

  /// The paths of data values, parameters and labels that none of some widgets has.
  ///
  /// - Parameter widgets: have the values of the paths.
  static func lacking(_ paths: [String], in widgets: [Widget]) -> [String] {
    paths.filter { path in
      isOfScope(path)
        && !widgets.contains { Lookup(path, in: $0, nil).map(\.isKnown) ?? true }
    }
  }

  private static func isOfScope(_ path: String) -> Bool {
    scopes.contains { path.hasPrefix("\($0).") }
  }

  /// A value of a widget that a path names.
  private struct Lookup {
    let scope: String
    let place: ValuePath
    /// The names that the widget has or its kind declares.
    let names: [String]
    /// Whether the widget has the value, or its kind declares it.
    let isKnown: Bool

    /// Nil if the path names no data value, parameter or label.
    init?(_ path: String, in widget: Widget, _ kind: Kind?) {
      guard let scope = FieldOptions.scopes.first(where: { path.hasPrefix("\($0).") }),
        let rest = path[...].droppingPrefix("\(scope)."), !rest.isEmpty
      else { return nil }
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
      let isDeclared = place.keys.contains { key in
        declared.contains { $0.hasSameBytes(as: key) }
      }
      self.scope = scope
      self.place = place
      names = declared + keys
      isKnown = hasValue || isDeclared
    }

    /// `; did you mean data.percent?` Empty if no name is near.
    func question(among names: [String]) -> String {
      place.text.closest(among: names).map { "; did you mean \(scope).\($0)?" } ?? ""
    }
  }

  fileprivate static let scopes = ["data", "parameters", "labels"]

  /// Reports on standard error the paths that give nothing for these widgets. Returns whether there
  /// are any.
  ///
  /// - Parameter waits: whether the command shows later values, too.
  @discardableResult
  static func noteDoubts(
    about paths: [String], of ids: [WidgetID], waits: Bool, _ session: Session
  ) async -> Bool {
    let paths = paths.filter(isOfScope)
    guard !paths.isEmpty, !ids.isEmpty, let mask = try? ReadMask(paths: scopes),
      let found = try? await session.list(Selector(ids: ids), mask: mask).widgets
    else { return false }
    let kinds = await registeredKinds(of: found, session)
    var hasDoubts = false
    for tagged in found {
      let widget = tagged.widget
      for path in paths {
        guard let words = doubt(about: path, of: widget, kinds[widget.kind], waits: waits) else {
          continue
        }
        hasDoubts = true
        if !waits, session.printer.writesJSON {
          Main.report(CommandFailure(.notFound, words), isJSON: true)
        } else {
          Output.writeError("widgetctl: \(words.safeForTerminal)\n")
        }
      }
    }
    return hasDoubts
  }

  /// Reports on standard error the paths that give nothing for any of the selected widgets, and that
  /// no kind of them declares.
  ///
  /// - Parameters:
  ///   - paths: see `lacking`.
  ///   - waits: whether the command shows later values, too.
  static func noteAbsence(
    of paths: [String], in selector: Selector, waits: Bool, _ session: Session
  ) async {
    guard !paths.isEmpty, let mask = try? ReadMask(paths: scopes),
      let found = try? await session.list(selector, mask: mask).widgets
    else { return }
    let kinds = await registeredKinds(of: found, session)
    for path in paths {
      guard let words = absence(of: path, in: found.map(\.widget), kinds, waits: waits) else {
        continue
      }
      Output.writeError("widgetctl: \(words.safeForTerminal)\n")
    }
  }

  /// The kinds of widgets, as far as they are registered.
  private static func registeredKinds(
    of widgets: [TaggedWidget], _ session: Session
  ) async -> [KindName: Kind] {
    var kinds: [KindName: Kind] = [:]
    for name in Set(widgets.map(\.widget.kind)) {
      let answer = try? await session.client.getKind(
        GetKindRequest(name: name), options: session.options)
      kinds[name] = answer?.kind.kind
    }
    return kinds
  }
}
