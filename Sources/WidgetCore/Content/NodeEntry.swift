import WidgetModel

/// A node in a slot of `NodeSlots`.
struct NodeEntry {
  var id: String
  var type: NodeType
  var properties: ValueMap
  /// Slots, including those of nodes that are not shown.
  var children: [Int32] = []
  var parent: Int32
  /// Whether its condition holds. A node is in the content if it and all nodes above it are
  /// shown.
  var isShown = true
  var isDead = false
  var revision: Revision = 0
  var failures = NodeFailures()
  /// The events that the node takes: always those of its plan.
  var events: [String] = []
  /// The id of the node in the widget that it comes from; nil for nodes of this widget.
  var origin: String?

  /// The cost of a node beside its id, its properties and its problems.
  static let costBytes = 32

  /// The cost of a node's events.
  static func costBytes(ofEvents events: [String]) -> Int {
    events.reduce(0) { $0 + 2 + $1.utf8.count }
  }

  var costBytes: Int {
    properties.costBytes + id.utf8.count + NodeEntry.costBytes
      + NodeEntry.costBytes(ofEvents: events) + failures.costBytes
  }

  /// A node that was removed.
  static func dead(_ id: String, at revision: Revision) -> NodeEntry {
    var entry = NodeEntry(id: id, type: .space, properties: [:], parent: -1)
    (entry.isDead, entry.revision) = (true, revision)
    return entry
  }

  /// An entry of a slot that is not used.
  static let free = NodeEntry(id: "", type: .space, properties: [:], parent: -1)

  /// Removes everything that late readers do not need: they only need the id.
  mutating func die() {
    isDead = true
    (properties, failures) = ([:], NodeFailures())
    (children, events) = ([], [])
    origin = nil
  }

  /// Whether readers see no difference, apart from the children.
  func isLike(_ other: NodeEntry) -> Bool {
    type == other.type && properties == other.properties && events == other.events
      && failures == other.failures && origin == other.origin
  }
}

/// The problems of a node, by the part that has the problem.
struct NodeFailures: Equatable {
  private struct Failure: Equatable {
    var message: String
    /// Nil if the start is not known.
    var since: Timestamp?
  }

  private var parts: [String: Failure] = [:]

  /// The maximum length of the text of one problem, in bytes.
  private static let messageBytesMax = 512

  /// The maximum number of listed problems of a node. The others are counted.
  static let listedMax = 8

  /// The name for a failure of a node's condition.
  static let condition = "condition"

  /// The name for a failure of an embed to show its widget.
  static let embedded = "content"

  /// The name for the failures of a node of another widget, which are text already.
  static let ofOthers = ""

  var isEmpty: Bool { parts.isEmpty }

  subscript(_ name: String) -> String? { parts[name]?.message }

  /// The start of the failure of a part.
  func start(of name: String) -> Timestamp? { parts[name]?.since }

  /// Records, or (with nil) clears, the problem of a part. A part that fails already keeps its
  /// start.
  mutating func set(_ name: String, to message: String?, since time: Timestamp?) {
    guard let message else {
      parts[name] = nil
      return
    }
    let known = parts[name]
    parts[name] = Failure(message: message, since: known == nil ? time : known?.since)
  }

  var costBytes: Int { parts.reduce(0) { $0 + $1.key.utf8.count + $1.value.message.utf8.count } }

  static func costBytes(of message: String?, as name: String) -> Int {
    message.map { $0.utf8.count + name.utf8.count } ?? 0
  }

  /// A message, cut to the length that is kept.
  static func kept(_ message: String) -> String {
    String(decoding: message.utf8.prefix(messageBytesMax), as: UTF8.self)
  }

  /// The problems in order of their names.
  var inOrder: [(name: String, message: String)] {
    guard !parts.isEmpty else { return [] }
    return parts.sorted { $0.key.precedesByBytes($1.key) }.map { ($0.key, $0.value.message) }
  }
}

/// The starts of the failures of a content, by node and part.
///
/// A content that is made again takes the starts of the failures that it still has.
struct FailureTimes: Equatable {
  struct Part: Hashable {
    let node: String
    let name: String
  }

  private(set) var times: [Part: Timestamp] = [:]

  /// The maximum number of stored starts of a widget. The others are lost at a restart.
  static let storedMax = 100

  var isEmpty: Bool { times.isEmpty }

  subscript(_ node: String, _ name: String) -> Timestamp? {
    get { times.isEmpty ? nil : times[Part(node: node, name: name)] }
    set { times[Part(node: node, name: name)] = newValue }
  }

  /// The starts to store, in order of the nodes and parts.
  var images: [FailureImage] {
    guard !times.isEmpty else { return [] }
    return times.sorted {
      $0.key.node == $1.key.node
        ? $0.key.name.precedesByBytes($1.key.name) : $0.key.node.precedesByBytes($1.key.node)
    }.prefix(FailureTimes.storedMax).map {
      FailureImage(nodeID: $0.key.node, part: $0.key.name, since: $0.value)
    }
  }
}

/// The problems of a node as text: one line for each, at most `NodeFailures.listedMax`.
struct ProblemList {
  private var lines: [String] = []
  private var count = 0
  /// The start of the oldest problem. Nil if none is known.
  private(set) var since: Timestamp?

  mutating func add(_ name: @autoclosure () -> String, _ message: String, since: Timestamp?) {
    count += 1
    if let since { self.since = min(self.since ?? since, since) }
    guard count <= NodeFailures.listedMax else { return }
    lines.append(
      "\(name()): " + message.split(whereSeparator: \.isNewline).joined(separator: " "))
  }

  var text: String {
    guard count > 0 else { return "" }
    let rest = count - lines.count
    return (rest > 0 ? lines + ["and \(rest) more"] : lines).joined(separator: "\n")
  }
}

/// The state of a node for users.
struct NodeStanding {
  let type: NodeType
  /// The node, and all nodes above it, are shown.
  let isVisible: Bool
  /// The node, and all nodes above it, take events.
  let isEnabled: Bool
  /// An input for a number.
  let takesNumber: Bool
  /// For an embed: the id of its widget, as the node has it.
  var embeddedWidget: String?
}
