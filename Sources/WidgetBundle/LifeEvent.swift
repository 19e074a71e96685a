import WidgetModel

/// The phases of a source or an action. The host sends an event for each phase, such as
/// `save.success`.
///
/// A kind gets such events if it declares or handles them.
public enum LifePhase: String, CaseIterable, Sendable {
  /// The source or action begins. Not sent when a source is read by its interval.
  case start
  /// A part of a large HTTP body was sent or received.
  case progress
  /// The result is there, and the data is not set yet.
  case ready
  /// The source or action has ended, and the data is set.
  case success
  case error

  /// The event's name for a source or an action.
  public func event(of name: String) -> String { "\(name).\(rawValue)" }

  /// The details of the event.
  var payload: [Field] {
    switch self {
    case .start, .ready: []
    case .progress: [Field(name: "progress", type: .double, summary: "The share, from 0 to 1.")]
    case .success: [Field(name: "message", type: .string, summary: "Message after success.")]
    case .error:
      ["code", "title", "message"].map { Field(name: $0, type: .string) }
    }
  }

  /// The name and the phase in the name of a life event; nil for other names.
  static func split(_ event: String) -> (name: String, phase: LifePhase)? {
    guard let dot = event.lastIndex(of: "."),
      let phase = LifePhase(rawValue: String(event[event.index(after: dot)...]))
    else { return nil }
    return (String(event[..<dot]), phase)
  }
}

extension KindReader {
  /// Declares an event such as `save.success` that the kind handles.
  ///
  /// - Returns: true if the event was declared; false after a mistake was reported; nil if the name
  ///   is not that of a life event, or if the kind declares the event already.
  func declareLifeEvent(_ name: String, _ item: Item) -> Bool? {
    guard !kind.events.contains(where: { $0.name == name }), let life = LifePhase.split(name)
    else { return nil }
    let names = sourceNames + actionNames
    guard names.contains(life.name) else {
      reading.report(
        item, "there is no source or action \"\(life.name.prefix(64))\"",
        hint: reading.suggestion(life.name, among: names))
      return false
    }
    // A kind that declares no events takes all of them.
    if !kind.events.isEmpty {
      kind.events.append(
        EventType(
          name: name, summary: "Sent by the host: \(life.phase) of \(life.name).",
          payload: life.phase.payload))
    }
    return true
  }

  /// Warns of a name under `on` that looks misspelt. Other names are events that a client may send.
  func remarkSlip(_ name: String, _ item: Item) {
    let nodeEvents = NodeType.allCases.flatMap(\.events).map(\.name)
    guard !nodeEvents.contains(name), !kind.events.contains(where: { $0.name == name }) else {
      return
    }
    if let dot = name.lastIndex(of: "."), (sourceNames + actionNames).contains(String(name[..<dot]))
    {
      let phases = LifePhase.allCases.map(\.rawValue)
      let phase = String(name[name.index(after: dot)...])
      return reading.remark(
        item, "\"\(name[..<dot])\" sends no event \"\(name.prefix(64))\"",
        hint: phase.closest(among: phases).map { "did you mean \"\(name[..<dot]).\($0)\"?" }
          ?? "there is: " + phases.joined(separator: ", "))
    }
    guard let closest = name.closest(among: ["load", "every"] + nodeEvents) else { return }
    reading.remark(
      item, "only a client that sends \"\(name.prefix(64))\" starts these steps",
      hint: "did you mean \"\(closest)\"?")
  }

  /// Finds the actions whose life events the kind takes, before the steps that run them are read.
  func noteLifeEvents(_ on: Item?) {
    var names = kind.events.map(\.name)
    if case .map(let entries)? = on?.node.content { names += entries.map(\.key) }
    toldActions = Set(names.compactMap { LifePhase.split($0)?.name }).intersection(actionNames)
  }

  /// Records the sources that a trigger on a source's life event reads again.
  func noteReloads(_ entry: Named) {
    guard let (source, phase) = LifePhase.split(entry.name), sourceNames.contains(source),
      let trigger = triggers.last, case .event(entry.name, nil) = trigger.when
    else { return }
    for step in trigger.steps {
      guard case .reload(let names) = step else { continue }
      // After a failure, a reading of another source can be useful. So only a source that reads
      // itself counts.
      for name in names.isEmpty ? sourceNames : names where phase != .error || name == source {
        reloads[source, default: []].append((name, entry.item))
      }
    }
  }

  /// Reports sources that read each other again, because such readings never end.
  func reportReloadCircles() {
    var done: Set<String> = []
    var path: [String] = []
    func visit(_ name: String) {
      guard !done.contains(name) else { return }
      path.append(name)
      for (next, item) in reloads[name] ?? [] {
        guard let start = path.firstIndex(of: next) else {
          visit(next)
          continue
        }
        let circle = (path[start...] + [next]).map { "\"\($0)\"" }.joined(separator: " → ")
        reading.report(
          item,
          path.count - start == 1
            ? "\"\(next)\" would be read again and again without a rest"
            : "sources would read each other again and again without a rest: \(circle)",
          hint: path.count - start == 1
            ? "give the source every: DURATION" : "give the sources every: DURATION")
      }
      path.removeLast()
      done.insert(name)
    }
    for name in sourceNames { visit(name) }
  }
}
