/// An array in pages, so that changing one element of a shared copy copies a page and not all.
///
/// Made for values that are copied at every change (so that it can be taken back) while little of
/// them changes: a change costs O(page + pages) instead of O(elements). Up to a page of elements, it is
/// an array like any other.
struct PagedArray<Element>: RandomAccessCollection, MutableCollection {
  private static var pageSize: Int { 64 }

  /// The first page.
  private var head: [Element] = []
  /// The other pages; all but the last are full.
  private var tail: [[Element]] = []
  private(set) var count = 0

  init() {}

  var startIndex: Int { 0 }
  var endIndex: Int { count }

  subscript(index: Int) -> Element {
    get {
      index < Self.pageSize
        ? head[index] : tail[index / Self.pageSize - 1][index % Self.pageSize]
    }
    _modify {
      if index < Self.pageSize {
        yield &head[index]
      } else {
        yield &tail[index / Self.pageSize - 1][index % Self.pageSize]
      }
    }
  }

  mutating func append(_ element: Element) {
    if count < Self.pageSize {
      head.append(element)
    } else {
      if count % Self.pageSize == 0 { tail.append([]) }
      tail[tail.count - 1].append(element)
    }
    count += 1
  }

  mutating func removeLast() {
    if count <= Self.pageSize {
      head.removeLast()
    } else {
      tail[tail.count - 1].removeLast()
      if tail[tail.count - 1].isEmpty { tail.removeLast() }
    }
    count -= 1
  }
}

extension PagedArray: Sendable where Element: Sendable {}
