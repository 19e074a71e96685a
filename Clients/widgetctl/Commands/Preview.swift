import ArgumentParser
import WidgetClient
import WidgetModel
import WidgetProto

/// `placeholder`: the look of a kind, with its sample.
struct PlaceholderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "placeholder", abstract: "Show what a kind looks like, with its sample.",
    discussion: """
      The sample is data that the kind declares. The command asks no provider, and creates no \
      widget.

      Examples:
        widgetctl placeholder clock
        widgetctl placeholder weather --family small -o json
      """)

  @OptionGroup var preview: PreviewOptions
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.getPlaceholder(
      GetPlaceholderRequest(kind: preview.kind, family: preview.family), options: session.options)
    try await preview.print(answer.preview, session, noColor: global.noColor)
  }
}

/// `snapshot`: the current preview of an instance of a kind.
struct SnapshotCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snapshot", abstract: "Show what a widget of a kind would look like now.",
    discussion: """
      The daemon asks the provider of the kind, and creates no widget. If the provider does not \
      answer within 2 s, the command shows the kind's sample and the reason.

      Examples:
        widgetctl snapshot weather --set city=Oslo
        widgetctl snapshot weather --recommendation oslo --set days=3
        widgetctl snapshot clock --family inline
      """)

  @OptionGroup var preview: PreviewOptions

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp("Set a parameter; may be repeated.", valueName: "key=value"),
    transform: parseAssignment)
  var parameters: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      """
      Take the parameters from this recommendation of the kind. `gallery` lists recommendations. \
      --set changes single parameters.
      """, valueName: "name"))
  var recommendation: String?

  @OptionGroup var global: GlobalOptions

  func validate() throws { try refuseRepeated(parameters.keys) }

  func run() async throws {
    let session = try global.session()
    var parameters = try parameters.values()
    if let recommendation {
      parameters = try await session.recommended(
        recommendation, of: preview.kind, changing: parameters)
    }
    let answer = try await session.client.getSnapshot(
      GetSnapshotRequest(kind: preview.kind, family: preview.family, parameters: parameters),
      options: session.options)
    try await preview.print(answer.preview, session, noColor: global.noColor)
  }
}

/// The kind and family of a preview, and how it is printed.
struct PreviewOptions: ParsableArguments {
  @Argument(help: "The kind.", completion: kindCompletion, transform: parseKind)
  var kind: KindName

  @Option(
    help: "The family. Default: the family of a new widget.",
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var family: Family?

  @OptionGroup var picture: PictureOptions

  func print(_ preview: Preview, _ session: Session, noColor: Bool) async throws {
    guard session.printer.format == .table else {
      return session.printer.print(preview.document) { "" }
    }
    guard let widget = preview.widget else { return }
    var page = picture.page(isTitled: false, tellsAll: true, noColor: noColor)
    page.theme =
      (try? await session.client.getTheme(options: session.options))?.theme.theme
      ?? .standard
    Output.write(page.text(of: [widget]))
    if preview.isSample { Output.writeError(preview.sampleNote) }
  }
}

extension Session {
  /// The parameters of a recommendation of a kind, some of them changed.
  func recommended(
    _ name: String, of kind: KindName, changing others: ValueMap
  ) async throws -> ValueMap {
    let kind = try await client.getKind(GetKindRequest(name: kind), options: options).kind.kind
    var parameters = try kind.recommended(name)
    for entry in others.entries { parameters[entry.key] = entry.value }
    return parameters
  }
}

extension Kind {
  /// The parameters of a recommendation.
  func recommended(_ wanted: String) throws(CommandFailure) -> ValueMap {
    if let found = recommendations.first(where: { $0.name == wanted }) { return found.parameters }
    let names = recommendations.map(\.name)
    let advice =
      names.isEmpty
      ? "it has none; set its parameters one by one" : "it has \(names.joined(separator: ", "))"
    throw CommandFailure(
      .notFound, "the kind \(name) has no recommendation \"\(wanted)\"; \(advice)")
  }
}

extension Preview {
  /// A line that says that this is a sample, and why.
  var sampleNote: String {
    "widgetctl: this is the sample of \(kind).\(reason.isEmpty ? "" : " \(reason)")\n"
  }

  var document: Value {
    var map: ValueMap = [
      "kind": .string(kind.rawValue), "family": .string(family.name),
      "parameters": .map(parameters), "data": .map(data), "sample": .bool(isSample),
    ]
    if let content { map["content"] = content.document }
    if !reason.isEmpty { map["reason"] = .string(reason) }
    return .map(map)
  }
}
