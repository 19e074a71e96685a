/// The room that controls take beside their text, in the units of one scale.
struct Chrome {
  /// The gap between the parts of a control: mark and text, name and bar.
  let gap: Int
  /// The room around the text of a button: at each side, and above and below.
  let buttonSides: Int
  let buttonEnds: Int
  /// The room around the value of an input or the bar of a gauge: at each side, and above and
  /// below.
  let fieldSides: Int
  let fieldEnds: Int
  let checkbox: LayoutSize
  let spinner: LayoutSize
  let icon: LayoutSize
  let ring: Int
  /// The line below a node.
  let separator: Int
  /// The column of an accessory, and the room behind it.
  let accessory: Int
  let accessoryGap: Int

  /// The minimum width of a text.
  let textLeast: Int
  /// The width of a toggle's text that is not cut while other nodes can shrink.
  let toggleTextFirm: Int
  let nameFirm: Int
  /// The minimum width for wrapped text. Below it, text is cut on one line.
  let wrapLeast: Int
  /// The sizes of bars, fields and plots.
  let bar: Extent
  let chartBar: Extent
  let field: Extent
  let plot: Extent
  let plotHeight: Int
  let picture: LayoutSize
  /// The minimum height to which a scrollable node shrinks for others.
  let scrollLeast: Int
  /// The size of a space that does not set one.
  let space: LayoutSize

  init(_ metrics: LayoutMetrics) {
    let (h, v) = (
      { (points: Double) in metrics.horizontal(points) },
      { (points: Double) in metrics.vertical(points) }
    )
    let isCells = metrics.scale == .cells
    gap = h(8)
    buttonSides = h(isCells ? 16 : 12)
    buttonEnds = isCells ? 0 : v(6)
    fieldSides = h(8)
    fieldEnds = isCells ? 0 : v(4)
    checkbox = LayoutSize(width: h(isCells ? 24 : 16), height: v(16))
    spinner = LayoutSize(width: h(isCells ? 8 : 16), height: v(16))
    icon = !metrics.drawsIcons ? .zero : LayoutSize(width: h(16), height: v(16))
    ring = isCells ? 0 : h(64)
    separator = isCells ? 1 : v(1)
    accessory = h(16)
    accessoryGap = h(12)
    textLeast = h(8)
    toggleTextFirm = h(96)
    nameFirm = h(64)
    wrapLeast = h(32)
    bar = Extent(ideal: h(176), firm: h(48), least: h(48))
    chartBar = Extent(ideal: h(160), firm: h(32), least: h(32))
    field = Extent(ideal: h(160), firm: h(80), least: h(48))
    plot = Extent(ideal: h(160), firm: h(80), least: h(32))
    plotHeight = v(64)
    picture = LayoutSize(width: h(64), height: v(64))
    scrollLeast = v(48)
    space = LayoutSize(width: h(8), height: v(8))
  }
}
