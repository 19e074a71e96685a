import WidgetBundle

/// The bundles' conversations with the daemon, by generation. A change of a bundle that is closed
/// has no effect.
struct BundleLinks: Sendable {
  private var links: [UInt64: BundleLink] = [:]

  subscript(generation: UInt64) -> BundleLink? { links[generation] }

  var count: Int { links.count }

  /// In order.
  var generations: [UInt64] { links.keys.sorted() }

  /// In no order.
  var all: some Collection<BundleLink> { links.values }

  func contains(_ id: String) -> Bool { links.values.contains { $0.bundle.id == id } }

  mutating func add(_ generation: UInt64, _ link: BundleLink) { links[generation] = link }

  /// - Returns: the link, in its last state.
  mutating func remove(_ generation: UInt64) -> BundleLink? {
    links.removeValue(forKey: generation)
  }

  /// Calls functions of a link.
  ///
  /// - Returns: their result; nil if the bundle is closed.
  @discardableResult
  mutating func change<R>(_ generation: UInt64, _ body: (inout BundleLink) -> R) -> R? {
    guard let link = links.index(forKey: generation) else { return nil }
    return body(&links.values[link])
  }

  /// Lets a bundle take over from another one, with the next declaration.
  mutating func inherit(_ former: String, by heir: String) {
    for (generation, link) in links where link.bundle.id == heir {
      change(generation) { $0.inherit(former) }
    }
  }
}
