import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The protocol of i3 and sway, as bytes in and bytes out.
struct I3ConversationTests {
  private static let event: UInt32 = 1 << 31

  private func text(_ results: [[UInt8]]) -> [String] {
    results.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test
  func `a conversation subscribes and asks, and asks again at events, for any split of bytes`()
    throws
  {
    let input = I3Input(request: .getWorkspaces, events: [.workspace, .window])
    let stream =
      I3Conversation.message(2, #"{"success":true}"#) + I3Conversation.message(1, "[1]")
      + I3Conversation.message(I3ConversationTests.event, "{}")
      + I3Conversation.message(1, "[2]")
    let ask = I3Conversation.message(1, "")
    for size in [1, 3, 14, 1_000] {
      var conversation = I3Conversation(input, bytesMax: 100)
      #expect(
        conversation.begin() == I3Conversation.message(2, #"["workspace","window"]"#) + ask)
      var results: [[UInt8]] = []
      var outgoing: [UInt8] = []
      for start in stride(from: 0, to: stream.count, by: size) {
        let step = try conversation.take(stream[start..<min(start + size, stream.count)])
        results += step.results
        outgoing += step.outgoing
      }
      #expect(text(results) == ["[1]", "[2]"])
      #expect(outgoing == ask)
    }
  }

  @Test func `many events while it asks make it ask once more`() throws {
    var conversation = I3Conversation(
      I3Input(request: .getWorkspaces, events: [.workspace]), bytesMax: 100)
    _ = conversation.begin()
    let event = I3Conversation.message(I3ConversationTests.event, "{}")
    #expect(try conversation.take((event + event + event)[...]) == I3Conversation.Step())
    let ask = I3Conversation.message(1, "")
    let answer = I3Conversation.message(1, "[]")
    #expect(try conversation.take(answer[...]).outgoing == ask)
    #expect(try conversation.take(answer[...]).outgoing == [])
  }

  @Test func `each request has its time, which events do not prolong`() throws {
    var conversation = I3Conversation(
      I3Input(request: .getWorkspaces, events: [.workspace]), bytesMax: 100)
    var wait = SocketReading.AnswerWait()
    let start = ContinuousClock.now
    /// The deadline in seconds after the start, when bytes have arrived after this many seconds.
    func deadline(_ seconds: Int, _ bytes: [UInt8]) throws -> Duration? {
      _ = try conversation.take(bytes[...])
      wait.update(conversation, .seconds(10), at: start + .seconds(seconds))
      return wait.deadline.map { $0 - start }
    }
    let event = I3Conversation.message(I3ConversationTests.event, "{}")
    let answer = I3Conversation.message(1, "[]")
    _ = conversation.begin()
    #expect(try deadline(0, []) == .seconds(10))
    #expect(try deadline(5, I3Conversation.message(2, #"{"success":true}"#)) == .seconds(10))
    #expect(try deadline(6, event) == .seconds(10), "the answer is missing")
    #expect(try deadline(7, answer) == .seconds(17), "the request after the event")
    #expect(try deadline(8, answer) == nil)
    #expect(try deadline(100, event) == .seconds(110))
    #expect(try deadline(101, answer) == nil)
  }

  @Test func `the answer to a subscription is awaited, events are not`() throws {
    var conversation = I3Conversation(I3Input(request: nil, events: [.window]), bytesMax: 100)
    #expect(!conversation.isWaiting)
    _ = conversation.begin()
    #expect(conversation.isWaiting)
    let subscribed = I3Conversation.message(2, #"{"success":true}"#)
    _ = try conversation.take(subscribed[...])
    #expect(!conversation.isWaiting)
  }

  @Test func `without a request, each event is a result`() throws {
    var conversation = I3Conversation(I3Input(request: nil, events: [.window]), bytesMax: 100)
    #expect(conversation.begin() == I3Conversation.message(2, #"["window"]"#))
    let step = try conversation.take(
      (I3Conversation.message(I3ConversationTests.event | 3, #"{"change":"focus"}"#)
        + I3Conversation.message(I3ConversationTests.event | 1, "{}"))[...])
    #expect(text(step.results) == [#"{"event":"window","payload":{"change":"focus"}}"#])
  }

  @Test func `the focused container is found in the tree`() throws {
    var conversation = I3Conversation(I3Input(request: .focused, events: []), bytesMax: 1_000)
    #expect(conversation.begin() == I3Conversation.message(4, ""))
    let tree = """
      {"focused":false,"nodes":[{"focused":false,"nodes":[],"floating_nodes":
      [{"focused":true,"name":"here","nodes":[{"name":"x"}]}]},{"name":"other","focused":false}]}
      """
    let step = try conversation.take(I3Conversation.message(4, tree)[...])
    #expect(text(step.results) == [#"{"focused":true,"name":"here"}"#])
    #expect(I3Conversation.focused(in: .map([:])) == .null)
  }

  @Test func `a command is sent, and its answer is the result`() throws {
    var conversation = I3Conversation(command: "workspace 3", bytesMax: 100)
    #expect(conversation.begin() == I3Conversation.message(0, "workspace 3"))
    let answer = I3Conversation.message(0, #"[{"success":true}]"#)
    #expect(text(try conversation.take(answer[...]).results) == [#"[{"success":true}]"#])
  }

  @Test(arguments: [
    (#"[{"success":true},{"success":false,"error":"No such"}]"#, "FAILED_PRECONDITION", "No such"),
    (#"[{"success":false,"parse_error":true,"error":"Bad"}]"#, "INVALID_ARGUMENT", "Bad"),
    (#"[{"success":false}]"#, "FAILED_PRECONDITION", "no reason"),
    (
      #"[{"success":false,"error":"Bad \#(String(repeating: "é", count: 9_000))"}]"#,
      "FAILED_PRECONDITION", "Bad"
    ),
    ("{}", "INVALID_ARGUMENT", "list"),
  ])
  func `a command that is refused is a failure`(answer: String, code: String, words: String) throws
  {
    var conversation = I3Conversation(command: "x", bytesMax: 20_000)
    let bytes = I3Conversation.message(0, answer)
    let failure = #expect(throws: Failure.self) { try conversation.take(bytes[...]) }
    #expect(failure?.code == code && failure?.message.contains(words) == true)
    #expect((failure?.message.utf8.count ?? .max) < 600)
  }

  @Test(arguments: [
    (Array("HTTP/1.1 400 Bad Request".utf8), "INVALID_ARGUMENT"),
    (I3Conversation.message(2, #"{"success":false}"#), "INVALID_ARGUMENT"),
    (I3Conversation.message(1, String(repeating: " ", count: 101)), "OUT_OF_RANGE"),
  ])
  func `an invalid message, answer or length ends the conversation`(bytes: [UInt8], code: String)
    throws
  {
    var conversation = I3Conversation(
      I3Input(request: .getWorkspaces, events: [.workspace]), bytesMax: 100)
    _ = conversation.begin()
    let failure = #expect(throws: Failure.self) { try conversation.take(bytes[...]) }
    #expect(failure?.code == code)
  }
}
