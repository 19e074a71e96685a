import ArgumentParser
import WidgetClient
import WidgetModel

/// `kinds`: lists kinds.
struct KindsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kinds", abstract: "List the registered kinds.",
    discussion: """
      A kind declares the parameters, data and events of its widgets. The column PROVIDER shows \
      whether the program that provides the widgets is connected or away. It shows - if no \
      program provides them. `describe` shows a kind, and `apply` registers kinds from a file. A \
      widget can also have an unregistered kind. The daemon does not check such a widget.

      Examples:
        widgetctl kinds
        widgetctl kinds -o yaml > kinds.yaml
      """)

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let (kinds, revision) = try await session.kinds()
    session.printer.print(
      list: kinds.map(\.document), around: { .map(["revision": .revision(revision), "kinds": $0]) }
    ) {
      KindsCommand.table(kinds).text(width: session.printer.width, session.printer.painter)
    }
  }

  static func table(_ kinds: [RegisteredKind]) -> Table {
    var table = Table(
      "NAME", "DECLARED BY", "PROVIDER", "FAMILIES", "DESCRIPTION",
      dispensable: ["FAMILIES", "DECLARED BY", "DESCRIPTION"], state: "PROVIDER")
    for registered in kinds {
      let kind = registered.kind
      table.add(
        .init(kind.name.rawValue), .init(registered.provider),
        .init(registered.providerState ?? "-", registered.providerStyle),
        .init(kind.families.isEmpty ? "all" : kind.families.map(\.name).joined(separator: ",")),
        .init(kind.summary.isEmpty ? kind.displayName : kind.summary))
    }
    return table
  }
}

extension RegisteredKind {
  /// Whether the provider is connected. Nil for kinds without one.
  var providerState: String? {
    guard isAttended else { return nil }
    return isProviderConnected ? "connected" : providerSilence == nil ? "away" : "no answer"
  }

  var providerStyle: Style { isAttended ? isProviderConnected ? .good : .warning : .dim }
}

extension Session {
  /// All kinds, by name.
  func kinds() async throws(ClientError) -> (kinds: [RegisteredKind], revision: Revision) {
    var kinds: [RegisteredKind] = []
    var request = ListKindsRequest(pageSize: 1000)
    var revision: Revision = 0
    try await ListPages.read(options) { (token, options) throws(ClientError) in
      request.pageToken = token
      let page = try await client.listKinds(request, options: options)
      kinds += page.kinds
      revision = page.revision
      return page.nextPageToken
    }
    return (kinds, revision)
  }
}

/// `describe`: explains a kind.
struct DescribeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "describe",
    abstract: "Explain a kind: its parameters, data, events and content.",
    discussion: """
      "Content" lists the nodes of each family: the id for `send --node`, the events from users, \
      and the properties (=… is an expression). The id of a repeated node ends with the key of its \
      row; `view --nodes` lists the nodes of one widget.

      A widget of kind `help` also shows parameters, data and events, and changes with the kind.

      Examples:
        widgetctl describe clock
        widgetctl describe clock -o json | jq '.parameters[].name'
        widgetctl add help --param kind=clock
      """)

  @Argument(help: "The kind's name.", completion: kindCompletion, transform: parseKind)
  var name: KindName

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.getKind(
      GetKindRequest(name: name), options: session.options)
    let asides = await AsideValues.ask([name], session)?.entries ?? []
    var document = answer.kind.document
    if !asides.isEmpty, case .map(var map) = document {
      map["setAside"] = .list(asides.map(\.document))
      document = .map(map)
    }
    session.printer.print(document) {
      KindText(answer.kind, session.printer.painter).text(width: session.printer.width)
        + (asides.isEmpty ? "" : "\n" + session.printer.painter.paint("Set aside", .header) + "\n")
        + asides.map { "  \($0.text)\n" }.joined().safeLines
    }
    await session.warnOfStore()
  }
}

/// `rm-kind`: removes kinds.
struct RemoveKindCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm-kind", abstract: "Remove a kind. Its widgets stay.",
    discussion: """
      The kind's widgets stay. They lose the values that equal the kind's defaults and that have \
      no owner. The daemon no longer checks the widgets, and shows their data instead of content. \
      The command prints the number of these widgets.

      The command refuses to remove a kind of a bundle: remove the bundle, or edit its file. With \
      --force it removes the kind, but widgetd-host restores the kind while it runs the bundle.

      Examples:
        widgetctl rm-kind clock
      """)

  @Argument(help: "The kind's name.", completion: kindCompletion, transform: parseKind)
  var name: KindName

  @Flag(help: "Accept a missing kind.")
  var allowMissing = false

  @Flag(help: "Also remove kinds of bundles; widgetd-host restores kinds of running bundles.")
  var force = false

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    if !force, let failure = try await refusal(session) { throw failure }
    let asidesBefore = await AsideValues.ask([name], session)
    let answer = try await session.client.deleteKind(
      DeleteKindRequest(
        name: name, allowMissing: allowMissing, requestID: global.requestId ?? ""),
      options: session.options)
    // The kind is removed already, so the command succeeds even if this call fails.
    let left = (try? await session.list(Selector(kinds: [name]), mask: .idsOnly))?.widgets
    let ids = left?.map(\.widget.id.rawValue)
    let asides = await AsideValues.ask([name], session)
    session.printer.print(
      .map([
        "name": .string(name.rawValue), "revision": .revision(answer.revision),
        "widgets": ids.map { .int(Int64($0.count)) } ?? .null,
      ])
    ) {
      (allowMissing ? "kind \(name) is gone\n" : "kind \(name) removed\n")
        + RemoveKindCommand.text(ofWidgets: ids ?? [], of: name)
        + (asides?.text(since: asidesBefore) ?? "")
    }
  }

  /// The line about the widgets of a removed kind; empty if there are none.
  static func text(ofWidgets ids: [String], of name: KindName) -> String {
    guard !ids.isEmpty else { return "" }
    let shown = 5
    let list = ids.prefix(shown).joined(separator: ", ") + (ids.count > shown ? ", …" : "")
    let words = ids.count == 1 ? "1 widget stays, and is" : "\(ids.count) widgets stay, and are"
    return "\(words) unregistered now: \(list); `widgetctl rm --kind \(name)` removes "
      + (ids.count == 1 ? "it\n" : "them\n")
  }

  /// The refusal to remove a kind that a bundle or the host declares; nil for other kinds.
  private func refusal(_ session: Session) async throws(ClientError) -> CommandFailure? {
    do throws(ClientError) {
      let answer = try await session.client.getKind(
        GetKindRequest(name: name), options: session.options)
      let provider = answer.kind.provider
      var removal: String?
      if let bundle = RemoveCommand.bundle(of: provider) {
        removal = await BundleStanding.removal(of: bundle, session)
      }
      return RemoveKindCommand.refusal(of: name, declaredBy: provider, removal: removal)
    } catch {
      // The removal decides whether a missing kind is an error.
      guard error.status?.code == .notFound else { throw error }
      return nil
    }
  }

  /// - Parameter removal: the command that removes the bundle.
  static func refusal(
    of name: KindName, declaredBy provider: String, removal: String? = nil
  ) -> CommandFailure? {
    if provider == BundleHost.widget {
      return CommandFailure(
        .refused,
        "kind \"\(name)\" belongs to widgetd-host, which uses it to show the state of bundles; "
          + "--force removes the kind until widgetd-host restores it")
    }
    let prefix = "bundle/"
    guard provider.hasPrefix(prefix), provider != prefix else { return nil }
    let bundle = provider.dropFirst(prefix.count)
    return CommandFailure(
      .refused,
      "kind \"\(name)\" belongs to bundle \(bundle); remove the bundle with "
        + "`\(removal ?? "widgetctl bundle rm \(bundle)")`, or edit the bundle's file; --force removes the kind "
        + "until the bundle is loaded again or widgetd-host restores it")
  }
}
