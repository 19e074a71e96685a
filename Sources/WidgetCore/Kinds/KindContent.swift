import WidgetExpression
import WidgetModel

/// The compiled content templates of a kind: for each family the program that makes its nodes.
struct KindContent {
  /// The reason why the templates cannot be used.
  struct Problem: Error, Hashable {
    /// `content[0].root.children[2].properties[text]`
    let place: String
    let message: String

    init(_ place: String, _ message: String) {
      self.place = place
      self.message = message
    }
  }

  /// The first problem. `applyKinds` refuses a kind that has one.
  private(set) var problem: Problem?
  private var programs: [Family: ContentProgram] = [:]
  private var fallback: ContentProgram?

  private init() {}

  /// The compilation of a kind's templates, in steps.
  struct Compilation {
    /// The content so far.
    private(set) var content = KindContent()
    private let kind: Kind
    private let memory: KindMemory
    private let limits: StoreLimits
    private let timeZones: WidgetStore.TimeZones?
    /// The first constant that does not fit its property.
    private var mismatch: Problem?
    private var index = 0
    /// The compiler of the template at `index`.
    private var compiler: ContentCompiler?
    private var isDone = false

    init(
      _ kind: Kind, _ memory: KindMemory, limits: StoreLimits, timeZones: WidgetStore.TimeZones?
    ) {
      self.kind = kind
      self.memory = memory
      self.limits = limits
      self.timeZones = timeZones
    }

    /// Compiles about one expression. Returns false at the end.
    mutating func step() -> Bool {
      guard !isDone else { return false }
      guard index < kind.content.count else {
        end(with: nil)
        return false
      }
      do throws(Problem) { try advance() } catch { end(with: error) }
      return true
    }

    private mutating func advance() throws(Problem) {
      let (template, place) = (kind.content[index], "content[\(index)]")
      guard compiler != nil else {
        compiler = try ContentCompiler(
          kind, memory, nodesMax: limits.contentNodesMax, timeZones: timeZones, template.root,
          place: "\(place).root")
        return
      }
      guard let program = try compiler?.step() else { return }
      mismatch = mismatch ?? compiler?.mismatch
      try add(program, for: template.families, place)
      compiler = nil
      index += 1
    }

    private mutating func add(
      _ program: ContentProgram, for families: [Family], _ place: String
    ) throws(Problem) {
      guard program.root.constantBytes <= limits.contentBytesMax else {
        throw Problem(
          place,
          "its constants alone have more than \(limits.contentBytesMax) bytes "
            + "(content_bytes_max)")
      }
      if families.isEmpty {
        guard content.fallback == nil else {
          throw Problem("\(place).families", "another template already covers all other families")
        }
        content.fallback = program
      }
      for family in families {
        guard content.programs.updateValue(program, forKey: family) == nil else {
          throw Problem("\(place).families", "another template already covers \(family.name)")
        }
        guard kind.families.isEmpty || kind.families.contains(family) else {
          throw Problem("\(place).families", "the kind does not support \(family.name)")
        }
      }
    }

    private mutating func end(with problem: Problem?) {
      isDone = true
      compiler = nil
      if problem != nil { content = KindContent() }
      content.problem = problem ?? mismatch
    }
  }

  /// The program for the content of widgets of a family; nil for none.
  func program(for family: Family) -> ContentProgram? { programs[family] ?? fallback }
}

/// A compiled template: the expressions and their inputs. All widgets that show it share it.
final class ContentProgram: Sendable {
  /// The nodes outside of rows.
  let root: Block
  /// Whether expressions can read `status`, which is then a separate variable, before those of
  /// rows.
  let hasStatus: Bool
  /// Whether expressions can read `entry`, which is then a variable after `status`.
  let hasEntries: Bool
  /// Whether an expression reads `widget`.
  let readsWidget: Bool
  /// Whether there are embeds.
  let hasEmbeds: Bool
  /// Whether nodes can be private. Those in embeds do not count.
  let mayBePrivate: Bool
  /// The time zones that nodes can name.
  let timeZones: WidgetStore.TimeZones?
  /// The ids of the nodes outside rows.
  private let nodeIDs: Set<String>
  /// The ids of the template's nodes in rows.
  private let rowNodeIDs: Set<String>

  init(root: Block, hasStatus: Bool, hasEntries: Bool, timeZones: WidgetStore.TimeZones?) {
    self.root = root
    self.timeZones = timeZones
    self.hasStatus = hasStatus
    self.hasEntries = hasEntries
    readsWidget = root.inputs.contains(.widget)
    hasEmbeds = root.hasEmbeds
    mayBePrivate = root.mayBePrivate
    nodeIDs = Set(root.nodes.map(\.id))
    rowNodeIDs = Set(root.rows.flatMap(\.block.allNodeIDs))
  }

  /// Whether the template can produce a node with this id. O(1).
  func mayHaveNode(_ id: String) -> Bool {
    guard let slash = id.utf8.firstIndex(of: 0x2F) else { return nodeIDs.contains(id) }
    return rowNodeIDs.contains(String(id[..<slash]))
  }

  /// A part of a widget that expressions read. Changes are tracked for each such part.
  enum Input: Hashable {
    case data(String)
    /// All data, because the keys that are read depend on values.
    case allData
    case parameter(String)
    case allParameters
    case widget
    /// The current entry.
    case entry
    /// The row at this depth (0 is the outermost): its element or its place.
    case row(Int)
  }

  /// The nodes of one scope: the template without its rows, or one row without the rows in it.
  final class Block: Sendable {
    /// Each node before its children; the first is the top.
    let nodes: [NodePlan]
    let bindings: [BindingPlan]
    let rows: [RowPlan]
    /// The places in `bindings` that read each input.
    let bindingsByInput: [Input: [Int]]
    /// All inputs of the expressions in the block, including rows.
    let inputs: Set<Input>
    /// The size of its nodes before any evaluation, without the rows' part of their ids.
    let constantBytes: Int

    /// Whether it, or a row in it, has embeds.
    var hasEmbeds: Bool {
      nodes.contains { $0.type == .embed } || rows.contains(where: \.block.hasEmbeds)
    }

    /// Whether its nodes, or those of a row in it, can be private.
    var mayBePrivate: Bool {
      nodes.contains { $0.constants["privacy"] != nil }
        || bindings.contains { binding in
          if case .property(let property) = binding.target {
            property.name == "privacy"
          } else {
            false
          }
        } || rows.contains(where: \.block.mayBePrivate)
    }

    /// The ids of all its template nodes, including those in rows.
    var allNodeIDs: [String] { nodes.map(\.id) + rows.flatMap(\.block.allNodeIDs) }

    init(nodes: [NodePlan], bindings: [BindingPlan], rows: [RowPlan]) {
      self.nodes = nodes
      self.bindings = bindings
      self.rows = rows
      var byInput: [Input: [Int]] = [:]
      for (index, binding) in bindings.enumerated() {
        for input in binding.inputs { byInput[input, default: []].append(index) }
      }
      bindingsByInput = byInput
      inputs = rows.reduce(into: Set(byInput.keys)) { inputs, row in
        inputs.formUnion(row.listInputs)
        inputs.formUnion(row.innerInputs)
      }
      constantBytes = nodes.reduce(0) {
        $0 + $1.constants.costBytes + $1.id.utf8.count + NodeEntry.costBytes
          + NodeEntry.costBytes(ofEvents: $1.events)
      }
    }
  }

  struct NodePlan: Sendable {
    let id: String
    let type: NodeType
    /// The properties with constant values.
    let constants: ValueMap
    /// The events that it takes.
    let events: [String]
    /// In the same block; -1 for its top.
    let parent: Int
    var children: [Child] = []
  }

  enum Child: Sendable {
    /// A place in `nodes`.
    case node(Int)
    /// A place in `rows`.
    case rows(Int)
  }

  struct BindingPlan: Sendable {
    /// A place in `nodes`.
    let node: Int
    let target: Target
    let expression: CompiledExpression
    let placeholder: Value?
    let inputs: Set<Input>
    /// Whether the property must not contradict another one, such as `min` of `max`.
    let isRangeEnd: Bool

    enum Target: Sendable {
      case property(NodeProperty)
      case condition
    }
  }

  struct RowPlan: Sendable {
    /// A place in `nodes`: the parent of the rows.
    let parent: Int
    /// The id of the repeated node.
    let id: String
    let list: CompiledExpression
    let key: CompiledExpression?
    /// The inputs of the list, and of the keys outside of their row.
    let listInputs: Set<Input>
    /// The inputs of the rows.
    let innerInputs: Set<Input>
    /// Whether an expression reads a row's place in the list.
    let readsPlace: Bool
    let block: Block
  }
}

extension ContentProgram.Input {
  /// The input that a reference reads. `rows` are the names of the rows' variables, the outermost
  /// first.
  init?(_ reference: ExpressionReference, rows: [String]) {
    let key: String? = if case .field(let name)? = reference.path.first { name } else { nil }
    switch reference.variable {
    case "data": self = key.map { .data($0) } ?? .allData
    case ContentCompiler.statusKey: self = .data(ContentCompiler.statusKey)
    case "parameters": self = key.map { .parameter($0) } ?? .allParameters
    case "widget": self = .widget
    case EntryVariable.name: self = .entry
    default:
      let name = reference.variable
      guard let depth = rows.firstIndex(where: { $0 == name || "\($0)Index" == name }) else {
        return nil
      }
      self = .row(depth)
    }
  }
}
