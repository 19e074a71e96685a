import WidgetLayout
public import WidgetModel

/// A picture of a content as text: layout, drawing and encoding in one step.
public struct WidgetPicture: Sendable {
  public enum Format: Hashable, Sendable {
    /// Characters and newlines.
    case text
    /// With escape sequences, for a terminal.
    case ansi(ColorDepth)
    /// One `<pre>`.
    case html
  }

  public var look: CellLook
  public var format: Format
  /// The text of a date. Default: nothing.
  public var dateText: @Sendable (Node) -> String
  /// Whether the readers of ANSI text know links (OSC 8); URLs are written out otherwise.
  public var writesLinks = true

  /// Colours are used if the format has them.
  public init(
    format: Format, look: CellLook = CellLook(),
    dateText: @escaping @Sendable (Node) -> String = { _ in "" }
  ) {
    self.format = format
    self.look = look
    self.dateText = dateText
    self.look.usesColor = format != .text && format != .ansi(.none)
  }

  /// The picture of the content.
  ///
  /// - Parameters:
  ///   - width: Columns, 1 or more.
  ///   - height: Rows. Default: as many as the content takes.
  public func text(of content: Content, width: Int, height: Int? = nil) -> String {
    text(of: grid(of: content, width: width, height: height))
  }

  /// Cells in the format.
  public func text(of grid: CellGrid) -> String {
    switch format {
    case .text: return PlainTextEncoder.text(grid)
    case .ansi(let depth): return ANSIEncoder(depth: depth, writesLinks: writesLinks).text(grid)
    case .html:
      return HTMLEncoder(
        foreground: look.opaque(look.token("color.text"), over: nil),
        background: look.opaque(look.token("color.background"), over: nil)
      ).text(grid)
    }
  }

  /// The cells, before they are encoded.
  public func grid(of content: Content, width: Int, height: Int? = nil) -> CellGrid {
    var metrics = LayoutMetrics.cells(theme: look.theme, dateText: dateText)
    switch format {
    case .text: metrics.showsURLs = true
    case .ansi: metrics.showsURLs = !writesLinks
    case .html: metrics.showsURLs = false
    }
    var engine = LayoutEngine(metrics: metrics)
    let table = NodeTable(content)
    let layout = engine.layout(table, width: max(width, 1), height: height)
    return CellPainter(look: look).grid(layout, table)
  }
}
