import WidgetBundle
import WidgetModel

/// The widgets and fields of the daemon that a bundle's file claims, and their owners.
struct BundleClaims: Sendable {
  let bundle: Bundle
  /// The sets whose widgets the bundle may take over.
  private let inherited: Set<String>
  /// The single widgets that the bundle takes over from other bundles.
  private let taking: Set<WidgetID>

  init(of bundle: Bundle, inherited: Set<String> = [], taking: Set<WidgetID> = []) {
    self.bundle = bundle
    self.inherited = inherited
    self.taking = taking
  }

  /// Whether the bundle has the widget, or takes it over.
  func isOwn(_ widget: Widget) -> Bool { has(widget.applySet) || taking.contains(widget.id) }

  /// Whether the set is the bundle's, or one that it takes over.
  func has(_ set: String) -> Bool { set == self.set || inherited.contains(set) }

  /// The bundle's set, and those that it takes over.
  var sets: Set<String> { inherited.union([set]) }

  /// The owner of the bundle's widgets.
  private var set: String { HostState.provider(of: bundle.id) }

  /// The first known widget with the id of one of the bundle's widgets, and with another owner. The
  /// bundle then cannot declare its widgets.
  func rival(among known: [Widget]) -> Circumstances.WidgetStanding? {
    let ids = Set(bundle.widgets.compactMap(\.id))
    return known.first { ids.contains($0.id) && !isOwn($0) }.map { widget in
      Circumstances.WidgetStanding(id: widget.id, kind: widget.kind, applySet: widget.applySet)
    }
  }

  /// The reason why the bundle cannot declare its widgets, and the next step.
  ///
  /// - Parameters:
  ///   - taken: the widget with another owner.
  ///   - isLeaving: whether its bundle no longer has it, so that it waits for its removal. The time of
  ///     the removal can move, which would make the same refusal new, so the words do not have it.
  ///   - isDropped: whether a new version of its bundle lacks it. The daemon has not taken that
  ///     version.
  func words(
    on taken: Circumstances.WidgetStanding, isLeaving: Bool, isDropped: Bool
  ) -> String {
    let whose =
      taken.applySet.isEmpty
      ? "was created by another program"
      : "belongs to \(OwnerName.words(ofSet: taken.applySet))"
    let prefix = HostState.provider(of: "")
    let step: String
    let isOfSameKind = bundle.widgets.contains { $0.id == taken.id && $0.kind == taken.kind }
    if taken.applySet.hasPrefix(prefix) {
      let other = taken.applySet.dropFirst(prefix.count)
      if isLeaving {
        return "widget \"\(taken.id)\" already exists and \(whose). The file of bundle \(other)"
          + " no longer has the widget. widgetd-host removes the widget and its values soon; `widgetctl get"
          + " \(taken.id) --field error` has the time"
          + (isOfSameKind
            ? "" : ". To keep the values, give the widget the kind \(taken.kind) in this file, too")
      }
      if isDropped {
        return "widget \"\(taken.id)\" already exists and \(whose). The new file of bundle \(other)"
          + " lacks this widget, but the daemon has not taken that file. If that file has a mistake,"
          + " correct it. If the two bundles exchange widgets, save this file without"
          + " \"\(taken.id)\" first, then with \"\(taken.id)\" within 30 seconds"
      }
      // A removal of the other bundle would remove the values of users, too.
      return
        "widget \"\(taken.id)\" already exists and \(whose); give this bundle's widget another id, or"
        + " delete \"\(taken.id)\" from the file of bundle \(other)"
        + (isOfSameKind
          ? ": this bundle then takes it over with its values"
          : ". If this file gives \(taken.id) the kind \(taken.kind), this bundle takes \(taken.id) over"
            + " with its values. With another kind, the values are lost")
    }
    if isOfSameKind {
      step =
        "hand that one over with its data (widgetctl get \(taken.id) -o yaml | widgetctl apply"
        + " --set \(set) -f -)"
    } else {
      step = "remove that one with its data (widgetctl rm \(taken.id))"
    }
    return
      "widget \"\(taken.id)\" already exists and \(whose); give this bundle's widget another id, or"
      + " \(step)"
  }

  /// The specs to declare for the bundle's widgets. Specs of widgets that exist already (`known`)
  /// leave out `isVisible` and `isEnabled`, because these apply to new widgets only.
  func specs(beside known: [Widget]) -> [WidgetSpec] {
    let ids = Set(known.filter { isOwn($0) }.map(\.id))
    return bundle.widgets.map { spec in
      guard let id = spec.id, ids.contains(id) else { return spec }
      var spec = spec
      spec.isVisible = nil
      spec.isEnabled = nil
      return spec
    }
  }

  // MARK: Fields

  /// A field that somebody else has set: its value in a bundle's file has no effect, or it is gone
  /// with its widget.
  struct KeptField: Hashable {
    let widget: WidgetID
    let field: FieldOwner
    /// Whether the widget is removed, so that the value is lost.
    var isLost = false

    /// `list data.items`.
    var name: String { "\(widget) \(field.path)" }

    /// - Parameters:
    ///   - bundle: empty to leave out the bundle.
    ///   - names: the name of a user; nil if no user has the number.
    func message(by bundle: String, names: (UInt32) -> String? = { _ in nil }) -> String {
      let prefix = bundle.isEmpty ? "" : "bundle \(bundle): "
      guard !isLost else {
        let value = field.declared.map { ", \(JSONText.short($0))" }
        return prefix + "widget \(widget) is removed, and with it the value of "
          + "\(field.path)\(value ?? ""), which was set by \(field.ownerName(names))"
      }
      return "\(prefix)\(editWords), "
        + "because the field was set by \(field.ownerName(names)); \"widgetctl set \(widget) "
        + "--release \(field.path)\" gives the field the file's value"
    }

    /// The beginning of the line about an edit of the file without effect.
    var editWords: String {
      "widget \(widget): the file's value of \(field.path) has no effect"
    }

    /// Whether the widget has another value than the file.
    func isKept(in widget: Widget) -> Bool {
      guard let (part, key) = FieldOwner.parse(field.path) else { return true }
      let value: Value? =
        switch part {
        case .data: widget.data[key]
        case .labels: widget.labels[key].map { .string($0) }
        case .parameters: widget.parameters[key]
        }
      return value != field.declared
    }

    /// The value of the field in a version of the file; nil if the version has none.
    func value(in version: [WidgetSpec]) -> Value? {
      guard let (part, key) = FieldOwner.parse(field.path),
        let spec = version.first(where: { $0.id == widget })
      else { return nil }
      return switch part {
      case .data: spec.data[key]
      case .labels: spec.labels[key].map { .string($0) }
      case .parameters: spec.parameters[key]
      }
    }
  }

  /// A field that the file declares for the first time, and that a program has set before. The
  /// daemon records owners only of declared fields, so the file's value replaces the program's.
  struct TakenField: Hashable {
    let widget: WidgetID
    let path: String
    let before: Value

    /// - Parameter bundle: empty to leave out the bundle.
    func message(by bundle: String) -> String {
      let prefix = bundle.isEmpty ? "" : "bundle \(bundle): "
      return prefix + "widget \(widget): the file declares \(path) now and has replaced its value, "
        + "\(JSONText.short(before)), which was set by an event, an action or a source"
    }
  }

  /// The fields that the bundle's file declares, by widget.
  var fields: [WidgetID: Set<String>] {
    var fields: [WidgetID: Set<String>] = [:]
    for spec in bundle.widgets {
      guard let id = spec.id else { continue }
      fields[id] = Set(
        spec.data.keys.map { "data.\($0)" } + spec.parameters.keys.map { "parameters.\($0)" })
    }
    return fields
  }

  /// The fields that the file declares for the first time, and that have other values. Leaves out
  /// fields that a source sets, because the next reading sets them again.
  ///
  /// - Parameter before: the fields that the file declared last. Widgets that are not in it have no
  ///   new fields.
  func taken(from known: [Widget], before: [WidgetID: Set<String>]) -> [TakenField] {
    var taken: [TakenField] = []
    for spec in bundle.widgets {
      guard let id = spec.id, let earlier = before[id],
        let widget = known.first(where: { $0.id == id })
      else { continue }
      let kind = bundle.kinds.first { $0.kind.name == spec.kind }
      let excluded = earlier.union(BundleClaims.read(by: kind))
      for (name, new, old, fields) in [
        ("data", spec.data, widget.data, kind?.kind.data),
        ("parameters", spec.parameters, widget.parameters, kind?.kind.parameters),
      ] {
        for entry in new.entries where !excluded.contains("\(name).\(entry.key)") {
          guard let value = old[entry.key], value != entry.value, value != .null,
            value != fields?.first(where: { $0.name == entry.key })?.defaultValue
          else { continue }
          taken.append(TakenField(widget: id, path: "\(name).\(entry.key)", before: value))
        }
      }
    }
    return taken
  }

  /// The fields that the sources of a kind set.
  private static func read(by kind: BundleKind?) -> Set<String> {
    let assignments = (kind?.sources ?? []).flatMap { $0.assignments.values }
    return Set(assignments.map { "data.\($0.key)" })
  }

  /// A line for each value of a widget that does not fit the bundle's kinds: the widget, the field,
  /// the reason, and what becomes of the value.
  ///
  /// Leaves out values that sources have set and that are lost. The next reading sets the fields
  /// again.
  ///
  /// - Parameters:
  ///   - before: the widgets that the file declared last. A widget that it no longer has, or has with
  ///     another kind, is removed, so its values do not come back. Nil if nobody knows which
  ///     widgets stay.
  ///   - countMax: the maximum number of such lines. One more line counts the rest.
  func misfits(_ results: [KindResult], before: Set<WidgetID>?, countMax: Int) -> [Misfit] {
    var lines: [Misfit] = []
    var count = 0
    let kinds = bundle.kindsOfWidgets
    for result in results {
      let kind = bundle.kinds.first { $0.kind.name == result.name }
      let read = BundleClaims.read(by: kind)
      let fields = result.lostFields.filter { $0.isSetAside || !read.contains($0.path) }
      count += fields.count + result.lostFieldsCount - result.lostFields.count
      for field in fields.prefix(countMax - lines.count) {
        let reason = kind.map { BundleClaims.reason(field.path, $0.kind) } ?? "the kind has changed"
        let id = field.widgetID
        let goes = before.map { $0.contains(id) && kinds[id] != result.name }
        let value = field.value.map { ", \(JSONText.short($0))," } ?? ""
        let text =
          "widget \(id): the value of \(field.path)\(value) is "
          + BundleClaims.fate(of: field, goes: goes) + ": \(reason)"
          + (goes == false ? BundleClaims.advice(on: field) : "")
        lines.append(Misfit(text: text, isLost: !field.isSetAside))
      }
    }
    guard count > lines.count else { return lines }
    let more =
      count - lines.count == 1 ? "1 more value does" : "\(count - lines.count) more values do"
    return lines + [Misfit(text: "\(more) not fit the changed kinds", isLost: false)]
  }

  /// A line about a value that does not fit.
  struct Misfit: Hashable {
    var text: String
    /// Whether nobody keeps the value.
    var isLost: Bool
  }

  /// The effect on a value that does not fit.
  ///
  /// - Parameter goes: whether the widget is removed; nil if nobody knows.
  private static func fate(of field: LostField, goes: Bool?) -> String {
    guard field.isSetAside else { return "lost" }
    guard let goes else { return "set aside, and is lost if the widget is removed" }
    guard !goes else { return "set aside, and is lost when the widget is removed" }
    return field.path.hasPrefix("entry.")
      ? "set aside until it fits again, or the widget gets a new timeline"
      : "set aside until it fits again"
  }

  /// The command that shows a value that is set aside.
  private static func advice(on field: LostField) -> String {
    guard field.isSetAside else { return "" }
    let command =
      field.path.hasPrefix("entry.")
      ? "timeline \(field.widgetID)" : "get \(field.widgetID) --owners"
    return "; \"widgetctl \(command)\" shows it"
  }

  /// Why a value does not fit a field of a kind.
  private static func reason(_ path: String, _ kind: Kind) -> String {
    let parts = path.split(separator: ".", maxSplits: 1).map(String.init)
    let fields =
      switch parts.first {
      case "data": kind.data
      case "parameters": kind.parameters
      default: kind.entry
      }
    guard let field = fields.first(where: { $0.name == parts.last }) else {
      return "the kind \"\(kind.name)\" no longer has this field"
    }
    return field.choices.isEmpty
      ? "the field takes values of type \(field.type) now"
      : "the field takes one of these now: \(field.choiceWords)"
  }

  /// The fields whose values in the file have no effect.
  static func kept(_ results: [ApplyResult]) -> [KeptField] {
    results.filter { $0.action != .deleted }.flatMap { result in
      result.keptFields.map { KeptField(widget: result.id, field: $0) }
    }
  }

  /// Whether the answer may have left out values that are gone with removed widgets, because the
  /// daemon names at most 256.
  static func areCut(_ results: [ApplyResult]) -> Bool {
    results.lazy.filter { $0.action == .deleted }.map(\.keptFields.count).reduce(0, +) >= 256
  }

  /// The values that are gone with removed widgets.
  static func lost(_ results: [ApplyResult]) -> [KeptField] {
    results.filter { $0.action == .deleted }.flatMap { result in
      result.keptFields.map { KeptField(widget: result.id, field: $0, isLost: true) }
    }
  }
}
