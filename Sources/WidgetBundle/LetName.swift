import WidgetExpression
import WidgetModel

/// A name that `let` declares for an expression.
///
/// An expression that uses names has them bound around it (`cel.bind`). So each name is evaluated at
/// most once for an expression, with the variables of the place where it is used.
struct LetName {
  let name: String
  let source: String
  /// The names that the expression itself uses. All of them are declared before this one.
  let uses: Set<String>
}

extension Reading {
  /// The maximum number of names of a bundle and a kind together.
  static let letsMax = 64

  /// Names that have a meaning in some expressions.
  private static let namesTaken =
    BundleScope.Slot.allCases.map { "\($0)" }
    + ["defaults", "environment", "item", "itemIndex", "value"]

  /// Reads the names of a `let`. The expressions that are read after this can use them.
  ///
  /// - Parameter variables: the variables that a name can read if the place of its use has them.
  func declareLets(_ item: Item?, _ variables: Variables) {
    guard let item, let entries = entries(item, of: "names and expressions") else { return }
    guard lets.count + entries.count <= Reading.letsMax else {
      report(item, "\"let\" has more than \(Reading.letsMax) names", hint: "leave some out")
      return
    }
    for entry in entries {
      guard entry.name.isFieldName, !Reading.namesTaken.contains(entry.name) else {
        report(
          entry.nameItem, "\"\(entry.name.prefix(70))\" cannot be a name of \"let\"",
          hint: entry.name.isFieldName ? "expressions have it already" : entry.name.fieldNameHint)
        continue
      }
      guard !lets.contains(where: { $0.name == entry.name }) else {
        report(
          entry.nameItem, "\"let\" has \"\(entry.name)\" already", hint: "rename one of them")
        continue
      }
      // A mistake is reported here once, and not at each use.
      var name = LetName(name: entry.name, source: "dyn(null)", uses: [])
      if expression(entry.item, variables) != nil, let text = text(entry.item, "an expression") {
        let source = text.hasPrefix("=") ? String(text.dropFirst()) : text
        name = LetName(name: entry.name, source: source, uses: namesRead(by: source, variables))
      }
      lets.append(name)
    }
  }

  private func namesRead(by source: String, _ variables: Variables) -> Set<String> {
    let known = adding(letsTo: variables).adding("defaults", .dyn).adding("environment", .dyn)
    let references = (try? CompiledExpression(source, in: known.environment))?.references ?? []
    return Set(references.map(\.variable)).intersection(lets.map(\.name))
  }

  /// The variables with all names. Their types do not matter yet.
  func adding(letsTo variables: Variables) -> Variables {
    lets.reduce(variables) { $0.adding($1.name, .dyn) }
  }

  /// The names that an expression needs, each after those that it uses itself.
  func letsUsed(by compiled: CompiledExpression) -> [LetName] {
    guard !lets.isEmpty else { return [] }
    var needed = Set(compiled.references.map(\.variable))
    var used: [LetName] = []
    for name in lets.reversed() where needed.contains(name.name) {
      needed.formUnion(name.uses)
      used.insert(name, at: 0)
    }
    return used
  }

  /// The expression with the names bound around it. If a name cannot be used here, reports that and
  /// returns nil.
  func binding(
    _ used: [LetName], in source: String, skipping skipped: Int, of text: String, _ item: Item,
    _ variables: Variables
  ) -> CompiledExpression? {
    var bound = ""
    var ends: [Int] = []
    for name in used {
      bound += "cel.bind(\(name.name), \(CELText.wrapped(name.source)), "
      ends.append(bound.utf8.count)
    }
    // `wrapped` puts one parenthesis in front.
    let start = bound.utf8.count + 1
    bound += CELText.wrapped(source) + String(repeating: ")", count: used.count)
    do throws(ExpressionError) {
      return try CompiledExpression(bound, in: variables.environment)
    } catch {
      guard let problem = error.problems.first else { return nil }
      if let index = ends.firstIndex(where: { problem.offset < $0 }) {
        let parts = problem.message.parts(between: "; ", maxSplits: 1).map(String.init)
        report(
          item,
          "\"\(used[index].name)\" cannot be used here: \(parts.first ?? problem.message)",
          hint: parts.count > 1 ? parts[1] : "")
      } else {
        report(problem, skipping: skipped - start, of: text, item)
      }
      return nil
    }
  }
}
