import WidgetClient
import WidgetModel

/// The values of widgets that are set aside, because they do not fit the widgets' kinds.
struct AsideValues: Hashable {
  /// A value that is set aside.
  struct Entry: Hashable {
    let widget: WidgetID
    /// The field, the owner of the value, and the value.
    let field: FieldOwner

    var value: Value { field.declared ?? .null }

    /// `c: data.note: the value "mine" is set aside…`
    var text: String { "\(widget): \(words)" }

    /// The same without the widget.
    var words: String {
      "\(field.path): the value \(JSONWriter.compact(value)) is set aside until it fits the "
        + "kind again, or somebody sets the field. The value was set by "
        + "\(field.ownerName(Facts.name(ofUser:))). `widgetctl set \(widget) --release \(field.path)` "
        + "discards the value."
    }

    /// `c: data.note has its value "mine" again…`
    var textOfReturn: String {
      "\(widget): \(field.path) has the value \(JSONWriter.compact(value)) again, which was set aside; "
        + "it was set by \(field.ownerName(Facts.name(ofUser:)))"
    }

    var document: Value {
      .map([
        "widget": .string(widget.rawValue), "field": .string(field.path), "value": value,
        "owner": .string(field.owner),
      ])
    }
  }

  private(set) var entries: [Entry] = []
  private var widgets: [WidgetID: Widget] = [:]

  init(_ tagged: [TaggedWidget]) {
    for one in tagged {
      widgets[one.widget.id] = one.widget
      entries += one.owners.filter(\.isAside).map { Entry(widget: one.widget.id, field: $0) }
    }
  }

  /// Asks the daemon for the values of widgets of these kinds, or of all kinds if the list is
  /// empty. Nil if it does not answer.
  static func ask(_ kinds: [KindName], _ session: Session) async -> AsideValues? {
    guard let mask = try? ReadMask(paths: ["position", "owners", "data", "parameters", "labels"])
    else { return nil }
    let selectors = kinds.isEmpty ? [Selector()] : FailureWarnings.selectors([], kinds)
    var found: [TaggedWidget] = []
    for selector in selectors {
      guard let page = try? await session.list(selector, mask: mask) else { return nil }
      found += page.widgets
    }
    return AsideValues(found)
  }

  func contains(_ widget: WidgetID, _ path: String) -> Bool {
    entries.contains { $0.widget == widget && $0.field.path == path }
  }

  /// The values that were not set aside before.
  func added(since before: AsideValues) -> [Entry] {
    entries.filter { !before.contains($0.widget, $0.field.path) }
  }

  /// The values that were set aside before, and are in their fields now.
  func returned(since before: AsideValues) -> [Entry] {
    before.entries.filter { entry in
      guard !contains(entry.widget, entry.field.path), let widget = widgets[entry.widget] else {
        return false
      }
      return entry.field.value(in: widget) == entry.value
    }
  }

  /// A line for each value that was set aside, or came back.
  func text(since before: AsideValues?) -> String {
    guard let before else { return "" }
    return (added(since: before).map(\.text) + returned(since: before).map(\.textOfReturn))
      .map { "  \($0)\n" }.joined().safeLines
  }
}
