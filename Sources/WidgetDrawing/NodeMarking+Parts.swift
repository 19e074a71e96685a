import WidgetLayout
import WidgetModel
import WidgetRender

/// The parts of a node that are not text: buttons, fields, bars, charts, images.
extension NodeMarking {
  mutating func draw(_ part: PlacedPart) {
    let frame = part.frame.points
    guard !frame.isEmpty else { return }
    switch part.kind {
    case .button: drawButton(frame, node.text("style"))
    case .submit: drawButton(frame, "primary")
    case .checkbox: drawCheckbox(frame)
    case .field: drawField(frame)
    case .bar: drawBar(frame)
    case .ring: drawRing(frame)
    case .plot: drawPlot(frame)
    case .chartBar: drawChartBar(part, frame)
    case .image: drawImage(frame)
    case .icon: break  // Never placed: `WidgetCard` turns `drawsIcons` off.
    case .spinner: drawSpinner(frame.center, radius: min(frame.width, frame.height) / 2 - 2)
    case .more, .tooDeep: drawDots(frame)
    case .headingSeparator:
      // As long as the separators between rows.
      var line = frame
      if frame.width > 4 * Self.lineInset {
        (line.x, line.width) = (frame.x + Self.lineInset, frame.width - 2 * Self.lineInset)
      }
      add(.rectangle(line, corner: 0, Paint(fill: look.token("color.separator"))))
    }
  }

  static let lineInset = 4.0

  // MARK: Buttons

  /// The fill, outline and text colours of a button with a style.
  func buttonColors(_ style: String) -> (fill: ThemeColor, stroke: ThemeColor?, text: ThemeColor) {
    let surface = look.token("color.surface")
    let separator = look.token("color.separator")
    guard !setting.isDisabled else { return (surface, separator, look.token("color.disabled")) }
    let own = role == .form ? nil : look.color(node.properties["background"])
    var text = role == .form ? nil : look.color(node.properties["color"])
    let fill: ThemeColor
    var stroke: ThemeColor?
    switch style {
    case _ where own != nil: fill = own ?? surface
    case "primary": fill = look.token("color.primary")
    case "destructive": fill = look.token("color.error")
    default: (fill, stroke) = (surface, separator)
    }
    text = text ?? look.readable(on: DrawingLook.mix(fill, over: setting.background))
    return (fill, stroke, text ?? look.token("color.text"))
  }

  private mutating func drawButton(_ frame: DrawingRect, _ style: String) {
    let colors = buttonColors(style)
    let given = look.points(node.properties["corner"])
    let corner = role == .button && given > 0 ? given : 8
    let inside = colors.stroke == nil ? frame : frame.inset(0.5)
    add(.rectangle(inside, corner: corner, Paint(fill: colors.fill, stroke: colors.stroke)))
    guard role == .button else { return }
    // A button's fill is the background of its children.
    setting.background = DrawingLook.mix(colors.fill, over: setting.background)
    setting.color = colors.text
  }

  // MARK: Toggles and inputs

  private mutating func drawCheckbox(_ frame: DrawingRect) {
    let side = min(frame.width, frame.height, 16)
    let box = DrawingRect(
      x: frame.x, y: frame.center.y - side / 2, width: side, height: side)
    if setting.isPrivate { return add(.rectangle(box, corner: 4, Paint(fill: track))) }
    guard node.flag("value", default: false) else {
      return add(
        .rectangle(
          box.inset(0.75), corner: 3.5,
          Paint(
            stroke: setting.isDisabled ? look.token("color.disabled") : quietColor, lineWidth: 1.5)
        ))
    }
    add(.rectangle(box, corner: 4, Paint(fill: tint)))
    func at(_ x: Double, _ y: Double) -> DrawingPoint {
      DrawingPoint(x: box.x + x * side, y: box.y + y * side)
    }
    add(
      .path(
        [at(0.25, 0.53), at(0.43, 0.71), at(0.76, 0.31)], isClosed: false,
        Paint(stroke: onTint, lineWidth: 2, isRound: true)))
  }

  /// A colour that stands out on the tint: the background if its contrast is high enough.
  private var onTint: ThemeColor {
    let solid = DrawingLook.mix(tint, over: setting.background)
    return DrawingLook.contrast(setting.background, solid) >= 3
      ? setting.background : look.readable(on: solid)
  }

  private mutating func drawField(_ frame: DrawingRect) {
    var stroke = look.token("color.separator")
    if !node.text("problem").isEmpty { stroke = look.token("color.error") }
    let isReadOnly = node.flag("readOnly", default: false)
    let fill = isReadOnly ? nil : look.token("color.surface")
    if let fill { setting.background = DrawingLook.mix(fill, over: setting.background) }
    add(.rectangle(frame.inset(0.5), corner: 6, Paint(fill: fill, stroke: stroke)))
  }

  // MARK: Numbers

  private var share: Double? {
    guard !setting.isPrivate, let value = node.number("value") else { return nil }
    return ChartScale(node.number("min") ?? 0, node.number("max") ?? 1)?.share(of: value)
  }

  /// Draws a bar, vertically centred in the frame.
  private mutating func drawBar(_ frame: DrawingRect, share: Double?, thickness: Double) {
    let high = min(thickness, frame.height)
    let rail = DrawingRect(
      x: frame.x, y: frame.center.y - high / 2, width: frame.width, height: high)
    add(.rectangle(rail, corner: high / 2, Paint(fill: track)))
    guard let share, share > 0 else { return }
    var filled = rail
    // A small value is still visible: the filled part is at least as wide as its round ends.
    filled.width = min(rail.width, max(high, rail.width * share))
    add(.rectangle(filled, corner: high / 2, Paint(fill: tint)))
  }

  private mutating func drawBar(_ frame: DrawingRect) {
    drawBar(frame, share: share, thickness: 8)
  }

  private mutating func drawRing(_ frame: DrawingRect) {
    let side = min(frame.width, frame.height)
    let width = max(2, side / 9)
    let radius = (side - width) / 2
    guard radius > 0 else { return }
    add(
      .arc(
        center: frame.center, radius: radius, from: 0, to: 1, Paint(stroke: track, lineWidth: width)
      ))
    guard let share, share > 0 else { return }
    add(
      .arc(
        center: frame.center, radius: radius, from: 0, to: max(share, 0.005),
        Paint(stroke: tint, lineWidth: width, isRound: true)))
  }

  private mutating func drawPlot(_ frame: DrawingRect) {
    guard !setting.isPrivate else {
      return add(.rectangle(frame, corner: 4, Paint(fill: track)))
    }
    let values = node.list("values").map(\.number)
    guard values.contains(where: { $0 != nil }) else {
      return drawWords("no values", in: frame)
    }
    let scale = ChartScale(of: values, low: node.number("min"), high: node.number("max"))
    let isSmall = node.text("style") == "sparkline" || frame.height < 32
    let width = isSmall ? 1.5 : 2.0
    let inside = frame.inset(width)
    if !isSmall {
      for line in 0...2 {
        let y = frame.y + 0.5 + (frame.height - 1) * Double(line) / 2
        let rect = DrawingRect(x: frame.x, y: y - 0.5, width: frame.width, height: 1)
        add(.rectangle(rect, corner: 0, Paint(fill: look.token("color.separator").faded(0.6))))
      }
    }
    // Above `plotPointsMax` values, every `step`th is drawn, counted back from the newest.
    let step = max(1, (values.count + Self.plotPointsMax - 1) / Self.plotPointsMax)
    var pieces: [[DrawingPoint]] = [[]]
    for (index, value) in values.enumerated() where (values.count - 1 - index) % step == 0 {
      guard let value else {
        pieces.append([])
        continue
      }
      let x =
        values.count > 1
        ? inside.x + inside.width * Double(index) / Double(values.count - 1) : inside.center.x
      let share = scale.map { $0.share(of: value) ?? 0 } ?? 0.5
      pieces[pieces.count - 1].append(DrawingPoint(x: x, y: inside.endY - inside.height * share))
    }
    for points in pieces where !points.isEmpty { drawLine(points, in: inside, isSmall, width) }
    if let last = pieces.last?.last {
      let radius = isSmall ? 2.0 : 3.0
      let dot = DrawingPoint(
        x: min(max(last.x, frame.x + radius), frame.endX - radius),
        y: min(max(last.y, frame.y + radius), frame.endY - radius))
      add(.arc(center: dot, radius: radius, from: 0, to: 1, Paint(fill: tint, lineWidth: 0)))
    }
  }

  /// The most points in a chart's line.
  static let plotPointsMax = 1_000

  private mutating func drawLine(
    _ points: [DrawingPoint], in frame: DrawingRect, _ isSmall: Bool, _ width: Double
  ) {
    guard points.count > 1, let first = points.first, let last = points.last else {
      return add(
        .arc(center: points[0], radius: width, from: 0, to: 1, Paint(fill: tint, lineWidth: 0)))
    }
    if !isSmall {
      let area =
        points + [
          DrawingPoint(x: last.x, y: frame.endY), DrawingPoint(x: first.x, y: frame.endY),
        ]
      add(.path(area, isClosed: true, Paint(fill: tint.faded(0.16))))
    }
    add(.path(points, isClosed: false, Paint(stroke: tint, lineWidth: width, isRound: true)))
  }

  private mutating func drawChartBar(_ part: PlacedPart, _ frame: DrawingRect) {
    let values = node.list("values").map(\.number)
    guard let item = part.item, values.indices.contains(item) else { return }
    guard !setting.isPrivate else {
      return drawBar(frame, share: nil, thickness: 10)
    }
    let scale = ChartScale(ofBars: values, low: node.number("min"), high: node.number("max"))
    drawBar(
      frame, share: values[item].map { scale?.share(of: $0) ?? 0 }, thickness: 10)
  }

  private mutating func drawDots(_ frame: DrawingRect) {
    for offset in [-6.0, 0, 6] {
      add(
        .arc(
          center: DrawingPoint(x: frame.center.x + offset, y: frame.center.y), radius: 1.5,
          from: 0, to: 1, Paint(fill: quietColor, lineWidth: 0)))
    }
  }

  // MARK: Pictures

  private mutating func drawImage(_ frame: DrawingRect) {
    let corner = look.points(node.properties["corner"])
    guard !setting.isPrivate else {
      return add(.rectangle(frame, corner: max(corner, 4), Paint(fill: track)))
    }
    guard let image = look.image(node) else {
      let node = node
      var words = ["alt", "source", "fallback"].lazy.map { node.text($0) }.first { !$0.isEmpty }
      // The reason comes first, because the end may be cut.
      if let problem = look.imageProblem(node) {
        words = ([problem] + (words.map { [$0] } ?? [])).joined(separator: ": ")
      }
      add(
        .rectangle(
          frame.inset(0.5), corner: max(corner, 6),
          Paint(fill: look.token("color.surface"), stroke: look.token("color.separator"))))
      return drawWords(words ?? "image", in: frame)
    }
    var mark = ImageMark(frame: frame, image: image, mode: .fill)
    switch node.text("mode") {
    case "fit": mark.mode = .fit
    case "center":
      mark.frame = DrawingRect(
        x: frame.center.x - Double(image.width) / 2, y: frame.center.y - Double(image.height) / 2,
        width: Double(image.width), height: Double(image.height))
    default: break
    }
    var shown = Mark.image(mark)
    if setting.isDisabled {
      shown = .group(MarkGroup(opacity: DrawingLook.disabledOpacity, marks: [shown]))
    }
    if corner > 0 || !frame.contains(mark.frame) {
      add(.group(MarkGroup(clip: frame, clipCorner: corner, marks: [shown])))
    } else {
      add(shown)
    }
  }

  /// The text, cut with `…` if it is wider than the room. Nil if nothing of it fits.
  ///
  /// The time depends on the room, not on the length of the text.
  private static func fitting(
    _ text: String, in room: Int, _ measure: SansTextMeasure, _ font: ThemeFont
  ) -> String? {
    let cutRoom = room - measure.width(of: TextColumns.ellipsis[...], font: font)
    var (used, end, cut) = (0, text.startIndex, text.startIndex)
    while end < text.endIndex {
      let next = text.index(after: end)
      used += measure.width(of: text[end..<next], font: font)
      if used > room { return cut == text.startIndex ? nil : text[..<cut] + TextColumns.ellipsis }
      end = next
      if used <= cutRoom { cut = next }
    }
    return text
  }

  /// Draws one centred line of small text, cut to the frame's width.
  private mutating func drawWords(_ words: String, in frame: DrawingRect) {
    let font = look.font(.string("font.caption"))
    let unit = Double(LayoutMetrics.unitsPerPoint)
    let measure = SansTextMeasure()
    let room = Int(max(frame.width - 8, 0) * unit)
    guard
      let text = Self.fitting(DisplayText.onOneLine(words), in: room, measure, font), !text.isEmpty
    else { return }
    let width = Double(measure.width(of: text[...], font: font)) / unit
    let height = Double(measure.lineHeight(of: font)) / unit
    guard height <= frame.height else { return }
    let place = DrawingRect(
      x: frame.center.x - width / 2, y: frame.center.y - height / 2, width: width, height: height)
    add(
      .text(
        TextMark(
          frame: place, baseline: Self.baseline(font, height: height), text: text, font: font,
          color: quietColor)))
  }
}
