public import WidgetModel

/// A picture as values: marks from back to front, in points from the top left.
///
/// `DrawingPainter` makes the marks from a layout. `SVGEncoder` writes them as SVG, and `CairoPainter` paints
/// them as pixels. Both show the same picture.
public struct Drawing: Hashable, Sendable {
  public var width: Double
  public var height: Double
  /// The name for screen readers.
  public var title: String
  /// The description for screen readers: the picture's texts.
  public var words: String
  public var marks: [Mark]

  public init(width: Double, height: Double, title: String, words: String, marks: [Mark]) {
    (self.width, self.height, self.title, self.words) = (width, height, title, words)
    self.marks = marks
  }

  /// Joins pictures into one column, aligned left.
  ///
  /// - Parameter gap: The points between two pictures.
  public static func column(_ drawings: [Drawing], gap: Double) -> Drawing {
    guard drawings.count != 1 else { return drawings[0] }
    var all = Drawing(width: 0, height: 0, title: "", words: "", marks: [])
    for drawing in drawings {
      if all.height > 0 { all.height += gap }
      all.marks.append(
        .group(MarkGroup(marks: drawing.marks.map { $0.moved(x: 0, y: all.height) })))
      all.width = max(all.width, drawing.width)
      all.height += drawing.height
    }
    all.title = drawings.map(\.title).joined(separator: ", ")
    all.words = drawings.map(\.words).joined(separator: "; ")
    return all
  }
}

/// One thing to draw.
public indirect enum Mark: Hashable, Sendable {
  case rectangle(DrawingRect, corner: Double, Paint)
  /// Lines from point to point. A closed path ends at its first point.
  case path([DrawingPoint], isClosed: Bool, Paint)
  /// A part of a circle, clockwise. `from` and `to` are turns (0 to 1) from the top.
  case arc(center: DrawingPoint, radius: Double, from: Double, to: Double, Paint)
  case text(TextMark)
  case image(ImageMark)
  case group(MarkGroup)
}

public struct DrawingPoint: Hashable, Sendable {
  public var x: Double
  public var y: Double

  public init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
}

public struct DrawingRect: Hashable, Sendable {
  public var x: Double
  public var y: Double
  public var width: Double
  public var height: Double

  public init(x: Double, y: Double, width: Double, height: Double) {
    (self.x, self.y, self.width, self.height) = (x, y, width, height)
  }

  public var endX: Double { x + width }
  public var endY: Double { y + height }
  public var center: DrawingPoint { DrawingPoint(x: x + width / 2, y: y + height / 2) }
  public var isEmpty: Bool { !(width > 0 && height > 0) }

  /// The rectangle with every side moved inwards. Width and height are at least 0.
  public func inset(_ points: Double) -> DrawingRect {
    DrawingRect(
      x: x + points, y: y + points, width: max(0, width - 2 * points),
      height: max(0, height - 2 * points))
  }

  public func contains(_ other: DrawingRect) -> Bool {
    other.x >= x && other.y >= y && other.endX <= endX && other.endY <= endY
  }

  public func overlaps(_ other: DrawingRect) -> Bool {
    !isEmpty && !other.isEmpty && x < other.endX && other.x < endX && y < other.endY
      && other.y < endY
  }
}

/// The fill and the outline of a shape. The outline's line is centred on the shape's edge.
public struct Paint: Hashable, Sendable {
  public var fill: ThemeColor?
  public var stroke: ThemeColor?
  public var lineWidth: Double
  /// Whether the ends and corners of lines are round.
  public var isRound: Bool

  public init(
    fill: ThemeColor? = nil, stroke: ThemeColor? = nil, lineWidth: Double = 1, isRound: Bool = false
  ) {
    (self.fill, self.stroke, self.lineWidth, self.isRound) = (fill, stroke, lineWidth, isRound)
  }
}

/// A text on one line.
public struct TextMark: Hashable, Sendable {
  /// As wide as the text and as high as its line. The text stays inside.
  public var frame: DrawingRect
  /// The distance from the top of the frame to the baseline.
  public var baseline: Double
  public var text: String
  public var font: ThemeFont
  public var color: ThemeColor
  public var isUnderlined = false
  public var isStruckThrough = false
  /// The address of a link. Nil if the text is no link.
  public var link: String?

  public init(
    frame: DrawingRect, baseline: Double, text: String, font: ThemeFont, color: ThemeColor
  ) {
    (self.frame, self.baseline, self.text) = (frame, baseline, text)
    (self.font, self.color) = (font, color)
  }
}

/// A picture from a file.
public struct ImageMark: Hashable, Sendable {
  /// How a picture fills its frame.
  public enum Mode: Hashable, Sendable {
    /// The whole picture is visible.
    case fit
    /// The picture covers the whole frame.
    case fill
  }

  public var frame: DrawingRect
  public var image: DrawingImage
  public var mode: Mode

  public init(frame: DrawingRect, image: DrawingImage, mode: Mode) {
    (self.frame, self.image, self.mode) = (frame, image, mode)
  }
}

/// The bytes of a PNG file that was checked.
public struct DrawingImage: Hashable, Sendable {
  public var png: [UInt8]
  /// In pixels. One pixel counts as one point.
  public var width: Int
  public var height: Int
  /// The description for screen readers.
  public var words: String

  public init(png: [UInt8], width: Int, height: Int, words: String = "") {
    (self.png, self.width, self.height, self.words) = (png, width, height, words)
  }
}

/// Marks with a common clip and opacity.
public struct MarkGroup: Hashable, Sendable {
  /// Marks are visible only inside this rectangle. Nil for no limit.
  public var clip: DrawingRect?
  public var clipCorner: Double
  /// 0 to 1.
  public var opacity: Double
  public var marks: [Mark]

  public init(
    clip: DrawingRect? = nil, clipCorner: Double = 0, opacity: Double = 1, marks: [Mark]
  ) {
    (self.clip, self.clipCorner, self.opacity, self.marks) = (clip, clipCorner, opacity, marks)
  }
}

extension DrawingRect {
  fileprivate func moved(_ x: Double, _ y: Double) -> DrawingRect {
    DrawingRect(x: self.x + x, y: self.y + y, width: width, height: height)
  }
}

extension Mark {
  /// The mark, moved by an offset.
  func moved(x: Double, y: Double) -> Mark {
    let move = { (point: DrawingPoint) in DrawingPoint(x: point.x + x, y: point.y + y) }
    switch self {
    case .rectangle(let rect, let corner, let paint):
      return .rectangle(rect.moved(x, y), corner: corner, paint)
    case .path(let points, let isClosed, let paint):
      return .path(points.map(move), isClosed: isClosed, paint)
    case .arc(let center, let radius, let from, let to, let paint):
      return .arc(center: move(center), radius: radius, from: from, to: to, paint)
    case .text(var text):
      text.frame = text.frame.moved(x, y)
      return .text(text)
    case .image(var image):
      image.frame = image.frame.moved(x, y)
      return .image(image)
    case .group(var group):
      group.clip = group.clip?.moved(x, y)
      group.marks = group.marks.map { $0.moved(x: x, y: y) }
      return .group(group)
    }
  }

  /// The rectangle around the mark, line width included.
  public var bounds: DrawingRect {
    switch self {
    case .rectangle(let rect, _, let paint):
      return rect.inset(paint.stroke == nil ? 0 : -paint.lineWidth / 2)
    case .path(let points, _, let paint):
      guard let first = points.first else { return DrawingRect(x: 0, y: 0, width: 0, height: 0) }
      var (low, high) = (first, first)
      for point in points {
        low = DrawingPoint(x: min(low.x, point.x), y: min(low.y, point.y))
        high = DrawingPoint(x: max(high.x, point.x), y: max(high.y, point.y))
      }
      return DrawingRect(x: low.x, y: low.y, width: high.x - low.x, height: high.y - low.y)
        .inset(paint.stroke == nil ? 0 : -paint.lineWidth / 2)
    case .arc(let center, let radius, _, _, let paint):
      return DrawingRect(
        x: center.x - radius, y: center.y - radius, width: 2 * radius, height: 2 * radius
      )
      .inset(-paint.lineWidth / 2)
    case .text(let text): return text.frame
    case .image(let image): return image.frame
    case .group(let group):
      if let clip = group.clip { return clip }
      return group.marks.map(\.bounds).reduce(nil) { (all: DrawingRect?, rect) in
        guard let all else { return rect }
        let (x, y) = (min(all.x, rect.x), min(all.y, rect.y))
        return DrawingRect(
          x: x, y: y, width: max(all.endX, rect.endX) - x, height: max(all.endY, rect.endY) - y)
      } ?? DrawingRect(x: 0, y: 0, width: 0, height: 0)
    }
  }
}
