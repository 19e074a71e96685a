/// The names of sets and providers, as messages have them. Tables and documents have the names
/// themselves, such as `bundle/load`, because requests take these.
public enum OwnerName {
  private static let prefix = "bundle/"

  /// The id of the bundle that a set or provider stands for; nil for others.
  public static func bundle(_ name: String) -> String? {
    guard name.hasPrefix(prefix), name != prefix else { return nil }
    return String(name.dropFirst(prefix.count))
  }

  /// `bundle load` for `bundle/load`, `the set panel` for others.
  public static func words(ofSet name: String) -> String {
    bundle(name).map { "bundle \($0)" } ?? "the set \(name)"
  }
}
