import ArgumentParser
import WidgetClient
import WidgetModel

/// `rm`: deletes widgets.
struct RemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Remove widgets.",
    discussion: """
      The command removes the widgets one after the other. If it cannot remove one, it still \
      removes the others, and exits with the status of the first failure. If the daemon does not \
      answer, the command ends, and says how many widgets are left. With --request-id R and several \
      ids, the request ids are R-1, R-2, and so on.

      The command refuses to remove a widget of a bundle: remove the bundle, or edit its file. It \
      also refuses to remove the widgets that show the state of widgetd-host and of bundles. With \
      --force it removes the widget, but widgetd-host restores the widget while it runs.

      The command removes a selection (-l, --kind, --family, --where) only with --yes. Without \
      --yes, it lists the widgets that it would remove, and exits with status 5.

      Examples:
        widgetctl rm clock
        widgetctl rm clock cpu --allow-missing
        widgetctl rm --where 'widget.error != null'
        widgetctl rm --where 'widget.error != null' --yes
      """, aliases: ["remove", "delete"])

  @Argument(help: "The widgets' ids.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Flag(help: "Remove all selected widgets.")
  var yes = false

  @Flag(help: "Accept a missing widget.")
  var allowMissing = false

  @Flag(help: "Also remove widgets of bundles; widgetd-host restores widgets of running bundles.")
  var force = false

  @Option(help: "Remove the widget only if it still has this etag; otherwise exit with status 5.")
  var etag: String?

  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard ids.isEmpty != selection.isEmpty else {
      throw ValidationError(
        ids.isEmpty
          ? "widgets are missing; name ids, or select with -l, --kind, --family or --where"
          : "ids and a selection exclude each other; use one of them")
    }
    guard !yes || ids.isEmpty else {
      throw ValidationError("--yes is for a selection; leave it out")
    }
    guard etag == nil || ids.count == 1 else {
      throw ValidationError("--etag is for one widget; name only this widget")
    }
  }

  func run() async throws {
    let session = try global.session()
    var firstFailure: ExitStatus?
    let ids = try await selected(session)
    for (index, id) in ids.enumerated() {
      do throws(ClientError) {
        if !force, let failure = try await refusal(of: id, session) {
          Main.report(failure, isJSON: session.printer.isJSON)
          firstFailure = firstFailure ?? failure.exit
          continue
        }
        // The bundle restores its widget without the values of users.
        let lost = force ? await LostValues.ask(with: id, session) : []
        let answer = try await session.client.deleteWidget(
          DeleteWidgetRequest(
            id: id, etag: etag ?? "", allowMissing: allowMissing,
            requestID: global.requestId.map { ids.count == 1 ? $0 : "\($0)-\(index + 1)" } ?? "",
            transition: transition.transition), options: session.options)
        session.printer.print(
          LostValues.document(removed: id, answer.revision, lost)
        ) {
          (allowMissing ? "\(id) is gone\n" : "\(id) removed\n")
            + LostValues.text(lost)
        }
      } catch {
        let failure = CommandFailure(error, socket: global.socket)
        // Without a daemon, the other ids fail in the same way.
        guard error.status != nil else {
          let last = RemoveCommand.ending(
            failure, at: id, left: ids.count - index, isSelection: self.ids.isEmpty)
          throw last.exiting(firstFailure ?? last.exit)
        }
        Main.report(
          await NearestName.completed(failure, socket: global.socket),
          isJSON: session.printer.isJSON)
        firstFailure = firstFailure ?? failure.exit
      }
    }
    if !ids.isEmpty { await selection.noteFailures(in: session, changed: Set(ids)) }
    if let firstFailure { throw firstFailure }
  }

  /// The failure of the daemon to answer, with the widgets that are left.
  ///
  /// - Parameters:
  ///   - id: The widget that is perhaps removed.
  ///   - left: The number of widgets that are left, with that one.
  static func ending(
    _ failure: CommandFailure, at id: WidgetID, left: Int, isSelection: Bool
  ) -> CommandFailure {
    var told = failure
    told.metadata["widget_id"] = id.rawValue
    told.metadata["left"] = "\(left)"
    let others =
      switch left - 1 {
      case 0: ""
      case 1: ", and 1 more widget is left"
      default: ", and \(left - 1) more widgets are left"
      }
    return told.adding(
      "widget \"\(id)\" may be removed\(others); run the command again"
        + (isSelection ? "" : " with --allow-missing"))
  }

  /// The widgets to remove. Lists them and fails if they are selected without --yes.
  private func selected(_ session: Session) async throws -> [WidgetID] {
    guard ids.isEmpty else { return ids }
    try await selection.checkKinds(in: session)
    let found = try await session.list(selection.selector(), mask: .idsOnly).widgets
      .map(\.widget.id)
    guard !found.isEmpty else {
      await selection.noteNothing(in: session, "; nothing was done")
      return []
    }
    guard !yes else { return found }
    Output.write(found.map { "\($0)\n" }.joined())
    await selection.noteFailures(in: session)
    throw CommandFailure(
      .refused,
      found.count == 1
        ? "nothing was removed: add --yes to remove this widget"
        : "nothing was removed: add --yes to remove these \(found.count) widgets")
  }

  /// The refusal to remove a widget that a bundle declares; nil for other widgets.
  private func refusal(
    of id: WidgetID, _ session: Session
  ) async throws(ClientError) -> CommandFailure? {
    do throws(ClientError) {
      let answer = try await session.client.getWidget(
        GetWidgetRequest(id: id), options: session.options)
      let applySet = answer.widget.applySet
      let bundle = RemoveCommand.bundle(of: applySet) ?? RemoveCommand.bundle(of: id.rawValue)
      var removal: String?
      if let bundle { removal = await BundleStanding.removal(of: bundle, session) }
      return RemoveCommand.refusal(of: id, in: applySet, removal: removal)
    } catch {
      // The removal decides whether a missing widget is an error.
      guard error.status?.code == .notFound else { throw error }
      return nil
    }
  }

  /// - Parameter removal: the command that removes the bundle.
  static func refusal(
    of id: WidgetID, in applySet: String, removal: String? = nil
  ) -> CommandFailure? {
    if applySet == "widgetd-host" {
      let bundle = bundle(of: id.rawValue)
      return CommandFailure(
        .refused,
        "widget \"\(id)\" shows the state of \(bundle.map { "bundle \($0)" } ?? "widgetd-host"); "
          + (bundle.map { "remove the bundle with `\(removal ?? "widgetctl bundle rm \($0)")`" }
            ?? "it exists while widgetd-host runs")
          + "; --force removes the widget until widgetd-host restores it")
    }
    guard let bundle = bundle(of: applySet) else { return nil }
    return CommandFailure(
      .refused,
      "widget \"\(id)\" belongs to bundle \(bundle); remove the bundle with "
        + "`\(removal ?? "widgetctl bundle rm \(bundle)")`, or edit the bundle's file; --force removes the widget "
        + "until the bundle is loaded again or widgetd-host restores it")
  }

  /// The bundle whose widgets are in a set; nil if the set is not a bundle's.
  static func bundle(of applySet: String) -> String? {
    OwnerName.bundle(applySet)
  }
}

extension Printer {
  /// Whether errors are JSON too.
  var isJSON: Bool { format == .json || format == .jsonl }
}
