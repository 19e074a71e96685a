import WidgetExpression
import WidgetModel

/// Compiles a template to a program in steps, or returns the problem and its place.
///
/// The compiler has no recursion: `work` has the nodes that follow, so that a step can end anywhere.
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
  /// The rest of the work; the next is last.
  private var work: [Work]
  /// The node whose properties are being compiled.
  private var node: OpenNode?
  /// The blocks under construction: the one of the top node, and those of the rows around the next
  /// node.
  private var blocks: [Draft]

  /// The data key that expressions can also read as a variable.
  static let statusKey = "status"

  private enum Work {
    case node(Place)
    /// A node with rows.
    case rows(Place, RowTemplate)
    case endOfRows
  }

  /// A node, and its place in the block under construction.
  private struct Place {
    let template: NodeTemplate
    /// The place of the parent; -1 for the block's top.
    let parent: Int
    let path: String
    let depth: Int
  }

  private struct OpenNode {
    let place: Place
    /// The properties that follow.
    var rest: ArraySlice<(key: String, value: Binding)>
    let contradictions: [(property: String, mismatch: PropertyMismatch)]
    var constants: [ValueMap.Entry] = []
  }

  init(
    _ kind: Kind, _ memory: KindMemory, nodesMax: Int, timeZones: WidgetStore.TimeZones?,
    _ root: NodeTemplate, place: String
  ) throws(KindContent.Problem) {
    guard root.rows == nil else {
      throw Problem("\(place).rows", "the top node cannot have rows; put it into a stack or table")
    }
    guard root.condition.isEmpty else {
      throw Problem(
        "\(place).condition", "the node at the top cannot have a condition; put it into a stack")
    }
    self.kind = kind
    self.memory = memory
    self.nodesMax = nodesMax
    self.timeZones = timeZones
    events = NodeEvents(kind.reducers)
    work = [.node(Place(template: root, parent: -1, path: place, depth: 1))]
    blocks = [
      Draft(
        scope: Scope(
          environment: ContentCompiler.environment(of: kind, timeZones: timeZones), rows: []))
    ]
  }

  /// Compiles one expression, or the list and the key of rows. Returns the program at the end.
  mutating func step() throws(KindContent.Problem) -> ContentProgram? {
    if node != nil {
      try addProperty()
      return nil
    }
    switch work.popLast() {
    case .node(let place): try begin(place)
    case .rows(let place, let template): try beginRows(place, template)
    case .endOfRows: endRows()
    case nil:
      return ContentProgram(
        root: blocks[0].block,
        hasStatus: kind.data.contains { $0.name == ContentCompiler.statusKey },
        hasEntries: kind.hasEntries, timeZones: timeZones)
    }
    return nil
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
  private static func environment(
    of kind: Kind, timeZones: WidgetStore.TimeZones?
  ) -> ExpressionEnvironment {
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
    let scope: Scope
    /// The rows of the block; nil for the template's own block.
    var row: Row?
    var nodes: [ContentProgram.NodePlan] = []
    var bindings: [ContentProgram.BindingPlan] = []
    var rows: [ContentProgram.RowPlan] = []

    struct Row {
      let place: Place
      let template: RowTemplate
      let list: CompiledExpression
      let key: CompiledExpression?
    }

    var block: ContentProgram.Block {
      ContentProgram.Block(nodes: nodes, bindings: bindings, rows: rows)
    }
  }

  /// The block that gets the next node.
  private var draft: Draft {
    _read { yield blocks[blocks.count - 1] }
    _modify { yield &blocks[blocks.count - 1] }
  }

  // MARK: - Nodes

  private mutating func begin(_ place: Place) throws(Problem) {
    let template = place.template
    try check(template, place.path, depth: place.depth)
    if place.parent >= 0 {
      draft.nodes[place.parent].children.append(.node(draft.nodes.count))
    }
    if !template.condition.isEmpty {
      let plan = try binding(
        template.condition, .condition, "\(place.path).condition", placeholder: nil)
      draft.bindings.append(plan)
    }
    node = OpenNode(
      place: place,
      rest: template.properties.sorted { $0.key.precedesByBytes($1.key) }[...],
      contradictions: template.contradictions)
  }

  /// Compiles the next property of the open node, or ends the node.
  private mutating func addProperty() throws(Problem) {
    guard let (name, binding) = node?.rest.popFirst() else { return endNode() }
    guard let node else { return }
    let type = node.place.template.type
    let place = "\(node.place.path).properties[\(name.prefix(64))]"
    guard let property = type.property(name) else {
      let names = type.allProperties.map(\.name)
      throw Problem(
        place, hint("\(type.name.withArticle) has no property \"\(name)\"", name, among: names))
    }
    let value = binding.value.flatMap { value in
      if let (_, contradiction) = node.contradictions.first(where: { $0.property == name }) {
        if mismatch == nil { mismatch = Problem(place, contradiction.description) }
        return Value?.none
      }
      do throws(PropertyMismatch) {
        return try property.fitted(value, in: timeZones)
      } catch {
        if mismatch == nil { mismatch = Problem(place, error.description) }
        return nil
      }
    }
    if binding.expression.isEmpty {
      if let value, value != .null { self.node?.constants.append(.init(key: name, value: value)) }
    } else {
      let plan = try self.binding(
        binding.expression, .property(property), place,
        placeholder: value == .null ? nil : value, isRangeEnd: type.isRangeEnd(name))
      draft.bindings.append(plan)
    }
  }

  private mutating func endNode() {
    guard let node else { return }
    self.node = nil
    let (template, own) = (node.place.template, draft.nodes.count)
    draft.nodes.append(
      .init(
        id: template.id, type: template.type, constants: ValueMap(node.constants),
        events: events.events(of: template), parent: node.place.parent))
    for (index, child) in template.children.enumerated().reversed() {
      let place = Place(
        template: child, parent: own, path: "\(node.place.path).children[\(index)]",
        depth: node.place.depth + 1)
      work.append(child.rows.map { Work.rows(place, $0) } ?? .node(place))
    }
  }

  private mutating func check(
    _ node: NodeTemplate, _ place: String, depth: Int
  ) throws(Problem) {
    guard NodeID.isTemplateID(node.id) else {
      throw Problem(
        "\(place).id",
        "use 1 to \(NodeID.templateLengthMax) of a-z, A-Z, 0-9, _ and -, a letter or digit first")
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

  // MARK: - Rows

  private mutating func beginRows(_ place: Place, _ template: RowTemplate) throws(Problem) {
    let (scope, path) = (draft.scope, place.path)
    draft.nodes[place.parent].children.append(.rows(draft.rows.count))
    guard scope.rows.count < NodeTemplate.rowDepthMax else {
      throw Problem(
        "\(path).rows", "rows may be nested \(NodeTemplate.rowDepthMax) deep at most")
    }
    let name = template.name
    guard name.isFieldName else {
      throw Problem(
        "\(path).rows.name", "use 1 to 64 of a-z, A-Z, 0-9 and _, not a digit first")
    }
    let taken = scope.environment.variables.map(\.name)
    guard !taken.contains(name), !taken.contains("\(name)Index"), name != ContentCompiler.statusKey
    else {
      throw Problem("\(path).rows.name", "\"\(name)\" is a variable already; choose another name")
    }
    let list = try compile(template.list, scope, "\(path).rows.list")
    let element: ExpressionType
    switch list.resultType {
    case .list(let type): element = type
    case .dyn, .null, .parameter: element = .dyn
    default:
      throw Problem("\(path).rows.list", "expected a list, not a value of type \(list.resultType)")
    }
    let inner = scope.entering(name, element)
    var key: CompiledExpression?
    if !template.key.isEmpty { key = try compile(template.key, inner, "\(path).rows.key") }
    blocks.append(
      Draft(scope: inner, row: .init(place: place, template: template, list: list, key: key)))
    work.append(.endOfRows)
    work.append(
      .node(Place(template: place.template, parent: -1, path: path, depth: place.depth)))
  }

  private mutating func endRows() {
    guard let ended = blocks.popLast(), let row = ended.row else { return }
    let (scope, block) = (draft.scope, ended.block)
    // A key can read inputs from outside the row. Like the list, these inputs decide which rows
    // exist.
    let keyInputs = row.key.map { inputs(of: $0, ended.scope) } ?? []
    let own = ContentProgram.Input.row(scope.rows.count)
    draft.rows.append(
      ContentProgram.RowPlan(
        parent: row.place.parent, id: row.place.template.id, list: row.list, key: row.key,
        listInputs: inputs(of: row.list, scope).union(keyInputs.subtracting([own])),
        innerInputs: block.inputs,
        readsPlace: readsPlace("\(row.template.name)Index", block, row.key), block: block))
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

  // MARK: - Expressions

  /// The plan of an expression of the next node.
  private func binding(
    _ source: String, _ target: ContentProgram.BindingPlan.Target, _ place: String,
    placeholder: Value?, isRangeEnd: Bool = false
  ) throws(Problem) -> ContentProgram.BindingPlan {
    var scope = draft.scope
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
      node: draft.nodes.count, target: target, expression: expression, placeholder: placeholder,
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
  func fitted(
    _ value: Value, in timeZones: WidgetStore.TimeZones?
  ) throws(PropertyMismatch) -> Value {
    if let problem = patternProblem(value) { throw PropertyMismatch(message: problem, hint: "") }
    if let problem = zoneProblem(value, in: timeZones) { throw problem }
    if takesText, let text = ExpressionValue(value).text { return .string(text) }
    return try type.fitted(value, as: name)
  }
}
