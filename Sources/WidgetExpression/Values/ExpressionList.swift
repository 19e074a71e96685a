public import WidgetModel

/// A list of the language: made by an expression, or one of the domain read in place.
public struct ExpressionList: RandomAccessCollection, Hashable, Sendable {
  private enum Storage {
    case made([ExpressionValue])
    case domain([Value])
  }

  private let storage: Storage
  /// 1 plus the depth of the deepest element. A list of the domain counts as 1, because its depth
  /// was checked when the daemon received it.
  let depth: Int

  /// The list of these elements. O(n).
  public init(_ elements: [ExpressionValue]) {
    storage = .made(elements)
    depth = elements.reduce(0) { Swift.max($0, $1.depth) } + 1
  }

  /// The same list, without copying it.
  public init(_ elements: [Value]) {
    storage = .domain(elements)
    depth = 1
  }

  public var startIndex: Int { 0 }

  public var endIndex: Int {
    switch storage {
    case .made(let elements): elements.count
    case .domain(let elements): elements.count
    }
  }

  public subscript(position: Int) -> ExpressionValue {
    switch storage {
    case .made(let elements): elements[position]
    case .domain(let elements): ExpressionValue(elements[position])
    }
  }

  /// The elements as an array; O(1) for a list that an expression made.
  public var elements: [ExpressionValue] {
    switch storage {
    case .made(let elements): elements
    case .domain(let elements): elements.map { ExpressionValue($0) }
    }
  }

  public static func == (a: ExpressionList, b: ExpressionList) -> Bool { a.elementsEqual(b) }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for element in self { hasher.combine(element) }
  }
}
