/// By bundle, the identities of the marks of removals that no longer count: a host has seen them
/// beside the file of the bundle, or has carried the removals out.
///
/// They stay known after their files are deleted, because a backup can have copies. Their number has a
/// limit. Beyond it, any of the former ones may be forgotten.
struct KnownMarks: Sendable {
  private static let bundlesMax = 1_000
  private static let marksMax = 32

  private var all: [String: Set<String>] = [:]
  /// The marks of bundles whose widgets `bundle/ID` are gone, the newest last. The widget of the host
  /// keeps them for the next host.
  private(set) var ofRemoved: [String] = []

  subscript(id: String) -> Set<String> { all[id] ?? [] }

  /// Adds those of the marks that are about a bundle.
  mutating func add(_ marks: Set<String>, of id: String) {
    let own = marks.filter { $0.hasPrefix("\(id) ") }
    guard !own.isEmpty, all[id] != nil || all.count < KnownMarks.bundlesMax else { return }
    let former = self[id].subtracting(own).sorted()
    all[id] = own.union(former.prefix(max(0, KnownMarks.marksMax - own.count)))
  }

  /// A bundle is removed, or has another id.
  mutating func removed(_ id: String) {
    let marks = ofRemoved + self[id].subtracting(ofRemoved).sorted()
    ofRemoved = Array(marks.suffix(KnownMarks.marksMax))
  }

  /// The widget of an earlier host has these marks of removed bundles.
  mutating func restore(_ marks: [String]) {
    for mark in marks { add([mark], of: String(mark.prefix { $0 != " " })) }
    let both = marks.filter { !ofRemoved.contains($0) } + ofRemoved
    ofRemoved = Array(both.suffix(KnownMarks.marksMax))
  }
}
