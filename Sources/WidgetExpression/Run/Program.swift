/// A checked expression, resolved for evaluation: names are slots, functions are table entries.
///
/// Instructions refer to one another by index and hold nothing that is counted by reference, so
/// reading one costs a copy of a few words.
final class Program: Sendable {
  enum Instruction: Sendable {
    case constant(Int32)
    case variable(Int32)
    case local(Int32)
    case select(Int32, name: Int32)
    /// A field that the record's type declares. It is null if the record lacks it.
    case declared(Int32, name: Int32)
    case has(Int32, name: Int32)
    case index(Int32, Int32)
    case call1(function: Int32, Int32)
    case call2(function: Int32, Int32, Int32)
    case call(function: Int32, children: Int32, count: Int32)
    case matches(Int32, pattern: Int32)
    case not(Int32)
    case negate(Int32)
    case arithmetic(Arithmetic, Int32, Int32)
    /// Children are pairs of an operator's raw place in `Arithmetic` and an operand.
    case row(Int32, links: Int32, count: Int32)
    case comparison(Comparison, Int32, Int32)
    case and(children: Int32, count: Int32)
    case or(children: Int32, count: Int32)
    /// Children are pairs of a condition and a value.
    case conditional(children: Int32, count: Int32, otherwise: Int32)
    case list(children: Int32, count: Int32)
    /// Children are pairs of a key and a value.
    case map(children: Int32, count: Int32)
    case macro(Int32)
    /// A node that the checker would have refused. Only unchecked programs have it.
    case fail(Int32)
  }

  struct Link: Sendable {
    let operation: Arithmetic
    let operand: Int32
    let offset: Int32
  }

  struct Macro: Sendable {
    let kind: MacroKind
    let range: Int32
    let first: Int
    /// -1 without a second variable.
    let second: Int
    /// -1 without a condition.
    let condition: Int32
    let result: Int32
    /// The keys of `sortBy`, the most significant first; empty for other macros.
    let sortKeys: [SortKey]
  }

  struct SortKey: Sendable {
    let code: Int32
    let isDescending: Bool
  }

  let source: String
  let instructions: [Instruction]
  /// The place of each instruction in the source.
  let offsets: [Int32]
  let root: Int32
  let children: [Int32]
  let links: [Link]
  let constants: [ExpressionValue]
  let names: [String]
  let functions: [FunctionDefinition]
  let patterns: [RegexProgram]
  let macros: [Macro]
  let failures: [ExpressionFailure]
  let variables: [String]
  let localCount: Int
  let valueDepthMax: Int
  let timeZones: (@Sendable (String) -> TimeZoneRules?)?

  init(_ builder: ProgramBuilder, root: Int32, source: String, environment: ExpressionEnvironment) {
    self.source = source
    self.root = root
    instructions = builder.instructions
    offsets = builder.offsets
    children = builder.children
    links = builder.links
    constants = builder.constants
    names = builder.names
    functions = builder.functions
    patterns = builder.patterns
    macros = builder.macros
    failures = builder.failures
    localCount = builder.localCount
    variables = environment.variables.map(\.name)
    valueDepthMax = environment.limits.valueDepthBound
    timeZones = environment.timeZones
  }

  /// The approximate memory, in bytes. The text of names and constants is at most as long as the
  /// source.
  var memoryBytes: Int {
    Program.bytes(instructions) + Program.bytes(offsets) + Program.bytes(children)
      + Program.bytes(links) + Program.bytes(constants) + Program.bytes(names)
      + Program.bytes(functions) + Program.bytes(macros) + Program.bytes(failures)
      + Program.bytes(variables) + patterns.reduce(0) { $0 + $1.memoryBytes }
      + source.utf8.count + Program.ownBytes
  }

  /// The object itself and the allocator's overhead.
  private static let ownBytes = 304

  private static func bytes<Element>(_ elements: [Element]) -> Int {
    elements.isEmpty ? 0 : 48 + elements.count.grownCapacity * MemoryLayout<Element>.stride
  }
}

extension Int {
  /// The capacity of an array that has grown to so many elements in steps: the next power of two. The
  /// true capacity depends on the allocator, so two equal programs would differ.
  var grownCapacity: Int {
    self < 2 ? self : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount)
  }
}

/// Collects a program's parts.
struct ProgramBuilder {
  private(set) var instructions: [Program.Instruction] = []
  private(set) var offsets: [Int32] = []
  private(set) var children: [Int32] = []
  private(set) var links: [Program.Link] = []
  private(set) var constants: [ExpressionValue] = []
  private(set) var names: [String] = []
  private(set) var functions: [FunctionDefinition] = []
  private(set) var patterns: [RegexProgram] = []
  /// The memory of the patterns, in bytes.
  private(set) var patternBytes = 0
  private(set) var macros: [Program.Macro] = []
  private(set) var failures: [ExpressionFailure] = []
  var localCount = 0

  mutating func emit(_ instruction: Program.Instruction, at offset: Int) -> Int32 {
    instructions.append(instruction)
    offsets.append(Int32(offset))
    return Int32(instructions.count - 1)
  }

  mutating func constant(_ value: ExpressionValue, at offset: Int) -> Int32 {
    constants.append(value)
    return emit(.constant(Int32(constants.count - 1)), at: offset)
  }

  /// The value of an instruction that is a constant.
  func constant(_ code: Int32) -> ExpressionValue? {
    guard case .constant(let index) = instructions[Int(code)] else { return nil }
    return constants[Int(index)]
  }

  mutating func name(_ text: String) -> Int32 {
    names.append(text)
    return Int32(names.count - 1)
  }

  /// The index of the first of these children.
  mutating func children(_ codes: [Int32]) -> Int32 {
    children.append(contentsOf: codes)
    return Int32(children.count - codes.count)
  }

  mutating func add(_ new: [Program.Link]) -> Int32 {
    links.append(contentsOf: new)
    return Int32(links.count - new.count)
  }

  mutating func add(_ macro: Program.Macro) -> Int32 {
    macros.append(macro)
    return Int32(macros.count - 1)
  }

  mutating func add(_ function: FunctionDefinition) -> Int32 {
    functions.append(function)
    return Int32(functions.count - 1)
  }

  mutating func add(_ pattern: RegexProgram) -> Int32 {
    patterns.append(pattern)
    patternBytes += pattern.memoryBytes
    return Int32(patterns.count - 1)
  }

  mutating func add(_ failure: ExpressionFailure) -> Int32 {
    failures.append(failure)
    return Int32(failures.count - 1)
  }
}
