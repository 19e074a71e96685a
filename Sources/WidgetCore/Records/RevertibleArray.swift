/// An array whose earlier copies never change. Each copy costs only the later changes.
///
/// It is for values that are copied at every change, so that the change can be taken back. Few
/// elements change, and the copy is rarely read. A Swift array shares all elements until one of two
/// copies changes, and then copies all of them. Here the changed copy takes the elements, and the
/// other copy keeps only the difference. So a change costs O(1) for any number of elements. A read
/// of the other copy first reverses all changes (Baker's trick), so reads of two copies in turn are
/// slow.
///
/// When the differences reach a part of the elements, the elements are copied after all. So many
/// changes in a row cost no more than with an array.
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

  /// Makes the elements belong to this copy, so that they can change.
  ///
  /// - Parameter inverse: the inverse of the change that follows.
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

  /// Empty if another version has the elements.
  var elements: [Element]
  /// The number of changes since all elements were copied, or since no other version needed them.
  var age = 0
  /// nil for the version that has the elements. Most versions have them, so a difference has memory of
  /// its own.
  private var difference: Difference?

  private final class Difference {
    /// The change from the next version to this one.
    let change: Change
    let next: ArrayVersion

    init(_ change: Change, _ next: ArrayVersion) { (self.change, self.next) = (change, next) }
  }

  init(_ elements: [Element] = []) { self.elements = elements }

  deinit {
    // Releases the versions one by one. Otherwise each would release the next one recursively,
    // however many there are.
    var next = difference?.next
    difference = nil
    while next != nil, isKnownUniquelyReferenced(&next) {
      let following = next?.difference?.next
      next?.difference = nil
      next = following
    }
  }

  /// Creates the version that has the elements from now on. `change` makes this version from the
  /// new one.
  func makeNext(_ change: Change) -> ArrayVersion {
    let next = ArrayVersion()
    swap(&next.elements, &elements)
    next.age = age + 1
    difference = Difference(change, next)
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
      later.difference = Difference(earlier.make(change), earlier)
    }
  }

  /// Makes a change. Returns its inverse.
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
