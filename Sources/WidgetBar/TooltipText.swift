import WidgetLayout

/// A tooltip for bars that use GTK. GTK gives a tooltip a window of the size of its text, and a window
/// of more than 32,767 pixels ends waybar 0.9.17. So the text is wrapped and cut.
enum TooltipText {
  /// Longer lines, and more lines, are hard to read in a tooltip.
  static let columnsMax = 100
  static let linesMax = 40

  static func bounded(_ text: String) -> String {
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      guard lines.count < linesMax else {
        lines[linesMax - 1] = TextColumns.ellipsis
        break
      }
      lines += TextColumns.wrapped(String(line), to: columnsMax, most: linesMax - lines.count)
    }
    return lines.joined(separator: "\n")
  }
}
