import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

/// The daemon of these tests reports the first mistake, like the real one.
@Suite struct DeclaredMistakesTests {
  private static func failure(
    _ field: String, _ description: String, reason: String = "INVALID_FIELD"
  ) -> CommandFailure {
    var failure = CommandFailure(.invalidArgument, "\(field): \(description)")
    failure.reason = reason
    failure.violations = [FieldViolation(field: field, description: description)]
    return failure
  }

  /// Data are numbers, and the city is a text. The widgets of kind "other" have another kind.
  private static func refusal(of widgets: [WidgetSpec]) -> CommandFailure? {
    for (index, widget) in widgets.enumerated() {
      let place = "widgets[\(index)]"
      for entry in widget.data.entries {
        if case .int = entry.value { continue }
        return failure("\(place).data[\(entry.key)]", "not a number")
      }
      guard case .string? = widget.parameters["city"] else {
        return failure("\(place).parameters[city]", "a text is needed")
      }
      guard widget.kind.rawValue != "other" else {
        var failure = CommandFailure(.refused, "another kind")
        failure.reason = "KIND_MISMATCH"
        failure.metadata = ["widget_id": widget.id?.rawValue ?? ""]
        return failure
      }
    }
    return nil
  }

  private static func widget(
    _ id: String, kind: String = "k", data: ValueMap = [:], city: Value = .string("x")
  ) throws -> WidgetSpec {
    var spec = WidgetSpec(id: WidgetID(id), kind: try #require(KindName(kind)))
    (spec.data, spec.parameters) = (data, ["city": city])
    return spec
  }

  @Test func `each mistake is reported once, with the number of the file`() async throws {
    let widgets = [
      try Self.widget("a", data: ["m": .bool(true), "n": .string("x")]),
      try Self.widget("b", data: ["n": .int(1)]), try Self.widget("c", city: .int(5)),
      try Self.widget("d", kind: "other"), try Self.widget("e", data: ["n": .null]),
    ]
    var mistakes = DeclaredMistakes(widgets)
    let first = try #require(Self.refusal(of: widgets))
    let all = await mistakes.collect(after: first) { Self.refusal(of: $0) }
    #expect(
      all.map { $0.violations.first?.field ?? $0.metadata["widget_id"] } == [
        "widgets[0].data[m]", "widgets[0].data[n]", "widgets[2].parameters[city]", "d",
        "widgets[4].data[n]",
      ])
    #expect(all.last?.message == "widgets[4].data[n]: not a number")
    #expect(CommandFailure(joining: all)?.exit == .invalidArgument)
    #expect(CommandFailure(joining: all)?.message.split(separator: "\n").count == 5)
    #expect(CommandFailure(joining: all)?.violations.count == 4)
  }

  @Test func `a refusal that is not about one declaration is reported alone`() async throws {
    let widgets = [try Self.widget("a", data: ["n": .null])]
    for first in [
      Self.failure("apply_set", "wrong"), Self.failure("widgets[7].id", "wrong"),
      Self.failure("widgets[0].data", "too large", reason: "QUOTA_EXCEEDED"),
      CommandFailure(.unavailable, "away"),
    ] {
      var mistakes = DeclaredMistakes(widgets)
      let all = await mistakes.collect(after: first) { _ in
        Issue.record("a further question")
        return nil
      }
      #expect(all == [first])
    }
  }

  @Test func `the number of questions is bounded`() async throws {
    let widgets = try (0..<50).map { try Self.widget("w\($0)", data: ["n": .null]) }
    var mistakes = DeclaredMistakes(widgets)
    let first = try #require(Self.refusal(of: widgets))
    var questions = 0
    let all = await mistakes.collect(after: first) { widgets in
      questions += 1
      return Self.refusal(of: widgets)
    }
    #expect(all.count == DeclaredMistakes<WidgetSpec>.most)
    #expect(questions == DeclaredMistakes<WidgetSpec>.most - 1)
  }

  @Test func `a kind with a mistake is left out, and the next one is named`() async throws {
    let kinds = try ["a", "b", "c"].map { Kind(name: try #require(KindName($0))) }
    var mistakes = DeclaredMistakes(kinds)
    let all = await mistakes.collect(after: Self.failure("kinds[0].content", "wrong")) { kinds in
      guard let index = kinds.firstIndex(where: { $0.name.rawValue == "c" }) else { return nil }
      return Self.failure("kinds[\(index)].content", "wrong")
    }
    #expect(all.map { $0.violations.first?.field } == ["kinds[0].content", "kinds[2].content"])
  }
}
