/// The counters of troubles, in words for people. `-o json` has the names, which `docs/configuration.md`
/// explains.
enum TroubleWords {
  private static let words = [
    "groups_failed": "failed writes to the store",
    "connections_refused": "refused connections",
    "protocol_errors": "frames that broke the protocol",
    "readers_compacted": "readers that had to start over",
  ]

  /// `refused connections 2`, as the lines beside it.
  static func text(_ name: String, _ count: UInt64) -> String {
    "\(words[name] ?? name) \(count)"
  }

  /// The counters without words.
  static func missing(among names: [String]) -> [String] { names.filter { words[$0] == nil } }
}
