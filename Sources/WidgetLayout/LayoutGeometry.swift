/// A width and a height, in units.
public struct LayoutSize: Hashable, Sendable {
  public var width: Int
  public var height: Int

  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  public static let zero = LayoutSize(width: 0, height: 0)
}

/// A rectangle, in units, from the top left of the whole layout.
public struct LayoutRect: Hashable, Sendable {
  public var x: Int
  public var y: Int
  public var width: Int
  public var height: Int

  public init(x: Int, y: Int, width: Int, height: Int) {
    self.x = x
    self.y = y
    self.width = width
    self.height = height
  }

  public static let zero = LayoutRect(x: 0, y: 0, width: 0, height: 0)

  /// The first column to the right of it.
  public var endX: Int { x + width }
  /// The first row below it.
  public var endY: Int { y + height }
  public var size: LayoutSize { LayoutSize(width: width, height: height) }
  /// Whether the rectangle is empty.
  public var isEmpty: Bool { width <= 0 || height <= 0 }

  /// Whether all of another rectangle is in it.
  public func contains(_ other: LayoutRect) -> Bool {
    other.x >= x && other.y >= y && other.endX <= endX && other.endY <= endY
  }

  public func contains(x: Int, y: Int) -> Bool {
    x >= self.x && x < endX && y >= self.y && y < endY
  }

  /// The intersection of both. If they share nothing, an empty rectangle inside this one.
  public func intersection(_ other: LayoutRect) -> LayoutRect {
    let left = min(max(x, other.x), endX)
    let top = min(max(y, other.y), endY)
    return LayoutRect(
      x: left, y: top, width: max(0, min(endX, other.endX) - left),
      height: max(0, min(endY, other.endY) - top))
  }

  public func overlaps(_ other: LayoutRect) -> Bool {
    !isEmpty && !other.isEmpty && x < other.endX && other.x < endX && y < other.endY
      && other.y < endY
  }

  /// The rectangle without some room at its edges. If the rectangle is too small, the start and the
  /// top get their room first.
  func inset(_ edges: LayoutEdges) -> LayoutRect {
    let left = min(max(edges.leading, 0), max(width, 0))
    let top = min(max(edges.top, 0), max(height, 0))
    return LayoutRect(
      x: x + left, y: y + top, width: max(0, width - left - max(edges.trailing, 0)),
      height: max(0, height - top - max(edges.bottom, 0)))
  }
}

/// Room at the edges of something, in units.
public struct LayoutEdges: Hashable, Sendable {
  public var top = 0
  public var bottom = 0
  public var leading = 0
  public var trailing = 0

  public init(top: Int = 0, bottom: Int = 0, leading: Int = 0, trailing: Int = 0) {
    self.top = top
    self.bottom = bottom
    self.leading = leading
    self.trailing = trailing
  }

  var horizontal: Int { leading + trailing }
  var vertical: Int { top + bottom }
}

extension LayoutRect {
  /// A line of the rectangle, at an offset below its top.
  func line(_ offset: Int, _ height: Int) -> LayoutRect {
    LayoutRect(x: x, y: y + offset, width: width, height: height)
  }

  /// A rectangle of a size in this one: horizontally aligned, or at the start.
  func aligned(_ size: LayoutSize, _ align: NodeStyle.Alignment?) -> LayoutRect {
    let spare = max(0, width - size.width)
    let offset =
      switch align {
      case .center: spare / 2
      case .end: spare
      case .start, .fill, nil: 0
      }
    return LayoutRect(x: x + offset, y: y, width: size.width, height: size.height)
  }
}
