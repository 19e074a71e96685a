import WidgetExpression
public import WidgetModel

/// A problem in a bundle's file, and its place.
public struct BundleProblem: Error, Hashable, Sendable {
  /// From 1; 1:1 if it is about the file as a whole. 0 if there is no text with lines.
  public var line: Int
  /// From 1, in Unicode scalars.
  public var column: Int
  /// Where in the document: `kinds.todo.actions.save.do[0].http.url`; empty for all of it.
  public var path: String
  /// The problem: one line without a full stop.
  public var message: String
  /// The next step. Empty if there is none.
  public var hint: String
  /// The line of the file, and below it a caret at the place. Empty if there is no such line.
  public var excerpt: String
  /// For a warning about a kind that the bundle lacks: the kind. If another program provides it,
  /// the warning does not apply.
  public var foreignKind: KindName?

  public init(
    line: Int, column: Int, path: String = "", message: String, hint: String = "",
    excerpt: String = ""
  ) {
    self.line = line
    self.column = column
    self.path = path
    self.message = message
    self.hint = hint
    self.excerpt = excerpt
  }
}

extension BundleProblem {
  /// With the line that it is about.
  func shown(in lines: SourceLines) -> BundleProblem {
    guard let line = lines[line] else { return self }
    var problem = self
    problem.excerpt = SourceExcerpt.text(line: line, number: self.line, column: column)
    return problem
  }
}

extension [BundleProblem] {
  /// The problems in the order of the file, each once for its place. Two readers can check the same
  /// value, with other paths or hints. The first one with a hint counts.
  var inOrder: [BundleProblem] {
    var told: [ToldProblem: Int] = [:]
    var kept: [BundleProblem] = []
    for problem in self {
      let key = ToldProblem(
        line: problem.line, column: problem.column, path: problem.line > 0 ? "" : problem.path,
        message: problem.message)
      guard let index = told[key] else {
        told[key] = kept.count
        kept.append(problem)
        continue
      }
      if kept[index].hint.isEmpty { kept[index] = problem }
    }
    return kept.enumerated().sorted { a, b in
      (a.element.line, a.element.column, a.offset) < (b.element.line, b.element.column, b.offset)
    }.map(\.element)
  }
}

/// A message at a place.
private struct ToldProblem: Hashable {
  let line: Int
  let column: Int
  /// The place of a problem without a line.
  let path: String
  let message: String
}

extension BundleProblem: CustomStringConvertible {
  /// `3:7: unknown key "nmae"; did you mean "name"?`
  public var description: String {
    "\(line):\(column): \(message)" + (hint.isEmpty ? "" : "; \(hint)")
  }
}

/// A file that is not a bundle: all its problems, in the order of the file.
public struct InvalidBundle: Error, Hashable, Sendable, CustomStringConvertible {
  /// The maximum number of problems that are reported at once.
  public static let problemsMax = 50

  /// At least one, at most `problemsMax`.
  public let problems: [BundleProblem]
  /// The number of further problems.
  public let untold: Int

  /// - Parameter lines: of the file, which the problems are shown with.
  init(_ found: [BundleProblem], _ lines: SourceLines) {
    let sorted = found.inOrder
    problems = sorted.prefix(InvalidBundle.problemsMax).map { $0.shown(in: lines) }
    untold = sorted.count - problems.count
  }

  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// The lines of a file.
public struct SourceLines {
  private let lines: [Substring.UTF8View]

  /// O(length of the text). A byte order mark is left out, because columns do not count it.
  public init(_ text: String) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    lines = text.utf8.dropFirst(text.utf8.starts(with: mark) ? mark.count : 0)
      .split(separator: 0x0A, omittingEmptySubsequences: false)
  }

  /// A line by its number, from 1, without its end; nil if there is none.
  subscript(number: Int) -> String? {
    guard lines.indices.contains(number - 1) else { return nil }
    let line = lines[number - 1]
    return String(Substring(line.last == 0x0D ? line.dropLast() : line))
  }
}
