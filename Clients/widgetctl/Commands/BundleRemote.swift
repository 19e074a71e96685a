import ArgumentParser
import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// `--remote`: the host carries out the command in its folder, on its machine.
struct BundleRemoteOptions: ParsableArguments {
  @Flag(
    help: """
      Let widgetd-host do this in the folder that it runs. The command uses the daemon's socket \
      and needs no access to that folder.
      """)
  var remote = false

  func validate(_ folder: BundleFolderOptions) throws {
    guard !remote || folder.folder == nil else {
      throw ValidationError("--dir names a folder of this machine; leave it out with --remote")
    }
  }
}

extension BundleSource {
  /// The request with the bytes of a file, or of an archive of a folder.
  func content(bytesMax: Int) throws(CommandFailure) -> InstallBundleRequest {
    switch self {
    case .fetched(let bytes, let name):
      return InstallBundleRequest(content: bytes, fileName: name)
    case .path(let path):
      let name = path.split(separator: "/").last.map(String.init) ?? path
      var status = stat()
      guard stat(path, &status) == 0 else {
        throw CommandFailure(
          .notFound, "there is no file or folder \(path); name a bundle's file, folder or archive")
      }
      guard status.st_mode & S_IFMT == S_IFDIR else {
        guard SpecialFile.isFile(mode: status.st_mode) else {
          throw CommandFailure(
            .invalidArgument,
            "\(path) is \(SpecialFile.words(mode: status.st_mode)), not a bundle; name a bundle's "
              + "file, folder or archive")
        }
        return InstallBundleRequest(
          content: try BundleSource.output(["cat", "--", path], bytesMax, of: path), fileName: name)
      }
      return InstallBundleRequest(
        content: try BundleSource.output(["tar", "-cz", "-C", path, "."], bytesMax, of: path),
        fileName: "\(name).tar.gz")
    }
  }

  /// A text of the host. The archive of a folder gets the path that the user gave.
  ///
  /// - Parameter fileName: of the request.
  func named(in text: String, sentAs fileName: String) -> String {
    guard case .path(let path) = self, fileName.hasSuffix(".tar.gz"), !path.hasSuffix(".gz") else {
      return text
    }
    return text.replacing("\(fileName)/", with: path.hasSuffix("/") ? path : "\(path)/")
  }

  private static func output(
    _ words: [String], _ bytesMax: Int, of path: String
  ) throws(CommandFailure) -> [UInt8] {
    switch BoundedCommand.bytes(
      words, within: .seconds(30), bytesMax: bytesMax, showsErrors: true)
    {
    case .ended(status: 0, let bytes): return bytes
    case .tooLong:
      throw CommandFailure(
        .quotaExceeded,
        "\(path) has more than \(bytesMax >> 20) MiB, the limit for an installation over the socket; "
          + "install it on the host's machine, without --remote")
    case .notFound:
      throw CommandFailure(
        .otherError,
        "the program \(words.first ?? "") is missing; install it, or use the command without "
          + "--remote")
    case .timedOut:
      throw CommandFailure(
        .timedOut, "\(path) could not be read within 30 seconds; try again, or copy it first")
    case .ended:
      throw CommandFailure(.otherError, "\(path) cannot be read; the line above has the reason")
    }
  }
}

/// The `bundle` commands with `--remote`.
enum BundleRemote {
  /// The maximum size of the content; the daemon's limit is `bundle_archive_bytes_max`.
  static let bytesMax = 3 << 20

  /// A text of the host, with `--remote` added to its commands of `widgetctl bundle`.
  static func advice(_ text: String) -> String { BundleText.advice(text, with: "--remote") }

  /// Makes a call. The commands in its error have `--remote`, like this command.
  ///
  /// - Parameter id: of the bundle that the call needs. If its folder is missing, the error says this.
  static func advising<T: Sendable>(
    _ global: GlobalOptions, having id: String? = nil, _ call: () async throws(ClientError) -> T
  ) async throws -> T {
    do throws(ClientError) { return try await noting(global, call) } catch {
      var failure = CommandFailure(error, socket: global.socket)
      // The daemon forwards the call, so it may be the host that does not answer.
      if case .deadlineExceeded(let limit, let mayBeMade) = error,
        let client = try? global.session().client,
        case let host = await BundleHost.ask(client, within: .seconds(5)),
        let words = slowness(host, after: limit, mayBeMade: mayBeMade)
      {
        failure = failure.saying(words)
      }
      if error.reason == "BUNDLE_HOST_MISSING",
        case .missing(let former) = await BundleHost.ask(global)
      {
        failure = failure.saying(BundleHost.notConnected(former: former))
      }
      if let id, BundleInstaller.isAboutNoBundle(failure.message) {
        let standings = await BundleStanding.all(global)
        let host = await BundleHost.ask(global)
        if let words = absence(of: id, among: standings, host) { failure = failure.saying(words) }
      }
      throw failure.saying(advice(failure.message))
    }
  }

  /// The error of a call about a bundle that the first folder of the host lacks. Nil if the host
  /// knows no such bundle, or if `bundle rm` has removed it.
  ///
  /// - Parameter name: of the bundle's folder.
  static func absence(
    of name: String, among standings: [String: BundleStanding], _ host: BundleHost
  ) -> String? {
    if let missing = MissingFolder.ofHost(name, among: standings) { return missing.failure }
    guard case .running(let folders, _, _) = host, let first = folders.first else { return nil }
    let folder = BundleHost.resolved(first)
    // The host has not noticed yet that the folder is gone.
    let known = MissingFolder.known(name, in: folder, among: standings)
    let former = known?.path ?? "\(folder)/\(name)"
    if let standing = standings[former], !standing.isElsewhere {
      guard !BundleStanding.wasRemoved(standing.id, from: folder) else { return nil }
      return MissingFolder.of(standing, at: former).failure
    }
    let others = standings.filter { $0.key.hasSuffix("/\(name)") && !$0.value.isElsewhere }
    guard let path = host.order.sorted(others.keys).first, let place = others[path]?.folder else {
      return nil
    }
    return "--remote changes only the first folder of widgetd-host, and bundle \"\(name)\" is in "
      + "\(place). On the host's machine, use --dir \(place.asArgument) instead of --remote"
  }

  /// The reason why no answer came: the daemon answers, and its host does not. Nil if the daemon does
  /// not answer either.
  static func slowness(_ host: BundleHost, after limit: Duration, mayBeMade: Bool) -> String? {
    let ending = mayBeMade ? ". The change may still be made" : ""
    switch host {
    case .unknown: return nil
    case .silent, .missing, .returning:
      return host.troubleOfCall.map { $0 + ending }
    case .running:
      return "the daemon answers, but widgetd-host did not answer within "
        + "\(DurationSyntax.seconds(limit)): it is busy, "
        + "hangs or is stopped; `widgetctl status` shows it after a while; allow more time with --timeout"
        + ending
    }
  }

  /// The output of `bundle install --remote`.
  static func installed(_ answer: InstallBundleResponse) -> String {
    let bundle = answer.bundle
    guard !answer.isUnchanged else {
      return "bundle \(bundle.id) \(bundle.version) is already installed in \(bundle.folder); "
        .safeForTerminal + "nothing has changed\n"
    }
    let before = former(answer.formerVersion, of: answer.formerID, by: bundle)
    return "bundle \(bundle.id) \(bundle.version) installed in "
      + "\(bundle.folder) by widgetd-host\(before)".safeForTerminal + "\n"
  }

  /// The output of `bundle rollback --remote`.
  static func broughtBack(_ answer: RollbackBundleResponse) -> String {
    let before = former(answer.formerVersion, of: answer.formerID, by: answer.bundle)
    let bundle = answer.bundle
    return "bundle \(bundle.id) \(bundle.version) restored in \(bundle.folder)\(before)"
      .safeForTerminal + "\n"
  }

  /// The replaced version, after the words about the new one.
  private static func former(
    _ version: String, of id: String, by bundle: InstalledBundle
  ) -> String {
    BundleText.former(
      version.nonEmpty, of: otherID(id, than: bundle), wasThere: false)
  }

  /// The id of a replaced bundle, if it is another one.
  private static func otherID(_ former: String, than bundle: InstalledBundle) -> String? {
    former == bundle.id ? nil : former.nonEmpty
  }

  static func install(
    _ source: BundleSource, digest: String?, force: Bool, _ global: GlobalOptions
  ) async throws {
    let session = try global.session()
    var request = try source.content(bytesMax: bytesMax)
    if case .path(let path) = source, digest != nil, request.fileName.hasSuffix(".tar.gz"),
      !path.hasSuffix(".gz")
    {
      throw CommandFailure(
        .invalidArgument, "\(path) is a folder, which has no digest; leave out --sha256")
    }
    request.sha256 = digest ?? ""
    request.force = force
    if let refusal = await MissingFolder.refusal(ofInstallingByHost: global) { throw refusal }
    // The question comes before the host loads the bundle.
    var outlook: BundleOutlook?
    let found = try? BundleInstaller.anywhere.read(source)
    if let found {
      outlook = await BundleOutlook.of(found.bundle, global, isRemote: true)
    }
    let answer: InstallBundleResponse
    do {
      answer = try await advising(global) { () async throws(ClientError) in
        try await session.client.installBundle(request, options: session.options)
      }
    } catch let error as CommandFailure {
      let words = source.named(in: error.message, sentAs: request.fileName)
      throw await BundleInstallCommand.explained(
        (outlook ?? BundleOutlook()).named(in: error.saying(words)), found, global)
    }
    var warnings = answer.warnings
    if let outlook, let found { warnings = outlook.refined(warnings, of: found.bundle) }
    warnings += outlook?.warnings ?? []
    for warning in warnings { BundleText.warn(advice(warning)) }
    if let absence = outlook?.absence { BundleText.warn(absence) }
    if outlook?.isHostKnown != true {
      let told = warnings
      let reasons = await doubts(
        about: answer.bundle, replacing: answer.formerID.nonEmpty ?? answer.bundle.id, global
      ).filter { !told.contains($0) }
      for reason in reasons { BundleText.warn(reason) }
      warnings += reasons
    }
    session.printer.print(document(answer, warnings: warnings)) { installed(answer) }
  }

  static func list(_ global: GlobalOptions) async throws {
    let session = try global.session()
    let answer = try await advising(global) { () async throws(ClientError) in
      try await session.client.listBundles(options: session.options)
    }
    let bundles = answer.bundles.map { placed($0, in: answer.folder) }
    var standings = await BundleStanding.all(global)
    // The host loads a new bundle a moment after its installation.
    let loading = bundles.filter { $0.problem.isEmpty && standing(of: $0, standings) == nil }
    if !loading.isEmpty {
      await wait(for: Set(loading.map(\.folder)), session.client)
      standings = await BundleStanding.all(global)
    }
    let left = await BundleStanding.left(global, isHosted: true)
    let host = await BundleHost.ask(global)
    let others =
      others(than: bundles, among: standings)
      + left.filter { bundle in !bundles.contains { $0.id == bundle.id } }
    let told = bundles.compactMap { standing(of: $0, standings) } + others
    let declared = bundles.filter(\.problem.isEmpty).compactMap {
      bundle -> (String, Set<WidgetID>)? in
      guard let id = standing(of: bundle, standings)?.id else { return nil }
      return (id, Set(bundle.widgets.compactMap { WidgetID($0) }))
    }
    let kept = await BundleStanding.keptFields(
      global, of: Set(told.map(\.id)), declaring: Dictionary(declared) { first, _ in first })
    session.printer.print(
      list: bundles.map { document($0, standing(of: $0, standings)) }
        + others.map { $0.document(host) },
      around: { .map(["bundles": $0, "folder": .string(answer.folder)]) }
    ) {
      guard !bundles.isEmpty || !others.isEmpty else {
        return "no bundles in \(answer.folder) of widgetd-host\n"
      }
      var table = BundleTable(hasFolders: !others.allSatisfy { $0.folder == answer.folder })
      for bundle in bundles {
        let standing = standing(of: bundle, standings)
        guard bundle.problem.isEmpty else {
          let reason = BundleStanding.firstLine(of: bundle.problem)
          table.add(bundle.id, failed: standing, in: answer.folder, reason)
          continue
        }
        table.add(
          bundle.id, version: bundle.version, kinds: bundle.kinds.count,
          widgets: bundle.widgets.count, in: answer.folder,
          standing.map { BundleTable.state($0, having: bundle.version, of: bundle.id) }
            ?? BundleTable.unreported(.bad))
      }
      for other in others { table.add(other) }
      return table.text(session.printer)
        + BundleListCommand.notes(
          table.notes + BundleListCommand.remarks(told) + kept, about: told)
    }
  }

  /// A listed bundle with its folder. An older host names the folder of bundles instead, if the
  /// bundle's file cannot be used.
  ///
  /// - Parameter folder: of bundles.
  static func placed(_ bundle: InstalledBundle, in folder: String) -> InstalledBundle {
    guard !bundle.problem.isEmpty, bundle.folder == folder else { return bundle }
    var bundle = bundle
    bundle.folder = "\(folder)/\(bundle.id)"
    return bundle
  }

  /// How long `ls --remote` waits for bundles that the host has not reported.
  private static let loadingWaitMax = Duration.seconds(2)

  /// Waits until the host has reported the bundles in these folders.
  private static func wait(for folders: Set<String>, _ client: WidgetClient) async {
    guard let kind = KindName("bundle") else { return }
    let following = Task {
      var mirror = WidgetMirror()
      for try await frame in client.watch(WatchOptions(selector: Selector(kinds: [kind]))) {
        _ = try mirror.apply(frame)
        let known = mirror.widgets.compactMap { widget in
          if case .string(let path)? = widget.data["path"] { path } else { nil }
        }
        if mirror.isSynced, folders.isSubset(of: known) { return }
      }
    }
    let alarm = Task {
      try await Task.sleep(for: loadingWaitMax)
      following.cancel()
    }
    _ = await following.result
    alarm.cancel()
  }

  /// The bundles that the host does not list, because they are in another folder of it, or their
  /// folder is missing. In order of their folders.
  static func others(
    than listed: [InstalledBundle], among standings: [String: BundleStanding]
  ) -> [BundleStanding] {
    let places = Set(
      listed.flatMap { [$0.folder, BundleStanding.resolved($0.folder)].compactMap(\.self) })
    return standings.filter { !places.contains($0.key) }.sorted { $0.key < $1.key }.map {
      $0.value.isToldMissing ? $0.value.asMissing : $0.value
    }
  }

  private static func standing(
    of bundle: InstalledBundle, _ standings: [String: BundleStanding]
  ) -> BundleStanding? {
    standings[bundle.folder]
      ?? BundleStanding.resolved(bundle.folder).flatMap { standings[$0] }
  }

  static func rollback(_ id: String, to version: String?, _ global: GlobalOptions) async throws {
    let session = try global.session()
    // Only the answer has the id in the file that is replaced. The question comes before the host
    // loads the other version.
    let values = await LostValues.ask(of: nil, session) ?? []
    let answer: RollbackBundleResponse
    do {
      answer = try await advising(global, having: id) { () async throws(ClientError) in
        try await session.client.rollbackBundle(
          RollbackBundleRequest(id: id, version: version ?? ""), options: session.options)
      }
    } catch let error as CommandFailure {
      throw BundleOutlook().named(in: error)
    }
    let refusals = await doubts(
      about: answer.bundle, replacing: answer.formerID.nonEmpty ?? id, global)
    let warnings =
      answer.warnings.map(advice) + lost(by: answer, of: id, values)
      + misfits(with: answer, of: id, values) + refusals
    for warning in warnings { BundleText.warn(warning) }
    session.printer.print(
      document(
        answer.bundle, former: answer.formerVersion, of: answer.formerID, warnings: warnings)
    ) { broughtBack(answer) }
  }

  /// A warning for each value of users that is lost, because the restored version does not have the
  /// widget, or has it with another kind.
  ///
  /// - Parameter values: of the widgets of all bundles, before the rollback.
  static func lost(
    by answer: RollbackBundleResponse, of id: String, _ values: [LostValues.Entry]
  ) -> [String] {
    let restored = answer.bundle
    let kinds = Dictionary(
      zip(restored.widgets, restored.widgetKinds), uniquingKeysWith: { first, _ in first })
    return LostValues.warnings(
      values.filter { $0.bundle == id || $0.bundle == answer.formerID },
      restored: restored.version, restored.widgets
    ) { widget, kind in
      // An older host names only the changes of kinds between two versions.
      guard let next = kinds[widget.rawValue] else {
        return answer.warnings.contains { BundleInstaller.isKindChange($0, of: widget.rawValue) }
      }
      return kind.map { $0.rawValue != next } ?? false
    }
  }

  /// A warning for each kind of the restored version that values of its widgets do not fit. None if
  /// an older host does not tell the fields of the kinds.
  ///
  /// - Parameter values: see `lost`.
  static func misfits(
    with answer: RollbackBundleResponse, of id: String, _ values: [LostValues.Entry]
  ) -> [String] {
    BundleOutlook.misfits(
      values.filter { $0.bundle == id || $0.bundle == answer.formerID },
      restored: answer.kinds, answer.bundle.outline?.widgets ?? [])
  }

  /// Changes settings, and lists them all.
  static func set(
    _ request: SetBundleDefaultsRequest, _ global: GlobalOptions
  ) async throws -> SetBundleDefaultsResponse {
    let session = try global.session()
    let answer = try await advising(global, having: request.id) { () async throws(ClientError) in
      try await session.client.setBundleDefaults(request, options: session.options)
    }
    for warning in answer.warnings {
      BundleText.warn(advice("bundle \(request.id): \(warning)"))
    }
    guard !request.values.isEmpty || !request.unset.isEmpty else { return answer }
    let host = await BundleHost.ask(global)
    let place = await BundleStanding.folder(of: request.id, global)
    if let first = host.firstFolder,
      let rival = BundleStanding.warning(
        setting: request.id, in: first, running: place, host, isRemote: true)
    {
      BundleText.warn(rival)
    }
    return answer
  }

  /// The differences from what the host has installed. The answer names at most those that fit.
  static func diff(
    _ source: BundleSource, _ global: GlobalOptions
  ) async throws -> DiffBundleResponse {
    let session = try global.session()
    let content = try source.content(bytesMax: bytesMax)
    let answer = try await advising(global) { () async throws(ClientError) in
      try await session.client.diffBundle(
        DiffBundleRequest(content: content.content, fileName: content.fileName),
        options: session.options)
    }
    if answer.omitted > 0 {
      BundleText.warn("\(answer.omitted) more differences are left out")
    }
    return answer
  }

  /// The result of `bundle install --remote`.
  static func document(_ answer: InstallBundleResponse, warnings: [String]) -> Value {
    document(
      answer.bundle, former: answer.formerVersion, of: answer.formerID, warnings: warnings,
      isUnchanged: answer.isUnchanged)
  }

  private static func document(
    _ bundle: InstalledBundle, _ standing: BundleStanding? = nil, former: String? = nil,
    of formerID: String = "", warnings: [String]? = nil, isUnchanged: Bool? = nil
  ) -> Value {
    var map: ValueMap = [
      "id": .string(bundle.id), "version": .string(bundle.version),
      "folder": .string(bundle.folder), "ok": .bool(bundle.problem.isEmpty),
      "kinds": .list(bundle.kinds.map { .string($0) }),
      "widgets": .list(bundle.widgets.map { .string($0) }),
    ]
    if !bundle.problem.isEmpty { map["reason"] = .string(bundle.problem) }
    if !bundle.sha256.isEmpty { map["sha256"] = .string(bundle.sha256) }
    let known = former ?? bundle.formerVersion
    if former != nil || !known.isEmpty {
      map["formerVersion"] = known.isEmpty ? .null : .string(known)
    }
    if let other = otherID(formerID, than: bundle) { map["formerId"] = .string(other) }
    if let warnings { map["warnings"] = .list(warnings.map { .string($0) }) }
    if let isUnchanged { map["unchanged"] = .bool(isUnchanged) }
    standing?.describe(in: &map, having: bundle.version, of: bundle.id)
    return .map(map)
  }
}
