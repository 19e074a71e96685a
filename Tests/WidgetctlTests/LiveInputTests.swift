import Foundation
import SeededRandom
import Testing
import WidgetClient
import WidgetModel
import WidgetProto
import WidgetTerminal

@testable import widgetctl

/// Inputs of a dashboard through random histories: keys, pasted text, and a daemon that changes, accepts and refuses.
///
/// `WIDGETD_INPUT_SEED=<seed>` runs one history again.
@Suite struct LiveInputTests {
  private static let seeds: Range<UInt64> =
    ProcessInfo.processInfo.environment["WIDGETD_INPUT_SEED"].flatMap { UInt64($0) }
    .map { $0..<$0 + 1 } ?? 0..<300

  @Test(arguments: seeds)
  func `an input without the focus shows the daemon's text`(seed: UInt64) throws {
    var history = try InputHistory(seed)
    for step in 0..<200 {
      let did = try history.step()
      try #require(history.complaint == nil, "seed \(seed), step \(step): \(did)")
    }
  }

  @Test func `text that is too short to be sent is dropped when its input is left`() throws {
    var history = try InputHistory(1)
    history.focus("brief")
    history.press(.character("x"))
    #expect(history.shown("brief") == "x")
    history.press(.escape)
    #expect(history.shown("brief") == "")
  }

  @Test func `text with a refused change is dropped when its input is left`() throws {
    var history = try InputHistory(1)
    history.focus("search")
    history.press(.character("x"))
    try history.answer(isAccepted: false)
    #expect(history.shown("search") == "x")
    history.press(.escape)
    #expect(history.shown("search") == "")
  }
}

/// A board with inputs, and a daemon for it.
private struct InputHistory {
  private static let inputs = ["search", "brief", "notes"]
  private var board: LiveBoard
  private var random: SeededGenerator
  private var revision: Revision = 1
  /// The values of the inputs, according to the daemon.
  private var told = Dictionary(uniqueKeysWithValues: inputs.map { ($0, "") })
  /// Changes that wait for a pause of the user, by node, and events on their way to the daemon.
  private var resting: [String: LiveEvent] = [:]
  private var sent: [LiveEvent] = []

  init(_ seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    let nodes =
      [
        Node(id: "box", type: .stack, childIDs: Self.inputs + ["on", "form"]),
        Node(id: "on", type: .toggle, properties: ["value": .bool(false)], events: ["change"]),
        Node(id: "form", type: .form, childIDs: ["title"], events: ["submit"]),
        Node(id: "title", type: .input, properties: ["name": .string("title")]),
      ] + Self.inputs.map { Self.input($0, "") }
    board = try LiveSamples.board([
      LiveSamples.widget("w", content: Content(rootID: "box", nodes: nodes))
    ])
  }

  private static func input(_ id: String, _ text: String) -> Node {
    var node = Node(
      id: id, type: .input, properties: ["value": .string(text)], events: ["change", "submit"])
    if id == "search" { node.properties["throttle"] = .duration(.milliseconds(300)) }
    if id == "brief" { node.properties["minLength"] = .int(3) }
    if id == "notes" { node.properties["mode"] = .string("multiline") }
    return node
  }

  func shown(_ id: String) -> String? {
    board.panes[Samples.id("w")]?.node(id)?.text("value")
  }

  /// The error of the input. Nil if there is none.
  var complaint: String? {
    for id in Self.inputs where board.focus?.node != id && !isChanging(id) {
      if shown(id) != told[id] {
        return "\(id) shows \(shown(id) ?? "nothing"), not \(told[id] ?? "")"
      }
    }
    return nil
  }

  private func isChanging(_ id: String) -> Bool {
    resting[id] != nil || sent.contains { $0.node == id && $0.name == "change" }
  }

  mutating func focus(_ id: String) {
    for _ in 0..<10 where board.focus?.node != id { press(.tab) }
  }

  mutating func press(_ key: TerminalKey, _ modifiers: KeyModifiers = []) {
    take(.key(key, modifiers))
  }

  private mutating func take(_ input: TerminalInput) {
    for case .send(let event, let delay) in board.take(input) {
      if delay == nil { sent.append(event) } else { resting[event.node] = event }
    }
  }

  mutating func step() throws -> String {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<6:
      let character = "ab é日".randomElement(using: &random) ?? "a"
      press(.character(character))
      return "typed \(character)"
    case 6: press(.backspace)
    case 7: press([.left, .right, .up, .down].randomElement(using: &random) ?? .left)
    case 8: press(.tab, Bool.random(using: &random) ? .shift : [])
    case 9, 10:
      press(.escape)
      return "Esc"
    case 11: press(.enter, Bool.random(using: &random) ? .alt : [])
    case 12: take(.paste("pasted\ntext"))
    case 13: focus(Self.inputs.randomElement(using: &random) ?? "search")
    case 14, 15:
      sent += resting.keys.sorted().compactMap { resting[$0] }
      resting = [:]
      return "rested"
    case 16: try say(Self.inputs.randomElement(using: &random) ?? "search", "said")
    case 17:
      try answer(isAccepted: false)
      return "refused"
    default:
      try answer(isAccepted: true)
      return "accepted"
    }
    return "pressed"
  }

  /// The daemon answers the oldest event. It may have another text then, before or after the answer arrives.
  mutating func answer(isAccepted: Bool) throws {
    if sent.isEmpty {
      sent += resting.values
      resting = [:]
    }
    guard !sent.isEmpty else { return }
    let event = sent.removeFirst()
    guard isAccepted else { return board.refused(event, "no") }
    let text: String? =
      if case .string(let text)? = event.payload["value"], Bool.random(using: &random) { text } else
      {
        nil
      }
    let isLate = Bool.random(using: &random)
    if let text, !isLate { try say(event.node, text) }
    board.accepted(event, SendEventResponse(sequence: 1, revision: revision))
    if let text, isLate { try say(event.node, text) }
  }

  private mutating func say(_ id: String, _ text: String) throws {
    told[id] = text
    var update = WidgetUpdate(
      id: Samples.id("w"), revision: revision + 1, updateTime: .epoch)
    update.content = ContentChange(setNodes: [Self.input(id, text)])
    try board.take(
      .changes(
        ChangeSet(
          fromRevision: revision, toRevision: revision + 1, changes: [.updated(update)])))
    revision += 1
  }
}
