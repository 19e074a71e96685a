import WidgetModel

/// The layout of a dashboard: nested boxes in columns and rows, read from a user's file.
struct LiveArrangement: Hashable, Sendable {
  /// The width of a box in columns.
  enum Width: Hashable, Sendable {
    /// A number of terminal columns.
    case cells(Int)
    /// A share of the available width, in hundredths of a percent.
    case share(Int)

    static func percent(_ percent: Int) -> Width { .share(percent * 100) }

    /// The share of a room that gives this many cells, with as few digits as possible. Nil if none
    /// does.
    static func share(of cells: Int, in room: Int) -> Width? {
      guard room > 0 else { return nil }
      return [100, 10, 1].lazy.map { step -> Int in
        let least = (cells * LiveArrangement.wholeShare + room - 1) / room
        return (least + step - 1) / step * step
      }
      .first { $0 <= LiveArrangement.wholeShare && room * $0 / LiveArrangement.wholeShare == cells }
      .map { .share($0) }
    }
  }

  /// The sort order of a selection's widgets.
  enum Order: String, Hashable, Sendable, CaseIterable { case position, id }

  /// One widget or a selection of widgets, and how to show them.
  struct Entry: Hashable, Sendable {
    /// The widget's id. Its place is reserved before the widget exists. Nil: use `selector`.
    var id: WidgetID?
    /// If `id` is nil: takes every matching widget that no earlier entry took.
    var selector = Selector()
    var title: String?
    var family: Family?
    var order = Order.position
  }

  indirect enum Content: Hashable, Sendable {
    case entry(Entry)
    case columns([Box])
    case rows([Box])
  }

  struct Box: Hashable, Sendable {
    var width: Width?
    var content: Content

    init(_ content: Content, width: Width? = nil) { (self.content, self.width) = (content, width) }
  }

  /// The whole width, in the unit of `Width.share`.
  static let wholeShare = 10_000

  var root: Box
  /// Whether widgets that no entry takes flow below the arrangement.
  var showsRest = true

  /// A separate watch for widgets that are shown with the content for another family.
  struct Feed: Hashable, Sendable {
    let family: Family
    let selector: Selector
  }

  /// The entries, in reading order.
  var entries: [Entry] { LiveArrangement.entries(of: root) }

  /// The watches that entries with a family need: one for all ids of a family, one per selection.
  var feeds: [Feed] {
    var ids: [Family: [WidgetID]] = [:]
    var feeds: [Feed] = []
    for entry in entries {
      guard let family = entry.family else { continue }
      if let id = entry.id {
        ids[family, default: []].append(id)
      } else {
        let feed = Feed(family: family, selector: entry.selector)
        if !feeds.contains(feed) { feeds.append(feed) }
      }
    }
    return Family.allCases.compactMap { family in
      ids[family].map { Feed(family: family, selector: Selector(ids: $0)) }
    } + feeds
  }

  /// The entry that places a widget: first by id, then by selector. Nil if no entry matches.
  func entry(of widget: Widget) -> Entry? {
    let entries = entries
    return entries.first { $0.id == widget.id }
      ?? entries.first {
        $0.id == nil
          && $0.selector.matches(
            id: widget.id, kind: widget.kind, family: widget.family, labels: widget.labels)
      }
  }

  private static func entries(of box: Box) -> [Entry] {
    switch box.content {
    case .entry(let entry): [entry]
    case .columns(let boxes), .rows(let boxes): boxes.flatMap(entries)
    }
  }

  // MARK: - Which widget goes where

  /// A box after its entries were replaced by widgets.
  indirect enum Place {
    case widget(WidgetID)
    case columns([Column])
    case rows([Place])
  }

  struct Column {
    let width: Width?
    let place: Place
  }

  /// An arrangement applied to the present widgets. `place` is nil if no widget has a place.
  struct Resolved {
    var place: Place?
    var entries: [WidgetID: Entry] = [:]
  }

  /// Assigns each widget to the first entry that matches it. Entries with its id go first.
  ///
  /// - Parameters:
  ///   - widgets: The widgets to show, in display order.
  ///   - awaits: Whether to reserve the place of a named widget that is missing from `widgets`.
  func resolved(_ widgets: [Widget], awaits: (WidgetID) -> Bool) -> Resolved {
    var result = Resolved()
    let named = Set(entries.compactMap(\.id))
    let there = Set(widgets.map(\.id))
    let byID = widgets.sorted { $0.id.rawValue.precedesByBytes($1.id.rawValue) }
    func places(of box: Box) -> [Column] {
      switch box.content {
      case .entry(let entry):
        var ids: [WidgetID] = []
        if let id = entry.id {
          if result.entries[id] == nil, there.contains(id) || awaits(id) { ids = [id] }
        } else {
          for widget in entry.order == .id ? byID : widgets
          where result.entries[widget.id] == nil && !named.contains(widget.id)
            && entry.selector.matches(
              id: widget.id, kind: widget.kind, family: widget.family, labels: widget.labels)
          {
            ids.append(widget.id)
          }
        }
        for id in ids { result.entries[id] = entry }
        return ids.map { Column(width: box.width, place: .widget($0)) }
      case .columns(let boxes):
        let columns = boxes.flatMap(places)
        return columns.isEmpty ? [] : [Column(width: box.width, place: .columns(columns))]
      case .rows(let boxes):
        let rows = boxes.flatMap(places)
        return rows.isEmpty
          ? [] : [Column(width: box.width, place: .rows(rows.map(\.place)))]
      }
    }
    let all = places(of: root)
    result.place = all.count == 1 ? all[0].place : all.isEmpty ? nil : .rows(all.map(\.place))
    return result
  }

  /// Divides `room` cells among columns with gaps between them.
  ///
  /// - Parameter least: The minimum width of a column.
  /// - Returns: Nil if the columns do not fit with this width.
  static func widths(
    _ wanted: [Width?], in room: Int, gap: Int, least: Int
  ) -> [Int]? {
    let room = room - gap * (wanted.count - 1)
    guard room >= least * wanted.count else { return nil }
    var widths = wanted.map { width -> Int? in
      switch width {
      case .cells(let count): max(least, count)
      case .share(let share): max(least, room * share / wholeShare)
      case nil: nil
      }
    }
    let open = widths.count { $0 == nil }
    let fixed = widths.reduce(0) { $0 + ($1 ?? 0) }
    // If the requested widths exceed the room, shrink them in proportion. Open ones get `least`.
    let most = room - open * least
    if fixed > most {
      var over = fixed - most
      let spare = widths.reduce(0) { $0 + max(0, ($1 ?? least) - least) }
      for index in widths.indices {
        guard let width = widths[index], over > 0, spare > 0 else { continue }
        let cut = min(over, width - least, ((width - least) * (fixed - most) + spare - 1) / spare)
        widths[index] = width - cut
        over -= cut
      }
    }
    var left = room - widths.reduce(0) { $0 + ($1 ?? 0) }
    var waiting = open
    for index in widths.indices where widths[index] == nil {
      widths[index] = left / waiting
      left -= left / waiting
      waiting -= 1
    }
    return widths.map { $0 ?? least }
  }

  // MARK: - The present arrangement

  /// Turns frames on a page into boxes that give the same frames. Splits between columns where no
  /// frame crosses the cut, otherwise between rows.
  ///
  /// - Parameters:
  ///   - area: The columns that the boxes get.
  ///   - gap: The columns between boxes side by side.
  ///   - least: The minimum width of a box in columns.
  static func box(
    around frames: [(id: WidgetID, frame: LayoutFrame)], in area: Range<Int>, gap: Int, least: Int,
    entry: (WidgetID) -> Entry
  ) -> Box? {
    guard !frames.isEmpty else { return nil }
    let (columns, cuts) = (groups(frames, \.columns), groups(frames, \.rows))
    let ranges = columns.map { group -> Range<Int> in
      let start = group.map(\.frame.columns.lowerBound).min() ?? 0
      let end = group.map(\.frame.columns.upperBound).max() ?? 0
      return start..<max(start, end)
    }
    if columns.count > 1 || ranges[0].upperBound < area.upperBound {
      var boxes: [Box] = []
      for (group, range) in zip(columns, ranges) {
        guard let box = box(around: group, in: range, gap: gap, least: least, entry: entry) else {
          continue
        }
        boxes.append(box)
      }
      let widths = widths(of: ranges, in: area, gap: gap, least: least)
      for (index, width) in widths.enumerated() { boxes[index].width = width }
      let box = Box(.columns(boxes))
      // A pane may begin below an empty place: then the rows above it are apart.
      if cuts.count == 1 || gives(box, frames, area, gap, least) { return box }
    }
    guard frames.count > 1 else { return Box(.entry(entry(frames[0].id))) }
    guard cuts.count > 1 else { return Box(.rows(frames.map { Box(.entry(entry($0.id))) })) }
    var rows: [Box] = []
    var rest = cuts[...]
    while let first = rest.popFirst() {
      // Rows whose panes happen to end together are columns, if columns give the same frames.
      var runs = [first]
      for next in rest {
        let run = runs[runs.count - 1] + next
        guard run.count < frames.count, groups(run, \.columns).count > 1 else { break }
        runs.append(run)
      }
      while let run = runs.popLast() {
        let row = box(around: run, in: area, gap: gap, least: least, entry: entry)
        guard let row else { break }
        if !runs.isEmpty {
          guard case .columns = row.content, gives(row, run, area, gap, least) else { continue }
        }
        rest = rest.dropFirst(runs.count)
        rows.append(row)
        break
      }
    }
    return Box(.rows(rows))
  }

  /// Whether a box gives these frames.
  private static func gives(
    _ box: Box?, _ frames: [(id: WidgetID, frame: LayoutFrame)], _ area: Range<Int>, _ gap: Int,
    _ least: Int
  ) -> Bool {
    guard let box else { return false }
    let heights = Dictionary(
      frames.map { ($0.id, $0.frame.rows.count) }, uniquingKeysWith: { first, _ in first })
    var placed: [WidgetID: LayoutFrame] = [:]
    func place(_ box: Box, _ area: Range<Int>, _ top: Int) -> Int {
      switch box.content {
      case .entry(let entry):
        guard let id = entry.id, let height = heights[id] else { return 0 }
        placed[id] = LayoutFrame(columns: area, rows: top..<top + height)
        return height
      case .rows(let boxes): return boxes.reduce(0) { $0 + place($1, area, top + $0) }
      case .columns(let boxes):
        guard
          let widths = widths(boxes.map(\.width), in: area.count, gap: gap, least: least)
        else { return boxes.reduce(0) { $0 + place($1, area, top + $0) } }
        var (height, left) = (0, area.lowerBound)
        for (box, width) in zip(boxes, widths) {
          height = max(height, place(box, left..<left + width, top))
          left += width + gap
        }
        return height
      }
    }
    _ = place(box, area, frames.map(\.frame.rows.lowerBound).min() ?? 0)
    return frames.allSatisfy { placed[$0.id] == $0.frame }
  }

  /// The widths that give columns these ranges: none if they are equal shares, else shares, else
  /// numbers of cells.
  private static func widths(
    of ranges: [Range<Int>], in area: Range<Int>, gap: Int, least: Int
  ) -> [Width?] {
    let cells = ranges.map(\.count)
    func gives(_ widths: [Width?]) -> Bool {
      self.widths(widths, in: area.count, gap: gap, least: least) == cells
    }
    let equal = [Width?](repeating: nil, count: cells.count)
    let fills = ranges.last?.upperBound == area.upperBound
    if fills, gives(equal) { return equal }
    var shares = cells.map { Width.share(of: $0, in: area.count - gap * (cells.count - 1)) }
    if fills { shares[shares.count - 1] = nil }
    return gives(shares) ? shares : cells.map { .cells($0) }
  }

  /// The columns and rows of a pane on the page.
  struct LayoutFrame: Hashable {
    let columns: Range<Int>
    let rows: Range<Int>
  }

  /// Splits the frames into groups along one axis. No frame crosses a cut.
  private static func groups(
    _ frames: [(id: WidgetID, frame: LayoutFrame)],
    _ range: (LayoutFrame) -> Range<Int>
  ) -> [[(id: WidgetID, frame: LayoutFrame)]] {
    var groups: [[(id: WidgetID, frame: LayoutFrame)]] = []
    var end = Int.min
    for item in frames.enumerated().sorted(by: {
      (range($0.element.frame).lowerBound, $0.offset)
        < (range($1.element.frame).lowerBound, $1.offset)
    }).map(\.element) {
      if range(item.frame).lowerBound >= end || groups.isEmpty {
        groups.append([item])
      } else {
        groups[groups.count - 1].append(item)
      }
      end = max(end, range(item.frame).upperBound)
    }
    return groups
  }
}
