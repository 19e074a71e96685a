import WidgetLayout
import WidgetModel

/// The parts of a node that are drawn and are not text.
extension NodeDrawing {
  mutating func draw(_ part: PlacedPart, on grid: inout CellGrid) {
    switch part.kind {
    case .button: drawButton(part.frame, node.text("style"), on: &grid)
    case .submit: drawButton(part.frame, "primary", on: &grid)
    case .checkbox: drawCheckbox(part.frame, on: &grid)
    case .field: drawField(part.frame, on: &grid)
    case .bar, .ring: drawBar(part.frame, on: &grid)
    case .plot: drawPlot(part.frame, on: &grid)
    case .chartBar: drawChartBar(part, on: &grid)
    case .image: drawImage(part.frame, on: &grid)
    case .icon: break  // Its place has no width in cells.
    case .spinner: put(look.spinnerFrame, part.frame, tintStyle, on: &grid)
    case .more, .tooDeep: put("…", part.frame, quietStyle, on: &grid)
    case .headingSeparator:
      grid.horizontalLine(
        column: part.frame.x, row: part.frame.y, length: part.frame.width,
        style: style(token: "color.separator", look.usesColor ? [] : look.quiet),
        clip: placed.clip)
    }
  }

  private func put(
    _ text: String, _ frame: LayoutRect, _ style: CellStyle, on grid: inout CellGrid,
    fromEnd: Int = 0, row: Int = 0
  ) {
    let column = fromEnd > 0 ? frame.x + frame.width - fromEnd : frame.x
    grid.put(text, column: column, row: frame.y + row, style: style, clip: placed.clip)
  }

  /// The brackets around a control. Round brackets mark a disabled control, also without colours.
  private var brackets: (left: String, right: String) {
    setting.isDisabled ? ("(", ")") : ("[", "]")
  }

  // MARK: Buttons

  /// The text of a button of a style. With colours the important ones are filled.
  func buttonStyle(_ style: String) -> CellStyle {
    var result = textStyle
    let isFormFocused = role == .form && isFocused
    if isFormFocused { result.attributes.insert(.reverse) }
    switch style {
    case "primary": result.attributes.insert(.bold)
    case "destructive": result.attributes.formUnion(look.usesColor ? .bold : [.bold, .underline])
    default: break
    }
    if let fill = fill(style) {
      result.background = fill
      result.foreground = look.readable(on: fill)
    }
    // The base was finished for a disabled button, so the additions of the style must be finished,
    // too. Otherwise the button would look enabled.
    return setting.isDisabled ? finished(result) : result
  }

  /// The fill of a button. Nil for none.
  private func fill(_ style: String) -> CellColor? {
    guard node.properties["background"] == nil || role == .form, !setting.isDisabled else {
      return nil
    }
    // A reversed button must not look like another button with a fill.
    guard !isFocused, !isPressed else { return look.opaque(look.token("color.surface"), over: nil) }
    let token: String
    switch style {
    case "primary": token = "color.primary"
    case "destructive": token = "color.error"
    default: token = "color.surface"
    }
    return look.opaque(look.token(token), over: setting.background)
  }

  private mutating func drawButton(_ frame: LayoutRect, _ name: String, on grid: inout CellGrid) {
    let style = buttonStyle(name)
    let area = frame.overlap(placed.clip)
    grid.fill(area, style: CellStyle(background: style.background ?? setting.background))
    if style.attributes.contains(.reverse) { grid.restyle(area) { $0 = style } }
    // Children of a button stand on its fill.
    if role == .button, let background = style.background {
      setting.background = background
      setting.color = style.foreground
    }
    guard frame.width >= 2, frame.height > 0 else { return }
    let isMarked = isFocused && !look.usesColor && frame.width >= 4 && !setting.isDisabled
    let last = frame.height - 1
    put(isMarked ? "[>" : brackets.left, frame, style, on: &grid)
    put(
      isMarked ? "<]" : brackets.right, frame, style, on: &grid, fromEnd: isMarked ? 2 : 1,
      row: last
    )
  }

  // MARK: Toggles and inputs

  private func drawCheckbox(_ frame: LayoutRect, on grid: inout CellGrid) {
    let isOn = node.flag("value", default: false)
    let mark = setting.isPrivate ? "▒" : isOn ? "x" : " "
    let gap = setting.attributes.contains(.reverse) && !node.text("text").isEmpty ? " " : ""
    put(
      brackets.left + mark + brackets.right + gap, frame,
      isOn ? tintStyle.with(CellStyle(attributes: .bold)) : textStyle,
      on: &grid
    )
    if setting.isDisabled { grid.restyle(frame.overlap(placed.clip)) { $0 = finished($0) } }
  }

  /// The text in a field.
  var fieldStyle: CellStyle {
    var style = textStyle
    if isFocused, !look.usesColor { style.attributes.insert(.underline) }
    if let background = fieldBackground {
      style.background = background
      if setting.color == nil, !setting.isDisabled {
        style.foreground = look.readable(on: background)
      }
    }
    return style
  }

  private var fieldBackground: CellColor? {
    guard !node.flag("readOnly", default: false) else { return nil }
    return look.opaque(look.token("color.surface"), over: setting.background)
  }

  private func drawField(_ frame: LayoutRect, on grid: inout CellGrid) {
    var edge = quietStyle
    if !node.text("problem").isEmpty {
      edge = edge.with(style(token: "color.error", .bold))
    } else if isFocused {
      edge = style(token: "color.focus", .bold)
    }
    edge.background = fieldBackground
    grid.fill(
      frame.overlap(placed.clip),
      style: CellStyle(background: fieldBackground ?? setting.background))
    guard frame.width >= 2 else { return }
    let shown = frame.overlap(placed.clip)
    for row in shown.y..<shown.y + shown.height {
      put(brackets.left, frame, edge, on: &grid, row: row - frame.y)
      put(brackets.right, frame, edge, on: &grid, fromEnd: 1, row: row - frame.y)
    }
    guard isFocused, !look.usesColor else { return }
    let inside = LayoutRect(
      x: frame.x + 1, y: frame.y, width: frame.width - 2, height: frame.height)
    grid.restyle(inside.overlap(placed.clip)) { $0.attributes.insert(.underline) }
  }

  // MARK: Numbers

  /// The empty part of a bar. In high contrast its colour would be as strong as the bar's.
  private var trackStyle: CellStyle {
    guard look.usesColor, look.appearance != .highContrast else { return quietStyle }
    return CellStyle(
      background: look.opaque(look.token("color.separator"), over: setting.background))
  }

  private func drawBar(_ frame: LayoutRect, on grid: inout CellGrid) {
    var share: Double?
    if !setting.isPrivate, let value = node.number("value") {
      share = ChartScale(node.number("min") ?? 0, node.number("max") ?? 1)?.share(of: value)
    }
    guard frame.width > 2 else {
      return grid.bar(share, in: frame, style: tintStyle, track: trackStyle, clip: placed.clip)
    }
    put("[", frame, quietStyle, on: &grid)
    put("]", frame, quietStyle, on: &grid, fromEnd: 1)
    let inside = LayoutRect(
      x: frame.x + 1, y: frame.y, width: frame.width - 2, height: min(frame.height, 1))
    grid.bar(share, in: inside, style: tintStyle, track: trackStyle, clip: placed.clip)
  }

  private var values: [Double?] { node.list("values").map(\.number) }

  private func scale(of values: [Double?]) -> ChartScale? {
    ChartScale(of: values, low: node.number("min"), high: node.number("max"))
  }

  private func drawPlot(_ frame: LayoutRect, on grid: inout CellGrid) {
    guard !setting.isPrivate else { return redact(frame, on: &grid) }
    let values = values
    guard values.contains(where: { $0 != nil }) else {
      let text = TextColumns.truncated("no values", to: frame.width)
      return put(text, frame, quietStyle, on: &grid, row: max(frame.height - 1, 0) / 2)
    }
    let scale = scale(of: values)
    if frame.height < 2 || node.text("style") == "sparkline" {
      grid.sparkline(values, scale: scale, in: frame, style: tintStyle, clip: placed.clip)
    } else {
      grid.line(values, scale: scale, in: frame, style: tintStyle, clip: placed.clip)
    }
  }

  private func drawChartBar(_ part: PlacedPart, on grid: inout CellGrid) {
    let values = values
    guard let item = part.item, values.indices.contains(item) else { return }
    guard !setting.isPrivate else { return redact(part.frame, on: &grid) }
    let scale = ChartScale(ofBars: values, low: node.number("min"), high: node.number("max"))
    let share = values[item].map { scale?.share(of: $0) ?? 0 }
    grid.bar(share, in: part.frame, style: tintStyle, track: trackStyle, clip: placed.clip)
  }

  private func redact(_ frame: LayoutRect, on grid: inout CellGrid) {
    grid.fill(frame.overlap(placed.clip), with: "▒", style: quietStyle)
  }

  // MARK: Pictures

  private func drawImage(_ frame: LayoutRect, on grid: inout CellGrid) {
    guard !setting.isPrivate else { return redact(frame, on: &grid) }
    if let image = look.image(node) {
      grid.picture(image, in: frame, clip: placed.clip)
      if setting.isDisabled {
        grid.restyle(frame.overlap(placed.clip)) { $0.attributes.insert(.dim) }
      }
      return
    }
    let words = ["alt", "source", "fallback"].lazy.map { node.text($0) }.first { !$0.isEmpty }
    grid.box(frame, isRounded: false, style: quietStyle, clip: placed.clip)
    let problem = look.imageProblem(node)
    let room = (width: max(frame.width - 2, 0), height: frame.height - 2)
    var lines = [(words ?? "image", quietStyle)]
    if let problem {
      let style = style(token: "color.error")
      // In a small box, show only the reason: the user can act on it.
      if room.height < 2 { lines = [] }
      let reason = TextColumns.wrapped(
        DisplayText.onOneLine(problem), to: room.width, most: max(room.height - lines.count, 1))
      lines += reason.map { ($0, style) }
    }
    let first = frame.y + max(frame.height - lines.count, 0) / 2
    for (index, (line, style)) in lines.enumerated() {
      let text = TextColumns.truncated(DisplayText.onOneLine(line), to: room.width)
      grid.put(
        text, column: frame.x + (frame.width - TextColumns.width(of: text)) / 2,
        row: first + index, style: style, clip: placed.clip)
    }
  }
}
