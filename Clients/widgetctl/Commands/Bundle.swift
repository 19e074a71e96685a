import ArgumentParser
import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel
import WidgetTimeZones

/// `bundle`: widgets without code. Its commands work without the daemon, and report the host of the
/// bundles if the daemon runs.
struct BundleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bundle", abstract: "Write, check and install bundles: widgets without code.",
    discussion: """
      A bundle is a folder with a bundle.yaml (or bundle.json). It declares widgets and their \
      kinds: data, sources, content and actions. widgetd-host watches the folder of bundles and \
      runs its bundles, so an installed bundle runs at once.

      Examples:
        widgetctl bundle new clock
        widgetctl bundle validate clock
        widgetctl bundle install clock
        widgetctl bundle install https://example.org/desk.zip
        widgetctl bundle rollback clock
        widgetctl bundle set weather unit=F
        widgetctl bundle rm clock
        widgetctl bundle trace clock
      """,
    subcommands: [
      BundleNewCommand.self, BundleValidateCommand.self, BundleDiffCommand.self,
      BundleInstallCommand.self, BundleRollbackCommand.self, BundleListCommand.self,
      BundleSetCommand.self,
      BundleRemoveCommand.self, BundleTraceCommand.self, BundleSchemaCommand.self,
    ])
}

/// The folder of installed bundles.
struct BundleFolderOptions: ParsableArguments {
  @Option(
    name: .customLong("dir"),
    help: ArgumentHelp(
      """
      The folder of bundles. Default: $XDG_DATA_HOME/widgetd/bundles (~/.local/share/widgetd/bundles); \
      for root /var/lib/widgetd-host/bundles.
      """, valueName: "folder"), completion: .directory)
  var folder: String?

  /// A command of `widgetctl bundle` that acts on the same folder: `widgetctl bundle ls --dir bundles`.
  func command(_ words: String) -> String {
    "widgetctl bundle \(words)" + (folder.map { " --dir \($0.asArgument)" } ?? "")
  }

  /// A text of the installer, with `--dir` added to its commands of `widgetctl bundle`.
  func advised(_ text: String) -> String {
    folder.map { BundleText.advice(text, with: "--dir \($0.asArgument)") } ?? text
  }

  /// Runs a call of the installer. Its errors become errors of the command; commands in their hints get
  /// `--dir`.
  func carryOut<T>(
    _ body: () throws(BundleInstallerError) -> T
  ) throws(CommandFailure) -> T {
    do throws(BundleInstallerError) { return try body() } catch {
      if folder == nil, case .system(_, let number) = error, number == EACCES || number == EROFS {
        let failure = CommandFailure(error)
        throw CommandFailure(
          failure.exit, "\(failure.message); with --remote, widgetd-host does this in its folder")
      }
      throw CommandFailure(
        folder.map { error.advising("--dir \($0.asArgument)") } ?? error)
    }
  }

  /// The same for a call about one bundle. If the folder lacks it, and the daemon still has its widgets,
  /// the error says this. If another folder of widgetd-host can have it, the error names that folder.
  func carryOut<T>(
    _ installer: BundleInstaller, having id: String, _ global: GlobalOptions,
    _ body: () throws(BundleInstallerError) -> T
  ) async throws(CommandFailure) -> T {
    do throws(BundleInstallerError) { return try body() } catch {
      if BundleInstaller.isAboutNoBundle(error),
        let missing = await MissingFolder.of(id, in: installer.path, global)
      {
        throw CommandFailure(.notFound, missing.failure)
      }
      if BundleInstaller.isAboutNoFile(error),
        let words = MissingFolder.fileFailure(
          of: id, in: installer.path, among: await BundleStanding.all(global))
      {
        throw CommandFailure(error).saying(words)
      }
      guard BundleInstaller.isAboutNoBundle(error) else {
        return try carryOut { () throws(BundleInstallerError) in throw error }
      }
      let host = await BundleHost.ask(global)
      guard let words = host.place(of: id, besides: installer.path, isNamed: folder != nil) else {
        let isKnown = await BundleStanding.all(global).values.contains { $0.id == id }
        let told = isKnown ? error.withoutSuggestion : error
        return try carryOut { () throws(BundleInstallerError) in throw told }
      }
      throw CommandFailure(.notFound, "there is no bundle \"\(id)\" in \(installer.path); \(words)")
    }
  }

  func installer() throws(CommandFailure) -> BundleInstaller {
    BundleFolderOptions.installer(at: try path())
  }

  static func installer(at path: String) -> BundleInstaller {
    BundleInstaller(path: path, timeZones: SystemTimeZones().rules)
  }

  /// The folders that widgetd-host runs by default.
  static func live(isRoot: Bool, environment: (String) -> String?) -> [String] {
    if isRoot { return ["/var/lib/widgetd-host/bundles", "/etc/widgetd/bundles"] }
    let home = environment("HOME")
    return [("XDG_DATA_HOME", ".local/share"), ("XDG_CONFIG_HOME", ".config")].compactMap {
      variable, usual in
      let base = environment(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
      return (base ?? home.map { "\($0)/\(usual)" }).map { "\($0)/widgetd/bundles" }
    }
  }

  private func path() throws(CommandFailure) -> String {
    if let folder { return folder }
    return try BundleFolderOptions.usual()
  }

  /// The folder that is used if none is named.
  static func usual() throws(CommandFailure) -> String {
    if geteuid() == 0 { return "/var/lib/widgetd-host/bundles" }
    if let data = Terminal.environment("XDG_DATA_HOME"), data.hasPrefix("/") {
      return "\(data)/widgetd/bundles"
    }
    guard let home = Terminal.environment("HOME") else {
      throw CommandFailure(.usage, "$HOME is not set; name the folder of bundles with --dir")
    }
    return "\(home)/.local/share/widgetd/bundles"
  }
}

extension CommandFailure {
  init(_ error: BundleInstallerError) {
    switch error {
    case .invalid(let file, let invalid):
      let count = invalid.problems.count + invalid.untold
      self.init(
        .invalidArgument,
        BundleText.problems(invalid, file: file)
          + "\(file) has \(count == 1 ? "a problem" : "\(count) problems")")
    case .refused(let message, let hint):
      self.init(.invalidArgument, BundleInstallerError.text(message, hint: hint))
    case .notFound(let message, let hint):
      self.init(.notFound, BundleInstallerError.text(message, hint: hint))
    case .system(let message, let number):
      self.init(ExitStatus(errno: number), BundleInstallerError.text(message, errno: number))
    }
  }
}

extension BundleInstallerError {
  /// The same without the question for another name.
  var withoutSuggestion: BundleInstallerError {
    guard case .notFound(let message, let hint) = self, hint.hasPrefix("did you mean "),
      let end = hint.ranges(of: "? ").first
    else { return self }
    return .notFound(message, hint: String(hint[end.upperBound...]))
  }

  /// The same, with an option added to the commands of its hint.
  fileprivate func advising(_ option: String) -> BundleInstallerError {
    switch self {
    case .refused(let message, let hint):
      .refused(message, hint: BundleText.advice(hint, with: option))
    case .notFound(let message, let hint):
      .notFound(message, hint: BundleText.advice(hint, with: option))
    case .invalid, .system: self
    }
  }
}

extension String {
  /// The text quoted as one argument for a shell.
  var asArgument: String {
    let isPlain =
      !isEmpty
      && unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic || ("0"..."9").contains($0)
          || "_-./~:@%+=,".unicodeScalars.contains($0)
      }
    return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
  }
}

/// Runs a call of an installer. Its errors become errors of the command.
func carryOut<T>(_ body: () throws(BundleInstallerError) -> T) throws(CommandFailure) -> T {
  do throws(BundleInstallerError) { return try body() } catch { throw CommandFailure(error) }
}

extension BundleInstaller {
  /// Reads bundles from any place, and has no folder.
  static var anywhere: BundleInstaller {
    BundleInstaller(path: "", timeZones: SystemTimeZones().rules)
  }
}

extension BundleInstaller.Outcome {
  /// The replaced bundle, if it is another one.
  var formerOther: String? { formerID == bundle.id ? nil : formerID }
}

/// The texts about bundles and their problems.
enum BundleText {
  /// A text, with an option added to its commands of `widgetctl bundle`.
  static func advice(_ text: String, with option: String) -> String {
    var words = text.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
    for index in words.indices where words[index].hasPrefix("widgetctl bundle ") {
      if !words[index].contains(" \(option)") { words[index] += " \(option)" }
    }
    return words.joined(separator: "`")
  }

  /// For each problem `FILE:LINE:COLUMN: MESSAGE`, the line with a caret, and a hint.
  static func problems(_ invalid: InvalidBundle, file: String) -> String {
    var text = ""
    for problem in invalid.problems { text += self.text(problem, file: file) }
    if invalid.untold > 0 { text += "\(file): and \(invalid.untold) more\n" }
    return text
  }

  /// The same for possible mistakes.
  static func remarks(_ remarks: [BundleProblem], file: String) -> String {
    remarks.map { text($0, file: file, mark: "warning: ") }.joined()
  }

  /// A warning about the whole file.
  static func warning(_ problem: BundleProblem, file: String) -> String {
    "\(file): warning: \(problem.message)\n"
      + (problem.hint.isEmpty ? "" : "  hint: \(problem.hint)\n")
  }

  private static func text(_ problem: BundleProblem, file: String, mark: String = "") -> String {
    // If only JSON's rules can read a document, its problems have paths in place of lines.
    let place =
      problem.line > 0 ? "\(problem.line):\(problem.column)" : " \(problem.path)"
    var text = "\(file):\(place): \(mark)\(problem.message)\n"
    for line in problem.excerpt.split(separator: "\n") { text += "  \(line)\n" }
    if !problem.hint.isEmpty { text += "  hint: \(problem.hint)\n" }
    return text
  }

  /// `2 kinds, 1 widget`
  static func counts(_ bundle: Bundle) -> String {
    let count = { (number: Int, word: String) in "\(number) \(word)\(number == 1 ? "" : "s")" }
    return "\(count(bundle.kinds.count, "kind")), \(count(bundle.widgets.count, "widget"))"
  }

  static func document(_ bundle: Bundle) -> ValueMap {
    [
      "id": .string(bundle.id), "version": .string(bundle.version), "name": .string(bundle.name),
      "kinds": .list(bundle.kinds.map { .string($0.kind.name.rawValue) }),
      "widgets": .list(bundle.widgets.compactMap { $0.id.map { .string($0.rawValue) } }),
    ]
  }

  /// The replaced version, after the words about the new one. Empty if there was none.
  ///
  /// - Parameters:
  ///   - version: nil if it could not be read.
  ///   - other: the bundle of this version, if it is another one.
  static func former(_ version: String?, of other: String? = nil, wasThere: Bool) -> String {
    if let other { return ", in place of bundle \(other)" + (version.map { " \($0)" } ?? "") }
    return version.map { ", was \($0)" }
      ?? (wasThere ? ", in place of a folder without a valid bundle" : "")
  }

  static func former(_ outcome: BundleInstaller.Outcome) -> String {
    former(outcome.former, of: outcome.formerOther, wasThere: outcome.wasThere)
  }

  /// The output of `bundle install`.
  static func installed(_ outcome: BundleInstaller.Outcome, in folder: String) -> String {
    let bundle = outcome.bundle
    return outcome.isUnchanged
      ? "bundle \(bundle.id) \(bundle.version) is already installed in \(folder); nothing has changed\n"
      : "bundle \(bundle.id) \(bundle.version) installed in \(folder)\(former(outcome)) "
        + "(\(counts(bundle)))\n"
  }

  static func warn(_ text: String) {
    Output.writeError("widgetctl: warning: \(text.safeForTerminal)\n")
  }

  /// The result of an installation or a rollback.
  ///
  /// - Parameters:
  ///   - isLive: whether a host runs the folder; nil if this is unknown.
  ///   - warnings: those of the installer, and further ones.
  ///   - isUnchanged: whether the content was installed already; nil for a rollback.
  static func document(
    _ outcome: BundleInstaller.Outcome, in installer: BundleInstaller, isLive: Bool?,
    warnings: [String], isUnchanged: Bool? = nil
  ) -> Value {
    var map = document(outcome.bundle)
    map["folder"] = .string("\(installer.path)/\(outcome.bundle.id)")
    map["formerVersion"] = outcome.former.map { .string($0) } ?? .null
    if let other = outcome.formerOther { map["formerId"] = .string(other) }
    map["sha256"] = outcome.digest.map { .string($0) } ?? .null
    map["live"] = isLive.map { .bool($0) } ?? .null
    map["warnings"] = .list(warnings.map { .string($0) })
    if let isUnchanged { map["unchanged"] = .bool(isUnchanged) }
    return .map(map)
  }

  static func document(_ problem: BundleProblem) -> Value {
    .map([
      "line": .int(Int64(problem.line)), "column": .int(Int64(problem.column)),
      "path": .string(problem.path), "message": .string(problem.message),
      "hint": .string(problem.hint),
    ])
  }
}

/// `bundle validate`: reports all mistakes of bundles.
struct BundleValidateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate", abstract: "Check bundles, and report every mistake with its place.",
    discussion: """
      The command takes files and folders of bundles, zip or tar.gz archives, and https URLs of \
      these. It prints the file, line and column of each mistake, the line, and a hint. If there \
      is a mistake, it exits with status 10. It prints possible mistakes as warnings. It also \
      warns about named pipes, sockets and devices, because `bundle install` refuses a folder \
      with these. If a daemon answers, the command also warns about kinds that belong to another \
      provider, about kinds that nobody provides, and about widgets of the bundle's kinds that \
      others created.

      Examples:
        widgetctl bundle validate clock
        widgetctl bundle validate desk.zip
        widgetctl bundle validate */bundle.yaml -o json
      """)

  @Argument(
    help: ArgumentHelp("A file, a folder, an archive, or an https URL.", valueName: "path|URL"),
    completion: .file())
  var sources: [String]

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let installer = BundleInstaller.anywhere
    var documents: [Value] = []
    var lines = ""
    var problems = ""
    var failure: CommandFailure?
    let results = sources.map { source -> Result<BundleInstaller.Found, Unusable> in
      do throws(Unusable) { return .success(try read(source, in: installer)) } catch {
        return .failure(error)
      }
    }
    let provided = Set(
      results.flatMap { result -> [KindName] in
        guard case .success(let found) = result else { return [] }
        return found.bundle.kinds.map(\.kind.name)
      })
    for (source, result) in zip(sources, results) {
      switch result {
      case .success(let found):
        let bundle = found.bundle
        lines +=
          "\(found.file): ok: bundle \(bundle.id) \(bundle.version), \(BundleText.counts(bundle))\n"
        let outlook = await BundleOutlook.of(bundle, global, file: found.file)
        let isLive = outlook?.isLive == true
        let remarks = BundleValidateCommand.remarks(
          outlook?.remarks(of: bundle) ?? bundle.remarks, beside: provided)
        problems += BundleText.remarks(remarks, file: found.file)
        // Only an installation refuses the folder.
        var met = isLive ? [] : installer.misfits(at: source)
        met += await LostSettings.dropped(
          by: bundle, outlook == nil ? nil : global, isLive: isLive)
        met += outlook?.remarks.map(\.problem) ?? []
        problems += met.map { BundleText.warning($0, file: found.file) }.joined()
        documents.append(
          .map([
            "file": .string(found.file), "ok": .bool(true), "problems": .list([]),
            "warnings": .list((remarks + met).map { BundleText.document($0) }),
            "bundle": .map(BundleText.document(bundle)),
          ]))
      case .failure(let error):
        switch error {
        case .invalid(let file, let invalid):
          problems += "widgetctl: " + BundleText.problems(invalid, file: file)
          failure = failure ?? CommandFailure(.invalidArgument, "")
          documents.append(
            .map([
              "file": .string(file), "ok": .bool(false),
              "problems": .list(invalid.problems.map { BundleText.document($0) }),
            ]))
        case .unread(let other):
          problems +=
            "widgetctl: "
            + (other.message.contains(source)
              ? "\(other.message)\n" : "\(source): \(other.message)\n")
          failure = other
          let problem = BundleProblem(line: 0, column: 0, message: other.message)
          documents.append(
            .map([
              "file": .string(source), "ok": .bool(false),
              "problems": .list([BundleText.document(problem)]),
            ]))
        }
      }
    }
    global.session(socketPath: "").printer.print(
      list: documents, around: { .map(["bundles": $0]) }, table: { lines.safeLines })
    if !problems.isEmpty, (global.output ?? .table) == .table {
      Output.writeError(problems.safeLines)
    }
    if let failure { throw failure.exit }
  }

  /// The warnings without those about kinds that another bundle of the command line provides.
  static func remarks(
    _ remarks: [BundleProblem], beside provided: Set<KindName>
  ) -> [BundleProblem] {
    remarks.filter { remark in remark.foreignKind.map { !provided.contains($0) } ?? true }
  }

  /// The reason why a bundle is unusable: mistakes in it, or a failure to read it.
  private enum Unusable: Error {
    case invalid(file: String, InvalidBundle)
    case unread(CommandFailure)
  }

  private func read(
    _ source: String, in installer: BundleInstaller
  ) throws(Unusable) -> BundleInstaller.Found {
    let at: BundleSource
    do throws(CommandFailure) {
      at = try BundleSource(
        source, bytesMax: installer.limits.archiveBytesMax, within: global.limit)
    } catch { throw .unread(error) }
    do throws(BundleInstallerError) { return try installer.read(at) } catch {
      if case .invalid(let file, let invalid) = error { throw .invalid(file: file, invalid) }
      throw .unread(CommandFailure(error))
    }
  }
}

/// `bundle schema`: the JSON Schema of bundles.
struct BundleSchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema", abstract: "Print the JSON Schema of bundles, for editors.",
    discussion: """
      Examples:
        widgetctl bundle schema > bundle.schema.json
      """)

  @OptionGroup var global: GlobalOptions

  func run() throws { Output.write(BundleSchema.text) }
}
