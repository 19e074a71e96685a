import Testing
import WidgetClient
import WidgetExpression
import WidgetModel
import WidgetProto

@testable import widgetctl

/// `eval --widget`: expressions that are checked with the kind of the widget.
struct EvalTests {
  private static let widget = LiveSamples.widget("w") {
    $0.data = ["count": .int(3), "load": .double(0.5)]
    $0.parameters = ["title": .string("t")]
  }

  private static func kind(
    isOpen: Bool = false, events: [EventType] = [], entry: [Field] = []
  ) -> Kind {
    Kind(
      name: Samples.kind("k"), parameters: [Field(name: "title", type: .string)],
      data: [
        Field(name: "count", type: .int), Field(name: "load", type: .double),
        Field(name: "note", type: .string),
      ], isOpen: isOpen, events: events, entry: entry)
  }

  private static func evaluate(_ source: String, of kind: Kind?) throws(CommandFailure) -> Value {
    try EvalCommand.evaluate(source, SlotBindings(EvalCommand.bindings(of: widget)), of: kind)
  }

  @Test(arguments: [
    ("data.cuont > 3", "1:6: unknown field 'cuont'; did you mean 'count'?\n"),
    ("has(data.laod)", "unknown field 'laod'; did you mean 'load'?\n"),
    ("parameters.titel", "unknown field 'titel'; did you mean 'title'?\n"),
    ("count > 3", "unknown variable 'count'; did you mean 'data.count'?\n"),
    ("data.count == 1.0", "'==' does not take int and double; convert one side"),
    ("data.count + data.load", "'+' does not take int and double; convert one side"),
  ])
  func `eval refuses what the kind of the widget refuses`(source: String, words: String) throws {
    let failure = try #require(throws: CommandFailure.self) {
      try Self.evaluate(source, of: Self.kind())
    }
    #expect(failure.exit == .invalidArgument)
    #expect(failure.message.contains(words), "\(failure.message)")
  }

  @Test func `eval takes fields of any type if the kind is unknown`() throws {
    #expect(try Self.evaluate("data.count == 1.0", of: nil) == .bool(false))
    #expect(try Self.evaluate("has(data.laod)", of: nil) == .bool(false))
  }

  @Test func `eval reads undeclared fields of an open kind and checks the declared ones`() throws {
    let open = Self.kind(isOpen: true)
    #expect(try Self.evaluate("has(data.more)", of: open) == .bool(false))
    #expect(throws: CommandFailure.self) { try Self.evaluate("data.count == 1.0", of: open) }
  }

  @Test func `a declared field without a value is null`() throws {
    #expect(try Self.evaluate("data.note == null", of: Self.kind()) == .bool(true))
    #expect(throws: CommandFailure.self) { try Self.evaluate("data.note == null", of: nil) }
  }

  @Test func `eval checks the values of entries if the kind declares them`() throws {
    let kind = Self.kind(entry: [Field(name: "train", type: .string)])
    #expect(try Self.evaluate("entry.date == null", of: kind) == .bool(true))
    let failure = try #require(throws: CommandFailure.self) {
      try Self.evaluate("entry.trian", of: kind)
    }
    #expect(failure.message.contains("did you mean 'train'?"), "\(failure.message)")
    #expect(try Self.evaluate("entry.date == null", of: Self.kind()) == .bool(true))
  }

  @Test func `the details of a declared event have their types and defaults`() throws {
    let add = EventType(
      name: "add",
      payload: [
        Field(name: "by", type: .double), Field(name: "times", type: .int, defaultValue: .int(2)),
      ])
    let kind = Self.kind(events: [add])
    func evaluate(_ source: String, _ name: String) throws -> Value {
      let event: ValueMap = ["name": .string(name), "payload": .map(["by": .int(1)])]
      var bindings = EvalCommand.bindings(of: Self.widget)
      bindings[2] = ExpressionValue(EvalCommand.event(event, of: kind))
      return try EvalCommand.evaluate(source, SlotBindings(bindings), of: kind, event: name)
    }
    #expect(try evaluate("event.payload.by / 2.0", "add") == .double(0.5))
    #expect(try evaluate("event.payload.times", "add") == .int(2))
    #expect(throws: CommandFailure.self) { try evaluate("has(event.payload.bye)", "add") }
    #expect(try evaluate("has(event.payload.bye)", "other") == .bool(false))
    #expect(try evaluate("event.payload.by", "other") == .int(1))
  }

  @Test func `only a kind that cannot be read gets a note`() {
    let name = Samples.kind("k")
    let missing = ClientError.status(
      RPCStatus(
        code: .notFound, message: "Words.", errorInfo: ErrorInfo(reason: "KIND_NOT_FOUND")))
    #expect(EvalCommand.note(missing, about: name) == nil)
    let away = ClientError.connectionLost(socketPath: "/s")
    #expect(
      EvalCommand.note(away, about: name)
        == "the types that the kind \"k\" declares are not checked: "
        + CommandFailure(away).message)
  }
}
