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
      it arrives. Widgets without a running provider do not change; the command names the \
      first five of them. If no provider runs for any of the widgets, it exits with status 5.

      A kind has a limited number of refreshes in an hour. `describe` shows how many are left. \
      \(TargetOptions.partsHelp) Each request counts as a refresh of its kinds.

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
    // A provider can send data at once, so the command reads the ids for its note before.
    let selected = await target.idsForNote(session)
    let parts = try await TargetParts(
      try target.target(), list: { () async throws(ClientError) in try await target.ids(session) }
    ) { (target, _) async throws(ClientError) in
      try await session.client.refreshWidgets(
        RefreshWidgetsRequest(target), options: session.options)
    }
    let answer = RefreshCommand.sum(parts.answers)
    let unprovided = await unprovided(answer, session)
    session.printer.print(
      .map([
        "askedCount": .revision(answer.askedCount),
        "unprovidedCount": .revision(answer.unprovidedCount),
        "limitedCount": .revision(answer.limitedCount),
        "budgets": .list(answer.budgets.map(\.document)),
      ])
    ) { RefreshCommand.words(answer, unprovided: unprovided) }
    if answer.askedCount + answer.unprovidedCount + answer.limitedCount == 0 {
      try await target.noteIfNothing(session)
    } else if parts.failure == nil, let selected {
      await target.selection.noteFailures(in: session, changed: Set(selected))
    }
    if let failure = parts.failure(of: "refresh", isRepeatable: true, socket: global.socket) {
      throw failure
    }
    if let refusal = RefreshCommand.refusal(answer) {
      throw await silence(session) ?? refusal
    }
  }

  /// The ids of the widgets without a provider. Empty if they are not known, or not shown.
  private func unprovided(_ answer: RefreshWidgetsResponse, _ session: Session) async -> [String] {
    guard (global.output ?? .table) == .table, answer.unprovidedCount > 0,
      RefreshCommand.refusal(answer) == nil, let kinds = try? await session.kinds().kinds,
      let mask = try? ReadMask(paths: ["kind"]),
      let widgets = try? await session.list(
        target.selection.selector(ids: Array(target.ids.prefix(FailureWarnings.termsMax))),
        mask: mask
      ).widgets
    else { return [] }
    let provided = Set(kinds.filter(\.isProviderConnected).map(\.kind.name))
    let ids = widgets.filter { !provided.contains($0.widget.kind) }.map(\.widget.id.rawValue)
    // A program may have started or ended since.
    return UInt64(ids.count) == answer.unprovidedCount ? ids : []
  }

  /// The refusal if the provider of one of the widgets runs and does not answer. Nil otherwise.
  private func silence(_ session: Session) async -> CommandFailure? {
    guard let kinds = try? await session.kinds().kinds.filter({ $0.providerSilence != nil }),
      !kinds.isEmpty, let mask = try? ReadMask(paths: ["kind"]),
      let widgets = try? await session.list(
        target.selection.selector(ids: Array(target.ids.prefix(FailureWarnings.termsMax))),
        mask: mask
      ).widgets
    else { return nil }
    return RefreshCommand.silence(of: Set(widgets.map(\.widget.kind)), among: kinds)
  }

  static func silence(of names: Set<KindName>, among kinds: [RegisteredKind]) -> CommandFailure? {
    guard let kind = kinds.first(where: { names.contains($0.kind.name) }),
      let silence = kind.providerSilence
    else { return nil }
    let name = kind.isOfHost ? BundleHost.widget : "the provider \"\(kind.provider)\""
    return CommandFailure(
      .refused, "nothing was refreshed: \(SilentProcess(silence).words(name))")
  }

  /// The answer for all parts.
  static func sum(_ answers: [RefreshWidgetsResponse]) -> RefreshWidgetsResponse {
    var budgets: [KindName: RefreshBudget] = [:]
    var sum = RefreshWidgetsResponse()
    for answer in answers {
      sum.askedCount += answer.askedCount
      sum.unprovidedCount += answer.unprovidedCount
      sum.limitedCount += answer.limitedCount
      // The last answer has the rest of the budget.
      for budget in answer.budgets { budgets[budget.kind] = budget }
    }
    sum.budgets = budgets.values.sorted { $0.kind.rawValue < $1.kind.rawValue }
    return sum
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

  /// - Parameter ids: of all widgets without a provider; empty if they are not known.
  static func words(
    _ answer: RefreshWidgetsResponse, unprovided ids: [String] = []
  ) -> String {
    guard refusal(answer) == nil else { return "" }
    var text =
      answer.askedCount == 0
      ? "nothing was refreshed\n"
      : "asked for new data of \(widgets(answer.askedCount)); it comes when their programs send it\n"
    if !ids.isEmpty {
      text +=
        "not refreshed: \(BundleOutlook.shortened(ids)): no program provides "
        + "\(ids.count == 1 ? "its" : "their") kind now\n"
    } else if answer.unprovidedCount > 0 {
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
