/// The functions by name, style and number of arguments.
struct FunctionTable: Sendable {
  private struct Key: Hashable {
    let name: String
    let isMember: Bool
    let arity: Int
  }

  private struct Style: Hashable {
    let name: String
    let isMember: Bool
  }

  private var definitions: [Key: FunctionDefinition] = [:]
  private var arities: [Style: [Int]] = [:]

  /// The functions of the language and its extensions.
  static let standard: FunctionTable = {
    var table = FunctionTable()
    table.addBasics()
    table.addConversions()
    table.addTimes()
    table.addStrings()
    table.addMath()
    table.addLists()
    table.addWidgetFunctions()
    return table
  }()

  init() {}

  /// The standard functions and these.
  init(adding functions: [ExpressionFunction]) {
    self = .standard
    for function in functions { add(function.definition) }
  }

  mutating func add(_ definition: FunctionDefinition) {
    let key = Key(
      name: definition.name, isMember: definition.isMember, arity: definition.arity)
    if definitions.updateValue(definition, forKey: key) == nil {
      let style = Style(name: definition.name, isMember: definition.isMember)
      arities[style, default: []].append(definition.arity)
    }
  }

  func find(_ name: String, isMember: Bool, arity: Int) -> FunctionDefinition? {
    definitions[Key(name: name, isMember: isMember, arity: arity)]
  }

  /// All functions of this name and style, by number of arguments.
  func all(named name: String, isMember: Bool) -> [FunctionDefinition] {
    arities[Style(name: name, isMember: isMember), default: []].sorted().compactMap {
      find(name, isMember: isMember, arity: $0)
    }
  }

  /// The names in one style, for suggestions.
  func names(isMember: Bool) -> [String] {
    arities.keys.filter { $0.isMember == isMember }.map(\.name)
  }

  // MARK: Writing the table

  /// A function of one argument; `types` are overloads such as `int -> string`.
  mutating func one(
    _ name: String, isMember: Bool = false, _ types: String...,
    body:
      @escaping @Sendable (ExpressionValue, inout FunctionContext) throws(ExpressionFailure)
      -> ExpressionValue?
  ) {
    add(.init(name: name, isMember: isMember, signatures: Self.read(types), body: .one(body)))
  }

  /// A function of two arguments.
  mutating func two(
    _ name: String, isMember: Bool = false, _ types: String...,
    body:
      @escaping @Sendable (ExpressionValue, ExpressionValue, inout FunctionContext)
      throws(ExpressionFailure) -> ExpressionValue?
  ) {
    add(.init(name: name, isMember: isMember, signatures: Self.read(types), body: .two(body)))
  }

  /// A function of any number of arguments.
  mutating func many(
    _ name: String, isMember: Bool = false, _ types: String...,
    body:
      @escaping @Sendable ([ExpressionValue], inout FunctionContext) throws(ExpressionFailure)
      -> ExpressionValue?
  ) {
    add(.init(name: name, isMember: isMember, signatures: Self.read(types), body: .many(body)))
  }

  static func read(_ types: [String]) -> [FunctionDefinition.Signature] {
    types.map { text in
      var reader = TypeReader(text)
      var parameters: [ExpressionType] = []
      while !reader.skip("->") {
        _ = reader.skip(",")
        // A test reads all signatures of this table, so all are valid. An unreadable type would
        // count as `dyn`.
        guard let type = reader.type(depth: 0) else { break }
        parameters.append(type)
      }
      return .init(parameters: parameters, result: reader.type(depth: 0) ?? .dyn)
    }
  }
}
