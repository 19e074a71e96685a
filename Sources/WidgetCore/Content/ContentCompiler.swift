import WidgetExpression
import WidgetModel

/// Compiles a template to a program, or returns the problem and its place.
struct ContentCompiler {
  private typealias Problem = KindContent.Problem

  private let kind: Kind
  private let memory: KindMemory
  private let nodesMax: Int
  private let timeZones: WidgetStore.TimeZones?
  private let events: NodeEvents
  private var ids: Set<String> = []
  /// The first constant that does not fit its property. The program skips the constant, so that a
  /// kind that an earlier version stored still shows the rest.
  private(set) var mismatch: KindContent.Problem?

  /// The data key that expressions can also read as a variable.
  static let statusKey = "status"

  init(_ kind: Kind, _ memory: KindMemory, nodesMax: Int, timeZones: WidgetStore.TimeZones?) {
    self.kind = kind
    self.memory = memory
    self.nodesMax = nodesMax
    self.timeZones = timeZones
    events = NodeEvents(kind.reducers)
  }

  mutating func compile(
    _ root: NodeTemplate, place: String
  ) throws(KindContent.Problem) -> ContentProgram {
    guard root.rows == nil else {
      throw Problem("\(place).rows", "the top node cannot have rows; put it into a stack or table")
    }
    guard root.condition.isEmpty else {
      throw Problem(
        "\(place).condition", "the node at the top cannot have a condition; put it into a stack")
    }
    let scope = Scope(environment: environment, rows: [])
    return ContentProgram(
      root: try block(root, scope, place, depth: 1),
      hasStatus: kind.data.contains { $0.name == ContentCompiler.statusKey },
      hasEntries: kind.hasEntries)
  }

  /// The variables that expressions at one place can read.
  private struct Scope {
    var environment: ExpressionEnvironment
    /// The names of the rows' variables, the outermost first.
    var rows: [String]

    /// The scope of one row.
    func entering(_ name: String, _ element: ExpressionType) -> Scope {
      var inner = self
      inner.environment.variables += [
        ExpressionVariable(name, element), ExpressionVariable("\(name)Index", .int),
      ]
      inner.rows.append(name)
      return inner
    }
  }

  /// The variables outside of rows; `ContentEvaluation` binds them in this order, then the rows'.
  private var environment: ExpressionEnvironment {
    let status = kind.data.first { $0.name == ContentCompiler.statusKey }
      .map { ExpressionType($0.type) }
    return ExpressionEnvironment(
      variables: [
        ExpressionVariable("data", .record(RecordType(kind.data, isOpen: kind.isOpen))),
        ExpressionVariable("parameters", .record(RecordType(kind.parameters, isOpen: kind.isOpen))),
        ExpressionVariable("widget", WidgetVariable.type),
      ] + (status.map { [ExpressionVariable(ContentCompiler.statusKey, $0)] } ?? [])
        + (kind.hasEntries
          ? [ExpressionVariable(EntryVariable.name, EntryVariable.type(kind))] : []),
      timeZones: timeZones)
  }

  /// A block under construction.
  private struct Draft {
    var nodes: [ContentProgram.NodePlan] = []
    var bindings: [ContentProgram.BindingPlan] = []
    var rows: [ContentProgram.RowPlan] = []
  }

  private mutating func block(
    _ top: NodeTemplate, _ scope: Scope, _ place: String, depth: Int
  ) throws(Problem) -> ContentProgram.Block {
    var draft = Draft()
    try add(top, parent: -1, to: &draft, scope, place, depth: depth)
    return ContentProgram.Block(nodes: draft.nodes, bindings: draft.bindings, rows: draft.rows)
  }

  /// Adds a node and all nodes below it.
  private mutating func add(
    _ node: NodeTemplate, parent: Int, to draft: inout Draft, _ scope: Scope, _ place: String,
    depth: Int
  ) throws(Problem) {
    try check(node, place, depth: depth)
    let own = draft.nodes.count
    var constants: [ValueMap.Entry] = []
    let contradictions = node.contradictions { TimeZoneRules.mayBeName($0, in: timeZones) }
    if !node.condition.isEmpty {
      draft.bindings.append(
        try binding(
          node.condition, .condition, of: own, scope, "\(place).condition", placeholder: nil))
    }
    for (name, binding) in node.properties.sorted(by: { $0.key.precedesByBytes($1.key) }) {
      let place = "\(place).properties[\(name.prefix(64))]"
      guard let property = node.type.property(name) else {
        let names = node.type.allProperties.map(\.name)
        throw Problem(
          place,
          hint("\(node.type.name.withArticle) has no property \"\(name)\"", name, among: names))
      }
      let value = binding.value.flatMap { value in
        if let (_, contradiction) = contradictions.first(where: { $0.property == name }) {
          if mismatch == nil { mismatch = Problem(place, contradiction.description) }
          return Value?.none
        }
        do throws(PropertyMismatch) {
          return try property.fitted(value)
        } catch {
          if mismatch == nil { mismatch = Problem(place, error.description) }
          return nil
        }
      }
      if binding.expression.isEmpty {
        if let value, value != .null { constants.append(.init(key: name, value: value)) }
      } else {
        draft.bindings.append(
          try self.binding(
            binding.expression, .property(property), of: own, scope, place,
            placeholder: value == .null ? nil : value, isRangeEnd: node.type.isRangeEnd(name)))
      }
    }
    draft.nodes.append(
      .init(
        id: node.id, type: node.type, constants: ValueMap(constants),
        events: events.events(of: node), parent: parent))
    for (index, child) in node.children.enumerated() {
      let place = "\(place).children[\(index)]"
      if let template = child.rows {
        draft.nodes[own].children.append(.rows(draft.rows.count))
        draft.rows.append(
          try rows(child, template, parent: own, scope, place, depth: depth + 1))
      } else {
        draft.nodes[own].children.append(.node(draft.nodes.count))
        try add(child, parent: own, to: &draft, scope, place, depth: depth + 1)
      }
    }
  }

  private mutating func check(
    _ node: NodeTemplate, _ place: String, depth: Int
  ) throws(Problem) {
    guard NodeID.isTemplateID(node.id) else {
      throw Problem(
        "\(place).id",
        "use 1 to \(NodeID.templateLengthMax) letters, digits, _ and -, a letter or digit first")
    }
    guard ids.insert(node.id).inserted else {
      throw Problem("\(place).id", "\"\(node.id)\" appears twice")
    }
    guard ids.count <= nodesMax else {
      throw Problem(place, "a template has at most \(nodesMax) nodes (content_nodes_max)")
    }
    guard depth <= NodeTemplate.depthMax else {
      throw Problem(place, "nodes may be nested \(NodeTemplate.depthMax) deep at most")
    }
    guard node.children.isEmpty || node.type.isContainer else {
      throw Problem(
        "\(place).children", "\(node.type.name.withArticle) has no children; put it into a stack")
    }
    try checkEvents(of: node, place)
  }

  private func checkEvents(of node: NodeTemplate, _ place: String) throws(Problem) {
    guard let names = node.events, !names.isEmpty else { return }
    let known = events.known(for: node)
    for (index, name) in names.enumerated() {
      let place = "\(place).events[\(index)]"
      guard known.contains(where: { $0.hasSameBytes(as: name) }) else {
        let problem = "\(node.type.name.withArticle) takes no event \"\(name.prefix(64))\""
        guard name.closest(among: known) == nil else {
          throw Problem(place, hint(problem, name, among: known))
        }
        throw Problem(
          place,
          known.isEmpty
            ? "\(problem); leave it out, or add a reducer for it"
            : "\(problem); use \(known.joined(separator: ", ")), or add a reducer for it")
      }
      guard !names[..<index].contains(name) else {
        throw Problem(place, "\"\(name)\" appears twice")
      }
    }
  }

  private mutating func rows(
    _ node: NodeTemplate, _ template: RowTemplate, parent: Int, _ scope: Scope, _ place: String,
    depth: Int
  ) throws(Problem) -> ContentProgram.RowPlan {
    guard scope.rows.count < NodeTemplate.rowDepthMax else {
      throw Problem(
        "\(place).rows", "rows may be nested \(NodeTemplate.rowDepthMax) deep at most")
    }
    let name = template.name
    guard name.isFieldName else {
      throw Problem(
        "\(place).rows.name", "use 1 to 64 letters, digits and _, not beginning with a digit")
    }
    let taken = scope.environment.variables.map(\.name)
    guard !taken.contains(name), !taken.contains("\(name)Index"), name != ContentCompiler.statusKey
    else {
      throw Problem("\(place).rows.name", "\"\(name)\" is a variable already; choose another name")
    }
    let list = try compile(template.list, scope, "\(place).rows.list")
    let element: ExpressionType
    switch list.resultType {
    case .list(let type): element = type
    case .dyn, .null, .parameter: element = .dyn
    default:
      throw Problem("\(place).rows.list", "expected a list, not a value of type \(list.resultType)")
    }
    let inner = scope.entering(name, element)
    var key: CompiledExpression?
    if !template.key.isEmpty { key = try compile(template.key, inner, "\(place).rows.key") }
    let block = try block(node, inner, place, depth: depth)
    // A key can read inputs from outside the row. Like the list, these inputs decide which rows
    // exist.
    let keyInputs = key.map { inputs(of: $0, inner) } ?? []
    let own = ContentProgram.Input.row(scope.rows.count)
    return ContentProgram.RowPlan(
      parent: parent, id: node.id, list: list, key: key,
      listInputs: inputs(of: list, scope).union(keyInputs.subtracting([own])),
      innerInputs: block.inputs, readsPlace: readsPlace("\(name)Index", block, key), block: block)
  }

  /// Whether an expression in a block or a key reads a variable.
  private func readsPlace(
    _ name: String, _ block: ContentProgram.Block, _ key: CompiledExpression?
  ) -> Bool {
    let reads = { (expression: CompiledExpression) in
      expression.references.contains { $0.variable == name }
    }
    return key.map(reads) ?? false || block.bindings.contains { reads($0.expression) }
      || block.rows.contains { reads($0.list) || readsPlace(name, $0.block, $0.key) }
  }

  private func binding(
    _ source: String, _ target: ContentProgram.BindingPlan.Target, of node: Int, _ scope: Scope,
    _ place: String, placeholder: Value?, isRangeEnd: Bool = false
  ) throws(Problem) -> ContentProgram.BindingPlan {
    var scope = scope
    if case .condition = target { scope.environment.resultType = .bool }
    let expression = try compile(source, scope, place)
    if case .property(let property) = target {
      let type = property.type.fieldType
      guard
        expression.resultType.mayFit(type) || property.takesText && expression.resultType.hasText
      else {
        throw Problem(
          place, "the expression gives a value of type \(expression.resultType), not \(type)")
      }
    }
    return ContentProgram.BindingPlan(
      node: node, target: target, expression: expression, placeholder: placeholder,
      inputs: inputs(of: expression, scope), isRangeEnd: isRangeEnd)
  }

  private func compile(
    _ source: String, _ scope: Scope, _ place: String
  ) throws(Problem) -> CompiledExpression {
    do throws(KindMemory.Refusal) {
      return try memory.compile(source, in: scope.environment)
    } catch {
      throw Problem(place, error.message)
    }
  }

  private func inputs(of expression: CompiledExpression, _ scope: Scope) -> Set<
    ContentProgram.Input
  > {
    Set(expression.references.compactMap { ContentProgram.Input($0, rows: scope.rows) })
  }

  private func hint(_ problem: String, _ name: String, among names: [String]) -> String {
    name.closest(among: names).map { "\(problem); did you mean \"\($0)\"?" } ?? problem
  }
}

extension NodeProperty {
  /// Whether the property takes any text. If so, numbers and truth values become text.
  var takesText: Bool { type == .field(.string) }

  /// A value in the form that nodes have.
  func fitted(_ value: Value) throws(PropertyMismatch) -> Value {
    if let problem = patternProblem(value) { throw PropertyMismatch(message: problem, hint: "") }
    if takesText, let text = ExpressionValue(value).text { return .string(text) }
    return try type.fitted(value, as: name)
  }
}
