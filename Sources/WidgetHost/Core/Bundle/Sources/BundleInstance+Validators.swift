import WidgetBundle
import WidgetExpression
import WidgetModel

// Conditional requests. An answer 304 says that the server has nothing new, so the source is not
// processed again. That is right only if the processing would leave the widget as it is: the
// expressions read the same values, and the widget still has the values that were set.
extension BundleInstance {
  /// Notes a request as sent. The returned request asks only for newer content, if an earlier answer
  /// still holds.
  mutating func conditional(
    _ id: WidgetID, _ index: Int, _ source: Source, _ request: WebRequest
  ) -> WebRequest {
    let asked = AskedRequest(request)
    var sent = request
    let hasOwn = request.headers.contains {
      $0.name.lowercased().hasPrefix("if-") && !$0.value.isEmpty
    }
    var condition = hasOwn ? RequestCondition.bundle : .none
    if request.method == "GET", !hasOwn, let cached = state(id, index).cached,
      cached.request == asked, cached.basis == basis(id, source)
    {
      condition = .validators
      if let etag = cached.etag { sent.headers.append(.init("If-None-Match", etag)) }
      if let time = cached.lastModified {
        sent.headers.append(.init("If-Modified-Since", time))
      }
    }
    sources.sends(id, index, asked, condition)
    return sent
  }

  /// Whether the widget has changed since the conditional request, so that a 304 says too little.
  func isAnswerOutdated(_ id: WidgetID, _ index: Int, _ source: Source) -> Bool {
    let state = state(id, index)
    return state.condition == .validators && state.cached?.basis != basis(id, source)
  }

  /// The failure of an answer 304. Nil if the request had a condition, because only such a request can
  /// be answered with 304. Other servers break the protocol, and the source has nothing to read.
  func failure(ofUnchanged answer: WebAnswer, _ id: WidgetID, _ index: Int) -> Failure? {
    guard state(id, index).condition == .none else { return nil }
    return Failure(
      "FAILED_PRECONDITION",
      "\(answer.summary) to a request without a condition;"
        + " correct the server")
  }

  private func basis(_ id: WidgetID, _ source: Source) -> AnswerBasis {
    AnswerBasis(read: readValues(id, source), set: setValues(id, source))
  }

  /// The values that `set` reads, besides the result.
  func readValues(_ id: WidgetID, _ source: Source) -> [Value] {
    guard let widget = completedView(id) else { return [] }
    return values(of: source.assignments.values.flatMap(\.value.compiled.references), widget)
  }

  /// The values of the keys that the source sets, and those that its message reads afterwards.
  func setValues(_ id: WidgetID, _ source: Source) -> [Value] {
    guard let widget = completedView(id) else { return [] }
    return source.assignments.values.map { widget.data[$0.key] ?? .null }
      + values(of: source.successMessage?.references ?? [], widget)
  }

  private func completedView(_ id: WidgetID) -> Widget? {
    guard let view = widgets[id]?.view else { return nil }
    return facts(of: id)?.completed(view) ?? view
  }
}

extension Template {
  fileprivate var references: [ExpressionReference] {
    switch self {
    case .constant: []
    case .expression(let expression): expression.compiled.references
    case .list(let elements): elements.flatMap(\.references)
    case .map(let entries): entries.flatMap(\.value.references)
    }
  }
}
