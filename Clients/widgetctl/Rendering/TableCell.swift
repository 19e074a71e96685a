import WidgetBar
import WidgetLayout
import WidgetModel

extension Table {
  /// One cell: its text, and its colour, which has no width.
  struct Cell: Hashable {
    private(set) var text: String
    let style: Style
    /// The reason of a failure, which the text has. If the text is cut, the cell shows only the
    /// reason, shortened so that its cause stays.
    private let reason: String
    /// The words before the reason that a cut cell keeps: `failing: `.
    private let lead: String
    /// A word of the text that must be visible. If the terminal has no room for it here, the state
    /// of the row shows the word.
    let keyword: String
    /// The words of a text with commas that a cut cell shows, the most important one first.
    private let ranking: [String]

    /// The minimum width of the reason beside the words before it.
    private static let reasonColumnsMin = 6

    /// The mark of a stale widget, as in the dashboard.
    static let staleMark = "↻ "

    init(
      _ text: String, _ style: Style = .plain, reason: String? = nil, lead: String = "",
      keyword: String = "", ranking: [String] = []
    ) {
      self.text = text.safeForTerminal
      self.style = style
      self.reason = reason?.safeForTerminal ?? ""
      self.lead = lead.safeForTerminal
      self.keyword = keyword.safeForTerminal
      self.ranking = ranking
    }

    var hasReason: Bool { !reason.isEmpty }

    /// The width of the text with only the words of its ranking.
    var rankedColumns: Int {
      let words = rankedWords
      return words.isEmpty ? text.columns : words.joined(separator: ",").columns
    }

    /// Adds a word to a text with commas.
    mutating func add(word: String) {
      guard !text.contains(word) else { return }
      text += text.isEmpty ? word : ",\(word)"
    }

    /// Removes the keyword in parentheses from the end of the text, because the state shows it.
    mutating func dropKeyword() {
      let end = " (\(keyword))"
      if text.hasSuffix(end) { text.removeLast(end.count) }
    }

    func cut(toColumns limit: Int) -> String {
      guard text.columns > limit else { return text }
      let words = rankedWords
      for count in stride(from: words.count, to: 0, by: -1) {
        let shown = words.prefix(count) + (count < words.count ? [TextColumns.ellipsis] : [])
        let cut = shown.joined(separator: ",")
        if cut.columns <= limit { return cut }
      }
      if let first = words.first { return first.cut(toColumns: limit) }
      guard hasReason else { return text.cut(toColumns: limit) }
      let mark = lead.nonEmpty ?? ["! ", Cell.staleMark].first { text.hasPrefix($0) } ?? ""
      let room = limit - mark.columns
      guard lead.isEmpty || room >= Cell.reasonColumnsMin else {
        // If the reason is at the end, its beginning says more than the beginning of the text.
        let start = text.hasPrefix(mark) ? text : mark + reason
        return start.cut(toColumns: limit)
      }
      let shortened = ReasonText.shortened(reason, to: max(room, 1))
      // If the whole reason fits, the cut text can show even more.
      let cut = text.cut(toColumns: limit)
      let hasAll = shortened == reason && (lead.isEmpty || cut.contains(reason))
      return hasAll ? cut : mark + shortened
    }

    /// The words of the ranking that the text has. Empty if the text has none.
    private var rankedWords: [String] {
      guard !ranking.isEmpty else { return [] }
      let words = text.split(separator: ",").map(String.init)
      return ranking.filter { words.contains($0) }
    }
  }
}
