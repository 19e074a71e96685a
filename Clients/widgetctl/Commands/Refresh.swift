import ArgumentParser
import WidgetClient
import WidgetModel
import WidgetProto

/// `refresh`: asks the providers of widgets for fresh data.
struct RefreshCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "Ask the providers of widgets for fresh data.",
    discussion: """
      The daemon forwards the request and does not wait for the data. `watch` shows new data when \
      it arrives. Widgets without a running provider do not change; the command prints how many \
      these are. If no provider runs for any of the widgets, it exits with status 5.

      A kind has a limited number of refreshes in an hour. `describe` shows how many are left.

      Examples:
        widgetctl refresh cpu memory
        widgetctl refresh --kind clock
        widgetctl refresh --all
      """)

  @OptionGroup var target: TargetOptions
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    try await target.selection.checkKinds(in: session)
    let answer = try await session.client.refreshWidgets(
      RefreshWidgetsRequest(try target.target()), options: session.options)
    if answer.askedCount + answer.unprovidedCount + answer.limitedCount == 0 {
      try await target.noteIfNothing(session)
    }
    session.printer.print(
      .map([
        "askedCount": .revision(answer.askedCount),
        "unprovidedCount": .revision(answer.unprovidedCount),
        "limitedCount": .revision(answer.limitedCount),
        "budgets": .list(answer.budgets.map(\.document)),
      ])
    ) { RefreshCommand.words(answer) }
    if let refusal = RefreshCommand.refusal(answer) { throw refusal }
  }

  /// The refusal if no provider gets the request, because none runs. Nil otherwise.
  static func refusal(_ answer: RefreshWidgetsResponse) -> CommandFailure? {
    guard answer.unprovidedCount > 0, answer.askedCount + answer.limitedCount == 0 else {
      return nil
    }
    return CommandFailure(
      .refused,
      "nothing was refreshed: no provider runs for \(widgets(answer.unprovidedCount)); start the "
        + "program of their kinds, or widgetd-host for those of bundles; `widgetctl kinds` lists "
        + "the providers")
  }

  private static func widgets(_ count: UInt64) -> String {
    count == 1 ? "1 widget" : "\(count) widgets"
  }

  static func words(_ answer: RefreshWidgetsResponse) -> String {
    guard refusal(answer) == nil else { return "" }
    var text =
      answer.askedCount == 0
      ? "nothing was refreshed\n"
      : "asked for new data of \(widgets(answer.askedCount)); it comes when their programs send it\n"
    if answer.unprovidedCount > 0 {
      text +=
        "not refreshed: \(widgets(answer.unprovidedCount)) without a running provider\n"
    }
    if answer.limitedCount > 0 {
      text +=
        "not refreshed: \(widgets(answer.limitedCount)), because their kinds have no refresh left:\n"
      for budget in answer.budgets where budget.remaining == 0 {
        let next = budget.nextTime.map { ", the next one at \(RFC3339.text($0))" } ?? ""
        text += "  \(budget.kind): 0 of \(budget.capacity) left\(next)\n"
      }
    }
    return text
  }
}
