import Glibc
import Synchronization
import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// The adapters with real files and programs. These tests run alone in their process, with
/// WIDGETD_TESTS_ALONE set, because a host ends every child that it did not start, including
/// children of other tests.
@Suite(
  .serialized, .timeLimit(.minutes(15)),
  .enabled(if: getenv("WIDGETD_TESTS_ALONE") != nil, "it runs by itself; see scripts/test"))
struct AdapterTests {
  let folder: Folder

  init() throws {
    ProcessRunner.becomeSubreaper()
    folder = try Folder()
  }

  func permissions(
    read: [String] = [], commands: [String] = [], environment: [String] = [],
    programFolders: [String] = BundlePermissions.systemFolders
  ) -> BundlePermissions {
    BundlePermissions(
      Bundle(
        id: "b", version: "1.0.0",
        permissions: Permissions(read: read, commands: commands, environment: environment)),
      folder: folder.path, home: "/", programFolders: programFolders)
  }

  // MARK: Files

  func read(_ path: String, _ permissions: BundlePermissions, bytesMax: Int = 1 << 20)
    throws(Failure) -> String
  {
    String(
      decoding: try FileReading.read(
        FileRequest(path: path, bytesMax: bytesMax, permissions: permissions)), as: UTF8.self)
  }

  @Test func `a link in a folder that may be read does not lead out of it`() throws {
    try folder.write("a", "inside")
    symlink("/etc/passwd", "\(folder.path)/out")
    symlink("a", "\(folder.path)/in")
    let permissions = permissions()
    #expect(try read("\(folder.path)/in", permissions) == "inside")
    let failure = #expect(throws: Failure.self) {
      try read("\(folder.path)/out", permissions)
    }
    #expect(failure?.code == "PERMISSION_DENIED")
    #expect(failure?.message.contains("/etc/passwd") == true)
  }

  @Test func `a permission can be a link itself`() throws {
    try folder.write("a", "inside")
    symlink(folder.path, "\(folder.path)-link")
    defer { unlink("\(folder.path)-link") }
    let other = BundlePermissions(
      Bundle(
        id: "b", version: "1.0.0", permissions: Permissions(read: ["\(folder.path)-link"])),
      folder: "/nowhere", home: "/")
    #expect(try read("\(folder.path)-link/a", other) == "inside")
  }

  @Test func `large, special and missing files are failures, without waiting`() throws {
    try folder.write("large", String(repeating: "x", count: 100))
    mkfifo("\(folder.path)/pipe", 0o644)
    mknod("\(folder.path)/socket", S_IFSOCK | 0o600, 0)
    let cases = [
      ("large", "OUT_OF_RANGE", "has more than 99 bytes; make the file smaller"),
      ("pipe", "FAILED_PRECONDITION", "is a named pipe, not a file; name a file instead"),
      ("socket", "FAILED_PRECONDITION", "is a socket, not a file; name a file instead"),
      ("none", "NOT_FOUND", "there is no file \(folder.path)/none"),
      (
        "gone/none", "NOT_FOUND",
        "there is no file \(folder.path)/gone/none, because there is no folder \(folder.path)/gone"
      ),
    ]
    for (name, code, words) in cases {
      let failure = #expect(throws: Failure.self) {
        try read("\(folder.path)/\(name)", permissions(), bytesMax: 99)
      }
      #expect(failure?.code == code)
      #expect(failure?.message.hasSuffix(words) == true, "\(failure?.message ?? "")")
    }
  }

  // MARK: Watching

  @Test func `a file is noticed when it is made, changed, replaced and removed, at any place`()
    async throws
  {
    let watcher = try FileWatcher()
    let key = FileWatcher.Key.request(RequestID(generation: 1, number: 1))
    watcher.watch(key, path: "\(folder.path)/deep/deeper/file")
    folder.makeFolder("deep")
    #expect(await watcher.next() == [key])
    folder.makeFolder("deep/deeper")
    #expect(await watcher.next() == [key])
    // Either of the two steps may have been noticed more than once.
    try folder.write("deep/deeper/other", "")
    try folder.write("deep/deeper/file", "1")
    #expect(await watcher.next() == [key])
    try folder.write("deep/deeper/new", "2")
    rename("\(folder.path)/deep/deeper/new", "\(folder.path)/deep/deeper/file")
    #expect(await watcher.next() == [key])
    Folder.remove("\(folder.path)/deep")
    #expect(await watcher.next() == [key])
    folder.makeFolder("deep")
    #expect(await watcher.next() == [key])
    watcher.unwatch(key)
    #expect(watcher.watchCount == 0)
    watcher.close()
  }

  @Test func `a folder is read with its entries, without following links`() throws {
    try folder.write("b", "12345")
    folder.makeFolder("a")
    symlink("/etc/passwd", "\(folder.path)/c")
    mkfifo("\(folder.path)/d", 0o600)
    func read(_ path: String, entriesMax: Int = 4) throws(Failure) -> Value {
      try FolderReading.read(
        FolderRequest(path: path, entriesMax: entriesMax, permissions: permissions()))
    }
    guard case .list(let entries) = try read(folder.path) else {
      Issue.record("no list")
      return
    }
    let told = entries.map { entry -> String in
      guard case .map(let map) = entry, case .timestamp? = map["modified"] else { return "" }
      return "\(PlainText.of(map["name"] ?? .null)) \(PlainText.of(map["kind"] ?? .null))"
    }
    #expect(told == ["a folder", "b file", "c link", "d other"])
    guard case .map(let file) = entries[1] else { return }
    #expect(file["size"] == .int(5))
    func code(_ path: String, entriesMax: Int = 4) -> String? {
      do throws(Failure) { _ = try read(path, entriesMax: entriesMax) } catch { return error.code }
      return nil
    }
    #expect(code(folder.path, entriesMax: 3) == "OUT_OF_RANGE")
    #expect(code("\(folder.path)/none") == "NOT_FOUND")
    #expect(code("\(folder.path)/b") == "FAILED_PRECONDITION")
    symlink("/etc", "\(folder.path)/e")
    #expect(code("\(folder.path)/e") == "PERMISSION_DENIED")
  }

  @Test func `an entry whose name is not UTF-8 is in the list, with its size`() throws {
    try folder.write("a", "12345")
    // The names of Mär and Mår in Latin-1.
    let paths = [0xE4, 0xE5].map { (byte: UInt8) in
      (Array("\(folder.path)/M".utf8) + [byte, 0x72, 0]).map { CChar(bitPattern: $0) }
    }
    defer { for path in paths { unlink(path) } }
    for (path, text) in zip(paths, ["1", "12"]) {
      let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
      try #require(file >= 0)
      _ = Glibc.write(file, text, text.utf8.count)
      close(file)
    }
    let list = try FolderReading.read(
      FolderRequest(path: folder.path, entriesMax: 3, permissions: permissions()))
    guard case .list(let entries) = list else {
      Issue.record("no list")
      return
    }
    let told = entries.map { entry -> String in
      guard case .map(let map) = entry else { return "" }
      return ["name", "kind", "size"].map { PlainText.of(map[$0] ?? .null) }.joined(separator: " ")
    }
    #expect(told == ["M\u{FFFD}r file 1", "M\u{FFFD}r file 2", "a file 5"])
  }

  @Test func `a folder that cannot be read to its end is a failure`() throws {
    for name in ["a", "b"] { try folder.write(name, "") }
    var left = 3
    let failure = #expect(throws: Failure.self) {
      try FolderReading.read(
        FolderRequest(path: folder.path, entriesMax: 9, permissions: permissions())
      ) { stream in
        left -= 1
        if left > 0 { return readdir(stream) }
        errno = EIO
        return nil
      }
    }
    #expect(failure?.code == "UNAVAILABLE")
    #expect(failure?.message.contains("Input/output error") == true)
  }

  @Test func `a watch of a folder sees creation, new, renamed and removed files`() async throws {
    let watcher = try FileWatcher()
    let key = FileWatcher.Key.request(RequestID(generation: 1, number: 1))
    watcher.watch(key, path: "\(folder.path)/deep", isFolder: true)
    folder.makeFolder("deep")
    #expect(await watcher.next() == [key])
    try folder.write("deep/any", "1")
    #expect(await watcher.next() == [key])
    rename("\(folder.path)/deep/any", "\(folder.path)/deep/other")
    #expect(await watcher.next() == [key])
    Folder.remove("\(folder.path)/deep/other")
    #expect(await watcher.next() == [key])
    watcher.close()
  }

  // MARK: Nothing is left behind

  /// A daemon that accepts all calls, and reports the declared widgets.
  private struct Session: DaemonSession {
    func follow(_ tell: @Sendable (SessionNews) async -> Void) async throws(Failure) {
      await tell(.opened(epoch: 1))
      let (never, continuation) = AsyncStream<Void>.makeStream()
      defer { continuation.finish() }
      for await _ in never {}
      throw Failure("CANCELLED", "ended")
    }

    func ready() async throws(Failure) -> [KindResult] { [] }
    func declareKinds() async throws(Failure) -> [KindResult] { [] }
    func answer(
      _ request: ProviderBundleRequest, with outcome: ProvideBundleAnswer.Outcome
    ) async throws(Failure) {}
    func answer(snapshot number: UInt64, with data: Result<ValueMap, Failure>) async {}
    func acknowledge(_ event: Event) {}
    func flush() async {}
    func acknowledge(missed last: UInt64) async throws(Failure) {}
    func answer(_ id: WidgetID, _ patch: WidgetPatch) async throws(Failure) {}
    func close() async {}
  }

  private actor Daemon: DaemonConnection {
    nonisolated func session(
      _ provider: String, kinds: [Kind], takesOver: Bool, includesAudience: Bool
    ) -> any DaemonSession { Session() }

    var widgets: [WidgetID: Widget] = [:]
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var declaring: [CheckedContinuation<Void, Never>] = []
    private(set) var patches = 0

    func removeKinds(of provider: String) async throws(Failure) {}

    func blob(
      _ id: String, of uid: UInt32, bytesMax: Int
    ) async throws(Failure) -> WebRequest.Upload {
      throw Failure("NOT_FOUND", "no blob")
    }

    @discardableResult
    func declare(
      widgets specs: [WidgetSpec], set: String
    ) async throws(Failure) -> [ApplyResult] {
      for spec in specs {
        guard let id = spec.id else { continue }
        widgets[id] = Widget(id: id, kind: spec.kind, data: spec.data, revision: 1, applySet: set)
      }
      for waiter in declaring { waiter.resume() }
      declaring = []
      return []
    }

    func remove(_ id: WidgetID) { widgets[id] = nil }

    /// Waits until a widget is declared.
    func declared(_ id: WidgetID) async {
      while widgets[id] == nil { await withCheckedContinuation { declaring.append($0) } }
    }

    func delete(_ id: WidgetID) { widgets[id] = nil }

    func own(
      widgets: [WidgetSpec], set: String, _ manner: OwnManner
    ) async throws(Failure) -> [ApplyResult] {
      guard manner != .dryRun else { return [] }
      return try await declare(widgets: widgets, set: set)
    }

    func update(
      _ id: WidgetID, _ patch: WidgetPatch, for provider: String, etag: String
    ) async throws(Failure) -> Revision {
      patches += 1
      for waiter in waiting { waiter.resume() }
      waiting = []
      return 1
    }

    /// Waits until more changes of widgets have been made than this.
    func patches(beyond count: Int) async {
      while patches <= count { await withCheckedContinuation { waiting.append($0) } }
    }

    func setPresence(_ ids: [WidgetID], _ action: PresenceAction) async throws(Failure) {}

    func send(
      _ id: WidgetID, name: String, payload: ValueMap, force: Bool
    ) async throws(Failure) -> UInt64 { 0 }

    func widget(_ id: WidgetID, _ mask: ReadMask) async throws(Failure) -> ListedWidget {
      guard let widget = widgets[id] else { throw Failure("NOT_FOUND", "gone") }
      return ListedWidget(widget: widget, etag: "1")
    }

    func widgets(
      kinds: [KindName], _ mask: ReadMask
    ) async throws(Failure) -> [ListedWidget] { [] }

    func standing(
      kinds: [KindName], widgets: [WidgetID]
    ) async throws(Failure) -> Circumstances { Circumstances() }

    func registeredKinds() async throws(Failure) -> Circumstances { Circumstances() }

    nonisolated func follow(
      kinds: [KindName], _ tell: @Sendable (DaemonNews) async -> Void
    ) async throws(Failure) {
      let all = await widgets.values.filter { kinds.contains($0.kind) }
      await tell(.snapshot(Array(all)))
      let (never, continuation) = AsyncStream<Void>.makeStream()
      defer { continuation.finish() }
      for await _ in never {}
      throw Failure("CANCELLED", "ended")
    }
  }

  private func host(_ daemon: Daemon) throws -> Host {
    try Host(
      Host.Options(roots: [], home: "/", seed: 1), daemon: daemon,
      read: { _, _, _ in .failure(BundleRefusal(problems: [])) }, report: { _ in })
  }

  private func bundle(_ source: String) throws -> Bundle {
    try BundleReader.read(
      """
      {bundle: b, format: 1, version: 1.0.0, permissions: {commands: [sleep]}, kinds: {k: {data: {n: ""}, sources: {
        f: {file: "${bundle}/f", every: 1s, set: {n: result}}, \(source)}}}, widgets: {w: {kind: k}}}
      """)
  }

  @Test func `the widget that shows the host comes back when somebody removes it`() async throws {
    let daemon = Daemon()
    let host = try host(daemon)
    await host.begin()
    let session = try #require(await host.machine.daemon.host.session)
    let id = try #require(WidgetID(HostWidget.name))
    for _ in 0..<2 {
      await daemon.declared(id)
      await daemon.remove(id)
      await host.heard(.session(session, .removed([id])))
    }
    await daemon.declared(id)
    await host.stop()
  }

  private func openFiles() -> Int { Folder.entries("/proc/self/fd").count }

  @Test(arguments: [("", 10_000), ("p: {command: [sleep, 1000], timeout: 600s}", 300)])
  func `reloading again and again leaves nothing behind`(source: String, rounds: Int) async throws {
    let daemon = Daemon()
    let host = try host(daemon)
    await host.begin()
    let bundle = try bundle(source)
    try folder.write("f", "text")
    func reload(_ rounds: Range<Int>) async {
      for round in rounds {
        let before = await daemon.patches
        await host.tell(.bundle(bundle, digest: UInt64(round)), in: folder.path)
        // Some versions run until they have had an effect.
        if round % 100 == 0 { await daemon.patches(beyond: before) }
      }
    }
    await reload(1..<51)
    let before = openFiles()
    await reload(51..<rounds)
    await host.tell(nil, in: folder.path, absence: .removed)
    await host.settle()
    #expect(await host.machine.daemon.ending.retiredBundles.isEmpty)
    let load = await host.load
    #expect(load.tasks == 0 && load.links == 0 && load.watches == 0 && load.programs == 0)
    // A few more descriptors may belong to the runtime. One for each round would be more.
    #expect(openFiles() <= before + 8)
    let guardProcess = await host.processes.guardProcess
    #expect(ProcessRunner.children().filter { $0 != guardProcess }.isEmpty)
    await host.stop()
  }
}
