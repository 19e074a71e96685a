/// An array whose earlier copies stay as they were, each at the price of what was changed since.
///
/// Made for values that are copied at every change, so that it can be taken back, while little of them
/// changes and the copy is hardly ever looked at. Arrays share all elements until one of two copies
/// changes, and then copy all; here the copy that changes takes the elements along, and leaves in the other
/// how it differs: a change costs O(1), however many elements there are. Reading the other makes all changes
/// the other way round first (Baker's trick), so whoever reads two copies by turns pays for it each time.
///
/// When the differences come to a part of the elements, these are copied after all. So many changes in a
/// row cost no more than with an array.
struct RevertibleArray<Element>: RandomAccessCollection, MutableCollection {
  private var version = ArrayVersion<Element>()
  private(set) var count = 0

  init() {}

  var startIndex: Int { 0 }
  var endIndex: Int { count }

  subscript(index: Int) -> Element {
    get {
      version.takeElements()
      return version.elements[index]
    }
    _modify {
      prepare { .set(index, $0[index]) }
      yield &version.elements[index]
    }
  }

  mutating func append(_ element: Element) {
    prepare { _ in .removeLast }
    version.elements.append(element)
    count += 1
  }

  mutating func removeLast() {
    prepare { elements in elements.last.map { .append($0) } ?? .removeLast }
    version.elements.removeLast()
    count -= 1
  }

  /// Makes the elements this copy's own to change.
  ///
  /// - Parameter inverse: what takes the change back that is about to be made.
  private mutating func prepare(_ inverse: ([Element]) -> ArrayVersion<Element>.Change) {
    version.takeElements()
    if isKnownUniquelyReferenced(&version) {
      version.age = 0
    } else if version.age > version.elements.count / 8 + 8 {
      version = ArrayVersion(version.elements)
    } else {
      version = version.makeNext(inverse(version.elements))
    }
  }
}

/// One state of an array: its elements, or how it differs from a state that has them.
private final class ArrayVersion<Element> {
  enum Change {
    case set(Int, Element)
    case append(Element)
    case removeLast
  }

  /// Empty if another has them.
  var elements: [Element]
  /// How many changes ago all elements were copied, or nobody had another state of them.
  var age = 0
  /// What makes this state of the next, and the next; nil for the one that has the elements.
  private var difference: (change: Change, next: ArrayVersion)?

  init(_ elements: [Element] = []) { self.elements = elements }

  deinit {
    // One after the other: each would otherwise end the next inside its own end, however many there are.
    var next = difference?.next
    difference = nil
    while next != nil, isKnownUniquelyReferenced(&next) {
      let following = next?.difference?.next
      next?.difference = nil
      next = following
    }
  }

  /// A version that has the elements from now on. `change` makes this one of what it is going to be.
  func makeNext(_ change: Change) -> ArrayVersion {
    let next = ArrayVersion()
    swap(&next.elements, &elements)
    next.age = age + 1
    difference = (change, next)
    return next
  }

  /// Takes the elements from the version that has them. O(changes in between).
  func takeElements() {
    guard difference != nil else { return }
    var versions = [self]
    while let next = versions[versions.count - 1].difference?.next { versions.append(next) }
    for (earlier, later) in zip(versions.dropLast(), versions.dropFirst()).reversed() {
      guard let change = earlier.difference?.change else { continue }
      swap(&earlier.elements, &later.elements)
      earlier.difference = nil
      later.difference = (earlier.make(change), earlier)
    }
  }

  /// Makes a change. Returns what takes it back.
  private func make(_ change: Change) -> Change {
    switch change {
    case .set(let index, let element):
      let old = elements[index]
      elements[index] = element
      return .set(index, old)
    case .append(let element):
      elements.append(element)
      return .removeLast
    case .removeLast: return .append(elements.removeLast())
    }
  }
}
