import WidgetModel

/// The schemas of the registered kinds, and of the built-in kinds that widgets can have.
///
/// A built-in schema is made at its first use. Compiling its expressions takes as long as the rest
/// of the daemon's start.
struct KindSchemas {
  private var registered: [KindName: KindSchema] = [:]
  /// The kinds that were declared in a session of their provider.
  private var attended: Set<KindName> = []

  subscript(name: KindName) -> KindSchema? {
    registered[name] ?? BuiltInKind.schema(of: name)
  }

  /// Registers a kind, or removes it.
  mutating func set(_ name: KindName, to schema: KindSchema?, isAttended: Bool) {
    registered[name] = schema
    if isAttended { attended.insert(name) } else { attended.remove(name) }
  }

  /// Whether a kind was declared in a session of its provider.
  func isAttended(_ name: KindName) -> Bool { attended.contains(name) }

  /// The names of the registered kinds whose data does not outlive a restart.
  var volatileKinds: Set<KindName> {
    Set(registered.values.filter { $0.kind.persistence == .volatile }.map(\.kind.name))
  }
}
