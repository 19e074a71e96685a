/// An array in pages of a fixed size. A copy shares the pages, and copies one when an element in it
/// changes. So a change to a copy of 1,000 elements copies about 30 of them.
struct PagedArray<Element: Sendable>: Sendable {
  private static var shift: Int { 5 }
  private static var pageCount: Int { 1 << shift }

  private var pages: [[Element]] = []
  private(set) var count = 0

  subscript(index: Int) -> Element {
    get { pages[index >> Self.shift][index & (Self.pageCount - 1)] }
    _modify { yield &pages[index >> Self.shift][index & (Self.pageCount - 1)] }
  }

  var indices: Range<Int> { 0..<count }

  mutating func append(_ element: Element) {
    if count & (Self.pageCount - 1) == 0 {
      pages.append([])
      pages[pages.count - 1].reserveCapacity(Self.pageCount)
    }
    pages[pages.count - 1].append(element)
    count += 1
  }
}
