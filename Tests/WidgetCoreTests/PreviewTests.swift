import Testing
import WidgetModel

@testable import WidgetCore

/// The widget that a preview would show, before its content is made.
struct PreviewTests {
  private static let kind = Kind(
    name: "page", families: [.small, .large],
    parameters: [
      Field(name: "text", type: .string, isRequired: true),
      Field(name: "size", type: .string, defaultValue: .string("big")),
    ])

  private func spec(
    _ kind: KindName, _ family: Family? = nil, _ parameters: ValueMap = [:]
  ) throws -> WidgetSpec {
    var store = Store()
    try store.register([Self.kind])
    return try store.previewSpec(of: kind, family: family, parameters: parameters)
  }

  @Test func `it has the family and the parameters of the preview`() throws {
    var store = Store()
    try store.register([Self.kind])
    for family in [nil, Family.large] {
      let preview = try store.preview(
        of: "page", family: family, parameters: ["text": .string("x")], data: [:])
      let spec = try spec("page", family, ["text": .string("x")])
      #expect(spec.family == preview.family)
      #expect(spec.parameters == preview.parameters)
    }
    #expect(try spec("page", nil, ["text": .string("x")]).family == .small)
    #expect(
      try spec("page", .large, ["text": .string("x")]).parameters
        == ["text": .string("x"), "size": .string("big")])
  }

  @Test func `it is refused for the reasons of the preview`() throws {
    #expect(throws: StoreError.kindNotFound("nope")) { try spec("nope") }
    #expect(throws: StoreError.self) { try spec("page", .medium, ["text": .string("x")]) }
    #expect(throws: StoreError.self) { try spec("page", nil, [:]) }
    #expect(throws: StoreError.self) { try spec("page", nil, ["text": .double(1)]) }
  }
}
