import WidgetLayout
import WidgetModel

/// One node's drawing: first the background, then parts, then text, then marks.
struct NodeDrawing {
  let look: CellLook
  let node: Node
  let role: NodeRole
  let parent: Node?
  let placed: PlacedNode
  /// First the parent's setting, then the node's.
  var setting: Setting
  /// The rows that its table selects, if the node is a row.
  private let outerSelection: Set<String>

  init(look: CellLook, node: Node, parent: Node?, placed: PlacedNode, setting: Setting) {
    (self.look, self.node, self.parent, self.placed) = (look, node, parent, placed)
    self.setting = setting
    role = node.role
    outerSelection = setting.selectedKeys
  }

  var isFocused: Bool { look.focusedID == node.id }
  var isPressed: Bool { look.pressedID == node.id }
  private var isHovered: Bool { look.hoveredID == node.id }

  mutating func draw(on grid: inout CellGrid) {
    readSetting()
    drawBackground(on: &grid)
    for part in placed.parts { draw(part, on: &grid) }
    for text in placed.texts { draw(text, on: &grid) }
    drawDisabled(on: &grid)
    drawSeparator(on: &grid)
    drawAccessory(on: &grid)
    drawProblem(on: &grid)
  }

  // MARK: The whole node

  private mutating func readSetting() {
    setting.selectedKeys =
      role == .table ? Set(node.list("selected").compactMap(\.string)) : []
    if !node.flag("enabled", default: true) { setting.isDisabled = true }
    if look.isPrivate, node.flag("privacy", default: false) { setting.isPrivate = true }
    if role == .stack, node.flag("section", default: false), parent?.role == .table {
      setting.isHeading = true
    }
    if let color = look.opaque(look.color(node.properties["color"]), over: setting.background) {
      setting.color = color
    }
    // The focus of an input is in its field, that of a form in its button.
    if isFocused, role != .form, role != .input { setting.attributes.insert(.reverse) }
    if isPressed { setting.attributes.formUnion([.reverse, .bold]) }
    if isHovered, role != .form, !setting.isDisabled { setting.attributes.insert(.underline) }
  }

  /// Whether it is a selected row of its table.
  private var isSelected: Bool {
    parent?.role == .table && node.isRow(among: outerSelection)
  }

  private mutating func drawBackground(on grid: inout CellGrid) {
    var area = placed.frame
    area.height -= placed.separator?.height ?? 0
    area = area.overlap(placed.clip)
    var background = look.opaque(
      look.color(node.properties["background"]), over: setting.background)
    if setting.isHeading, background == nil, parent?.role == .table {
      background = look.opaque(look.token("color.surface"), over: nil)
    }
    let isSelected = isSelected
    if isSelected {
      let color = look.color(node.properties["selectedBackground"]) ?? look.token("color.selected")
      background = look.opaque(color, over: setting.background)
      if let color = look.opaque(
        look.color(node.properties["selectedColor"]), over: background)
      {
        setting.color = color
      }
    }
    if let background { setting.background = background }
    // A control shows its state in its text and border, but a row shows it in its whole area.
    let isReversed = parent?.role == .table && setting.attributes.contains(.reverse)
    if background != nil || isReversed {
      grid.fill(
        area,
        style: CellStyle(background: setting.background, attributes: isReversed ? .reverse : []))
    }
    if isSelected, !look.usesColor {
      setting.attributes.insert(.bold)
      grid.put(
        "▌", column: placed.frame.x, row: placed.frame.y, clip: placed.clip)
    }
    if node.hasLength("corner"), hasRoomForBox {
      grid.box(
        placed.frame, style: style(token: "color.separator"), clip: placed.clip)
    }
  }

  /// Whether the content leaves room for a border.
  private var hasRoomForBox: Bool {
    let (frame, inner) = (placed.frame, placed.inner)
    return inner.x > frame.x && inner.y > frame.y && inner.x + inner.width < frame.x + frame.width
      && inner.y + inner.height < frame.y + frame.height
  }

  // MARK: Styles

  /// The style of plain text of this node.
  var textStyle: CellStyle {
    var style = CellStyle(
      foreground: setting.color, attributes: look.attributes(ofFont: node.properties["font"]))
    if setting.isHeading { style.attributes.insert(.bold) }
    if style.foreground == nil {
      if let background = setting.background {
        style.foreground = look.readable(on: background)
      }
      if style.attributes.contains(.dim), setting.background == nil,
        let quiet = look.opaque(look.token("color.secondary"), over: nil)
      {
        (style.foreground, style.attributes) = (quiet, style.attributes.subtracting(.dim))
      }
    }
    return finished(style)
  }

  /// A style in a token's colour.
  func style(token: String, _ attributes: CellAttributes = []) -> CellStyle {
    CellStyle(
      foreground: look.opaque(look.token(token), over: setting.background), attributes: attributes)
  }

  /// The style for text that is less important.
  var quietStyle: CellStyle {
    finished(
      look.usesColor
        ? style(token: "color.secondary") : CellStyle(attributes: look.quiet))
  }

  /// The style of a switch that is on, and of the filled part of a bar.
  var tintStyle: CellStyle {
    let tint = look.color(node.properties["tint"]) ?? look.token("color.tint")
    return finished(CellStyle(foreground: look.opaque(tint, over: setting.background)))
  }

  /// Adds the style of the node's state.
  func finished(_ style: CellStyle) -> CellStyle {
    var style = style
    style.attributes.formUnion(setting.attributes)
    if setting.isDisabled {
      style.attributes.subtract([.bold, .reverse])
      if let color = look.opaque(look.token("color.disabled"), over: setting.background) {
        style.foreground = color
      } else {
        style.attributes.insert(.dim)
      }
    }
    return style
  }

  // MARK: Text

  private func draw(_ text: PlacedText, on grid: inout CellGrid) {
    guard text.frame.y >= 0, text.frame.y < grid.height else { return }
    var style = textStyle
    var link: String?
    switch text.role {
    case .text where role == .button: style = buttonStyle(node.text("style"))
    case .text where role == .link:
      style = linkStyle
      link = node.text("url")
    case .text:
      if let run = text.run { (style, link) = runStyle(run, style) }
    case .name where role == .form: style.attributes.insert(.bold)
    case .name: break
    case .value where role == .gauge || role == .chart: style = quietStyle
    case .value: if role == .input { style = fieldStyle }
    case .placeholder:
      style = quietStyle
      style.attributes.insert(.italic)
    case .problem: style = style.with(self.style(token: "color.error", .bold))
    case .heading: style.attributes.insert(.bold)
    case .label: break
    case .url:
      style = quietStyle
      link = node.text("url")
    case .alternative: style = quietStyle
    case .submit: style = buttonStyle("primary")
    }
    var shown = text.text
    if setting.isPrivate {
      shown = String(repeating: "▒", count: text.frame.width)
      link = nil
    }
    grid.put(
      shown, column: text.frame.x, row: text.frame.y, style: style, clip: placed.clip,
      link: link.flatMap { $0.isEmpty ? nil : $0 })
  }

  private var linkStyle: CellStyle {
    var style = textStyle
    style.attributes.insert(.underline)
    if setting.color == nil, !setting.isDisabled, let color = look.token("color.link") {
      style.foreground = look.opaque(color, over: setting.background)
    }
    return style
  }

  private func runStyle(_ index: Int, _ base: CellStyle) -> (CellStyle, String?) {
    let runs = node.list("runs")
    guard runs.indices.contains(index), case .map(let run) = runs[index] else { return (base, nil) }
    var style = base
    switch run["weight"] {
    case .string("bold"): style.attributes.insert(.bold)
    case .string("light"): style.attributes.formUnion(look.quiet)
    case .string("regular"): style.attributes.subtract([.bold, .dim])
    default: break
    }
    if run["italic"] == .bool(true) { style.attributes.insert(.italic) }
    if run["underline"] == .bool(true) { style.attributes.insert(.underline) }
    if run["strikethrough"] == .bool(true) { style.attributes.insert(.strikethrough) }
    var link: String?
    if case .string(let address)? = run["link"], !address.isEmpty {
      link = address
      style.attributes.insert(.underline)
      if let color = look.opaque(look.token("color.link"), over: setting.background) {
        style.foreground = color
      }
    }
    if let background = look.opaque(look.color(run["background"]), over: setting.background) {
      style.background = background
      style.foreground = look.readable(on: background)
    }
    if let color = look.opaque(
      look.color(run["color"]), over: style.background ?? setting.background)
    {
      style.foreground = color
    }
    return (finished(style), link)
  }

  // MARK: Marks

  private func drawSeparator(on grid: inout CellGrid) {
    let lines = placed.separator.map { [$0] } ?? []
    guard !lines.isEmpty || !placed.dividers.isEmpty else { return }
    var style = style(token: "color.separator", look.usesColor ? [] : look.quiet)
    if let color = look.opaque(
      look.color(node.map("separator")?["color"]), over: setting.background)
    {
      style.foreground = color
    }
    for line in lines {
      grid.horizontalLine(
        column: line.x, row: line.y, length: line.width, style: style, clip: placed.clip)
    }
    for line in placed.dividers {
      let seen = line.overlap(placed.clip).overlap(grid.bounds)
      for row in seen.y..<seen.y + seen.height {
        grid.put("│", column: line.x, row: row, style: style, clip: seen)
      }
    }
  }

  private func drawAccessory(on grid: inout CellGrid) {
    guard let place = placed.accessory else { return }
    let mark: String
    switch node.properties["accessory"] {
    case .string("disclosure")?: mark = "›"
    case .string("checkmark")?: mark = "✓"
    case .string("activity")?: mark = look.spinnerFrame
    default: mark = "•"
    }
    let style = node.text("accessory") == "disclosure" ? quietStyle : tintStyle
    grid.put(mark, column: place.x, row: place.y, style: style, clip: placed.clip)
  }

  /// A mark in the last column: the node has a problem, or the theme lacks a token.
  private func drawProblem(on grid: inout CellGrid) {
    guard placed.frame.width > 0,
      !node.problem.isEmpty || !node.unknownTokens(of: look.theme).isEmpty
    else { return }
    grid.put(
      "!", column: placed.frame.x + placed.frame.width - 1, row: placed.frame.y,
      style: style(token: "color.error", [.bold, .reverse]), clip: placed.clip)
  }
}

extension CellStyle {
  /// This style with the colour and the attributes of another.
  func with(_ other: CellStyle) -> CellStyle {
    CellStyle(
      foreground: other.foreground ?? foreground, background: other.background ?? background,
      attributes: attributes.union(other.attributes))
  }
}
