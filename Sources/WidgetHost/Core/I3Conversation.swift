import WidgetBundle
import WidgetModel

/// The conversation with i3 or sway over its socket: bytes in, bytes to send and results out.
///
/// A message is `i3-ipc`, the length and the type of its payload in the byte order of the machine, and
/// the payload, which is JSON. At most one request waits for its answer, however many events come.
struct I3Conversation {
  /// The next step after bytes have arrived.
  struct Step: Equatable {
    var outgoing: [UInt8] = []
    /// Results, as JSON.
    var results: [[UInt8]] = []
  }

  private static let magic = Array("i3-ipc".utf8)
  private static let headSize = 14
  private static let runCommand: UInt32 = 0
  private static let subscribe: UInt32 = 2
  private static let eventBit: UInt32 = 1 << 31

  private let input: I3Input
  /// The command to run. The answer to this command is the result.
  private let command: String?
  private let bytesMax: Int
  private var bytes: [UInt8] = []
  private var isSubscribing = false
  private var isAsking = false
  private var isWantedAgain = false
  /// The number of requests so far.
  private(set) var requestCount = 0

  init(_ input: I3Input, bytesMax: Int) {
    self.input = input
    command = nil
    self.bytesMax = bytesMax
  }

  init(command: String, bytesMax: Int) {
    input = I3Input(request: nil, events: [])
    self.command = command
    self.bytesMax = bytesMax
  }

  /// Whether a request has no answer yet. Events come at any time, so nobody waits for them.
  var isWaiting: Bool { isSubscribing || isAsking }

  /// The first bytes to send.
  mutating func begin() -> [UInt8] {
    if let command {
      isAsking = true
      requestCount += 1
      return I3Conversation.message(I3Conversation.runCommand, command)
    }
    var outgoing: [UInt8] = []
    if !input.events.isEmpty {
      isSubscribing = true
      requestCount += 1
      let names = input.events.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
      outgoing += I3Conversation.message(I3Conversation.subscribe, "[\(names)]")
    }
    return outgoing + ask()
  }

  static func message(_ type: UInt32, _ payload: String) -> [UInt8] {
    magic + withUnsafeBytes(of: UInt32(payload.utf8.count)) { Array($0) }
      + withUnsafeBytes(of: type) { Array($0) } + Array(payload.utf8)
  }

  private mutating func ask() -> [UInt8] {
    guard let request = input.request else { return [] }
    isWantedAgain = isAsking
    guard !isAsking else { return [] }
    isAsking = true
    requestCount += 1
    return I3Conversation.message(request.type, "")
  }

  /// Takes bytes, which can be parts of messages or several of them.
  mutating func take(_ new: ArraySlice<UInt8>) throws(Failure) -> Step {
    bytes += new
    var step = Step()
    while bytes.count >= I3Conversation.headSize {
      guard bytes.starts(with: I3Conversation.magic) else {
        throw Failure("INVALID_ARGUMENT", "the program at this socket is neither i3 nor sway")
      }
      let (length, type) = bytes.withUnsafeBytes {
        (
          Int($0.loadUnaligned(fromByteOffset: 6, as: UInt32.self)),
          $0.loadUnaligned(fromByteOffset: 10, as: UInt32.self)
        )
      }
      guard length <= bytesMax else {
        throw Failure("OUT_OF_RANGE", "the answer has \(length) bytes; the limit is \(bytesMax)")
      }
      let end = I3Conversation.headSize + length
      guard bytes.count >= end else { break }
      let payload = Array(bytes[I3Conversation.headSize..<end])
      bytes.removeFirst(end)
      try take(payload, type, &step)
    }
    return step
  }

  private mutating func take(
    _ payload: [UInt8], _ type: UInt32, _ step: inout Step
  ) throws(Failure) {
    if type & I3Conversation.eventBit != 0 {
      let event = input.events.first { $0.type == type & ~I3Conversation.eventBit }
      guard let event else { return }
      if input.request == nil {
        step.results.append(
          Array("{\"event\":\"\(event.rawValue)\",\"payload\":".utf8) + payload + Array("}".utf8))
      } else {
        step.outgoing += ask()
      }
    } else if type == I3Conversation.subscribe {
      isSubscribing = false
      guard case .map(let answer) = try JSONText.parse(payload), answer["success"] == .bool(true)
      else {
        throw Failure(
          "INVALID_ARGUMENT",
          "the window manager does not know the events "
            + input.events.map(\.rawValue).joined(separator: ", "))
      }
    } else if type == I3Conversation.runCommand, command != nil {
      isAsking = false
      try I3Conversation.check(payload)
      step.results.append(payload)
    } else if let request = input.request, type == request.type {
      isAsking = false
      step.results.append(
        request == .focused
          ? Array(JSONText.write(I3Conversation.focused(in: try JSONText.parse(payload))).utf8)
          : payload)
      if isWantedAgain { step.outgoing += ask() }
    }
  }

  /// Throws if one of the parts of a command was refused.
  private static func check(_ answer: [UInt8]) throws(Failure) {
    guard case .list(let parts) = try JSONText.parse(answer) else {
      throw Failure("INVALID_ARGUMENT", "the answer to the command is not a list")
    }
    for case .map(let part) in parts where part["success"] != .bool(true) {
      let words = PlainText.of(part["error"] ?? .string("no reason"))
      throw Failure(
        part["parse_error"] == .bool(true) ? "INVALID_ARGUMENT" : "FAILED_PRECONDITION",
        "the command was refused: \(words.wholeWords(bytesMax: HostLimits.errorBytesMax))")
    }
  }

  /// The focused container of a tree, without its content; null if there is none.
  static func focused(in tree: Value) -> Value {
    var waiting = [tree]
    while let node = waiting.popLast() {
      guard case .map(var map) = node else { continue }
      if map["focused"] == .bool(true) {
        for key in ["nodes", "floating_nodes"] { map[key] = nil }
        return .map(map)
      }
      for key in ["nodes", "floating_nodes"] {
        if case .list(let nodes)? = map[key] { waiting += Array(nodes) }
      }
    }
    return .null
  }
}
