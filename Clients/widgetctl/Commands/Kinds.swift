import ArgumentParser
import WidgetClient
import WidgetModel

/// `kinds`: lists kinds.
struct KindsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kinds", abstract: "List the kinds of widgets that are registered.",
    discussion: """
      A kind says what its widgets are configured with, what they hold and what happens to them; \
      `describe` shows one, `apply` registers them from a file. Widgets can also be of a kind that \
      is not listed; then nothing about them is checked.

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
      var table = Table("NAME", "PROVIDER", "FAMILIES", "DESCRIPTION")
      for registered in kinds {
        let kind = registered.kind
        table.add(
          .init(kind.name.rawValue), .init(registered.provider),
          .init(kind.families.isEmpty ? "all" : kind.families.map(\.name).joined(separator: ",")),
          .init(kind.summary.isEmpty ? kind.displayName : kind.summary))
      }
      return table.text(width: session.printer.width, session.printer.painter)
    }
  }
}

extension Session {
  /// All kinds, by name.
  func kinds() async throws(ClientError) -> (kinds: [RegisteredKind], revision: Revision) {
    var kinds: [RegisteredKind] = []
    var request = ListKindsRequest(pageSize: 1000)
    while true {
      let page = try await client.listKinds(request, options: options)
      kinds += page.kinds
      guard !page.nextPageToken.isEmpty else { return (kinds, page.revision) }
      request.pageToken = page.nextPageToken
    }
  }
}

/// `describe`: explains a kind.
struct DescribeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "describe", abstract: "Explain a kind: its parameters, data and events.",
    discussion: """
      A widget of kind `help` shows the same, and follows when the kind changes.

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
    session.printer.print(answer.kind.document) {
      DescribeCommand.text(answer.kind, width: session.printer.width, session.printer.painter)
    }
  }

  /// The kind in words and tables.
  static func text(_ registered: RegisteredKind, width: Int?, _ painter: Painter) -> String {
    let kind = registered.kind
    var text = painter.paint(kind.name.rawValue, .header)
    if !kind.displayName.isEmpty { text += " (\(kind.displayName.safeForTerminal))" }
    text += "\n"
    if !kind.summary.isEmpty { text += "\(kind.summary.safeForTerminal)\n" }
    text += "\nProvider: \(registered.provider.safeForTerminal)\n"
    if !kind.families.isEmpty {
      text += "Families: \(kind.families.map(\.name).joined(separator: ", "))\n"
    }
    if let transition = kind.transition {
      text += "Transition: \(TransitionSyntax.text(transition))\n"
    }
    if kind.isOpen { text += "Takes more than is declared here.\n" }
    text += section("Parameters", kind.parameters, width, painter)
    text += section("Data", kind.data, width, painter)
    for event in kind.events {
      text += section(
        "Event \(event.name)", event.payload, width, painter, summary: event.summary)
    }
    guard !kind.reducers.isEmpty else { return text }
    text += "\n" + painter.paint("Reducers", .header) + "\n"
    for reducer in kind.reducers {
      text += "on \(reducer.event.safeForTerminal)"
      if !reducer.nodeID.isEmpty { text += " of \(reducer.nodeID.safeForTerminal)" }
      if !reducer.condition.isEmpty { text += " if \(reducer.condition.safeForTerminal)" }
      text += "\n"
      for (key, source) in reducer.assignments.sorted(by: { $0.key < $1.key }) {
        text += "  \(key.safeForTerminal) = \(source.safeForTerminal)\n"
      }
      for key in reducer.unset { text += "  unset \(key.safeForTerminal)\n" }
    }
    return text
  }

  private static func section(
    _ title: String, _ fields: [Field], _ width: Int?, _ painter: Painter, summary: String = ""
  ) -> String {
    guard !fields.isEmpty || title.hasPrefix("Event") else { return "" }
    var text = "\n" + painter.paint(title.safeForTerminal, .header)
    text += summary.isEmpty ? "\n" : ": \(summary.safeForTerminal)\n"
    guard !fields.isEmpty else { return text }
    var table = Table("NAME", "TYPE", "DEFAULT", "DESCRIPTION")
    for field in fields {
      let value = field.defaultValue.map(JSONWriter.compact)
      table.add(
        .init(field.name), .init("\(field.type)"),
        .init(field.isRequired ? "required" : value ?? "-"),
        .init(field.summary))
    }
    return text + table.text(width: width, painter)
  }
}

/// `rm-kind`: removes kinds.
struct RemoveKindCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm-kind", abstract: "Remove a kind. Its widgets stay.",
    discussion: """
      The kind's widgets keep what they hold, and are no longer checked.

      Examples:
        widgetctl rm-kind clock
      """)

  @Argument(help: "The kind's name.", completion: kindCompletion, transform: parseKind)
  var name: KindName

  @Flag(help: "A kind that is not there is no error.")
  var allowMissing = false

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.deleteKind(
      DeleteKindRequest(
        name: name, allowMissing: allowMissing, requestID: global.requestId ?? ""),
      options: session.options)
    session.printer.print(
      .map(["name": .string(name.rawValue), "revision": .revision(answer.revision)])
    ) { allowMissing ? "\(name) is gone\n" : "\(name) removed\n" }
  }
}

/// Completes with the daemon's kinds.
let kindCompletion = CompletionKind.custom { words, _, prefix in
  let option = words.lastIndex(of: "--socket").flatMap { index in
    words.indices.contains(index + 1) ? words[index + 1] : nil
  }
  guard let path = try? SocketPath.discover(explicit: option) else { return [] }
  let client = WidgetClient(socketPath: path)
  let answer = try? await client.listKinds(
    ListKindsRequest(pageSize: 1000), options: CallOptions(timeout: .seconds(1)))
  return (answer?.kinds ?? []).map(\.kind.name.rawValue).filter { $0.hasPrefix(prefix) }
}
