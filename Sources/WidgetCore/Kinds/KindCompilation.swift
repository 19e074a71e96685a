public import WidgetModel

/// Kinds to compile before a command registers them. The compilation needs no store, so another
/// thread can run it: thousands of expressions take longer than a turn of an event loop.
public struct KindCompilation: Sendable {
  fileprivate let kinds: [Kind]
  fileprivate let limits: StoreLimits
  fileprivate let timeZones: WidgetStore.TimeZones?

  public var isEmpty: Bool { kinds.isEmpty }

  /// Compiles the kinds. Ends early at kinds that are refused for their size, or together for their
  /// memory. The command checks everything.
  public func run() -> CompiledKinds {
    var compiled = CompiledKinds(limits: limits)
    var bytes = 0
    for kind in kinds {
      guard kind.costBytes <= limits.kindBytesMax,
        kind.reducers.count <= limits.reducersPerKindMax, bytes <= limits.kindMemoryBytesPerUIDMax
      else { break }
      let schema = KindSchema(kind, limits: limits, timeZones: timeZones)
      bytes += schema.memoryBytes
      compiled.add(schema)
    }
    return compiled
  }
}

/// Kinds that were compiled before the command that registers them. They only save time: without
/// them, the command compiles its kinds itself.
public struct CompiledKinds: Sendable {
  private let limits: StoreLimits
  private var schemas: [KindName: KindSchema] = [:]

  fileprivate init(limits: StoreLimits) { self.limits = limits }

  fileprivate mutating func add(_ schema: KindSchema) { schemas[schema.kind.name] = schema }

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
  /// The declared kinds that are not registered like this already. O(text of the kinds).
  public func compilation(of kinds: [Kind]) -> KindCompilation {
    var changed: [Kind] = []
    for kind in kinds {
      let fitted = kind.fitted
      if schemas[kind.name]?.kind != fitted { changed.append(fitted) }
    }
    return KindCompilation(kinds: changed, limits: limits, timeZones: timeZones)
  }

  /// Takes compiled kinds for the next command. `nil` drops them.
  public mutating func use(_ compiled: CompiledKinds?) { compiledKinds = compiled }
}
