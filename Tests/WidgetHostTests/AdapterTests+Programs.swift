import Glibc
import Synchronization
import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// Programs that a bundle runs.
extension AdapterTests {
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
    // An input that the program does not read completely delays nobody.
    #expect(try await run("head -c 1", input: String(repeating: "x", count: 1 << 20)) == "x")
  }

  @Test(
    arguments: [
      (
        0o644, "#!/bin/sh\n",
        "is not executable for widgetd-host; make it executable with `chmod +x "
      ),
      (0o755, "#! /none/sh -e\n", "its interpreter /none/sh does not exist; install it"),
      (0o755, "#!/bin/sh\r\n", "its first line ends with a carriage return"),
    ] as [(mode_t, String, String)])
  func `a script that cannot be started is a failure with the reason`(
    mode: mode_t, text: String, words: String
  ) async throws {
    try folder.write("script", text)
    let path = "\(folder.path)/script"
    chmod(path, mode)
    do throws(Failure) {
      _ = try await ProcessRunner(home: "/").run(
        CommandRequest(
          program: path, arguments: [], input: [], timeout: .seconds(60), outputBytesMax: 64,
          stderrBytesMax: 64, isContinuous: false, permissions: permissions(commands: [path]))
      ) { _ in }
      Issue.record("it runs")
    } catch {
      #expect(error.message.contains(path) && error.message.contains(words), "\(error.message)")
    }
  }

  @Test func `a program of a bundle without a folder fails with the folder`() async throws {
    func message(in folder: String) async -> String {
      let permissions = BundlePermissions(
        Bundle(id: "b", version: "1.0.0", permissions: Permissions(commands: ["/bin/sh"])),
        folder: folder, home: "/", programFolders: BundlePermissions.systemFolders)
      do throws(Failure) {
        _ = try await ProcessRunner(home: "/").run(
          CommandRequest(
            program: "/bin/sh", arguments: ["-c", "true"], input: [], timeout: .seconds(60),
            outputBytesMax: 64, stderrBytesMax: 64, isContinuous: false, permissions: permissions)
        ) { _ in }
        return "it runs"
      } catch {
        return error.message
      }
    }
    let missing = "\(folder.path)/missing"
    let words = await message(in: missing)
    #expect(
      words.hasSuffix(
        "/sh cannot be run: the folder of the bundle, \(missing), is missing; put it back"),
      "\(words)")
    try folder.write("file", "")
    let file = "\(folder.path)/file"
    let others = await message(in: file)
    #expect(
      others.hasSuffix(
        "/sh cannot be run: the folder of the bundle, \(file), cannot be entered: Not a directory"),
      "\(others)")
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
    #expect(lines.withLock { $0 } == ["one", "two", "rest"])
    #expect(failure.code == "UNAVAILABLE" && failure.isTransient)
  }

  @Test func `a missing socket, a line that is too long and a cancelled reading are failures`()
    async throws
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

  @Test func `a window manager that answers no source is a failure`() async throws {
    let path = "\(folder.path)/s"
    let listener = try listen(path)
    defer { close(listener) }
    // Nobody accepts, so nobody answers.
    let failure = await SocketReading.run(
      SocketRequest(
        path: path, greeting: [], lineBytesMax: 100,
        i3: I3Input(request: .getWorkspaces, events: [.workspace]), timeout: .milliseconds(1))
    ) { _ in }
    #expect(failure.code == "DEADLINE_EXCEEDED" && failure.isTransient)
    #expect(failure.message.hasPrefix("\(path) has not answered for "), "\(failure.message)")
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

  @Test func `a program is found in the user's folder if the host has that folder`()
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

  @Test func `a program that fails is reported with the end of its output`() async {
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
  func `a program that fails is reported with the first line of its output`(
    script: String, words: String
  ) async {
    let message = await failure(script)?.message
    #expect(message?.contains(words) == true, "\(message ?? "nothing")")
    #expect(words != "status 1" || message?.hasSuffix(words) == true)
  }

  @Test func `a program that prints too much is killed`() async {
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

  @Test func `a child in another session is found, ended and reaped`() async throws {
    let marker = "7\(getpid()).125"
    _ = try await run("setsid -f sleep \(marker) < /dev/null > /dev/null 2>&1")
    #expect(processes(with: marker).isEmpty)
    #expect(
      !ProcessRunner.children().contains { process in processes(with: marker).contains(process) })
  }

  @Test func `the cancellation of a task ends its program`() async throws {
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

  @Test func `a guard that was killed is replaced while a program runs`() async throws {
    let runner = ProcessRunner(home: "/")
    let marker = "5\(getpid()).125"
    let seen = AsyncStream<Void>.makeStream()
    let task = Task {
      _ = try? await run(
        "echo up; sleep \(marker)", timeout: nil, isContinuous: true, runner
      ) { _ in seen.continuation.yield() }
    }
    for await _ in seen.stream { break }
    let first = try #require(runner.guardProcess)
    killAndWait(first)
    runner.sweep()
    let second = try #require(runner.guardProcess)
    #expect(second != first && kill(second, 0) == 0)
    task.cancel()
    await task.value
    killAndWait(second)
    runner.sweep()
    #expect(runner.guardProcess == nil, "no program runs")
  }

  @Test func `a guard that is killed often is replaced with all groups, after a pause`() throws {
    let group = try sleeper()
    var keeper = ProgramGuard()
    keeper.add(group, of: [group])
    for _ in 0..<5 {
      killAndWait(try #require(keeper.process))
      let isMissing = keeper.renew(for: [group], at: .zero)
      #expect(!isMissing)
    }
    let last = try #require(keeper.process)
    killAndWait(last)
    let isMissing = keeper.renew(for: [group], at: .zero)
    #expect(isMissing && keeper.process == last)
    let isStillMissing = keeper.renew(for: [group], at: .seconds(1))
    #expect(!isStillMissing && keeper.process != last)
    keeper.abandon()
    var status: CInt = 0
    while waitpid(group, &status, 0) < 0, errno == EINTR {}
    #expect(status & 0x7f == SIGKILL)
  }

  @Test func `too much output of an ended program signals no group that has its number now`() throws
  {
    let group = try sleeper()
    var ends: [CInt] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    try #require(Glibc.write(ends[1], Array("much".utf8), 4) == 4)
    let request = CommandRequest(
      program: "/bin/sh", arguments: [], input: [], timeout: nil, outputBytesMax: 3,
      stderrBytesMax: 64, isContinuous: false, permissions: permissions())
    let started = StartedProgram(process: group, output: ends[0])
    var conversation = ProgramConversation(started, request, stop: -1) { _ in }
    conversation.drain()
    kill(group, SIGKILL)
    var status: CInt = 0
    while waitpid(group, &status, 0) < 0, errno == EINTR {}
    #expect(status & 0x7f == SIGKILL, "the first signal was that of the test")
    let result = conversation.result(0, program: "/bin/sh")
    guard case .failure(let failure) = result else {
      Issue.record("the output is not too long")
      return
    }
    #expect(failure.code == "OUT_OF_RANGE")
  }

  /// A process that sleeps for a minute, in a new group.
  private func sleeper() throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    posix_spawnattr_setpgroup(&attributes, 0)
    var words: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60"), nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    try #require(posix_spawn(&process, "/bin/sleep", nil, &attributes, &words, nil) == 0)
    return process
  }

  /// Kills a child, and waits for its end. The child stays a zombie.
  private func killAndWait(_ process: pid_t) {
    kill(process, SIGKILL)
    var info = siginfo_t()
    while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
  }

  @Test func `lines arrive one by one, and the program waits while they are handled`() async throws
  {
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
  func `only programs that permissions name are run`(program: String, code: String?) async {
    let request = CommandRequest(
      program: program, arguments: ["-c", "true"], input: [], timeout: .seconds(60),
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
}
