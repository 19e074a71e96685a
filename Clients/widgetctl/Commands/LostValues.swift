import WidgetClient
import WidgetModel
import WidgetProto

/// The values of a bundle's widgets that somebody has set, and that are gone with the widgets.
enum LostValues {
  /// Whether the values are gone already.
  enum Loss: String {
    case done = "is gone with the widget: it was"
    /// The widget exists until a host removes it.
    case pending = "goes with the widget when widgetd-host runs again: it is"
    case dryRun = "would be gone with the widget: it is"
  }

  struct Entry {
    let widget: WidgetID
    let field: FieldOwner
    /// The bundle of the widget.
    var bundle = ""
    /// The kind of the widget; nil if it was not asked for.
    var kind: KindName?

    var document: Value {
      .map([
        "widget": .string(widget.rawValue), "field": .string(field.path),
        "value": field.declared ?? .null, "owner": .string(field.owner),
      ])
    }
  }

  /// What the removal of some bundles would lose.
  struct Survey {
    var values: [Entry] = []
    /// The warnings that these values are not all that are lost, by bundle.
    var gaps: [String: String] = [:]
  }

  /// What the removal of some bundles would lose, from one listing. Nil if the daemon does not answer.
  ///
  /// - Parameters:
  ///   - bundles: Nil for all bundles.
  ///   - folder: The folder of bundles; nil for the host's. A host may run the bundles from another
  ///     folder.
  ///   - places: see `isRun`.
  static func survey(
    of bundles: [String]?, in folder: String? = nil, at places: [String: String] = [:],
    _ session: Session?
  ) async -> Survey? {
    guard let going = await going(of: bundles, in: folder, at: places, session) else { return nil }
    return survey(of: going.widgets, by: going.rules)
  }

  /// - Parameters:
  ///   - going: the widgets that go, by bundle.
  ///   - rules: for their values, by bundle.
  static func survey(
    of going: [(bundle: String, widgets: [TaggedWidget])], by rules: [String: LossRules]
  ) -> Survey {
    var survey = Survey()
    for (bundle, widgets) in going {
      for tagged in widgets {
        for var entry in entries(of: tagged.widget, tagged.owners, by: rules[bundle]) {
          entry.kind = tagged.widget.kind
          survey.values.append(entry)
        }
      }
      if let gap = rules[bundle]?.gap(in: widgets, of: bundle) { survey.gaps[bundle] = gap }
    }
    return survey
  }

  /// The values of a survey.
  static func ask(
    of bundles: [String]?, in folder: String? = nil, at places: [String: String] = [:],
    _ session: Session?
  ) async -> [Entry]? {
    await survey(of: bundles, in: folder, at: places, session)?.values
  }

  /// The widgets that the removal of some bundles would remove, by bundle, and the rules for their
  /// values. Nil if the daemon does not answer.
  private static func going(
    of bundles: [String]?, in folder: String?, at places: [String: String], _ session: Session?
  ) async -> (
    widgets: [(bundle: String, widgets: [TaggedWidget])], rules: [String: LossRules]
  )? {
    let paths = ["kind", "owners", "data", "parameters", "labels", "presence", "apply_set"]
    guard let session, let mask = try? ReadMask(paths: paths),
      let widgets = try? await session.list(Selector(), mask: mask).widgets
    else { return nil }
    let run = bundles.map { bundles in
      Set(
        bundles.filter { bundle in
          guard let folder else { return true }
          let shown = widgets.first { $0.widget.id.rawValue == "bundle/\(bundle)" }?.widget
          let path = shown?.data["path"]?.plainText ?? ""
          return isRun(bundle, from: path, in: folder, at: places)
            || MovedBundle.isGone(bundle, from: path)
        })
    }
    var order: [String] = []
    var found: [String: [TaggedWidget]] = [:]
    for tagged in widgets {
      guard let bundle = RemoveCommand.bundle(of: tagged.widget.applySet),
        run?.contains(bundle) != false
      else { continue }
      if found[bundle] == nil { order.append(bundle) }
      found[bundle, default: []].append(tagged)
    }
    let rules = await LossRules.ask(of: Set(order), widgets.map(\.widget), at: places, session)
    return (order.map { ($0, found[$0] ?? []) }, rules)
  }

  /// Whether the host runs a bundle from a folder of bundles.
  ///
  /// - Parameters:
  ///   - path: the folder of the bundle, as the host names it. For a link, the path of its target.
  ///   - places: the places of bundles in the folder of bundles, without links.
  static func isRun(
    _ bundle: String, from path: String, in folder: String, at places: [String: String]
  ) -> Bool {
    path.hasPrefix("\(folder)/") || places[bundle] == path
  }

  /// The warning if the daemon could not be asked before bundles are removed.
  static func unknown(_ bundles: [String]) -> String {
    let list = bundles.joined(separator: ", ")
    return "the daemon could not be asked which values users and actions have set on the widgets "
      + "of \(bundles.count == 1 ? "bundle" : "bundles") \(list). When widgetd-host removes the "
      + "widgets, their data, parameters and labels are lost"
  }

  /// The warning if the daemon could not be asked before a version replaces another one. Nil if the
  /// next version has all widgets of the former one, with their kinds.
  static func unknown(replacing former: [WidgetSpec], by next: [WidgetSpec]) -> String? {
    let gone = former.filter { spec in
      spec.id != nil && !next.contains { $0.id == spec.id && $0.kind == spec.kind }
    }.compactMap(\.id?.rawValue)
    guard !gone.isEmpty else { return nil }
    let (widgets, these) =
      gone.count == 1
      ? ("the widget", "this widget, or gives it")
      : ("the widgets", "these widgets, or gives them")
    return "the daemon could not be asked which values users have set on \(widgets) "
      + "\(BundleOutlook.shortened(gone)). This version lacks \(these) another kind. When "
      + "widgetd-host loads the version, \(gone.count == 1 ? "its" : "their") values are lost"
  }

  /// The values that a rollback loses: those of widgets that the restored version does not have, or
  /// that have another kind in it.
  ///
  /// - Parameters:
  ///   - lost: The values of all widgets of the bundle.
  ///   - hasOtherKind: Whether the kind of a widget in the restored version differs from the given
  ///     one.
  static func warnings(
    _ lost: [Entry], restored version: String, _ widgets: [String],
    hasOtherKind: (WidgetID, KindName?) -> Bool
  ) -> [String] {
    lost.compactMap { entry in
      let reason: String
      if !widgets.contains(entry.widget.rawValue) {
        reason = "does not have the widget \"\(entry.widget)\""
      } else if hasOtherKind(entry.widget, entry.kind) {
        reason = "has the widget \"\(entry.widget)\" with another kind"
      } else {
        return nil
      }
      return "version \(version) \(reason), so its \(entry.field.path) is lost: "
        + (entry.field.declared.map { "the value \(JSONWriter.compact($0)), " } ?? "it was ")
        + "set by \(entry.field.ownerName(Facts.name(ofUser:)))"
    }
  }

  /// The values that the removal of one widget of a bundle would lose.
  static func ask(with id: WidgetID, _ session: Session) async -> [Entry] {
    let paths = ["id", "kind", "owners", "data", "parameters", "labels", "presence", "apply_set"]
    guard let mask = try? ReadMask(paths: paths),
      let answer = try? await session.client.getWidget(
        GetWidgetRequest(id: id, readMask: mask), options: session.options),
      let bundle = RemoveCommand.bundle(of: answer.widget.applySet),
      let state = WidgetID("bundle/\(bundle)")
    else { return [] }
    let shown = try? await session.client.getWidget(
      GetWidgetRequest(id: state), options: session.options
    ).widget
    let rules = await LossRules.ask(of: [bundle], [shown].compactMap(\.self), session)
    return entries(of: answer.widget, answer.owners, by: rules[bundle])
  }

  /// The values that are gone with a widget.
  ///
  /// - Parameter rules: nil if only the values with a recorded owner count.
  static func entries(
    of widget: Widget, _ owners: [FieldOwner], by rules: LossRules? = nil
  ) -> [Entry] {
    (rules ?? LossRules()).values(of: widget, owners).map { field in
      Entry(
        widget: widget.id, field: field, bundle: RemoveCommand.bundle(of: widget.applySet) ?? "")
    }
  }

  /// `clock: data.note is gone with the widget: it was "mine", set by user ann (1000)`.
  static func text(_ field: FieldOwner, of widget: WidgetID, _ loss: Loss = .done) -> String {
    "\(widget): \(field.path) \(loss.rawValue) "
      + (field.declared.map { JSONWriter.compact($0) + ", " } ?? "")
      + "set by \(field.ownerName(Facts.name(ofUser:)))"
  }

  /// `data.note = "mine"`. Only the name if there is no value.
  static func named(_ path: String, _ value: Value?) -> String {
    path + (value.map { " = \(short($0))" } ?? "")
  }

  /// The value on one line, at most 80 characters of it.
  static func short(_ value: Value) -> String {
    let text = JSONWriter.compact(value)
    return text.count > 80 ? "\(text.prefix(80))…" : text
  }

  static func text(_ lost: [Entry], _ loss: Loss = .done) -> String {
    lost.map { entry in
      "  \(text(entry.field, of: entry.widget, loss))".safeForTerminal + "\n"
    }.joined()
  }

  static func document(removed id: WidgetID, _ revision: Revision, _ lost: [Entry]) -> Value {
    var map: ValueMap = ["id": .string(id.rawValue), "revision": .revision(revision)]
    if !lost.isEmpty { map["lostFields"] = .list(lost.map(\.document)) }
    return .map(map)
  }

  static func document(removed ids: [String], _ losses: BundleLosses) -> Value {
    var map: ValueMap = ["removed": .list(ids.map { .string($0) })]
    if !losses.values.isEmpty { map["lostFields"] = .list(losses.values.map(\.document)) }
    if !losses.settings.isEmpty { map["lostSettings"] = .list(losses.settings.map(\.document)) }
    if !losses.staying.isEmpty { map["stayingWidgets"] = .list(losses.staying.map(\.document)) }
    if !losses.successors.isEmpty {
      map["takenOverBy"] = .map(
        ValueMap(
          losses.successors.sorted { $0.key < $1.key }.map {
            .init(key: $0.key, value: .string($0.value))
          }))
    }
    return .map(map)
  }
}
