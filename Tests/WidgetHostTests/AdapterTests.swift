import Glibc
import Synchronization
import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// What really touches files and programs. Alone in its process, with WIDGETD_TESTS_ALONE set: a host ends
/// every child that it did not start, and those of other tests are among them.
@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: getenv("WIDGETD_TESTS_ALONE") != nil, "it runs by itself; see scripts/test"))
struct AdapterTests {
  private let folder: Folder

  init() throws {
    ProcessRunner.becomeSubreaper()
    folder = try Folder()
  }

  private func permissions(
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

  private func read(_ path: String, _ permissions: BundlePermissions, bytesMax: Int = 1 << 20)
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

  @Test func `what is large, no file, or not there is a failure, and nothing waits`() throws {
    try folder.write("large", String(repeating: "x", count: 100))
    mkfifo("\(folder.path)/pipe", 0o644)
    let cases = [("large", "OUT_OF_RANGE"), ("pipe", "FAILED_PRECONDITION"), ("none", "NOT_FOUND")]
    for (name, code) in cases {
      let failure = #expect(throws: Failure.self) {
        try read("\(folder.path)/\(name)", permissions(), bytesMax: 99)
      }
      #expect(failure?.code == code)
    }
  }

  // MARK: Watching

  @Test func `a file is noticed when it comes, changes, is replaced and goes, wherever it is`()
    async throws
  {
    let watcher = try FileWatcher()
    let key = FileWatcher.Key.request(RequestID(generation: 1, number: 1))
    try watcher.watch(key, path: "\(folder.path)/deep/deeper/file")
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

  @Test func `the entries of a folder are told, and links are not followed`() throws {
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

  @Test func `a folder is watched for all that happens in it`() async throws {
    let watcher = try FileWatcher()
    let key = FileWatcher.Key.request(RequestID(generation: 1, number: 1))
    try watcher.watch(key, path: "\(folder.path)/deep", isFolder: true)
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

  @Test func `files of one folder share a watch`() throws {
    let watcher = try FileWatcher()
    for number in 0..<100 {
      try watcher.watch(
        .request(RequestID(generation: 1, number: UInt64(number))),
        path: "\(folder.path)/f\(number)")
    }
    #expect(watcher.watchCount == 1)
    watcher.close()
  }

  // MARK: Programs

  private func run(
    _ script: String, input: String = "", timeout: Duration? = .seconds(60),
    bytesMax: Int = 1 << 20,
    isContinuous: Bool = false,
    _ runner: ProcessRunner = ProcessRunner(home: "/home/me"),
    line: @escaping @Sendable ([UInt8]) async -> Void = { _ in }
  ) async throws(Failure) -> String {
    let bytes = try await runner.run(
      CommandRequest(
        program: "/bin/sh", arguments: ["-c", script], input: Array(input.utf8), timeout: timeout,
        outputBytesMax: bytesMax, stderrBytesMax: 64, isContinuous: isContinuous,
        permissions: permissions(commands: ["/bin/sh"])), line: line)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func failure(
    _ script: String, timeout: Duration? = .seconds(60), bytesMax: Int = 1 << 20
  ) async -> Failure? {
    do throws(Failure) {
      _ = try await run(script, timeout: timeout, bytesMax: bytesMax)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a program gets its input, its folder, a few variables and nothing else`() async throws
  {
    #expect(try await run("cat; pwd", input: "in\n") == "in\n\(folder.path)\n")
    #expect(
      try await run("env | grep -v -e ^PWD -e ^SHLVL -e ^_ | sort")
        == "HOME=/home/me\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\n")
    #expect(try await run("ls /proc/self/fd | wc -l") == "4\n")
    let ofUser = [
      "XDG_RUNTIME_DIR": "/run/user/7", "DBUS_SESSION_BUS_ADDRESS": "", "SECRET": "x",
    ]
    let withSession = ProcessRunner(home: "/", variables: ofUser)
    #expect(
      try await run("env | grep -v -e ^PWD -e ^SHLVL -e ^_ | sort", withSession)
        == "HOME=/\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nXDG_RUNTIME_DIR=/run/user/7\n")
    // An input that nobody reads to its end holds up nobody.
    #expect(try await run("head -c 1", input: String(repeating: "x", count: 1 << 20)) == "x")
  }

  @Test func `a socket gets its greeting and gives lines until it is closed`() async throws {
    let path = "\(folder.path)/s"
    let listener = try listen(path)
    defer { close(listener) }
    let peer = Task.detached { () -> String in
      let connection = accept(listener, nil, nil)
      defer { close(connection) }
      var buffer = [UInt8](repeating: 0, count: 64)
      let count = Glibc.read(connection, &buffer, buffer.count)
      _ = Glibc.write(connection, "one\ntw", 6)
      _ = Glibc.write(connection, "o\nrest", 6)
      return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }
    let lines = Mutex<[String]>([])
    let failure = await SocketReading.run(
      SocketRequest(path: path, greeting: Array("hello\n".utf8), lineBytesMax: 100)
    ) { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    #expect(await peer.value == "hello\n")
    #expect(lines.withLock { $0 } == ["one", "two"])
    #expect(failure.code == "UNAVAILABLE" && failure.isTransient)
  }

  @Test func `a socket that is missing, too talkative or not wanted any more is told`() async throws
  {
    func run(_ path: String, lineBytesMax: Int = 100) async -> String {
      await SocketReading.run(
        SocketRequest(path: path, greeting: [], lineBytesMax: lineBytesMax)
      ) { _ in }.code
    }
    #expect(await run("\(folder.path)/none") == "NOT_FOUND")
    #expect(await run("/" + String(repeating: "x", count: 107)) == "INVALID_ARGUMENT")
    let path = "\(folder.path)/s"
    let listener = try listen(path)
    defer { close(listener) }
    let talker = Task.detached {
      let connection = accept(listener, nil, nil)
      _ = Glibc.write(connection, String(repeating: "x", count: 50), 50)
      return connection
    }
    #expect(await run(path, lineBytesMax: 20) == "OUT_OF_RANGE")
    close(await talker.value)
    let waiting = Task { await run(path) }
    let connection = await Task.detached { accept(listener, nil, nil) }.value
    waiting.cancel()
    #expect(await waiting.value == "CANCELLED")
    close(connection)
  }

  @Test func `a command for a window manager is answered, refused, or late`() async throws {
    let path = "\(folder.path)/s"
    let listener = try listen(path)
    defer { close(listener) }
    func run(_ path: String, timeout: Duration = .seconds(60)) async -> Result<Value, Failure> {
      await SocketReading.run(
        SocketCommand(path: path, command: "nop", timeout: timeout, answerBytesMax: 100))
    }
    for answer in [#"[{"success":true}]"#, #"[{"success":false}]"#] {
      let peer = Task.detached { () -> [UInt8] in
        let connection = accept(listener, nil, nil)
        defer { close(connection) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(connection, &buffer, buffer.count)
        let bytes = I3Conversation.message(0, answer)
        _ = Glibc.write(connection, bytes, bytes.count)
        return Array(buffer[..<max(0, count)])
      }
      let outcome = await run(path)
      #expect(await peer.value == I3Conversation.message(0, "nop"))
      switch outcome {
      case .success(let value): #expect(value == .list([.map(["success": .bool(true)])]))
      case .failure(let failure):
        #expect(failure.code == "FAILED_PRECONDITION" && failure.message.hasPrefix(path))
        #expect(answer.contains("false"))
      }
    }
    func code(_ outcome: Result<Value, Failure>) -> String {
      if case .failure(let failure) = outcome { failure.code } else { "" }
    }
    // Nobody accepts, so nobody answers.
    #expect(code(await run(path, timeout: .milliseconds(1))) == "DEADLINE_EXCEEDED")
    #expect(code(await run("\(folder.path)/none")) == "NOT_FOUND")
  }

  private func listen(_ path: String) throws -> CInt {
    let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0 && Glibc.listen(listener, 4) == 0)
    return listener
  }

  @Test func `a program gets the variables that permissions name`() {
    let runner = ProcessRunner(
      home: "/", programFolders: ["/me/bin", "/bin"],
      variables: ["SWAYSOCK": "/run/s", "XDG_SEAT": "seat0", "SECRET": "x", "LANG": "de"])
    #expect(
      runner.environment(permissions(environment: ["SWAYSOCK", "XDG_*", "NONE", "LANG"]))
        == ["PATH=/me/bin:/bin", "HOME=/", "LANG=de", "SWAYSOCK=/run/s", "XDG_SEAT=seat0"])
    #expect(
      runner.environment(permissions()) == ["PATH=/me/bin:/bin", "HOME=/", "LANG=C.UTF-8"])
  }

  @Test func `a program is looked for in the user's folder, if the host is told of it`()
    async throws
  {
    let bin = "\(folder.path)/bin"
    folder.makeFolder("bin")
    try folder.write("bin/tool", "#!/bin/sh\necho mine\n")
    chmod("\(bin)/tool", 0o755)
    let folders = [bin] + BundlePermissions.systemFolders
    let bytes = try await ProcessRunner(home: "/", programFolders: folders).run(
      CommandRequest(
        program: "tool", arguments: [], input: [], timeout: .seconds(60), outputBytesMax: 100,
        stderrBytesMax: 64, isContinuous: false,
        permissions: permissions(commands: ["tool"], programFolders: folders))
    ) { _ in }
    #expect(String(decoding: bytes, as: UTF8.self) == "mine\n")
  }

  @Test func `a program that fails says why, with the end of its own words`() async {
    let failure = await failure("yes word | head -c 100000 >&2; echo the end >&2; exit 3")
    #expect(failure?.message.contains("status 3") == true)
    #expect(failure?.message.hasSuffix("the end") == true)
    #expect((failure?.message.utf8.count ?? .max) < 200)
  }

  @Test(arguments: [
    ("echo no socket >&2; echo more >&2; exit 1", "status 1: no socket\nmore"),
    ("echo why >&2; yes word | head -c 100000 >&2; exit 1", "status 1: why\nword"),
    ("echo 100% packet loss; exit 1", "status 1: 100% packet loss"),
    ("exit 1", "status 1"),
  ])
  func `a program that fails says why, with the first line of its own words`(
    script: String, words: String
  ) async {
    let message = await failure(script)?.message
    #expect(message?.contains(words) == true, "\(message ?? "nothing")")
    #expect(words != "status 1" || message?.hasSuffix(words) == true)
  }

  @Test func `what prints too much is killed`() async {
    #expect(await failure("yes", bytesMax: 1_000)?.code == "OUT_OF_RANGE")
  }

  @Test func `a program that takes too long is killed with all its children`() async throws {
    let marker = "9\(getpid()).125"
    let failure = await failure(
      "trap '' TERM; sleep \(marker) & sleep \(marker)", timeout: .milliseconds(200))
    #expect(failure?.code == "DEADLINE_EXCEEDED")
    #expect(processes(with: marker).isEmpty)
  }

  @Test func `children that outlive a program are ended with it`() async throws {
    let marker = "8\(getpid()).125"
    #expect(try await run("sleep \(marker) & echo started") == "started\n")
    #expect(processes(with: marker).isEmpty)
  }

  @Test func `a child that went its own way is found, ended and taken away`() async throws {
    let marker = "7\(getpid()).125"
    _ = try await run("setsid -f sleep \(marker) < /dev/null > /dev/null 2>&1")
    #expect(processes(with: marker).isEmpty)
    #expect(
      !ProcessRunner.children().contains { process in processes(with: marker).contains(process) })
  }

  @Test func `a task that is cancelled ends its program`() async throws {
    let runner = ProcessRunner(home: "/")
    let marker = "6\(getpid()).125"
    let seen = AsyncStream<Void>.makeStream()
    let task = Task {
      _ = try? await run(
        "echo up; sleep \(marker)", timeout: nil, isContinuous: true, runner
      ) { _ in seen.continuation.yield() }
    }
    for await _ in seen.stream { break }
    #expect(runner.count == 1)
    task.cancel()
    await task.value
    #expect(runner.count == 0)
    #expect(processes(with: marker).isEmpty)
  }

  @Test func `lines come one by one, and the program waits for its listener`() async throws {
    let lines = Mutex<[String]>([])
    do throws(Failure) {
      _ = try await run("printf 'a\\nb\\n\\nc'", timeout: nil, isContinuous: true) { bytes in
        lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
      }
    } catch {
      #expect(error.code == "ABORTED")
    }
    #expect(lines.withLock { $0 } == ["a", "b", "", "c"])
  }

  @Test(arguments: [
    ("/usr/bin/env", "PERMISSION_DENIED"), ("no-such-program", "NOT_FOUND"), ("sh", nil),
    ("/bin/../bin/sh", nil),
  ])
  func `only what permissions name is run`(program: String, code: String?) async {
    let request = CommandRequest(
      program: program, arguments: ["-c", "true"], input: [], timeout: .seconds(10),
      outputBytesMax: 100, stderrBytesMax: 100, isContinuous: false,
      permissions: permissions(commands: ["/bin/sh"]))
    do throws(Failure) {
      _ = try await ProcessRunner(home: "/").run(request) { _ in }
      #expect(code == nil)
    } catch {
      #expect(error.code == code)
    }
  }

  private func processes(with argument: String) -> [pid_t] {
    Folder.entries("/proc").compactMap { pid_t($0) }.filter { process in
      guard
        let bytes = try? FileReading.read(path: "/proc/\(process)/cmdline", bytesMax: 1 << 16)
      else { return false }
      return bytes.split(separator: 0).contains { String(decoding: $0, as: UTF8.self) == argument }
    }
  }

  // MARK: Nothing is left behind

  /// A daemon that takes everything, and tells of the widgets that were declared.
  private struct Session: DaemonSession {
    func follow(_ tell: @Sendable (SessionNews) async -> Void) async throws(Failure) {
      await tell(.opened(epoch: 1))
      let (never, continuation) = AsyncStream<Void>.makeStream()
      defer { continuation.finish() }
      for await _ in never {}
      throw Failure("CANCELLED", "ended")
    }

    func ready() async throws(Failure) {}
    func declareKinds() async throws(Failure) {}
    func answer(
      _ request: ProviderBundleRequest, with outcome: ProvideBundleAnswer.Outcome
    ) async throws(Failure) {}
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

    func declare(widgets specs: [WidgetSpec], set: String) async throws(Failure) {
      for spec in specs {
        guard let id = spec.id else { continue }
        widgets[id] = Widget(id: id, kind: spec.kind, data: spec.data, revision: 1, applySet: set)
      }
      for waiter in declaring { waiter.resume() }
      declaring = []
    }

    func remove(_ id: WidgetID) { widgets[id] = nil }

    /// Waits until a widget is declared.
    func declared(_ id: WidgetID) async {
      while widgets[id] == nil { await withCheckedContinuation { declaring.append($0) } }
    }

    func own(widgets: [WidgetSpec], set: String) async throws(Failure) -> [ApplyResult] {
      try await declare(widgets: widgets, set: set)
      return []
    }

    func update(
      _ id: WidgetID, _ patch: WidgetPatch, for provider: String
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

    func widget(_ id: WidgetID) async throws(Failure) -> Widget {
      guard let widget = widgets[id] else { throw Failure("NOT_FOUND", "gone") }
      return widget
    }

    func widgets(kinds: [KindName]) async throws(Failure) -> [Widget] { [] }

    func standing(
      kinds: [KindName], widgets: [WidgetID]
    ) async throws(Failure) -> Circumstances { Circumstances() }

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
      read: { _, _ in .failure(BundleRefusal(problems: [])) }, report: { _ in })
  }

  private func bundle(_ source: String) throws -> Bundle {
    try BundleReader.read(
      """
      {bundle: b, format: 1, version: 1.0.0, permissions: {commands: [sleep]}, kinds: {k: {data: {n: ""}, sources: {
        f: {file: "${bundle}/f", every: 1s, set: {n: result}}, \(source)}}}, widgets: {w: {kind: k}}}
      """)
  }

  @Test(.timeLimit(.minutes(1)))
  func `the widget that shows the host comes back when somebody removes it`() async throws {
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
        // Now and then one is let run until it has done something.
        if round % 100 == 0 { await daemon.patches(beyond: before) }
      }
    }
    await reload(1..<51)
    let before = openFiles()
    await reload(51..<rounds)
    await host.tell(nil, in: folder.path)
    await host.settle()
    #expect(await host.machine.daemon.retiring.isEmpty)
    let load = await host.load
    #expect(load.tasks == 0 && load.links == 0 && load.watches == 0 && load.programs == 0)
    // A few more than before may be the runtime's own; one for each round could not hide among them.
    #expect(openFiles() <= before + 8)
    #expect(ProcessRunner.children().isEmpty)
    await host.stop()
  }
}
