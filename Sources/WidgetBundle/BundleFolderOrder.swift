/// The order of folders that have the same bundle, when the folder that runs the bundle is removed.
/// The first one of the others runs the bundle then.
///
/// The folders of bundles come in the order in which the host has them. The folders in each of them
/// come by name. Folders elsewhere, to which links lead, come last.
///
/// Until then, the folder that the host finds first runs the bundle. When the host starts, it looks
/// at the names in each folder of bundles, in order. A link then counts by its name, and not by the
/// name of its target.
package struct BundleFolderOrder: Sendable {
  private let roots: [String]

  /// - Parameter roots: the folders of bundles, without symbolic links.
  package init(roots: [String]) { self.roots = roots }

  /// - Parameter paths: of bundles' folders, without symbolic links.
  package func sorted(_ paths: some Sequence<String>) -> [String] {
    paths.map { (rank: rank(of: $0), path: $0) }
      .sorted { ($0.rank, $0.path) < ($1.rank, $1.path) }.map(\.path)
  }

  private func rank(of path: String) -> Int {
    let root = path.lastIndex(of: "/").map { String(path[..<$0]) }
    return roots.firstIndex { $0 == root } ?? roots.count
  }
}
