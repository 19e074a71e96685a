/// A compiled pattern: matches a text in time proportional to its length times the program's size,
/// whatever the pattern (Thompson's simulation of a nondeterministic automaton).
struct RegexProgram: Sendable {
  /// The maximum number of instructions. `(a{1000}){1000}` would need a million.
  static let sizeMax = 5_000
  /// The maximum work before it is charged.
  private static let workMax = 10_000

  private enum Instruction: Sendable {
    case set(Int)
    /// The most frequent set: one literal character.
    case scalar(Unicode.Scalar)
    case split(Int, Int)
    case jump(Int)
    case assertion(RegexAssertion)
    case match
  }

  private var instructions: [Instruction] = []
  private var sets: [RegexSet] = []
  private var steps = 0
  /// The least memory of the instructions and sets so far, in bytes, and its maximum.
  private var bytes = 0
  private let bytesMax: Int

  /// Compiles a pattern, paid for by its length and by each step of the compilation.
  ///
  /// - Parameter bytesMax: The maximum memory of the program, in bytes. The compilation ends when
  ///   it is exceeded.
  init(
    _ pattern: String, _ meter: inout CostMeter, bytesMax: Int = .max
  ) throws(ExpressionFailure) {
    self.bytesMax = bytesMax
    try meter.charge(pattern.utf8.count)
    guard pattern.utf8.count <= 16_384 else {
      throw ExpressionFailure(.invalidArgument, "the pattern is longer than 16384 bytes")
    }
    try emit(RegexParser.parse(pattern), &meter)
    instructions.append(.match)
  }

  /// The approximate memory, in bytes.
  var memoryBytes: Int {
    96 + instructions.count.grownCapacity * MemoryLayout<Instruction>.stride
      + sets.reduce(0) { $0 + RegexProgram.bytes(of: $1, $1.ranges.count.grownCapacity) }
  }

  private static func bytes(of set: RegexSet, _ rangeCount: Int) -> Int {
    64 + rangeCount * MemoryLayout<ClosedRange<UInt32>>.stride
  }

  private mutating func emit(
    _ node: RegexNode, _ meter: inout CostMeter
  ) throws(ExpressionFailure) {
    // Steps are limited, too, because an empty group that is repeated a million times makes no
    // instructions.
    steps += 1
    try meter.charge(1)
    guard instructions.count < Self.sizeMax, steps < 4 * Self.sizeMax else {
      throw ExpressionFailure(
        .invalidArgument, "the pattern is too large; use smaller counts in its repetitions")
    }
    bytes += MemoryLayout<Instruction>.stride
    guard bytes <= bytesMax else {
      throw ExpressionFailure(
        .costExceeded,
        "the patterns take too much memory; use smaller counts in their repetitions")
    }
    switch node {
    case .set(let set):
      if !set.isNegated, !set.ignoresCase, set.ranges.count == 1, let range = set.ranges.first,
        range.count == 1, let scalar = Unicode.Scalar(range.lowerBound)
      {
        instructions.append(.scalar(scalar))
      } else {
        sets.append(set)
        bytes += RegexProgram.bytes(of: set, set.ranges.count)
        instructions.append(.set(sets.count - 1))
      }
    case .assertion(let assertion): instructions.append(.assertion(assertion))
    case .sequence(let parts):
      for part in parts { try emit(part, &meter) }
    case .choice(let options):
      var exits: [Int] = []
      for (number, option) in options.enumerated() {
        guard number < options.count - 1 else {
          try emit(option, &meter)
          break
        }
        let split = instructions.count
        instructions.append(.split(split + 1, 0))
        try emit(option, &meter)
        exits.append(instructions.count)
        instructions.append(.jump(0))
        instructions[split] = .split(split + 1, instructions.count)
      }
      for exit in exits { instructions[exit] = .jump(instructions.count) }
    case .repeated(let part, let least, let most):
      for _ in 0..<least { try emit(part, &meter) }
      guard let most else {
        let split = instructions.count
        instructions.append(.split(split + 1, 0))
        try emit(part, &meter)
        instructions.append(.jump(split))
        instructions[split] = .split(split + 1, instructions.count)
        return
      }
      var splits: [Int] = []
      for _ in least..<max(least, most) {
        splits.append(instructions.count)
        instructions.append(.split(instructions.count + 1, 0))
        try emit(part, &meter)
      }
      for split in splits { instructions[split] = .split(split + 1, instructions.count) }
    }
  }

  // MARK: Matching

  /// The instructions that are active at a place in the text.
  private struct Threads {
    private(set) var list: [Int] = []
    private var marks: [Int]
    private var mark = 0

    init(size: Int) { marks = [Int](repeating: 0, count: size) }

    mutating func clear() {
      list.removeAll(keepingCapacity: true)
      mark += 1
    }

    /// Returns false if the instruction was already active.
    mutating func visit(_ instruction: Int) -> Bool {
      if marks[instruction] == mark { return false }
      marks[instruction] = mark
      return true
    }

    mutating func append(_ instruction: Int) { list.append(instruction) }
  }

  /// Whether the pattern matches somewhere in the text.
  func matches(_ text: String, _ meter: inout CostMeter) throws(ExpressionFailure) -> Bool {
    var current = Threads(size: instructions.count)
    var next = Threads(size: instructions.count)
    var stack: [Int] = []
    current.clear()
    try meter.charge(1 + instructions.count / 16)
    var previous: Unicode.Scalar?
    var iterator = text.unicodeScalars.makeIterator()
    var scalar = iterator.next()
    while true {
      // A match may begin anywhere.
      var work = 0
      if add(0, previous, scalar, &current, &stack, &work) { return true }
      guard let character = scalar else { return false }
      let following = iterator.next()
      next.clear()
      for thread in current.list {
        work += 1
        let isAccepted: Bool
        switch instructions[thread] {
        case .scalar(let wanted): isAccepted = wanted == character
        case .set(let set):
          work += sets[set].extraWork(for: character)
          isAccepted = sets[set].contains(character)
        default: isAccepted = false
        }
        if work > Self.workMax {
          try meter.charge(work >> 1)
          work = 0
        }
        if isAccepted, add(thread + 1, character, following, &next, &stack, &work) { return true }
      }
      try meter.charge(1 + work >> 1)
      swap(&current, &next)
      previous = character
      scalar = following
    }
  }

  /// Adds an instruction and those that follow without reading. True if the match is among them.
  private func add(
    _ start: Int, _ before: Unicode.Scalar?, _ after: Unicode.Scalar?, _ threads: inout Threads,
    _ stack: inout [Int], _ work: inout Int
  ) -> Bool {
    stack.append(start)
    while let instruction = stack.popLast() {
      guard threads.visit(instruction) else { continue }
      work += 1
      switch instructions[instruction] {
      case .match:
        stack.removeAll(keepingCapacity: true)
        return true
      case .jump(let target): stack.append(target)
      case .split(let first, let second):
        stack.append(second)
        stack.append(first)
      case .assertion(let assertion):
        if Self.holds(assertion, before, after) { stack.append(instruction + 1) }
      case .scalar, .set: threads.append(instruction)
      }
    }
    return false
  }

  private static func holds(
    _ assertion: RegexAssertion, _ before: Unicode.Scalar?, _ after: Unicode.Scalar?
  ) -> Bool {
    switch assertion {
    case .textStart: before == nil
    case .textEnd: after == nil
    case .lineStart: before == nil || before == "\n"
    case .lineEnd: after == nil || after == "\n"
    case .wordBoundary: isWord(before) != isWord(after)
    case .noWordBoundary: isWord(before) == isWord(after)
    }
  }

  private static func isWord(_ scalar: Unicode.Scalar?) -> Bool {
    guard let scalar, scalar.isASCII else { return false }
    let byte = UInt8(scalar.value)
    return isLetter(byte) || isDigit(byte)
  }
}
