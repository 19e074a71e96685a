import WidgetModel

/// Writes a `CellGrid` as HTML: one `<pre>`, with a `<span>` or `<a>` for each run of one look.
///
/// All text is escaped, and styles are written in place, so that the result needs no style sheet.
public struct HTMLEncoder: Sendable {
  /// The colours of cells without a colour. Default: those of the page.
  public var foreground: CellColor?
  public var background: CellColor?

  public init(foreground: CellColor? = nil, background: CellColor? = nil) {
    self.foreground = foreground
    self.background = background
  }

  /// The element, ended by a newline. Trailing blanks that cannot be seen are left out. O(cells).
  public func text(_ grid: CellGrid) -> String {
    var html = "<pre class=\"widget\"" + HTMLEncoder.attribute(declarations(of: .plain)) + ">"
    for row in 0..<grid.height {
      let cells = grid.row(row)
      let end = cells.lastIndex { !$0.isInvisible }.map { $0 + 1 } ?? cells.startIndex
      var run = cells[..<end]
      while let first = run.first {
        let rest = run.drop { $0.style == first.style && $0.link == first.link }
        html += element(run[..<rest.startIndex], first)
        run = rest
      }
      html += "\n"
    }
    return html + "</pre>\n"
  }

  private func element(_ cells: ArraySlice<Cell>, _ first: Cell) -> String {
    let text = String(cells.lazy.filter { !$0.isContinuation }.map(\.character)).escapedForMarkup
    let style = first.style == .plain ? "" : HTMLEncoder.attribute(declarations(of: first.style))
    if let link = first.link {
      return "<a href=\"\(link.escapedForMarkup)\"\(style)>\(text)</a>"
    }
    return style.isEmpty ? text : "<span\(style)>\(text)</span>"
  }

  private func declarations(of style: CellStyle) -> [String] {
    var foreground = style.foreground
    var background = style.background
    if style.attributes.contains(.reverse) {
      (foreground, background) = (background ?? self.background, foreground ?? self.foreground)
    } else if style == .plain {
      (foreground, background) = (self.foreground, self.background)
    }
    var all: [String] = []
    if let foreground {
      all.append("color:\(HTMLEncoder.hexadecimal(foreground))")
    } else if style.attributes.contains(.reverse) {
      all.append("color:Canvas")
    }
    if let background {
      all.append("background:\(HTMLEncoder.hexadecimal(background))")
    } else if style.attributes.contains(.reverse) {
      all.append("background:CanvasText")
    }
    if style.attributes.contains(.bold) { all.append("font-weight:bold") }
    if style.attributes.contains(.dim) { all.append("opacity:0.6") }
    if style.attributes.contains(.italic) { all.append("font-style:italic") }
    let lines =
      (style.attributes.contains(.underline) ? ["underline"] : [])
      + (style.attributes.contains(.strikethrough) ? ["line-through"] : [])
    if !lines.isEmpty { all.append("text-decoration:" + lines.joined(separator: " ")) }
    return all
  }

  private static func attribute(_ declarations: [String]) -> String {
    declarations.isEmpty ? "" : " style=\"" + declarations.joined(separator: ";") + "\""
  }

  private static func hexadecimal(_ color: CellColor) -> String {
    let (r, g, b) = color.components
    return [r, g, b].reduce(into: "#") { text, channel in
      let digits = String(channel, radix: 16)
      text += digits.count == 1 ? "0" + digits : digits
    }
  }
}
