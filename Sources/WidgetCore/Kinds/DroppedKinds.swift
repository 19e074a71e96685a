/// Compiled kinds that commands have replaced or removed. After a rollback, the store can use some of
/// them again.
///
/// Freeing thousands of expressions takes longer than a turn of an event loop. So a caller frees the
/// kinds one by one.
public struct DroppedKinds: Sendable {
  private var schemas: [KindSchema] = []
  /// The approximate memory of the kinds, in bytes, as quotas count it.
  public private(set) var bytes = 0

  public init() {}

  init(_ schemas: some Sequence<KindSchema>) {
    for schema in schemas { add(schema) }
  }

  mutating func add(_ schema: KindSchema) {
    schemas.append(schema)
    bytes += schema.memoryBytes
  }

  /// Adds other kinds.
  public mutating func add(_ others: DroppedKinds) {
    schemas += others.schemas
    bytes += others.bytes
  }

  /// Releases one kind. The kind stays in memory while an uncommitted change can restore it. Returns
  /// false if no kind is left.
  public mutating func freeOne() -> Bool {
    guard let schema = schemas.popLast() else { return false }
    bytes -= schema.memoryBytes
    return !schemas.isEmpty
  }
}

extension WidgetStore {
  /// Whether `takeDroppedKinds` has kinds.
  public var hasDroppedKinds: Bool { droppedKinds.bytes > 0 }

  /// Takes the compiled kinds that were replaced or removed since the last call. Free them after
  /// `commitGroup`, because an uncommitted group holds them, too.
  public mutating func takeDroppedKinds() -> DroppedKinds {
    defer { droppedKinds = DroppedKinds() }
    return droppedKinds
  }
}

extension KindCompilation {
  /// Takes the compiled kinds away, to be freed. Call it when the command is over or cancelled.
  public mutating func drop() -> DroppedKinds { DroppedKinds(takeSchemas()) }
}
