import ArgumentParser
import WidgetClient
import WidgetModel

/// The widgets of a command: named ones, selected ones, or all.
struct TargetOptions: ParsableArguments {
  /// For the help of commands with these options.
  static let partsHelp = """
    If the daemon does not take so many widgets in one request, the command makes several requests. \
    If one of them fails, the command says how many widgets are done, and how many are left.
    """

  @Argument(
    help: "The widgets' ids. All widgets must exist.", completion: idCompletion,
    transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Flag(help: "All widgets.")
  var all = false

  func validate() throws { _ = try target() }

  /// The widgets of the command.
  func target() throws -> PresenceTarget {
    switch (ids.isEmpty, selection.isEmpty, all) {
    case (false, true, false): return .ids(ids)
    case (true, false, false): return .selector(selection.selector())
    case (true, true, true): return .all
    case (true, true, false):
      throw ValidationError(
        "widgets are missing; name ids, select with -l, --kind, --family or --where, or use --all")
    default:
      throw ValidationError("ids, a selection and --all exclude each other; use one of them")
    }
  }

  /// The ids of the selected widgets, or of all widgets.
  func ids(_ session: Session) async throws(ClientError) -> [WidgetID] {
    try await session.list(selection.selector(), mask: .idsOnly).widgets.map(\.widget.id)
  }

  /// The ids of the selected widgets, for a note about the expression after a change. Nil if there is
  /// no expression, or if the daemon does not answer soon.
  func idsForNote(_ session: Session) async -> [WidgetID]? {
    guard selection.condition != nil else { return nil }
    return try? await ids(session.with(WhereFailure.limited(session.options)))
  }

  /// Reports a selection that selects no widget, and an expression that fails.
  func noteIfNothing(_ session: Session) async throws(ClientError) {
    guard !selection.isEmpty else { return }
    let answer = try await session.client.listWidgets(
      ListWidgetsRequest(selector: selection.selector(), pageSize: 1, readMask: .idsOnly),
      options: session.options)
    if answer.widgets.isEmpty {
      await selection.noteNothing(in: session, "; nothing was done")
    } else {
      await selection.noteFailures(in: session)
    }
  }
}

/// The options that `show`, `hide`, `enable`, `disable` and `toggle` share. Each sets presence in
/// one change.
struct PresenceOptions: ParsableArguments {
  @OptionGroup var target: TargetOptions
  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func run(_ action: PresenceAction) async throws {
    let session = try global.session()
    try await target.selection.checkKinds(in: session)
    let parts = try await TargetParts(
      try target.target(), list: { () async throws(ClientError) in try await target.ids(session) }
    ) { (target, part) async throws(ClientError) in
      try await session.client.setPresence(
        SetPresenceRequest(
          target: target, action: action, transition: transition.transition,
          requestID: TargetParts<SetPresenceResponse>.requestID(global.requestId, part)),
        options: session.options)
    }
    let changed = parts.answers.flatMap(\.changedIDs)
    // If a part has failed, the names of the changed widgets are more important than their state.
    let words =
      parts.failure == nil ? try await PresenceOptions.words(action, of: changed, session) : [:]
    session.printer.print(
      .map([
        "changedIds": .list(changed.map { .string($0.rawValue) }),
        "revision": .revision(parts.answers.last?.revision ?? 0),
      ])
    ) {
      changed.isEmpty
        ? "nothing changed\n"
        : changed.map { "\($0) \(words[$0] ?? action.participle)\n" }.joined()
    }
    if changed.isEmpty, parts.failure == nil {
      try await target.noteIfNothing(session)
    } else if parts.failure == nil {
      await target.selection.noteFailures(in: session, changed: Set(changed))
    }
    if let failure = parts.failure(
      of: "\(action)", isRepeatable: action != .toggle, socket: global.socket)
    {
      throw failure
    }
  }

  /// The result of a toggle, for people: the present state of the widgets. Empty for other actions,
  /// which need no request.
  private static func words(
    _ action: PresenceAction, of ids: [WidgetID], _ session: Session
  ) async throws(ClientError) -> [WidgetID: String] {
    guard action == .toggle, session.printer.format == .table, !ids.isEmpty else { return [:] }
    // Selects all widgets, because a selector cannot name more than a limited number.
    let widgets = try await session.list(Selector(), mask: .presenceOnly).widgets.map(\.widget)
    return Dictionary(
      widgets.map {
        ($0.id, ($0.presence.isVisible ? PresenceAction.show : .hide).participle)
      }
    ) { $1 }
  }
}

/// `show`: sets the visible bit.
struct ShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show widgets.",
    discussion: """
      The command does not enable disabled widgets. To enable widgets, use `enable`. \
      \(TargetOptions.partsHelp)

      Examples:
        widgetctl show clock cpu
        widgetctl show --kind clock --transition opacity:200ms
      """)
  @OptionGroup var options: PresenceOptions
  func run() async throws { try await options.run(.show) }
}

/// `hide`: clears the visible bit.
struct HideCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hide", abstract: "Hide widgets. A hidden widget takes no events.",
    discussion: """
      \(TargetOptions.partsHelp)

      Examples:
        widgetctl hide clock
        widgetctl hide --all
      """)
  @OptionGroup var options: PresenceOptions
  func run() async throws { try await options.run(.hide) }
}

/// `enable`: sets the enabled bit.
struct EnableCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enable", abstract: "Let widgets take events. Hidden widgets stay hidden.",
    discussion: """
      \(TargetOptions.partsHelp)

      Examples:
        widgetctl enable door
        widgetctl enable -l room=kitchen
      """)
  @OptionGroup var options: PresenceOptions
  func run() async throws { try await options.run(.enable) }
}

/// `disable`: clears the enabled bit.
struct DisableCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disable", abstract: "Stop widgets from taking events. They stay visible.",
    discussion: """
      \(TargetOptions.partsHelp)

      Examples:
        widgetctl disable door
        widgetctl disable -l room=kitchen
      """)
  @OptionGroup var options: PresenceOptions
  func run() async throws { try await options.run(.disable) }
}

/// `toggle`: flips the visible bit.
struct ToggleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "toggle", abstract: "Show hidden widgets, and hide visible ones.",
    discussion: """
      \(TargetOptions.partsHelp)

      Examples:
        widgetctl toggle clock
        widgetctl toggle --all --transition spring
      """)
  @OptionGroup var options: PresenceOptions
  func run() async throws { try await options.run(.toggle) }
}
