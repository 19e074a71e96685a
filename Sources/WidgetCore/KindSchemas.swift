import WidgetModel

/// The schemas of the registered kinds, and of the built-in kinds that widgets are made of.
///
/// A built-in schema is made when somebody asks for it. To compile its expressions takes as long as the
/// rest of the daemon's start.
struct KindSchemas {
  private var registered: [KindName: KindSchema] = [:]

  subscript(name: KindName) -> KindSchema? {
    get { registered[name] ?? BuiltInKind.schema(of: name) }
    set { registered[name] = newValue }
  }

  /// The names of the registered kinds whose data does not outlive a restart.
  var volatileKinds: Set<KindName> {
    Set(registered.values.filter { $0.kind.persistence == .volatile }.map(\.kind.name))
  }
}
