/// The order of folders that have the same bundle. A host runs the bundle from the first one.
///
/// The folders of bundles come in the order in which the host has them. The folders in each of them
/// come by name. Folders elsewhere, to which links lead, come last.
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
