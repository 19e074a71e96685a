import WidgetProto

/// Reads commands and carries them out. Each call and each stream has a task.
actor Driver {
  private let client: any DrivenClient
  private var streams: [Int: (gate: Gate, task: Task<Void, Never>)] = [:]
  /// The messages to send in conversations.
  private var outgoing: [Int: AsyncStream<[UInt8]>.Continuation] = [:]

  init(_ client: any DrivenClient) {
    self.client = client
  }

  /// Carries out commands until `quit`, or until the end of standard input.
  func run(_ commands: AsyncStream<String>) async throws {
    for await line in commands {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      if words == ["quit"] { break }
      try await perform(words)
    }
    for stream in streams.values { stream.task.cancel() }
    await client.close()
  }

  private func perform(_ words: [Substring]) async throws {
    switch (words[0], words.count) {
    case ("supports", 1):
      Output.say("supports call open follow converse pause cancel timeout both others")
    case ("call", 5):
      let (id, request) = (try number(words[1]), try Request(words[2...]))
      Task { [client] in
        do throws(Ending) {
          let answer = try await client.call(request)
          Output.say("answer \(id) ok \(Hex.text(answer))")
        } catch {
          Output.say(error, of: id, after: "answer")
        }
      }
    case ("open", 5):
      let request = try Request(words[2...])
      start(try number(words[1])) { [client] take throws(Ending) in
        try await client.open(request, take)
      }
    case ("follow", 3):
      let request = try Hex.bytes(words[2])
      start(try number(words[1])) { [client] take throws(Ending) in
        try await client.follow(request, take)
      }
    case ("converse", 4):
      let id = try number(words[1])
      let request = try Request(words[2...] + ["-"])
      let (messages, continuation) = AsyncStream<[UInt8]>.makeStream()
      outgoing[id] = continuation
      start(id) { [client] take throws(Ending) in
        try await client.converse(request, messages, take)
      }
    case ("send", 3):
      let message = try Hex.bytes(words[2])
      try conversation(words[1]).yield(message)
    case ("finish", 2):
      try conversation(words[1]).finish()
    case ("pause", 2), ("continue", 2):
      let id = try number(words[1])
      guard let gate = streams[id]?.gate else { throw Misuse("there is no stream \(id)") }
      if words[0] == "pause" {
        await gate.close()
        Output.say("paused \(id)")
      } else {
        // The answer is written first, because resumed frames come after it.
        Output.say("continued \(id)")
        await gate.open()
      }
    case ("cancel", 2):
      let stream = streams[try number(words[1])]
      stream?.task.cancel()
      await stream?.gate.open()
    case ("stop", 1):
      try await client.stopDaemon()
      Output.say("stopped")
    case ("start", 1):
      try await client.startDaemon()
      Output.say("started")
    default:
      throw Misuse("\(words[0]) with \(words.count - 1) words is not a command")
    }
  }

  private func start(
    _ id: Int,
    _ body: @escaping @Sendable (_ take: @escaping FrameTaker) async throws(Ending) -> Void
  ) {
    let gate = Gate()
    let task = Task {
      do throws(Ending) {
        try await body { frame in
          await gate.pass()
          if !Task.isCancelled { Output.say("frame \(id) \(Hex.text(frame))") }
          // The stream is not read while the gate is closed.
          await gate.pass()
        }
        Output.say(Task.isCancelled ? "end \(id) error CANCELLED -" : "end \(id) ok -")
      } catch {
        if Task.isCancelled, case .error = error {
          Output.say("end \(id) error CANCELLED -")
        } else {
          Output.say(error, of: id, after: "end")
        }
      }
    }
    streams[id] = (gate, task)
  }

  private func conversation(_ word: Substring) throws -> AsyncStream<[UInt8]>.Continuation {
    let id = try number(word)
    guard let conversation = outgoing[id] else { throw Misuse("there is not a conversation \(id)") }
    return conversation
  }

  private func number(_ word: Substring) throws -> Int {
    guard let number = Int(word) else { throw Misuse("\(word) is not a number") }
    return number
  }
}

/// The receiver of a stream's messages. The next message is read after it returns.
typealias FrameTaker = @Sendable ([UInt8]) async -> Void

/// The calls to a client under test.
protocol DrivenClient: Sendable {
  func call(_ request: Request) async throws(Ending) -> [UInt8]
  /// Passes all messages of a stream to `take`. Returns when the stream has ended without an error.
  func open(_ request: Request, _ take: @escaping FrameTaker) async throws(Ending)
  /// Begins a conversation. Sends the messages of `outgoing`, and then the end. Passes all received
  /// messages to `take`. Returns when the conversation has ended without an error.
  func converse(
    _ request: Request, _ outgoing: AsyncStream<[UInt8]>, _ take: @escaping FrameTaker
  ) async throws(Ending)
  /// Watches widgets across restarts and losses of the daemon.
  func follow(_ request: [UInt8], _ take: @escaping FrameTaker) async throws(Ending)
  func stopDaemon() async throws
  func startDaemon() async throws
  func close() async
}

/// METHOD TIMEOUT HEX of a command.
struct Request: Sendable {
  /// "widgetd.v1.WidgetService/GetWidget"
  let method: String
  let timeout: Duration?
  let bytes: [UInt8]

  init(_ words: ArraySlice<Substring>) throws {
    let words = Array(words)
    guard let milliseconds = Int(words[1]) else { throw Misuse("\(words[1]) is no timeout") }
    method = String(words[0])
    timeout = milliseconds == 0 ? nil : .milliseconds(milliseconds)
    bytes = try Hex.bytes(words[2])
  }
}

/// The failure of a call or a stream.
enum Ending: Error {
  /// With the encoded google.rpc.Status, if the daemon sent one.
  case error(StatusCode, status: [UInt8])
  /// The client cannot do it.
  case unsupported(String)

  /// The daemon's status.
  init(_ status: RPCStatus) {
    let bytes = try? WireCodec().encode(status)
    self = .error(status.code, status: bytes ?? [])
  }
}

/// Blocks a stream's reader while it is closed.
actor Gate {
  private var isOpen = true
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func close() { isOpen = false }

  func open() {
    isOpen = true
    let all = waiting
    waiting = []
    for continuation in all { continuation.resume() }
  }

  func pass() async {
    guard !isOpen, !Task.isCancelled else { return }
    await withCheckedContinuation { waiting.append($0) }
  }
}
