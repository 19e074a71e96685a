/// An array in pages, so that changing one element of a shared copy copies a page and not all.
///
/// Made for values that are copied at every change (so that it can be taken back) while little of
/// them changes: a change costs O(page + pages) instead of O(elements).
struct PagedArray<Element> {
  private static var pageSize: Int { 64 }

  private var pages: [[Element]] = []
  private(set) var count = 0

  init() {}

  subscript(index: Int) -> Element {
    get { pages[index / Self.pageSize][index % Self.pageSize] }
    _modify { yield &pages[index / Self.pageSize][index % Self.pageSize] }
  }

  mutating func append(_ element: Element) {
    if count % Self.pageSize == 0 { pages.append([]) }
    pages[pages.count - 1].append(element)
    count += 1
  }
}
