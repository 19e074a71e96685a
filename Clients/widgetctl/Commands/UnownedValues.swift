import WidgetClient
import WidgetModel

/// The values of widgets that `apply --prune` removes from a set without `--own`.
///
/// Such a set has no record of owners, so nobody knows which values others have set. All values are
/// named, except those that a new widget of the kind has, too.
struct UnownedValues {
  /// The maximum number of named values.
  static let most = 256
  /// The maximum size of a named value, in bytes.
  static let bytesMax = 1 << 10

  private var fields: [WidgetID: [FieldOwner]] = [:]
  /// The number of values that are not named.
  private(set) var more = 0

  /// The fields of a widget; nil if the widget has a record of owners.
  subscript(id: WidgetID) -> [FieldOwner]? { fields[id] }

  /// Asks for the widgets of a set that a file no longer declares. None if the daemon does not answer.
  static func ask(
    in set: String, besides declared: Set<WidgetID>, _ session: Session
  ) async -> UnownedValues {
    let paths = ["kind", "owners", "data", "parameters", "labels", "apply_set"]
    guard let mask = try? ReadMask(paths: paths),
      let widgets = try? await session.list(Selector(), mask: mask).widgets
    else { return UnownedValues() }
    let gone = widgets.filter {
      $0.widget.applySet == set && !declared.contains($0.widget.id)
    }
    guard !gone.isEmpty else { return UnownedValues() }
    let kinds = (try? await session.kinds().kinds.map(\.kind)) ?? []
    return UnownedValues(of: gone, kinds)
  }

  init() {}

  init(of widgets: [TaggedWidget], _ kinds: [Kind]) {
    let kinds = Dictionary(kinds.map { ($0.name, $0) }) { $1 }
    var room = Self.most
    for tagged in widgets where tagged.owners.allSatisfy(\.isAside) {
      let all = Self.fields(of: tagged.widget, kinds[tagged.widget.kind]) + tagged.owners
      fields[tagged.widget.id] = Array(all.prefix(room))
      more += all.count - min(all.count, room)
      room -= min(all.count, room)
    }
  }

  private static func fields(of widget: Widget, _ kind: Kind?) -> [FieldOwner] {
    // The daemon fills the data of these kinds.
    let isFilled = [KindName.help, .smartStack].contains(widget.kind)
    let labels = ValueMap(
      widget.labels.entries.map { .init(key: $0.key, value: .string($0.value)) })
    let parts: [(FieldOwner.Part, ValueMap, [Field])] = [
      (.data, isFilled ? [:] : widget.data, kind?.data ?? []),
      (.labels, labels, []), (.parameters, widget.parameters, kind?.parameters ?? []),
    ]
    return parts.flatMap { part, values, declared -> [FieldOwner] in
      values.entries.compactMap { entry in
        let field = declared.first { $0.name == entry.key }
        guard entry.value != .null, entry.value != field?.defaultValue else { return nil }
        let isSmall = JSONWriter.compact(entry.value).utf8.count <= bytesMax
        return FieldOwner(
          path: part.path(entry.key), owner: FieldOwner.earlier,
          declared: isSmall ? entry.value : nil)
      }
    }
  }

  /// `clock: data.note is gone with the widget: it was "mine"`.
  static func text(_ field: FieldOwner, of widget: WidgetID, dryRun: Bool) -> String {
    let value = field.declared.map { ": it \(dryRun ? "is" : "was") \(JSONWriter.compact($0))" }
    return "\(widget): \(field.path) \(dryRun ? "would be" : "is") gone with the widget"
      + (value ?? "")
  }
}
