import WidgetModel

/// A running command's report of its progress, on one line: the fraction and the present step.
///
/// `0.4`, `40%`, `40% copying photos`, `copying photos`.
struct ProgressLine: Hashable, Sendable {
  /// From 0 to 1; nil if the line has no fraction.
  var progress: Double?
  /// nil if the line has no status.
  var status: String?

  init(_ line: String) {
    let text = line[...].trimmed
    let word = text.prefix { !$0.isWhitespace }
    progress = ProgressLine.progress(String(word))
    let rest = progress == nil ? text : text.dropFirst(word.count)[...].trimmed
    if !rest.isEmpty { status = String(rest.prefix(ProgressLine.charactersMax)) }
  }

  /// The maximum number of characters of a status, so that it fits into the state.
  static let charactersMax = 200

  /// Reads a fraction as people write it, from 0 to 1 or from 0% to 100%. Nil for any other text.
  static func progress(_ text: String) -> Double? {
    let isPercentage = text.hasSuffix("%")
    guard let number = Double(isPercentage ? String(text.dropLast()) : text) else { return nil }
    let part = isPercentage ? number / 100 : number
    return (0...1).contains(part) ? part : nil
  }

  /// This line, completed with the parts of an earlier one.
  func after(_ earlier: ProgressLine) -> ProgressLine {
    var line = self
    line.progress = progress ?? earlier.progress
    line.status = status ?? earlier.status
    return line
  }

  var data: ValueMap {
    var data = ValueMap()
    if let progress { data["progress"] = .double(progress) }
    if let status { data["status"] = .string(status) }
    return data
  }
}
