public import WidgetModel

/// The compilation of kinds, in steps, before the command that registers them.
///
/// A command is one piece of work, and thousands of expressions take longer than a turn of an event
/// loop. So a caller compiles them before, in pieces, and gives the result to the command. The
/// result only saves time: the command checks everything, and compiles the kinds that are missing.
public struct KindCompilation {
  private var kinds: ArraySlice<Kind>
  /// The kind that is being compiled.
  private var kind: KindSchema.Compilation?
  private var schemas: [KindName: KindSchema] = [:]
  /// The approximate memory of the kinds that are done, in bytes, as quotas count it.
  public private(set) var schemaBytes = 0
  /// The limits of the first step. A reload can change the limits between two steps.
  private let limits: StoreLimits
  private let timeZones: WidgetStore.TimeZones?

  fileprivate init(
    _ kinds: [Kind], limits: StoreLimits, timeZones: WidgetStore.TimeZones?
  ) {
    self.kinds = kinds[...]
    self.limits = limits
    self.timeZones = timeZones
  }

  /// The approximate memory of all kinds so far, in bytes, as quotas count it.
  public var memoryBytes: Int { schemaBytes + (kind?.memoryBytes ?? 0) }

  /// Compiles one expression, or a few that belong together. Skips kinds that are registered like
  /// this already. Ends at a kind that is too large, and at a second kind of the same name: the command
  /// refuses both.
  ///
  /// - Returns: false at the end.
  public mutating func step(in store: borrowing WidgetStore) -> Bool {
    if kind != nil {
      if kind?.step() == true { return true }
      if let compiled = kind {
        let schema = KindSchema(compiled)
        schemaBytes += schema.memoryBytes
        schemas[schema.kind.name] = schema
      }
      kind = nil
      return true
    }
    guard let next = kinds.popFirst(), next.costBytes <= limits.kindBytesMax,
      next.reducers.count <= limits.reducersPerKindMax, schemas[next.name] == nil
    else { return false }
    let fitted = next.fitted
    guard store.schemas[next.name]?.kind != fitted else { return true }
    kind = KindSchema.Compilation(fitted, limits: limits, timeZones: timeZones)
    return true
  }

  /// Returns the compiled schemas, and keeps none.
  mutating func takeSchemas() -> some Sequence<KindSchema> {
    defer { schemas = [:] }
    return schemas.values
  }

  /// The kinds that are compiled.
  ///
  /// - Parameter isRefused: Whether the caller has no memory for the other kinds. The command then
  ///   refuses them.
  public func compiled(isRefused: Bool = false) -> CompiledKinds {
    CompiledKinds(limits: limits, schemas: schemas, isRefused: isRefused)
  }
}

/// Kinds that were compiled before the command that registers them.
public struct CompiledKinds: Sendable {
  fileprivate let limits: StoreLimits
  fileprivate let schemas: [KindName: KindSchema]
  /// Whether a kind that is missing must not be compiled.
  let isRefused: Bool

  /// The number of kinds.
  public var count: Int { schemas.count }

  /// The schema of a kind; nil if it was not compiled, or with other limits.
  func schema(of kind: Kind, _ limits: StoreLimits) -> KindSchema? {
    guard let schema = schemas[kind.name], self.limits == limits, schema.kind == kind else {
      return nil
    }
    return schema
  }
}

extension WidgetStore {
  /// A compilation of declared kinds.
  public func compilation(of kinds: [Kind]) -> KindCompilation {
    KindCompilation(kinds, limits: limits, timeZones: timeZones)
  }

  /// Takes compiled kinds for the next command. `nil` drops them.
  public mutating func use(_ compiled: CompiledKinds?) { compiledKinds = compiled }
}
