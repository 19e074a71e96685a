import WidgetBundle
public import WidgetModel

// Traces the work of a bundle, for its developer, while an owner asks. The number of lines and
// their length are limited. Every client can watch a trace. So a trace has only values that every
// client can read from the widget anyway: its data, its nodes, its failures. Results, arguments,
// payloads and addresses appear only with their shape.

/// One action of a bundle.
public struct TraceLine: Hashable, Sendable {
  public enum Subject: String, Hashable, Sendable, CaseIterable {
    case bundle, event, source, action, node
  }

  public var time: Timestamp
  /// nil for the bundle as a whole.
  public var widgetID: WidgetID?
  public var subject: Subject
  /// The name of the event, source or action, or the id of the node or bundle.
  public var name: String
  /// The event, on one line: `reads /etc/hostname`.
  public var text: String

  public init(
    time: Timestamp, widgetID: WidgetID?, subject: Subject, name: String, text: String
  ) {
    self.time = time
    self.widgetID = widgetID
    self.subject = subject
    self.name = name
    self.text = text
  }

  /// Divides lines among events, in order.
  ///
  /// - Returns: for each event its lines, and the number of dropped lines: `dropped`, and the lines
  ///   that are too long for an event.
  static func batches(
    _ lines: [TraceLine], dropped: Int, bytesMax: Int
  ) -> [(lines: [TraceLine], dropped: Int)] {
    var batches: [(lines: [TraceLine], dropped: Int)] = []
    var batch: (lines: [TraceLine], dropped: Int) = ([], dropped)
    var bytes = 0
    for line in lines {
      let cost = line.value.costBytes
      guard cost <= bytesMax else {
        batch.dropped += 1
        continue
      }
      if bytes + cost > bytesMax {
        batches.append(batch)
        (batch, bytes) = (([], 0), 0)
      }
      batch.lines.append(line)
      bytes += cost
    }
    return batch.lines.isEmpty && batch.dropped == 0 ? batches : batches + [batch]
  }

  /// The line as an element of `lines` in the event `traced`.
  var value: Value {
    .map([
      "time": .timestamp(time), "widget": .string(widgetID?.rawValue ?? ""),
      "subject": .string(subject.rawValue), "name": .string(name), "text": .string(text),
    ])
  }
}

extension BundleInstance {
  var isTraced: Bool { traceBuffer.isOpen(at: now.uptime) }

  /// Traces until a point in time.
  mutating func trace(until end: Duration) { traceBuffer.open(until: end) }

  mutating func trace(
    _ id: WidgetID, _ subject: TraceLine.Subject, _ name: String, _ text: @autoclosure () -> String
  ) {
    guard isTraced, traceBuffer.admitLine() else { return }
    traceBuffer.append(
      TraceLine(
        time: now.wall, widgetID: id, subject: subject, name: name,
        text: BundleInstance.shown(text(), limits)))
  }

  /// The effect with the lines of this round; nil if there are none.
  mutating func takeTrace() -> Effect? {
    traceBuffer.takeAll().map { .trace(.unanswered(generation), $0.lines, dropped: $0.dropped) }
  }

  /// The text on one line, cut to the limit.
  private static func shown(_ text: String, _ limits: HostLimits) -> String {
    let line = text.prefix(limits.traceTextMax + 1).split(whereSeparator: \.isNewline)
      .joined(separator: " ")
    let text = line.prefix(limits.traceTextMax).beginning(bytesMax: limits.traceTextBytesMax)
    return text.utf8.count < line.utf8.count ? text + "…" : line
  }

  /// A value as JSON, such as `{"n":3}`; for large lists and maps, only the number of elements.
  static func traced(_ value: Value) -> String {
    // A line is cut anyway, so do not write out large values.
    switch value {
    case .list(let list) where list.count > 100: return "a list of \(list.count)"
    case .map(let map) where map.count > 100: return "a map of \(map.count)"
    default: return JSONText.write(value)
    }
  }

  /// The shape of a value that not everybody may read, such as `a list of 3`.
  static func shape(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .string(let text): "a text of \(text.count)"
    case .bytes(let bytes): "\(bytes.count) bytes"
    case .list(let list): "a list of \(list.count)"
    case .map(let map): "a map of \(map.count)"
    default: "of type \(value.typeName)"
    }
  }

  /// The names of a payload's fields, such as ` with by, value`; empty if there are none.
  static func shape(_ payload: ValueMap) -> String {
    payload.isEmpty ? "" : " with " + payload.keys.joined(separator: ", ")
  }

  // MARK: Lines

  mutating func trace(_ id: WidgetID, set values: [(key: String, value: Value)], by name: String) {
    guard isTraced, !values.isEmpty else { return }
    let words = values.map { "\($0.key) = \(BundleInstance.traced($0.value))" }.joined(
      separator: ", ")
    trace(id, .source, name, "sets \(words)")
  }

  /// Traces the data that the daemon's reducers write for an event.
  mutating func trace(_ id: WidgetID, reducedBy event: Event, _ facts: KindFacts) {
    guard isTraced, let data = widgets[id]?.heard.data else { return }
    let words = BundleInstance.reduced(event, facts).map { key in
      "\(key) = \(data[key].map { BundleInstance.traced($0) } ?? "unset")"
    }
    guard !words.isEmpty else { return }
    trace(id, .event, event.name, "after the daemon's reducers: " + words.joined(separator: ", "))
  }

  mutating func trace(_ id: WidgetID, effect: Effect, of name: String, _ subject: TraceLine.Subject)
  {
    guard isTraced, let words = BundleInstance.words(effect) else { return }
    trace(id, subject, name, words)
  }

  private static func words(_ effect: Effect) -> String? {
    switch effect {
    case .readFile(_, let file): return "reads \(file.path)"
    case .readFolder(_, let folder): return "reads the folder \(folder.path)"
    case .run(_, let command):
      return "runs \(command.program)"
    case .connect(_, let request): return "connects to \(request.path)"
    case .tellSocket(_, let request): return "sends a command to \(request.path)"
    case .bus(_, let request):
      let place = "\(request.interface) of \(request.name) on the \(request.bus) bus"
      return switch request.work {
      case .properties: "follows the properties of \(place)"
      case .signal(let name): "follows the signal \(name) of \(place)"
      case .call(let name, _, _): "calls \(name) of \(place)"
      }
    case .web(_, let request):
      // The query and the path often contain API keys.
      let names = request.address.query.split(separator: "&").map { $0.prefix { $0 != "=" } }
      var address = request.address
      address.query = ""
      if address.path != "/" { address.path = "/…" }
      return "sends \(request.method.withArticle) request to \(address)"
        + (names.isEmpty ? "" : " (query: \(names.joined(separator: ", ")))")
    case .presence(_, let action, let ids):
      return "\(action) \(ids.map(\.rawValue).joined(separator: ", "))"
    case .send(_, let id, let name, let payload, _):
      return "sends \(name) to \(id)" + shape(payload)
    default: return nil
    }
  }

  /// Traces the nodes of a widget's content that changed.
  mutating func trace(_ id: WidgetID, content new: Content?, after old: Content?) {
    guard isTraced, new != old else { return }
    var known: [String: Node] = [:]
    for node in old?.nodes ?? [] { known[node.id] = node }
    for node in new?.nodes ?? [] {
      let before = known.removeValue(forKey: node.id)
      var words: [String] = []
      for entry in node.properties.entries where before?.properties[entry.key] != entry.value {
        // Never trace the text that people type.
        words.append(
          node.role == .input && entry.key == "value"
            ? "value changed" : "\(entry.key) = \(BundleInstance.traced(entry.value))")
      }
      if node.problem != before?.problem ?? "" {
        let problem = node.problem.split(whereSeparator: \.isNewline).joined(separator: "; ")
        words.append(problem.isEmpty ? "works again" : "problem: \(problem)")
      }
      if !words.isEmpty { trace(id, .node, node.id, words.joined(separator: ", ")) }
    }
    for gone in known.keys.sorted() { trace(id, .node, gone, "removed") }
  }
}

extension BundleInstance {
  /// Traces the beginning and the end of an action. Sources are traced where they are read.
  mutating func traceStatus(_ status: ActionStatus, of name: String, _ id: WidgetID) {
    guard isTraced, facts(of: id)?.kind.actions[name] != nil else { return }
    switch status.state {
    // An action is never missing, and only an outcome is cancelled.
    case .missing, .cancelled: break
    case .idle: trace(id, .action, name, "is cancelled")
    case .running: trace(id, .action, name, "starts")
    case .success:
      trace(id, .action, name, "succeeds" + (status.message.isEmpty ? "" : ": \(status.message)"))
    case .failure: trace(id, .action, name, "fails: \(status.code): \(status.asError.logMessage)")
    }
  }
}
