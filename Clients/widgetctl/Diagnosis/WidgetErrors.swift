import WidgetClient
import WidgetModel

/// The widgets that have an error now.
struct WidgetErrors: Hashable {
  struct Entry: Hashable {
    var id: WidgetID
    var error: WidgetError
  }

  /// The expression that selects them.
  static let condition = "widget.error != null"
  /// The number of widgets that `status` names.
  static let shown = 3

  /// In display order.
  var widgets: [Entry]
  /// Whether there may be more than `widgets`.
  var isCut = false

  var count: Int { widgets.count }

  /// The number of pages that `ask` reads. A page can have few widgets, because the daemon limits the cost of a
  /// page.
  private static let pagesMax = 50

  /// Asks the daemon. Nil if it does not answer.
  static func ask(_ global: GlobalOptions) async -> WidgetErrors? {
    guard let session = try? global.session(),
      let mask = try? ReadMask(paths: ["error", "position"])
    else { return nil }
    var request = ListWidgetsRequest(
      selector: Selector(expression: condition), pageSize: 1000, readMask: mask)
    var found: [Widget] = []
    for _ in 0..<pagesMax {
      let answer = try? await session.client.listWidgets(
        request, options: CallOptions(timeout: global.limit ?? Facts.callTimeout))
      guard let answer else { return nil }
      found += answer.widgets.map(\.widget)
      request.pageToken = answer.nextPageToken
      if request.pageToken.isEmpty || found.count >= 1000 { break }
    }
    found.sort { $0.position < $1.position }
    return WidgetErrors(
      widgets: found.compactMap { widget in
        widget.error.map { Entry(id: widget.id, error: $0) }
      }, isCut: !request.pageToken.isEmpty)
  }

  /// `{count, complete, widgets: [{id, reason, message}]}`, with the widgets that `status` names.
  var document: Value {
    .map([
      "count": .int(Int64(count)), "complete": .bool(!isCut),
      "widgets": .list(
        widgets.prefix(WidgetErrors.shown).map {
          .map([
            "id": .string($0.id.rawValue), "reason": .string($0.error.reason),
            "message": .string($0.error.message),
          ])
        }),
    ])
  }
}
