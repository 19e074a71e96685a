import WidgetModel

/// The properties of a node that its layout depends on, read once. Missing or wrong properties have
/// their default.
struct NodeStyle {
  enum Alignment: Hashable { case start, center, end, fill }
  enum Distribution: Hashable { case start, center, end, fill, equal, between }
  enum Axis: Hashable { case vertical, horizontal, layered }
  /// The cases in which a line is drawn below the node.
  enum Separator: Hashable { case whereParentDivides, always, never }
  enum Accessory: Hashable {
    case none, mark
    case child(String)
  }

  var isVisible = true
  var padding = LayoutEdges()
  var margin = LayoutEdges()
  var width: Int?
  var height: Int?
  var minWidth = 0
  var maxWidth: Int?
  var minHeight = 0
  var maxHeight: Int?
  var grow = 0.0
  var align: Alignment?
  var font = ThemeFont(size: 16)
  var separator = Separator.whereParentDivides
  var separatorInsets = LayoutEdges()
  var accessory = Accessory.none

  var axis = Axis.vertical
  /// The gaps between children: along the axis of a stack; in a grid, horizontally and vertically.
  var spacing = LayoutSize.zero
  var distribution = Distribution.start
  var crossAlign: Alignment?
  var isScrolling = false
  var itemWidth: Int?
  var isPaging = false
  var isDividing = false
  var isSection = false
  /// The size of a space, in points along its parent's axis.
  var size: Double?

  init() {}

  init(_ node: borrowing Node, _ metrics: borrowing LayoutMetrics) {
    let isFrame = node.role.isFrame
    let edge = metrics.horizontal(Self.leafPaddingPoints)
    separatorInsets = LayoutEdges(leading: edge, trailing: edge)
    if !isFrame {
      let end = metrics.vertical(Self.leafPaddingPoints)
      padding = LayoutEdges(top: end, bottom: end, leading: edge, trailing: edge)
    }
    font = metrics.font(nil)
    for entry in node.properties.entries { read(entry.key, entry.value, metrics) }
    if let maxWidth { self.maxWidth = max(maxWidth, minWidth) }
    if let maxHeight { self.maxHeight = max(maxHeight, minHeight) }
  }

  static let leafPaddingPoints = 4.0

  private mutating func read(_ name: String, _ value: Value, _ metrics: LayoutMetrics) {
    switch name {
    case "text", "value", "color": break  // The most frequent properties do not change the layout.
    case "visible": if case .bool(let flag) = value { isVisible = flag }
    case "padding": if let edges = metrics.edges(value, over: padding) { padding = edges }
    case "margin": if let edges = metrics.edges(value) { margin = edges }
    case "width": width = metrics.horizontal(value) ?? width
    case "height": height = metrics.vertical(value) ?? height
    case "minWidth": minWidth = metrics.horizontal(value) ?? minWidth
    case "maxWidth": maxWidth = metrics.horizontal(value) ?? maxWidth
    case "minHeight": minHeight = metrics.vertical(value) ?? minHeight
    case "maxHeight": maxHeight = metrics.vertical(value) ?? maxHeight
    case "grow": if let number = value.number, number > 0 { grow = min(number, Self.growMax) }
    case "align": align = Self.alignment(value)
    case "crossAlign": crossAlign = Self.alignment(value)
    case "font": font = metrics.font(value)
    case "separator": readSeparator(value, metrics)
    case "accessory": readAccessory(value)
    case "axis": axis = Self.axis(value)
    case "spacing":
      spacing = LayoutSize(
        width: metrics.horizontal(value) ?? 0, height: metrics.vertical(value) ?? 0)
    case "distribution": distribution = Self.distribution(value)
    case "scroll": if case .bool(let flag) = value { isScrolling = flag }
    case "itemWidth": itemWidth = metrics.horizontal(value)
    case "paging": if case .bool(let flag) = value { isPaging = flag }
    case "divider": if case .bool(let flag) = value { isDividing = flag }
    case "size": size = metrics.points(value)
    case "section": if case .bool(let flag) = value { isSection = flag }
    default: break
    }
  }

  /// The maximum share, so that sums are exact enough.
  static let growMax = 1_000_000.0

  private mutating func readSeparator(_ value: Value, _ metrics: LayoutMetrics) {
    switch value {
    case .bool(let flag): separator = flag ? .always : .never
    case .map(let map):
      separator = .always
      if let insets = map["insets"].flatMap({ metrics.edges($0) }) { separatorInsets = insets }
    default: break
    }
  }

  private mutating func readAccessory(_ value: Value) {
    switch value {
    case .string(let name):
      accessory = ["disclosure", "activity", "checkmark"].contains(name) ? .mark : .none
    case .map(let map):
      if case .string(let id)? = map["node"] {
        accessory = .child(id)
      } else if map["image"] != nil {
        accessory = .mark
      }
    default: break
    }
  }

  static func alignment(_ value: Value?) -> Alignment? {
    guard case .string(let name)? = value else { return nil }
    switch name {
    case "start": return .start
    case "center": return .center
    case "end": return .end
    case "fill": return .fill
    default: return nil
    }
  }

  private static func axis(_ value: Value) -> Axis {
    switch value {
    case .string("horizontal"): .horizontal
    case .string("layered"): .layered
    default: .vertical
    }
  }

  private static func distribution(_ value: Value) -> Distribution {
    guard case .string(let name) = value else { return .start }
    switch name {
    case "center": return .center
    case "end": return .end
    case "fill": return .fill
    case "equal": return .equal
    case "between": return .between
    default: return .start
    }
  }
}

extension LayoutMetrics {
  /// A length: a number of points, or a theme's token; nil for another value.
  func points(_ value: Value?) -> Double? {
    switch value {
    case .string(let token)?: offset(token)
    case let value?: value.number.flatMap { $0 >= 0 ? $0 : nil }
    case nil: nil
    }
  }

  func horizontal(_ value: Value?) -> Int? { points(value).map { horizontal($0) } }
  func vertical(_ value: Value?) -> Int? { points(value).map { vertical($0) } }

  /// A length for all edges, or a map in which the most specific wins; nil for neither.
  func edges(_ value: Value, over base: LayoutEdges = LayoutEdges()) -> LayoutEdges? {
    guard case .map(let map) = value else {
      return points(value).map {
        LayoutEdges(
          top: vertical($0), bottom: vertical($0), leading: horizontal($0),
          trailing: horizontal($0))
      }
    }
    let all = points(map["all"])
    let (sides, ends) = (points(map["horizontal"]) ?? all, points(map["vertical"]) ?? all)
    return LayoutEdges(
      top: (points(map["top"]) ?? ends).map { vertical($0) } ?? base.top,
      bottom: (points(map["bottom"]) ?? ends).map { vertical($0) } ?? base.bottom,
      leading: (points(map["leading"]) ?? sides).map { horizontal($0) } ?? base.leading,
      trailing: (points(map["trailing"]) ?? sides).map { horizontal($0) } ?? base.trailing)
  }

  /// The points of a token, in full or in its short form.
  private func offset(_ token: String) -> Double? {
    theme.offset(token) ?? theme.offset("offset." + token)
  }

  func font(_ value: Value?) -> ThemeFont {
    // In cells, all text has the same size.
    guard scale == .points else { return ThemeFont(size: Self.cellHeightPoints) }
    var font: ThemeFont?
    if case .string(let token)? = value { font = theme.font(token) ?? theme.font("font." + token) }
    return font ?? theme.font("font.default") ?? ThemeFont(size: Self.cellHeightPoints)
  }
}

extension Node {
  /// A property as text; empty if there is none.
  func text(_ name: String) -> String { property(name)?.scalarText ?? "" }

  func bool(_ name: String) -> Bool? {
    if case .bool(let flag)? = property(name) { flag } else { nil }
  }

  func int(_ name: String) -> Int? {
    if case .int(let number)? = property(name) { Int(clamping: number) } else { nil }
  }
}
