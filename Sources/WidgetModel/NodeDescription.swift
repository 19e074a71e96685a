/// The description of one type of nodes. `NodeType.makeDescription` has the descriptions of all
/// types.
///
/// Everything else about a type follows from its description: the keys of templates, the schema,
/// the reference, the look of its nodes, and the random trees of tests.
struct NodeDescription: Sendable {
  /// The meaning, for the schema: a sentence.
  let summary: String
  let role: NodeRole
  /// The property that follows the type in the short form. Nil if children follow it.
  let mainProperty: String?
  /// Whether templates give it children.
  let hasChildren: Bool
  /// The properties that not every type has, in the order of the reference.
  let properties: [NodeProperty]
  /// The properties that can contradict each other: the type's own, then those of every type.
  let ranges: [PropertyRange]
  /// The events that users and clients cause on such nodes, each with its details.
  let events: [EventType]
  /// The events that such nodes take if their template does not list any.
  let defaultEvents: [String]

  init(
    _ summary: String, role: NodeRole, main mainProperty: String? = nil, hasChildren: Bool = false,
    properties: [NodeProperty] = [], ranges: [PropertyRange] = [], events: [EventType] = [],
    defaultEvents: [String] = []
  ) {
    self.summary = summary
    self.role = role
    self.mainProperty = mainProperty
    self.hasChildren = hasChildren
    self.properties = properties
    self.ranges = ranges + PropertyRange.ofEveryNode
    self.events = events
    self.defaultEvents = defaultEvents
  }
}

extension NodeType {
  /// By number. `scripts/generate` refuses gaps between the numbers, which begin at 1.
  private static let descriptions: [NodeDescription] =
    [NodeDescription("", role: .unknown)] + allCases.map { $0.makeDescription() }

  private static let tables: [[String: NodeProperty]] =
    [[:]]
    + allCases.map { type in
      Dictionary(type.allProperties.map { ($0.name, $0) }, uniquingKeysWith: { own, _ in own })
    }

  private var number: Int { Int(rawValue) }

  /// The written form: `label`, `stack`.
  public var name: String { "\(self)" }

  /// The type with this name.
  public init?(name: String) {
    guard let type = NodeType.allCases.first(where: { $0.name == name }) else { return nil }
    self = type
  }

  /// The meaning, for the schema: a sentence.
  public var summary: String { NodeType.descriptions[number].summary }

  /// The role of nodes of this type: their layout, look and use.
  package var role: NodeRole { NodeType.descriptions[number].role }

  /// The property that follows the type in the short form: `label: TEXT` for `text`. Nil if
  /// children follow it.
  public var mainProperty: String? { NodeType.descriptions[number].mainProperty }

  /// Whether templates give it children. The children of an embed come from another widget.
  public var isContainer: Bool { NodeType.descriptions[number].hasChildren }

  /// The events that users and clients cause on such nodes, each with its details.
  public var events: [EventType] { NodeType.descriptions[number].events }

  /// The events that such nodes take if their template does not list any.
  public var defaultEvents: [String] { NodeType.descriptions[number].defaultEvents }

  /// The properties of this type, without the common ones.
  public var properties: [NodeProperty] { NodeType.descriptions[number].properties }

  /// The common properties. The default padding of nodes that only arrange their children is 0,
  /// because the children have padding.
  public var common: [NodeProperty] {
    role.isFrame ? NodeType.commonOfFrames : NodeType.common
  }

  /// All properties of nodes of this type: the specific ones, then the common ones.
  public var allProperties: [NodeProperty] { properties + common }

  /// The property with a name. Nil if nodes of this type do not have it.
  public func property(_ name: String) -> NodeProperty? { NodeType.tables[number][name] }

  /// The properties that can contradict each other.
  public var ranges: [PropertyRange] { NodeType.descriptions[number].ranges }
}
