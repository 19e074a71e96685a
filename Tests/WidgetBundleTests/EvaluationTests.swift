import Testing
import WidgetBundle
import WidgetExpression
import WidgetModel

/// Expressions and templates at a moment.
@Suite struct EvaluationTests {
  private static let body = """
    parameters: {step: 2}
    sources: {load: {timer: 1s}}
    actions:
      go:
        do:
          - emit: x
            payload:
              everything:
                [=data.n, =parameters.step, =status.load.state, =widget.id, =event.row,
                =event.payload.by, =result, =error.message, =now, =bundle.id, =event.name,
                =widget.activity.state, =uptime]
              deep: {list: [a, {b: '=data.n + 1'}], plain: 5}
          - set: {n: data.n + 1, text: string(data.n)}
          - emit: y
            payload: {bad: '=data.list[3]'}
          - emit: z
            payload: {much: '=lists.range(100000).map(x, x)'}
    """

  private func moment() throws -> (kind: BundleKind, moment: BundleScope.Moment) {
    let kind = try #require(try Samples.read(Samples.kind(EvaluationTests.body)).kinds.first)
    var widget = Widget(
      id: try #require(WidgetID("w")), kind: kind.kind.name, labels: ["panel": "top"])
    widget.data = ["n": .int(7), "text": .string(""), "list": .list([])]
    widget.activity = Activity(startTime: .epoch, expireTime: .epoch)
    var status = ActionStatus()
    status.state = .running
    widget.data["status"] = .map(["load": status.value, "go": ActionStatus().value])
    widget.parameters = ["step": .int(2)]
    let event = Event(
      sequence: 1, widgetID: widget.id, nodeID: "n", name: "press", payload: ["by": .string("me")])
    let now = try #require(Timestamp(seconds: 60, nanoseconds: 0))
    return (
      kind,
      BundleScope.Moment(
        widget: widget, event: event, row: "r1", result: .int(3),
        error: ActionStatus(message: "no luck"), now: now, uptime: .milliseconds(1_500),
        bundleID: "b", bundleVersion: "1.0.0")
    )
  }

  private func payload(_ index: Int, _ kind: BundleKind) throws -> [(key: String, value: Template)]
  {
    let action = try #require(kind.actions["go"])
    guard case .emit(_, _, let payload) = action.steps[index] else {
      throw TemplateError(place: "", message: "the step is another")
    }
    return payload
  }

  @Test func `every variable has its value at the moment of the event`() throws {
    let (kind, moment) = try moment()
    let bindings = kind.scope.bindings(for: moment)
    let payload = try payload(0, kind)
    #expect(
      try payload[0].value.evaluate(bindings)
        == .list([
          .int(7), .int(2), .string("running"), .string("w"), .string("r1"), .string("me"), .int(3),
          .string("no luck"), .timestamp(moment.now), .string("b"), .string("press"),
          .string("active"), .duration(.milliseconds(1_500)),
        ]))
    #expect(
      try payload[1].value.evaluate(bindings)
        == .map(["list": .list([.string("a"), .map(["b": .int(8)])]), "plain": .int(5)]))
  }

  @Test func `all assignments see the former data`() throws {
    let (kind, moment) = try moment()
    guard case .set(let assignments)? = kind.actions["go"]?.steps[1] else {
      Issue.record("the step is another")
      return
    }
    #expect(
      try assignments.evaluate(kind.scope.bindings(for: moment))
        == ["n": .int(8), "text": .string("7")])
  }

  @Test func `an error names the place in the bundle`() throws {
    let (kind, moment) = try moment()
    let bad = try #require(try payload(2, kind).first)
    let error = try #require(throws: TemplateError.self) {
      try bad.value.evaluate(kind.scope.bindings(for: moment))
    }
    #expect(error.place == "kinds.k.actions.go.do[2].payload.bad")
    // In the words of content and reducers, with the failed part.
    #expect(error.message.hasSuffix(", in `data.list[3]`"), "\(error)")
  }

  @Test func `an expression that exceeds the budget is refused`() throws {
    let (kind, moment) = try moment()
    let much = try #require(try payload(3, kind).first)
    let bindings = kind.scope.bindings(for: moment)
    let error = try #require(throws: TemplateError.self) {
      try much.value.evaluate(bindings, budget: EvaluationBudget(1000))
    }
    #expect(error.message.contains("costs more than its budget"))
    guard case .list(let numbers) = try much.value.evaluate(bindings) else {
      Issue.record("it is not a list")
      return
    }
    #expect(numbers.count == 100_000)
  }

  @Test func `one budget pays for all of a template`() throws {
    let (kind, moment) = try moment()
    var budget = EvaluationBudget.standard
    _ = try payload(0, kind)[0].value.evaluate(kind.scope.bindings(for: moment), &budget)
    #expect(budget.remaining < EvaluationBudget.standard.remaining)
  }

  @Test func `the conversion of a value costs its copied size`() throws {
    let list = ExpressionValue(Value.list(Array(repeating: .int(1), count: 50)))
    let many = ExpressionValue.list(Array(repeating: list, count: 50))
    var budget = 10_000
    #expect(try Value(many, budget: &budget) != .null)
    #expect(budget == 10_000 - 1 - 50 - 2500)
    var small = 1000
    #expect(throws: EvaluationError.self) { try Value(many, budget: &small) }
    var rest = 1000
    #expect(throws: EvaluationError.self) { try Value(many, budget: &rest, depthMax: 1) }
    #expect(throws: EvaluationError.self) {
      try Value(ExpressionValue.uint(.max), budget: &rest)
    }
  }
}
