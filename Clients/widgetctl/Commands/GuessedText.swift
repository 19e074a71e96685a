import WidgetClient
import WidgetModel

extension Session {
  /// Makes a change with values of the command line. If the daemon refuses a value, makes the change again,
  /// with the written text read as the type of its field, for each guessed value: `zip=12345`.
  ///
  /// - Parameter kind: Finds the widget's kind, for the second try.
  func change<Answer>(
    data: [Assignment], parameters: [Assignment], of kind: () async -> KindName?,
    _ call: (_ data: ValueMap, _ parameters: ValueMap) async throws(ClientError) -> Answer
  ) async throws -> Answer {
    let values = (data: try data.values(), parameters: try parameters.values())
    do throws(ClientError) { return try await call(values.data, values.parameters) } catch {
      guard error.status?.code == .invalidArgument, let name = await kind(),
        let declared = try? await client.getKind(GetKindRequest(name: name), options: options)
      else { throw error }
      let kind = declared.kind.kind
      let texts = (
        data: values.data.typed(data, in: kind.data),
        parameters: values.parameters.typed(parameters, in: kind.parameters)
      )
      guard texts != values else {
        if let hint = Session.hint(data, parameters, in: kind) {
          throw CommandFailure(error).adding(hint)
        }
        throw error
      }
      return try await call(texts.data, texts.parameters)
    }
  }

  /// The hint for a data value that the kind declares as a parameter, or the reverse, or for a text
  /// where the kind declares another type; nil if there is none.
  static func hint(_ data: [Assignment], _ parameters: [Assignment], in kind: Kind) -> String? {
    func declares(_ fields: [Field], _ key: String) -> Bool { fields.contains { $0.name == key } }
    if let key = data.map(\.key).first(where: {
      !declares(kind.data, $0) && declares(kind.parameters, $0)
    }) {
      return "\"\(key)\" is a parameter of the kind: write --param \(key)=VALUE"
    }
    if let key = parameters.map(\.key).first(where: {
      !declares(kind.parameters, $0) && declares(kind.data, $0)
    }) {
      return "\"\(key)\" is data of the kind: write \(key)=VALUE without --param"
    }
    for (assignments, fields) in [(data, kind.data), (parameters, kind.parameters)] {
      for assignment in assignments {
        guard let field = fields.first(where: { $0.name == assignment.key }),
          let advice = assignment.advice(for: field.type)
        else { continue }
        return advice
      }
    }
    return nil
  }

  /// The kind of a widget; nil if it is unknown.
  func kind(of id: WidgetID) async -> KindName? {
    try? await client.getWidget(
      GetWidgetRequest(id: id, readMask: .idsOnly), options: options
    ).widget.kind
  }
}

extension ValueMap {
  /// The same with the written text of each guessed value read as the type of its field.
  func typed(_ assignments: [Assignment], in fields: [Field]) -> ValueMap {
    var values = self
    for (index, assignment) in assignments.enumerated()
    where !assignments[(index + 1)...].contains(where: { $0.key == assignment.key }) {
      guard let field = fields.first(where: { $0.name == assignment.key }),
        let value = assignment.value(as: field.type)
      else { continue }
      values[assignment.key] = value
    }
    return values
  }
}
