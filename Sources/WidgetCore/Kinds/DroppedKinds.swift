/// Compiled kinds that are no longer used.
///
/// Freeing thousands of expressions takes longer than a turn of an event loop. So a caller frees the
/// kinds one by one.
public struct DroppedKinds: Sendable {
  private var schemas: [KindSchema] = []
  /// The approximate memory of the kinds, in bytes, as quotas count it.
  public private(set) var bytes = 0

  init(_ schemas: some Sequence<KindSchema> = []) {
    for schema in schemas { add(schema) }
  }

  mutating func add(_ schema: KindSchema) {
    schemas.append(schema)
    bytes += schema.memoryBytes
  }

  /// Frees one kind, unless a change that can still be undone needs it. Returns false after the last.
  public mutating func freeOne() -> Bool {
    guard let schema = schemas.popLast() else { return false }
    bytes -= schema.memoryBytes
    return !schemas.isEmpty
  }
}

extension WidgetStore {
  /// Takes the compiled kinds that were replaced or removed since the last call.
  public mutating func takeDroppedKinds() -> DroppedKinds {
    defer { droppedKinds = DroppedKinds() }
    return droppedKinds
  }
}

extension KindCompilation {
  /// Gives the compiled kinds up, after the command or without it.
  public mutating func drop() -> DroppedKinds { DroppedKinds(takeSchemas()) }
}
