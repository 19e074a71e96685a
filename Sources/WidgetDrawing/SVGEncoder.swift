import WidgetModel
import WidgetRender

#if canImport(Musl)
  import func Musl.cos
  import func Musl.sin
#else
  import func Glibc.cos
  import func Glibc.sin
#endif

/// Writes a drawing as an SVG document.
///
/// Text stays text. `textLength` keeps its measured width in any viewer's font. All text is escaped, and
/// only links with the schemes of `schemes` are written. So a widget cannot inject markup or scripts.
public enum SVGEncoder {
  /// First the fonts with the widths of `AdvanceTable`, then any other.
  public static let fontFamily =
    "Liberation Sans, Arimo, Helvetica Neue, Helvetica, Arial, sans-serif"
  public static let monospacedFontFamily = "Liberation Mono, Cousine, Courier New, monospace"
  /// The allowed schemes of links.
  static let schemes = ["https:", "http:", "mailto:"]

  /// The SVG document. It ends with a newline.
  ///
  /// - Parameter scale: Pixels per point.
  public static func text(_ drawing: Drawing, scale: Double = 1) -> String {
    var writer = Writer(prefix: "w" + String(hash(of: drawing), radix: 16))
    let (width, height) = (number(drawing.width), number(drawing.height))
    writer.line(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(number(drawing.width * scale))\" "
        + "height=\"\(number(drawing.height * scale))\" viewBox=\"0 0 \(width) \(height)\" "
        + "role=\"img\" aria-label=\"\(escaped(drawing.words))\" "
        + "font-family=\"\(fontFamily)\">")
    writer.line("<title>\(escaped(drawing.title))</title>")
    for mark in drawing.marks { writer.write(mark) }
    writer.line("</svg>")
    return writer.text
  }

  /// FNV-1a hash of the title, which names the widgets, and of the clips. As a prefix, it keeps the
  /// ids of two documents on one page apart. Documents with equal ids have equal clips.
  private static func hash(of drawing: Drawing) -> UInt64 {
    var text = drawing.title
    for mark in drawing.marks { describeClips(of: mark, &text) }
    return text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  private static func describeClips(of mark: Mark, _ text: inout String) {
    guard case .group(let group) = mark else { return }
    if let clip = group.clip {
      for value in [clip.x, clip.y, clip.width, clip.height, group.clipCorner] {
        text += " " + number(value)
      }
    }
    for mark in group.marks { describeClips(of: mark, &text) }
  }

  /// A number with at most two decimals.
  static func number(_ value: Double) -> String {
    guard value.isFinite, value.magnitude < 1e12 else { return "0" }
    let hundredths = Int((value * 100).rounded())
    let (whole, part) = (hundredths.magnitude / 100, hundredths.magnitude % 100)
    let digits =
      part == 0 ? "" : part % 10 == 0 ? ".\(part / 10)" : part < 10 ? ".0\(part)" : ".\(part)"
    return (hundredths < 0 ? "-" : "") + "\(whole)" + digits
  }

  /// Text escaped for XML, also in attributes. Characters that XML does not allow become U+FFFD.
  static func escaped(_ text: String) -> String {
    var plain = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x9, 0xA, 0xD: plain.append(" ")
      case 0..<0x20, 0x7F...0x9F, 0xFFFE, 0xFFFF: plain.append("\u{FFFD}")
      default: plain.append(scalar)
      }
    }
    return String(plain).escapedForMarkup
  }

  /// The link, if its scheme is allowed.
  static func address(_ link: String?) -> String? {
    guard let link else { return nil }
    let start = link.prefix(8).lowercased()
    return schemes.contains(where: { start.hasPrefix($0) }) ? link : nil
  }

  /// A point on a circle. `turns` counts clockwise from the top.
  fileprivate static func point(
    _ center: DrawingPoint, _ radius: Double, _ turns: Double
  ) -> DrawingPoint {
    let angle = turns * 2 * Double.pi
    return DrawingPoint(x: center.x + radius * sin(angle), y: center.y - radius * cos(angle))
  }
}

private struct Writer {
  let prefix: String
  var text = ""
  private var clips = 0
  private var depth = 0

  init(prefix: String) { self.prefix = prefix }

  mutating func line(_ line: String) {
    text += String(repeating: " ", count: depth) + line + "\n"
  }

  mutating func write(_ mark: Mark) {
    switch mark {
    case .rectangle(let rect, let corner, let paint):
      let radius = min(corner, rect.width / 2, rect.height / 2)
      line("<rect\(place(rect))\(radius > 0 ? " rx=\"\(n(radius))\"" : "")\(attributes(paint))/>")
    case .path(let points, let isClosed, let paint):
      guard let first = points.first else { return }
      let steps = points.dropFirst().map { "L\(n($0.x)) \(n($0.y))" }.joined()
      line(
        "<path d=\"M\(n(first.x)) \(n(first.y))\(steps)\(isClosed ? "Z" : "")\""
          + "\(attributes(paint))/>")
    case .arc(let center, let radius, let from, let to, let paint):
      guard to - from < 0.9999 else {
        return line(
          "<circle cx=\"\(n(center.x))\" cy=\"\(n(center.y))\" r=\"\(n(radius))\""
            + "\(attributes(paint))/>")
      }
      let start = SVGEncoder.point(center, radius, from)
      let end = SVGEncoder.point(center, radius, to)
      line(
        "<path d=\"M\(n(start.x)) \(n(start.y))A\(n(radius)) \(n(radius)) 0 "
          + "\(to - from > 0.5 ? 1 : 0) 1 \(n(end.x)) \(n(end.y))\"\(attributes(paint))/>")
    case .text(let mark): write(mark)
    case .image(let mark):
      line(
        "<image\(place(mark.frame)) preserveAspectRatio=\"xMidYMid "
          + "\(mark.mode == .fit ? "meet" : "slice")\" "
          + "aria-label=\"\(SVGEncoder.escaped(mark.image.words))\" "
          + "href=\"data:image/png;base64,\(PaddedBase64.encode(mark.image.png))\"/>")
    case .group(let group): write(group)
    }
  }

  private mutating func write(_ group: MarkGroup) {
    var start = "<g"
    if let clip = group.clip {
      clips += 1
      let id = "\(prefix)-\(clips)"
      let radius = group.clipCorner > 0 ? " rx=\"\(n(group.clipCorner))\"" : ""
      line("<clipPath id=\"\(id)\"><rect\(place(clip))\(radius)/></clipPath>")
      start += " clip-path=\"url(#\(id))\""
    }
    if group.opacity < 1 { start += " opacity=\"\(n(group.opacity))\"" }
    line(start + ">")
    depth += 1
    for mark in group.marks { write(mark) }
    depth -= 1
    line("</g>")
  }

  private mutating func write(_ mark: TextMark) {
    var attributes = " x=\"\(n(mark.frame.x))\" y=\"\(n(mark.frame.y + mark.baseline))\""
    attributes += " font-size=\"\(n(mark.font.size))\""
    switch mark.font.weight {
    case .bold: attributes += " font-weight=\"700\""
    case .light: attributes += " font-weight=\"300\""
    case .regular: break
    }
    if mark.font.isItalic { attributes += " font-style=\"italic\"" }
    if mark.font.isMonospaced {
      attributes += " font-family=\"\(SVGEncoder.monospacedFontFamily)\""
    }
    let decorations =
      (mark.isUnderlined ? ["underline"] : []) + (mark.isStruckThrough ? ["line-through"] : [])
    if !decorations.isEmpty {
      attributes += " text-decoration=\"\(decorations.joined(separator: " "))\""
    }
    attributes += color("fill", mark.color)
    if mark.text.hasPrefix(" ") || mark.text.hasSuffix(" ") || mark.text.contains("  ") {
      attributes += " xml:space=\"preserve\""
    }
    attributes += " textLength=\"\(n(mark.frame.width))\" lengthAdjust=\"spacingAndGlyphs\""
    let element = "<text\(attributes)>\(SVGEncoder.escaped(mark.text))</text>"
    if let address = SVGEncoder.address(mark.link) {
      line("<a href=\"\(SVGEncoder.escaped(address))\">\(element)</a>")
    } else {
      line(element)
    }
  }

  private func n(_ value: Double) -> String { SVGEncoder.number(value) }

  private func place(_ rect: DrawingRect) -> String {
    " x=\"\(n(rect.x))\" y=\"\(n(rect.y))\" width=\"\(n(rect.width))\" height=\"\(n(rect.height))\""
  }

  private func attributes(_ paint: Paint) -> String {
    var result = paint.fill.map { color("fill", $0) } ?? " fill=\"none\""
    if let stroke = paint.stroke {
      result += color("stroke", stroke) + " stroke-width=\"\(n(paint.lineWidth))\""
      if paint.isRound { result += " stroke-linecap=\"round\" stroke-linejoin=\"round\"" }
    }
    return result
  }

  private func color(_ name: String, _ color: ThemeColor) -> String {
    let digits = [color.red, color.green, color.blue].map { channel in
      let text = String(channel, radix: 16)
      return text.count == 1 ? "0" + text : text
    }
    let opacity =
      color.alpha < 255 ? " \(name)-opacity=\"\(n(Double(color.alpha) / 255))\"" : ""
    return " \(name)=\"#\(digits.joined())\"\(opacity)"
  }
}
