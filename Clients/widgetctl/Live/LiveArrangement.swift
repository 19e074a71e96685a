import WidgetModel

/// The layout of a dashboard: nested boxes in columns and rows, read from a user's file.
struct LiveArrangement: Hashable, Sendable {
  /// The width of a box in columns.
  enum Width: Hashable, Sendable {
    /// A number of terminal columns.
    case cells(Int)
    /// A percentage of the available width.
    case percent(Int)
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
      case .percent(let share): max(least, room * share / 100)
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

  /// Turns frames on a page into boxes. Splits between columns where no frame crosses the cut,
  /// otherwise between rows.
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
