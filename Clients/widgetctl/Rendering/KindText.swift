import WidgetBundle
import WidgetModel

/// A kind in words and tables, for `describe`.
///
/// Expressions are printed as their author wrote them. The names of `let` that they read have a table.
struct KindText {
  private let registered: RegisteredKind
  private let painter: Painter
  /// The maximum width of a default. A wider one is not useful for people, and is in `-o json`.
  private static let defaultColumnsMax = 24
  /// The maximum number of columns of an expression. A wider one is not useful for people either.
  private static let shownColumnsMax = 60

  init(_ registered: RegisteredKind, _ painter: Painter) {
    self.registered = registered
    self.painter = painter
  }

  /// - Parameter width: the maximum width of lines; nil for no limit.
  func text(width: Int?) -> String {
    let kind = registered.kind
    var text = painter.paint(kind.name.rawValue, .header)
    if !kind.displayName.isEmpty { text += " (\(kind.displayName.safeForTerminal))" }
    text += "\n"
    if !kind.summary.isEmpty { text += "\(kind.summary.safeForTerminal)\n" }
    text += "\nDeclared by: \(registered.provider.safeForTerminal)\n"
    if let state = registered.providerState { text += "Provider: \(state)\n" }
    if !kind.families.isEmpty {
      text += "Families: \(kind.families.map(\.name).joined(separator: ", "))\n"
    }
    if let transition = kind.transition {
      text += "Transition: \(TransitionSyntax.text(transition))\n"
    }
    if kind.isOpen { text += "Also takes undeclared data, parameters and events.\n" }
    if kind.hasLosableEvents {
      text += "Events: lost if the provider is away (losableEvents)\n"
    }
    if let schedule = kind.schedule { text += "Schedule: \(KindText.words(schedule))\n" }
    if let budget = registered.refreshBudget {
      text += "Refreshes: \(KindText.words(budget))\n"
    } else if registered.providerState == nil {
      text += "Refreshes: none; no program provides the data of its widgets\n"
    }
    text += section("Parameters", kind.parameters, width)
    text += section("Data", kind.data, width)
    text += section("Entry", kind.entry, width)
    if !kind.recommendations.isEmpty {
      var table = Table("NAME", "PARAMETERS")
      for one in kind.recommendations {
        table.add(
          .init(one.name), .init(one.parameters.entries.map(\.line).joined(separator: "  ")))
      }
      text +=
        "\n" + painter.paint("Recommendations", .header) + "\n"
        + table.text(width: width, painter)
    }
    for event in kind.events {
      text += section("Event \(event.name)", event.payload, width, summary: event.summary)
    }
    var names: [WrittenBinding.Name] = []
    for template in kind.content { text += content(template, width, &names) }
    text += reducers(&names)
    return text + section(names, width)
  }

  private static func words(_ schedule: EntrySchedule) -> String {
    var words: String
    if let every = schedule.every {
      words = "every \(DurationSyntax.seconds(every))"
      if schedule.offset != .zero { words += ", from \(DurationSyntax.seconds(schedule.offset))" }
    } else if !schedule.cron.isEmpty {
      words = "at \(schedule.cron)"
    } else {
      words = "the entries of \(schedule.entries)"
    }
    if !schedule.zone.isEmpty { words += ", in zone \(schedule.zone)" }
    return words.safeForTerminal
  }

  private static func words(_ budget: RefreshBudget) -> String {
    let next =
      budget.nextTime.map { time in
        let second = Timestamp(
          seconds: time.seconds + (time.nanoseconds > 0 ? 1 : 0), nanoseconds: 0)
        return ", one more at \(RFC3339.text(second ?? time))"
      } ?? ""
    return "\(budget.remaining) left, of \(budget.capacity) an hour\(next)"
  }

  private func section(_ names: [WrittenBinding.Name], _ width: Int?) -> String {
    guard !names.isEmpty else { return "" }
    var table = Table("NAME", "EXPRESSION")
    for name in names { table.add(.init(name.name), .init(name.expression)) }
    return "\n" + painter.paint("Names (let)", .header) + "\n" + table.text(width: width, painter)
  }

  /// The written expression. Its names go into `names`.
  private static func text(
    _ written: WrittenBinding, _ names: inout [WrittenBinding.Name]
  ) -> String {
    for name in written.names where !names.contains(name) { names.append(name) }
    return written.text
  }

  private func section(
    _ title: String, _ fields: [Field], _ width: Int?, summary: String = ""
  ) -> String {
    guard !fields.isEmpty || title.hasPrefix("Event") else { return "" }
    var text = "\n" + painter.paint(title.safeForTerminal, .header)
    text += summary.isEmpty ? "\n" : ": \(summary.safeForTerminal)\n"
    guard !fields.isEmpty else { return text }
    var table = Table(
      "NAME", "TYPE", "DEFAULT", "DESCRIPTION", dispensable: ["DEFAULT", "TYPE"])
    for field in fields {
      let value = field.defaultValue.map {
        JSONWriter.compact($0).cut(toColumns: KindText.defaultColumnsMax)
      }
      table.add(
        .init(field.name), .init("\(field.type)"),
        .init(field.isRequired ? "required" : value ?? "-"),
        .init(KindText.words(of: field)))
    }
    return text + table.text(width: width, painter)
  }

  /// The summary, and the choices.
  private static func words(of field: Field) -> String {
    guard !field.choices.isEmpty else { return field.summary }
    let choices = field.choices.map(\.plainText).joined(separator: ", ")
    return field.summary.isEmpty ? "one of \(choices)" : "\(field.summary) (one of \(choices))"
  }

  // MARK: - Content

  private func content(
    _ template: ContentTemplate, _ width: Int?, _ names: inout [WrittenBinding.Name]
  ) -> String {
    // The template without families is for the families that no other template names.
    let others = registered.kind.content.contains { !$0.families.isEmpty }
    let families =
      template.families.isEmpty
      ? (others ? "other families" : "all families")
      : template.families.map(\.name).joined(separator: ", ")
    var table = Table("NODE", "TYPE", "TAKES", "SHOWS", dispensable: ["TYPE", "TAKES"])
    add(template.root, depth: 0, to: &table, &names)
    return "\n" + painter.paint("Content", .header) + " (\(families))\n"
      + table.text(width: width, painter)
  }

  private func add(
    _ node: NodeTemplate, depth: Int, to table: inout Table, _ names: inout [WrittenBinding.Name]
  ) {
    let takes = events(of: node)
    table.add(
      .init(String(repeating: "  ", count: depth) + node.id), .init(node.type.name),
      .init(takes.isEmpty ? "-" : takes), .init(KindText.words(for: node, &names)))
    for child in node.children { add(child, depth: depth + 1, to: &table, &names) }
  }

  /// The user events of such a node, with their required details.
  private func events(of node: NodeTemplate) -> String {
    NodeEvents(registered.kind.reducers).events(of: node).map { name in
      if node.type.role == .form, name == "submit" {
        return "submit values={\(KindText.inputs(in: node).joined(separator: ", "))}"
      }
      let details = node.type.events.first { $0.name == name }?.payload ?? []
      return ([name.safeForTerminal] + details.filter(\.isRequired).map { "\($0.name)=…" })
        .joined(separator: " ")
    }.joined(separator: ", ")
  }

  /// The names of a form's values, from its inputs and toggles. A name that is an
  /// expression is "…".
  private static func inputs(in node: NodeTemplate) -> [String] {
    node.children.flatMap { child in
      guard child.type.role.hasFormValue, let name = child.properties["name"]
      else { return inputs(in: child) }
      return [name.expression.isEmpty ? name.value?.plainText ?? "" : "…"]
    }
  }

  /// The most important property, the condition of the node, and its rows.
  private static func words(
    for node: NodeTemplate, _ names: inout [WrittenBinding.Name]
  ) -> String {
    var parts: [String] = []
    let telling = ["text", "value", "values", "source", "date", "url"]
    if let binding = telling.lazy.compactMap({ node.properties[$0] }).first {
      let text =
        binding.expression.isEmpty
        ? binding.value?.plainText ?? "" : text(WrittenBinding(binding), &names)
      if !text.isEmpty { parts.append(text.cut(toColumns: KindText.shownColumnsMax)) }
    }
    if let rows = node.rows {
      let list = text(WrittenBinding(expression: rows.list), &names)
      parts.append("for each \(rows.name) in \(list)")
    }
    if !node.condition.isEmpty {
      parts.append("if \(text(WrittenBinding(expression: node.condition), &names))")
    }
    return parts.joined(separator: "  ")
  }

  // MARK: - Reducers

  private func reducers(_ names: inout [WrittenBinding.Name]) -> String {
    let reducers = registered.kind.reducers
    guard !reducers.isEmpty else { return "" }
    var text = "\n" + painter.paint("Reducers", .header) + "\n"
    for reducer in reducers {
      text += "on \(reducer.event.safeForTerminal)"
      if !reducer.nodeID.isEmpty { text += " of \(reducer.nodeID.safeForTerminal)" }
      if !reducer.condition.isEmpty {
        let condition = KindText.text(WrittenBinding(expression: reducer.condition), &names)
        text += " if \(condition.safeForTerminal)"
      }
      text += "\n"
      for (key, source) in reducer.assignments.sorted(by: { $0.key < $1.key }) {
        let written = KindText.text(WrittenBinding(expression: source), &names)
        text += "  \(key.safeForTerminal) = \(written.safeForTerminal)\n"
      }
      for key in reducer.unset { text += "  unset \(key.safeForTerminal)\n" }
    }
    return text
  }
}
