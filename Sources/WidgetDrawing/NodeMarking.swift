import WidgetLayout
import WidgetModel

/// One node's marks, in drawing order: background, parts, text, then separators, accessory and problem.
struct NodeMarking {
  let look: DrawingLook
  let node: Node
  let role: NodeRole
  let parent: Node?
  private(set) var placed: PlacedNode
  /// The inherited properties. The parent's until `draw` is called, then the node's.
  var setting: NodeSetting
  var marks: [Mark] = []
  private(set) var clip: DrawingRect
  /// The keys of selected rows, from the table that contains the node.
  private let outerSelection: Set<String>

  init(
    look: DrawingLook, node: Node, parent: Node?, placed: PlacedNode, setting: NodeSetting
  ) {
    (self.look, self.node, self.parent, self.placed) = (look, node, parent, placed)
    (self.setting, clip) = (setting, placed.clip.points)
    role = node.role
    outerSelection = setting.selectedKeys
  }

  mutating func draw(paintsBackground: Bool) {
    readSetting()
    if paintsBackground { drawBackground() } else { readBackground() }
    for part in placed.parts { draw(part) }
    for text in placed.texts { draw(text) }
    drawSeparators()
    drawAccessory()
    drawProblem()
  }

  /// Centres the content vertically in the row, so that neighbours line up.
  mutating func centerContent(in row: PlacedNode) {
    switch role {
    case .label, .date, .link, .toggle, .gauge, .spinner: break
    case .stack, .grid, .table, .form, .space, .embed, .unknown, .button, .image, .input, .chart:
      return
    }
    let frames = placed.texts.map(\.frame) + placed.parts.map(\.frame)
    guard let top = frames.map(\.y).min(), let bottom = frames.map(\.endY).max() else { return }
    let shift = (row.inner.y + row.inner.endY - top - bottom) / 2
    guard shift > 0 else { return }
    // The moved content is clipped to the row, not to the node.
    placed.clip.height = max(0, min(row.inner.endY, row.clip.endY) - placed.clip.y)
    clip = placed.clip.points
    for index in placed.texts.indices { placed.texts[index].frame.y += shift }
    for index in placed.parts.indices { placed.parts[index].frame.y += shift }
  }

  /// Adds the visible part of a mark.
  mutating func add(_ mark: Mark) {
    let bounds = mark.bounds
    if clip.contains(bounds.inset(0.02)) {
      marks.append(mark)
    } else if clip.overlaps(bounds) {
      marks.append(.group(MarkGroup(clip: clip, marks: [mark])))
    }
  }

  // MARK: Setting and background

  private mutating func readSetting() {
    setting.selectedKeys =
      role == .table
      ? Set(
        node.list("selected").compactMap { if case .string(let key) = $0 { key } else { nil } })
      : []
    if !node.flag("enabled", default: true) { setting.isDisabled = true }
    if look.isPrivate, node.flag("privacy", default: false) { setting.isPrivate = true }
    if role == .stack, node.flag("section", default: false), parent?.role == .table {
      setting.isHeading = true
    }
    if let color = look.color(node.properties["color"]) { setting.color = color }
  }

  /// Whether the node is a selected row of a table.
  private var isSelected: Bool {
    parent?.role == .table && node.isRow(among: outerSelection)
  }

  private mutating func readBackground() {
    if let color = look.color(node.properties["background"]) {
      setting.background = DrawingLook.mix(color, over: setting.background)
    }
  }

  private mutating func drawBackground() {
    var area = placed.frame.points
    area.height -= placed.separator?.points.height ?? 0
    var fill = look.color(node.properties["background"])
    var corner = look.points(node.properties["corner"])
    if setting.isHeading, fill == nil, parent?.role == .table {
      (fill, corner) = (look.token("color.surface"), max(corner, 4))
    }
    if isSelected {
      fill = look.color(node.properties["selectedBackground"]) ?? look.token("color.selected")
      corner = max(corner, 6)
    }
    if let fill { setting.background = DrawingLook.mix(fill, over: setting.background) }
    if isSelected { setting.color = look.color(node.properties["selectedColor"]) ?? setting.color }
    // A button's background fills its shape; `drawButton` draws it.
    guard role != .button else { return }
    if let fill, fill.alpha > 0, !area.isEmpty {
      add(.rectangle(area, corner: corner, Paint(fill: fill)))
    } else if corner > 0, role != .image {
      add(
        .rectangle(
          area.inset(0.5), corner: corner, Paint(stroke: look.token("color.separator"))))
    }
  }

  // MARK: Colours

  /// The colour of plain text of this node.
  var textColor: ThemeColor {
    if setting.isDisabled { return look.token("color.disabled") }
    if let color = setting.color { return color }
    // Small text is secondary text.
    let isSmall = look.font(node.properties["font"]).size < 14
    return setting.isHeading || isSmall ? quietColor : look.readable(on: setting.background)
  }

  /// The colour of secondary text and marks.
  var quietColor: ThemeColor {
    if setting.isDisabled { return look.token("color.disabled") }
    let quiet = look.token("color.secondary")
    return DrawingLook.contrast(quiet, setting.background) >= 3
      ? quiet : look.readable(on: setting.background).faded(0.8)
  }

  /// The colour of the active part: a checked box, the filled part of a bar, a chart's line.
  var tint: ThemeColor {
    if setting.isDisabled { return look.token("color.disabled") }
    return look.color(node.properties["tint"]) ?? look.token("color.tint")
  }

  /// The colour of a bar's unfilled part. High contrast fades it, or it would look like the filled part.
  var track: ThemeColor {
    look.appearance == .highContrast
      ? look.token("color.separator").faded(0.3) : look.token("color.separator")
  }

  // MARK: Text

  private mutating func draw(_ text: PlacedText) {
    let frame = text.frame.points
    // Half a line cannot be read.
    guard frame.y >= clip.y - 0.5, frame.endY <= clip.endY + 0.5, clip.overlaps(frame) else {
      return
    }
    if setting.isPrivate {
      let bar = DrawingRect(
        x: frame.x, y: frame.y + frame.height * 0.2, width: frame.width, height: frame.height * 0.6)
      return add(.rectangle(bar, corner: 3, Paint(fill: track)))
    }
    let font = look.font(node.properties["font"])
    var mark = TextMark(
      frame: frame, baseline: Self.baseline(font, height: frame.height), text: text.text,
      font: font, color: textColor)
    switch text.role {
    case .text where role == .button: mark.color = buttonColors(node.text("style")).text
    case .text where role == .link:
      mark.link = node.text("url")
      if setting.color == nil, !setting.isDisabled { mark.color = look.token("color.link") }
      mark.isUnderlined = true
    case .text:
      if let run = text.run { apply(run, to: &mark) }
    case .value where role == .gauge || role == .chart: mark.color = quietColor
    case .placeholder, .heading, .alternative, .label: mark.color = quietColor
    case .problem: mark.color = look.token("color.error")
    case .url:
      mark.color = quietColor
      mark.link = node.text("url")
    case .submit: mark.color = buttonColors("primary").text
    case .name, .value: break
    }
    add(.text(mark))
  }

  static func baseline(_ font: ThemeFont, height: Double) -> Double {
    let line = (font.size * SansTextMeasure.lineHeight).rounded()
    return (height - line) / 2 + (line - font.size * SansTextMeasure.lineHeight) / 2
      + font.size * SansTextMeasure.baseline
  }

  private mutating func apply(_ index: Int, to mark: inout TextMark) {
    let runs = node.list("runs")
    guard runs.indices.contains(index), case .map(let run) = runs[index] else { return }
    switch run["weight"] {
    case .string("bold"): mark.font.weight = .bold
    case .string("light"): mark.font.weight = .light
    case .string("regular"): mark.font.weight = .regular
    default: break
    }
    if run["italic"] == .bool(true) { mark.font.isItalic = true }
    mark.isUnderlined = run["underline"] == .bool(true)
    mark.isStruckThrough = run["strikethrough"] == .bool(true)
    if case .string(let address)? = run["link"], !address.isEmpty {
      (mark.link, mark.isUnderlined) = (address, true)
      mark.color = look.token("color.link")
    }
    if let background = look.color(run["background"]) {
      add(.rectangle(mark.frame, corner: 3, Paint(fill: background)))
      mark.color = look.readable(
        on: DrawingLook.mix(background, over: setting.background))
    }
    if let color = look.color(run["color"]) { mark.color = color }
    if setting.isDisabled { mark.color = look.token("color.disabled") }
  }

  // MARK: Edges

  private mutating func drawSeparators() {
    var color = look.token("color.separator")
    if case .map(let map)? = node.properties["separator"],
      let own = look.color(map["color"])
    {
      color = own
    }
    for line in (placed.separator.map { [$0] } ?? []) + placed.dividers {
      let rect = line.points
      // A divider is a hairline in the middle of its room.
      let width = min(rect.width, rect.height, 1)
      let shown =
        rect.height > rect.width
        ? DrawingRect(
          x: rect.center.x - width / 2, y: rect.y, width: width, height: rect.height)
        : DrawingRect(x: rect.x, y: rect.center.y - width / 2, width: rect.width, height: width)
      add(.rectangle(shown, corner: 0, Paint(fill: color)))
    }
  }

  private mutating func drawAccessory() {
    guard let place = placed.accessory?.points else { return }
    let middle = place.center
    let side = min(place.width, place.height, 16)
    func at(_ x: Double, _ y: Double) -> DrawingPoint {
      DrawingPoint(x: middle.x + x * side, y: middle.y + y * side)
    }
    switch node.properties["accessory"] {
    case .string("disclosure")?:
      add(
        .path(
          [at(-0.14, -0.28), at(0.14, 0), at(-0.14, 0.28)], isClosed: false,
          Paint(stroke: quietColor, lineWidth: 1.75, isRound: true)))
    case .string("checkmark")?:
      add(
        .path(
          [at(-0.3, 0.02), at(-0.08, 0.24), at(0.32, -0.24)], isClosed: false,
          Paint(stroke: tint, lineWidth: 2, isRound: true)))
    case .string("activity")?: drawSpinner(middle, radius: side * 0.36)
    default:
      add(
        .arc(center: middle, radius: side * 0.16, from: 0, to: 1, Paint(fill: tint, lineWidth: 0)))
    }
  }

  mutating func drawSpinner(_ center: DrawingPoint, radius: Double) {
    guard radius > 0 else { return }
    add(.arc(center: center, radius: radius, from: 0, to: 1, Paint(stroke: track, lineWidth: 2)))
    add(
      .arc(
        center: center, radius: radius, from: 0, to: 0.3,
        Paint(stroke: tint, lineWidth: 2, isRound: true)))
  }

  /// Draws a mark in the upper right corner: an expression of the node could not be evaluated.
  private mutating func drawProblem() {
    guard !node.problem.isEmpty else { return }
    let frame = placed.frame.points
    let radius = min(5, frame.width / 2, frame.height / 2)
    guard radius > 2 else { return }
    let center = DrawingPoint(x: frame.endX - radius, y: frame.y + radius)
    let error = look.token("color.error")
    let white = look.readable(on: error)
    add(.arc(center: center, radius: radius, from: 0, to: 1, Paint(fill: error, lineWidth: 0)))
    add(
      .path(
        [
          DrawingPoint(x: center.x, y: center.y - radius * 0.5),
          DrawingPoint(x: center.x, y: center.y + radius * 0.1),
        ], isClosed: false, Paint(stroke: white, lineWidth: 1.4, isRound: true)))
    add(
      .arc(
        center: DrawingPoint(x: center.x, y: center.y + radius * 0.52), radius: 0.8, from: 0, to: 1,
        Paint(fill: white, lineWidth: 0)))
  }
}
