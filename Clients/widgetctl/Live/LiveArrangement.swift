import WidgetModel

/// Where a dashboard's widgets go: boxes in columns and rows, as a user's file says.
struct LiveArrangement: Hashable, Sendable {
  /// How wide something in columns is.
  enum Width: Hashable, Sendable {
    /// Columns of the terminal.
    case cells(Int)
    /// A share of the room.
    case percent(Int)
  }

  /// In which order a selection's widgets stand.
  enum Order: String, Hashable, Sendable, CaseIterable { case position, id }

  /// Which widgets, and how they are shown.
  struct Entry: Hashable, Sendable {
    /// A widget that is named has a place before it exists.
    var id: WidgetID?
    /// Without an id: all widgets for which this holds and that have no place yet.
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

  var root: Box
  /// Whether widgets that have no place follow below.
  var showsRest = true

  /// What a watch of its own brings: widgets with the content for a family that is not theirs.
  struct Feed: Hashable, Sendable {
    let family: Family
    let selector: Selector
  }

  /// The entries, in reading order.
  var entries: [Entry] { LiveArrangement.entries(of: root) }

  /// The watches that its families take: one for all ids of a family, and one for each selection.
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

  /// The entry that gives a widget its place, if it is shown; nil for none.
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

  /// The boxes with the widgets that are in them.
  indirect enum Place {
    case widget(WidgetID)
    case columns([Column])
    case rows([Place])
  }

  struct Column {
    let width: Width?
    let place: Place
  }

  /// What became of an arrangement with the widgets that there are.
  struct Resolved {
    var place: Place?
    var entries: [WidgetID: Entry] = [:]
  }

  /// Gives widgets their places. The first entry that fits a widget has it.
  ///
  /// - Parameters:
  ///   - widgets: Those to show, in display order.
  ///   - awaits: Whether a widget that is not among them keeps its place.
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

  /// The widths of columns in some room, with gaps between them; nil if there is too little.
  static func widths(
    _ wanted: [Width?], in room: Int, gap: Int, least: Int
  ) -> [Int]? {
    let room = room - gap * (wanted.count - 1)
    guard room >= least * wanted.count else { return nil }
    var widths = wanted.map { width -> Int? in
      switch width {
      case .cells(let count): max(least, count)
      case .percent(let share): max(least, room * share / 100)
      case nil: nil
      }
    }
    let open = widths.count { $0 == nil }
    let fixed = widths.reduce(0) { $0 + ($1 ?? 0) }
    // What was asked for is cut in its proportions, and the others keep the least.
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

  /// The boxes that frames on a page come to: cut between columns where no frame is cut, else
  /// between rows.
  static func box(around frames: [(id: WidgetID, frame: LayoutFrame)], entry: (WidgetID) -> Entry)
    -> Box?
  {
    guard frames.count > 1 else { return frames.first.map { Box(.entry(entry($0.id))) } }
    let columns = groups(frames, \.columns)
    if columns.count > 1 {
      var boxes = columns.compactMap { box(around: $0, entry: entry) }
      let widths = columns.map { group in
        (group.map(\.frame.columns.upperBound).max() ?? 0)
          - (group.map(\.frame.columns.lowerBound).min() ?? 0)
      }
      let sum = widths.reduce(0, +)
      if let least = widths.min(), let most = widths.max(), most - least > columns.count {
        for index in boxes.indices.dropLast() {
          boxes[index].width = .percent(max(1, (widths[index] * 100 + sum / 2) / sum))
        }
      }
      return Box(.columns(boxes))
    }
    let rows = groups(frames, \.rows)
    let parts =
      rows.count > 1
      ? rows.compactMap { box(around: $0, entry: entry) }
      : frames.map { Box(.entry(entry($0.id))) }
    return Box(.rows(parts))
  }

  /// Where a pane is on the page.
  struct LayoutFrame: Hashable {
    let columns: Range<Int>
    let rows: Range<Int>
  }

  /// The frames, divided where none of them crosses a line.
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
