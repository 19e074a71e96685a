import WidgetModel

/// The kinds that providers have registered, by name and by provider.
struct RegisteredKinds {
  private(set) var byName: [KindName: RegisteredKind] = [:]
  /// The names of kinds, by provider. A provider without kinds is left out.
  private var namesByProvider: [String: Set<KindName>] = [:]

  subscript(name: KindName) -> RegisteredKind? { byName[name] }

  /// The names of a provider's kinds. O(1).
  func names(of provider: String) -> Set<KindName> { namesByProvider[provider] ?? [] }

  /// Registers or removes a kind.
  mutating func set(_ name: KindName, to registered: RegisteredKind?) {
    if let former = byName[name]?.provider, former != registered?.provider {
      namesByProvider[former]?.remove(name)
      if namesByProvider[former]?.isEmpty == true { namesByProvider[former] = nil }
    }
    byName[name] = registered
    if let provider = registered?.provider {
      namesByProvider[provider, default: []].insert(name)
    }
  }
}
