import WidgetClient
import WidgetModel

/// The labels and parameters that `apply` without `--own` removes, because the file does not declare
/// them. Somebody may have set them with `set`.
struct DroppedFields {
  struct Field: Hashable {
    /// `labels.panel`
    let path: String
    let value: Value
    /// The default of the kind, which replaces the value.
    var defaultValue: Value?

    var document: Value { .map(["field": .string(path), "value": value]) }

    /// `is removed`, or `gets its default 3`.
    var change: String {
      defaultValue.map { "gets its default \(JSONWriter.compact($0))" } ?? "is removed"
    }
  }

  /// The maximum number of fields in the output for people.
  static let most = 100

  private let fields: [WidgetID: [Field]]

  /// The fields that the call removes. Asks for the kinds if a parameter may get its default.
  static func of(
    _ specs: [WidgetSpec], before: [Widget], _ session: Session
  ) async -> DroppedFields {
    let dropped = DroppedFields(specs, before: before, [])
    let isAnyParameter = dropped.fields.values.contains {
      $0.contains { $0.path.hasPrefix(FieldOwner.Part.parameters.rawValue) }
    }
    guard isAnyParameter, let kinds = try? await session.kinds().kinds else { return dropped }
    return DroppedFields(specs, before: before, kinds.map(\.kind))
  }

  /// - Parameter before: The widgets before the call, with kinds, labels and parameters.
  init(_ specs: [WidgetSpec], before: [Widget], _ kinds: [Kind]) {
    let states = Dictionary(before.map { ($0.id, $0) }) { $1 }
    let declared = Dictionary(kinds.map { ($0.name, $0.parameters) }) { $1 }
    var fields: [WidgetID: [Field]] = [:]
    for spec in specs {
      guard let id = spec.id, let state = states[id] else { continue }
      let labels = state.labels.entries.filter { spec.labels[$0.key] == nil }
        .map { Field(path: FieldOwner.Part.labels.path($0.key), value: .string($0.value)) }
      let parameters = state.parameters.entries.filter { spec.parameters[$0.key] == nil }
        .map { entry in
          Field(
            path: FieldOwner.Part.parameters.path(entry.key), value: entry.value,
            defaultValue: declared[spec.kind]?.first { $0.name == entry.key }?.defaultValue)
        }.filter { $0.value != $0.defaultValue }
      if !labels.isEmpty || !parameters.isEmpty { fields[id] = labels + parameters }
    }
    self.fields = fields
  }

  subscript(id: WidgetID) -> [Field] { fields[id] ?? [] }

  /// A line for each field of the updated widgets, and how to keep such fields.
  func text(_ results: [ApplyResult]) -> String {
    let lines = results.filter { $0.action == .updated }.flatMap { result in
      self[result.id].map { field in
        "  \(result.id): \(field.path) \(field.change), because the file does not declare it: it was "
          + JSONWriter.compact(field.value)
      }
    }
    guard !lines.isEmpty else { return "" }
    let more =
      lines.count > Self.most ? ["  and \(lines.count - Self.most) more labels and parameters"] : []
    return
      (lines.prefix(Self.most) + more + [
        "  `apply --own` keeps labels and parameters that users have set"
      ]).map { $0.safeForTerminal + "\n" }.joined()
  }
}
