public import WidgetModel

/// A part of a list of widgets.
public struct WidgetPage {
  /// In position order.
  public internal(set) var widgets: [Widget] = []
  /// The position after which the next page begins; nil on the last page.
  public internal(set) var next: Int64?

  public var hasMore: Bool { next != nil }
}
