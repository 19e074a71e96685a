import ArgumentParser
import WidgetClient
import WidgetModel
import WidgetRender
import WidgetTerminal

/// `theme`: the values of the tokens in nodes' properties.
struct ThemeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "theme", abstract: "Show or change the theme: colours, lengths and fonts.",
    discussion: """
      Nodes name colours, lengths and fonts by tokens, such as color.primary, offset.basic2 and \
      font.title. The theme gives each token a value, the same for all clients of the daemon.

      Examples:
        widgetctl theme preview
        widgetctl theme set color.primary=#00aa44 font.title.size=20
        widgetctl theme get -o yaml > theme.yaml
        widgetctl theme import theme.yaml
      """,
    subcommands: [
      ThemeGetCommand.self, ThemeSetCommand.self, ThemeUnsetCommand.self, ThemeImportCommand.self,
      ThemePreviewCommand.self,
    ])
}

/// `theme get`: the theme, or one token's value.
struct ThemeGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Show the theme, or the value of one token.",
    discussion: """
      The mark * shows the values that differ from the standard theme.

      Examples:
        widgetctl theme get
        widgetctl theme get color.primary
        widgetctl theme get -o yaml > theme.yaml
      """)

  @Argument(help: "The token. Default: all.", completion: themeTokenCompletion)
  var token: String?

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let theme = try await session.client.getTheme(options: session.options).theme
    guard let token else {
      return session.printer.print(theme.document) {
        var table = Table("TOKEN", "SET", "VALUE", dispensable: ["SET"])
        for (token, value) in theme.values.sorted(by: { $0.key.precedesByBytes($1.key) }) {
          table.add(
            .init(token), .init(theme.overridden.contains(token) ? "yes" : "-"),
            .init(ThemeText.words(for: value)))
        }
        return table.text(width: session.printer.width, session.printer.painter)
      }
    }
    guard let value = theme.values[token] else {
      throw CommandFailure(
        .notFound, "the theme has no token \"\(token)\"; `widgetctl theme get` lists them"
      ).suggesting(ThemeToken.nearest(to: token, in: theme.theme))
    }
    session.printer.print(
      .map([
        "token": .string(token), "value": value.document,
        "overridden": .bool(theme.overridden.contains(token)),
      ])
    ) { ThemeText.words(for: value) + "\n" }
  }
}

/// `theme set`: other values for tokens.
struct ThemeSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change the values of tokens.",
    discussion: """
      A colour is #rrggbb or #rrggbbaa, for all appearances. color.NAME.light, .dark and \
      .high-contrast set the colour for one appearance. A length is a number of points. A font \
      has the parts size (points), weight (regular, bold, light), italic and monospace (true, \
      false). The command adds a token that is not in the standard theme, such as color.brand. \
      It refuses a new token that is probably a misspelt one; --new adds it. All values change, \
      or none.

      Examples:
        widgetctl theme set color.primary=#00aa44
        widgetctl theme set color.primary.dark=#66ff99 offset.basic=6
        widgetctl theme set font.title.size=20 font.title.weight=bold
        widgetctl theme set color.brand=#ff6600
      """)

  @Argument(
    help: ArgumentHelp("A token's new value.", valueName: "token=value"),
    completion: themeTokenCompletion, transform: parseThemeAssignment)
  var assignments: [ThemeAssignment]

  @Flag(name: .customLong("new"), help: "Also add tokens whose names are like known ones.")
  var addsSimilar = false

  @Flag(help: "Print the changes without making them.")
  var dryRun = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try refuseRepeated(
      assignments.map { ([$0.token] + [$0.part].compactMap(\.self)).joined(separator: ".") })
  }

  func run() async throws {
    let session = try global.session()
    let theme = try await session.client.getTheme(options: session.options).theme
    if !addsSimilar {
      for token in assignments.map(\.token) {
        if let failure = ThemeSetCommand.misspelt(token, in: theme) { throw failure }
      }
    }
    let values: [String: ThemeValue]
    do throws(SyntaxFailure) {
      values = try ThemeAssignment.values(assignments, over: theme.values)
    } catch {
      throw CommandFailure(.invalidArgument, "\(error)")
    }
    try await session.change(
      UpdateThemeRequest(
        set: values, validateOnly: dryRun,
        etag: assignments.contains(where: \.readsValue) ? theme.etag : "",
        requestID: global.requestId ?? ""), from: theme)
  }

  /// The failure for a token that the theme lacks, and whose name is like that of a known one.
  static func misspelt(_ token: String, in theme: ThemeState) -> CommandFailure? {
    guard theme.values[token] == nil,
      let known = ThemeToken.nearest(to: token, in: theme.theme)
    else { return nil }
    return CommandFailure(
      .notFound, "the theme has no token \"\(token)\"; --new adds a token with this name"
    ).suggesting(known)
  }
}

/// `theme unset`: the standard values again.
struct ThemeUnsetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unset", abstract: "Reset tokens to their standard values.",
    discussion: """
      The command removes a token that is not in the standard theme.

      Examples:
        widgetctl theme unset color.primary color.brand
        widgetctl theme unset --all
      """)

  @Argument(help: "The tokens.", completion: themeTokenCompletion)
  var tokens: [String] = []

  @Flag(help: "All tokens.")
  var all = false

  @Flag(help: "Print the changes without making them.")
  var dryRun = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard all != tokens.isEmpty else { return }
    throw ValidationError(all ? "name tokens or --all, not both" : "name a token, or --all")
  }

  func run() async throws {
    let session = try global.session()
    let theme = try await session.client.getTheme(options: session.options).theme
    for token in tokens where theme.values[token] == nil {
      throw CommandFailure(
        .notFound, "the theme has no token \"\(token)\"; `widgetctl theme get` lists them"
      ).suggesting(ThemeToken.nearest(to: token, in: theme.theme))
    }
    try await session.change(
      UpdateThemeRequest(
        unset: tokens, replace: all, validateOnly: dryRun, requestID: global.requestId ?? ""),
      from: theme)
  }
}

/// `theme import`: the theme of a file.
struct ThemeImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Replace the theme with the theme of a file.",
    discussion: """
      The command reads the output of `theme get -o yaml` or -o json, or a map of tokens and \
      values. Tokens that are not in the file get their standard value.

      Examples:
        widgetctl theme import theme.yaml --dry-run
        echo '{color.primary: "#00aa44", offset.basic: 6}' | widgetctl theme import -
      """)

  @Argument(
    help: "The file; - is standard input.", completion: .file(extensions: ["yaml", "yml", "json"]))
  var file: String

  @Flag(help: "Print the changes without making them.")
  var dryRun = false

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let text = try Input.text(file)
    let label = file == "-" ? "standard input" : file
    let documents = try DocumentReader.documents(text, name: label)
    guard documents.count == 1 else {
      throw CommandFailure(
        .invalidArgument, "\(label) has \(documents.count) documents; a theme is one")
    }
    let values: [String: ThemeValue]
    do throws(FieldFailure) { values = try ThemeState.readValues(documents[0]) } catch {
      throw CommandFailure(
        .invalidArgument,
        [label, error.path, error.reason].filter { !$0.isEmpty }.joined(separator: ": "))
    }
    let session = try global.session()
    let theme = try await session.client.getTheme(options: session.options).theme
    for token in values.keys.sorted() where theme.values[token] == nil {
      guard let known = ThemeToken.nearest(to: token, in: theme.theme) else { continue }
      Output.writeError("widgetctl: warning: \(token) is a new token; did you mean \(known)?\n")
    }
    try await session.change(
      UpdateThemeRequest(
        set: values, replace: true, validateOnly: dryRun, requestID: global.requestId ?? ""),
      from: theme)
  }
}

/// `theme preview`: a picture of the theme.
struct ThemePreviewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "preview", abstract: "Show the colours, fonts and lengths of the theme.",
    discussion: """
      For each colour, the command draws a patch for each appearance, with its value. A terminal \
      with 256 or 16 colours shows the nearest colours. Without colours, the output has only names \
      and values.

      Examples:
        widgetctl theme preview
      """)

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let theme = try await session.client.getTheme(options: session.options).theme
    session.printer.print(theme.document) {
      ThemeText(
        state: theme, painter: session.printer.painter,
        depth: session.printer.painter.usesColour
          ? TerminalCapabilities(environment: Terminal.environment).depth : .none
      ).preview
    }
  }
}

extension Session {
  /// Changes the theme, and prints the changes.
  fileprivate func change(
    _ request: UpdateThemeRequest, from before: ThemeState
  ) async throws(ClientError) {
    let answer = try await client.updateTheme(request, options: options)
    printer.print(answer.theme.document) {
      ThemeCommand.text(from: before, to: answer.theme, isDryRun: request.validateOnly)
    }
  }
}

extension ThemeCommand {
  /// A line for each token whose value has changed.
  static func text(from before: ThemeState, to after: ThemeState, isDryRun: Bool) -> String {
    let tokens = Set(before.values.keys).union(after.values.keys).sorted { $0.precedesByBytes($1) }
    let lines = tokens.compactMap { token -> String? in
      let (old, new) = (before.values[token], after.values[token])
      guard old != new else { return nil }
      let verb = isDryRun ? "would be" : "is"
      let words = new.map { ThemeText.words(for: $0) }
      let removed = isDryRun ? "would be removed" : "removed"
      return "\(token.safeForTerminal) \(words.map { "\(verb) \($0)" } ?? removed)\n"
    }
    return lines.isEmpty ? "nothing changed\n" : lines.joined()
  }
}

func parseThemeAssignment(_ text: String) throws -> ThemeAssignment {
  do throws(SyntaxFailure) { return try ThemeAssignment(text) } catch {
    throw ValidationError("\(error)")
  }
}
