import ArgumentParser
import Glibc
import WidgetClient
import WidgetModel
import WidgetProto
import WidgetTimers

/// `gallery`: shows the look of kinds, in each family.
struct GalleryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gallery", abstract: "Show what kinds look like, with their samples.",
    discussion: """
      The command shows each kind in each of its families, with the kind's sample as data. If a \
      kind requires parameters, they are those of its first recommendation. The command asks no \
      provider, and creates no widget. Below the pictures of a kind are its recommendations: \
      named sets of parameters. `add KIND --recommendation NAME` adds such a widget.

      With --recommendation, the command shows snapshots with these parameters. So it asks the \
      provider of the kind, as `snapshot` does.

      With --folder, the command writes pictures instead: KIND-FAMILY.svg, or .png. With \
      --recommendation, they are KIND-NAME-FAMILY.svg, or .png. It replaces files of that name.

      Examples:
        widgetctl gallery
        widgetctl gallery clock weather --family small
        widgetctl gallery weather --recommendation oslo
        widgetctl gallery --folder pictures --pictures png --scale 2
      """)

  @Argument(help: "Only these kinds.", completion: kindCompletion, transform: parseKind)
  var kinds: [KindName] = []

  @Option(
    help: "Only this family; may be repeated. Default: all families of the kind.",
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var family: [Family] = []

  @Option(
    help: ArgumentHelp(
      "Show snapshots with the parameters of this recommendation of the kinds.",
      valueName: "name"))
  var recommendation: String?

  @OptionGroup var picture: PictureOptions

  @Option(help: "Write pictures into this folder.", completion: .directory)
  var folder: String?

  @Option(help: "With --folder: svg or png. Default: svg.")
  var pictures: RenderCommand.Format?

  @Option(
    help: ArgumentHelp("With --folder: pixels per point, 0.5 to 8.", valueName: "factor"),
    transform: { try parseNumber($0, "0.5 to 8") })
  var scale: Double?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if recommendation != nil, kinds.isEmpty {
      throw ValidationError(
        "--recommendation needs a kind: `widgetctl gallery KIND --recommendation NAME`")
    }
    if folder == nil, pictures != nil || scale != nil {
      throw ValidationError("--pictures and --scale need --folder")
    }
    if let scale, !RenderCommand.scales.contains(scale) {
      throw ValidationError("--scale is 0.5 to 8")
    }
  }

  func run() async throws {
    let session = try global.session()
    let shown = try await kindsToShow(session)
    var previews: [(kind: Kind, previews: [Preview])] = []
    for kind in shown {
      var made: [Preview] = []
      let parameters = try recommendation.map(kind.recommended)
      for family in families(of: kind) {
        made.append(try await preview(of: kind.name, family, parameters, session))
      }
      previews.append((kind, made))
    }
    noteSamples(previews.flatMap(\.previews).filter { recommendation != nil || !$0.reason.isEmpty })
    let theme =
      (try? await session.client.getTheme(options: session.options))?.theme.theme ?? .standard
    if let folder { return try write(previews.flatMap(\.previews), to: folder, theme) }
    guard session.printer.format == .table else {
      return session.printer.print(
        list: previews.flatMap(\.previews).map(\.document), around: { .map(["previews": $0]) }
      ) { "" }
    }
    if previews.isEmpty {
      return Output.write(
        "no kinds are registered; `widgetctl apply -f FILE` or `widgetctl bundle install` registers some\n"
      )
    }
    for (index, shown) in previews.enumerated() {
      Output.write((index == 0 ? "" : "\n") + text(of: shown.kind, shown.previews, session, theme))
    }
  }

  private func kindsToShow(_ session: Session) async throws -> [Kind] {
    guard !kinds.isEmpty else {
      // The built-in kind `help` explains another kind, so without one it shows nothing.
      return try await session.kinds().kinds.map(\.kind).filter { $0.name.rawValue != "help" }
    }
    var found: [Kind] = []
    for name in kinds {
      found.append(
        try await session.client.getKind(GetKindRequest(name: name), options: session.options)
          .kind.kind)
    }
    return found
  }

  /// The sample, or a snapshot with these parameters.
  private func preview(
    of kind: KindName, _ family: Family, _ parameters: ValueMap?, _ session: Session
  ) async throws -> Preview {
    guard let parameters else {
      return try await session.client.getPlaceholder(
        GetPlaceholderRequest(kind: kind, family: family), options: session.options
      ).preview
    }
    return try await session.client.getSnapshot(
      GetSnapshotRequest(kind: kind, family: family, parameters: parameters),
      options: session.options
    ).preview
  }

  /// Reports on standard error the kinds that show their sample, and the reasons.
  private func noteSamples(_ previews: [Preview]) {
    var told: Set<String> = []
    for preview in previews where preview.isSample {
      let note = preview.sampleNote
      if told.insert(note).inserted { Output.writeError(note) }
    }
  }

  /// The families to show. A kind without families has all of them.
  private func families(of kind: Kind) -> [Family] {
    let all = kind.families.isEmpty ? Family.allCases : kind.families
    return family.isEmpty ? all : family.filter(all.contains)
  }

  // MARK: - Text

  private func text(
    of kind: Kind, _ previews: [Preview], _ session: Session, _ theme: Theme
  ) -> String {
    let painter = session.printer.painter
    var text = painter.paint(kind.name.rawValue, .header)
    let words = kind.summary.isEmpty ? kind.displayName : kind.summary
    if !words.isEmpty { text += "  " + words.safeForTerminal }
    text += "\n"
    if previews.isEmpty { text += "  not made for \(family.map(\.name).joined(separator: ", "))\n" }
    for preview in previews {
      text += "\n" + painter.paint(preview.family.name, .dim) + "\n"
      var page = picture.page(isTitled: false, tellsAll: true, noColor: global.noColor)
      page.theme = theme
      text += preview.widget.map { page.text(of: [$0]) } ?? ""
    }
    guard !kind.recommendations.isEmpty else { return text }
    text += "\n" + painter.paint("recommended", .dim) + "\n"
    for recommendation in kind.recommendations {
      let parameters = recommendation.parameters.entries.map(\.line).joined(separator: "  ")
      let name = recommendation.displayName.isEmpty ? "" : "  \(recommendation.displayName)"
      text += "  " + "\(recommendation.name)\(name)  \(parameters)".safeForTerminal + "\n"
    }
    return text
  }

  // MARK: - Pictures

  private func write(_ previews: [Preview], to folder: String, _ theme: Theme) throws {
    guard mkdir(folder, 0o777) == 0 || errno == EEXIST else {
      throw CommandFailure(
        ExitStatus(errno: errno),
        "cannot make the folder \(folder): \(String(cString: strerror(errno)))")
    }
    let format = pictures ?? .svg
    for preview in previews {
      guard let widget = preview.widget else { continue }
      var page = RenderPage(dates: DateText(now: .wallClock()))
      page.appearance = picture.appearance ?? .dark
      let name = ([preview.kind.rawValue, recommendation, preview.family.name] as [String?])
        .compactMap(\.self).joined(separator: "-")
      // Names of kinds and recommendations may have slashes.
      let path = "\(folder)/\(String(name.map { $0 == "/" ? "-" : $0 })).\(format.rawValue)"
      let output = RenderOutput(
        file: OutputFile(path), format: format, scale: scale ?? 1, page: page)
      if let bytes = try output.bytes(of: [widget], kinds: KindNames(), theme: theme) {
        try output.file.write(bytes)
        Output.write(path + "\n")
      }
    }
  }
}

extension Preview {
  /// A widget with this look.
  var widget: Widget? {
    WidgetID(kind.rawValue).map {
      Widget(
        id: $0, kind: kind, family: family, parameters: parameters, data: data, content: content)
    }
  }
}
