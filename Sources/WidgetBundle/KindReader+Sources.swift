import WidgetExpression
import WidgetModel

/// The sources of a kind's data, and the requests and programs that actions use, too.
extension KindReader {
  /// The minimum interval of sources and triggers.
  static let intervalLeast = Duration.milliseconds(100)

  /// The inputs that can be missing on a machine.
  private static let optionalInputs = ["file", "folder", "command", "socket", "dbus"]

  func source(_ named: Named) -> Source? {
    guard let object = reading.object(named.item, .source) else { return nil }
    let inputs = ["file", "folder", "http", "command", "socket", "dbus", "timer", "value"]
    let given = inputs.filter { object.has($0) }
    guard given.count == 1, let inputName = given.first, let inputItem = object[inputName] else {
      reading.report(
        named.item,
        given.isEmpty
          ? "source \"\(named.name)\" reads nothing"
          : "source \"\(named.name)\" reads \(given.joined(separator: " and "))",
        hint: "write one of \(inputs.joined(separator: ", "))")
      return nil
    }
    let variables = hostVariables()
    var interval = reading.duration(object["every"], atLeast: KindReader.intervalLeast)
    let isContinuous = reading.bool(object["lines"]) ?? false
    for key in ["input", "timeout", "lines"] where inputName != "command" {
      if let item = object[key] {
        reading.report(item, "\"\(key)\" is for commands", hint: "leave it out")
      }
    }
    var input: Source.Input?
    var references: Set<ExpressionReference> = []
    var givenType: ExpressionType?
    reading.onCompiled = { references.formUnion($0.references) }
    switch inputName {
    case "file": input = file(inputItem, variables).map { .file($0) }
    case "folder":
      input = file(inputItem, variables).map { .folder($0) }
      givenType = .list(.dyn)
    case "http": input = http(inputItem, variables).map { .http($0) }
    case "command":
      input = command(inputItem, object, variables).map { .command($0, isContinuous: isContinuous) }
    case "socket":
      input = socket(inputItem, variables).map { .socket($0) }
      if let item = object["every"] {
        reading.report(item, "a socket has no interval", hint: "leave out every")
      }
    case "dbus":
      let bus = bus(inputItem, variables, isStep: false)
      input = bus.map { .bus($0) }
      givenType = bus.map { resultType($0) }
      if bus?.isCall == false, let item = object["every"] {
        reading.report(item, "changes come by themselves", hint: "leave out every")
      }
    case "timer":
      if let item = object["every"] {
        reading.report(item, "timer already sets the interval", hint: "leave out every")
      }
      interval = reading.duration(inputItem, atLeast: KindReader.intervalLeast)
      input = interval == nil ? nil : .timer
    default: input = reading.template(inputItem, variables).map { .constant($0) }
    }
    reading.onCompiled = nil
    var parse = self.parse(object["parse"])
    if case .socket(let socket) = input, socket.i3 != nil, parse.format == nil {
      parse.format = .json
    }
    if ["dbus", "folder", "timer", "value"].contains(inputName), let item = object["parse"] {
      reading.report(
        item, "\"\(inputName)\" gives values, so nothing is parsed", hint: "leave out parse")
    }
    let isAligned = reading.bool(object["aligned"]) ?? false
    if isAligned, interval == nil, let item = object["aligned"] {
      reading.report(item, "only a repeated source can be aligned", hint: "add every: DURATION")
    }
    let condition = reading.expression(object["when"], variables, giving: .bool)
    let type: ExpressionType = givenType ?? (inputName == "timer" ? .timestamp : resultType(parse))
    let filter = reading.expression(
      object["filter"], hostVariables(result: type), giving: .bool, for: "a filter")
    let assignments = self.assignments(object["set"], hostVariables(result: type))
    let stub = self.stub(object, parse, variables)
    let title = reading.template(
      object["title"], variables, giving: .string, for: "a failure's title")
    let message = reading.template(
      object["message"], hostVariables(result: type), giving: .string, for: "a message")
    let staleAfter = reading.duration(object["staleAfter"], atLeast: .zero)
    let isOptional = reading.bool(object["optional"]) ?? false
    if isOptional, !KindReader.optionalInputs.contains(inputName), let item = object["optional"] {
      reading.report(
        item,
        "\"optional\" is for inputs that can be missing on a machine, not for \"\(inputName)\"",
        hint: "leave it out")
    }
    if interval == nil { warnOfUnreportedChanges(input, inputItem) }
    guard let input else { return nil }
    var source = Source(
      name: named.name, input: input, interval: interval, isAligned: isAligned,
      isLoadedAtStart: reading.bool(object["start"]) ?? true, condition: condition, filter: filter,
      parse: parse,
      assignments: assignments, stub: stub, errorTitle: title, successMessage: message,
      staleAfter: staleAfter ?? Source.staleAfterDefault,
      isWhileWatched: reading.bool(object["whileWatched"]) ?? false,
      isOptional: isOptional)
    if !source.isContinuous, let item = object["filter"] {
      reading.report(
        item,
        "\"filter\" is for sources that give results while they run, but \"\(named.name)\" gives one"
          + " result for each reading",
        hint: inputName == "command"
          ? "add lines: true, or leave filter out" : "leave it out, and test result in set")
    }
    let own = Set(assignments.values.map(\.key))
    source.dependencies = references.filter { KindReader.isDependency($0, own) }
      .sorted { $0.description < $1.description }
    return source
  }

  /// Whether a source is read again when this changes. Data that the source itself sets and
  /// `status` do not count, because the readings would never end.
  private static func isDependency(_ reference: ExpressionReference, _ own: Set<String>) -> Bool {
    switch reference.variable {
    case "parameters", "widget": return true
    case "data":
      guard case .field(let key)? = reference.path.first else { return false }
      return key != BundleScope.statusKey && !own.contains(key)
    default: return false
    }
  }

  /// Warns of a file or folder that the source reads only once.
  private func warnOfUnreportedChanges(_ input: Source.Input?, _ item: Item) {
    let template: Template
    switch input {
    case .file(let path), .folder(let path): template = path
    default: return
    }
    guard
      let text = template.constantText,
      let root = ["/proc", "/sys"].first(where: { text == $0 || text.hasPrefix("\($0)/") })
    else { return }
    reading.remark(
      item,
      "the kernel does not report changes below \(root), so the source keeps its first value",
      hint: "add every: DURATION")
  }

  /// Warns of sources that make each other read again: each sets data that the input of the next
  /// one reads, by itself or by the steps on its life events. This is not an error, because the readings
  /// end when the values do not change any more.
  func warnOfCycles(among sources: [Source], _ items: [Named]) {
    let readers = sources.map { source in
      let own = Set(source.assignments.values.map(\.key))
      let keys = own.union(keysSet(after: source.name))
      return sources.indices.filter { index in
        sources[index].dependencies.contains { reference in
          guard reference.variable == "data", case .field(let key)? = reference.path.first else {
            return false
          }
          return keys.contains(key)
        }
      }
    }
    var done: Set<Int> = []
    for start in sources.indices where !done.contains(start) {
      guard let cycle = shortestCycle(from: start, readers) else { continue }
      done.formUnion(cycle)
      let names = (cycle + [start]).map { sources[$0].name }.joined(separator: " → ")
      let isAlone = cycle.count == 1
      guard let item = items.first(where: { $0.name == sources[start].name })?.item else {
        continue
      }
      reading.remark(
        item,
        isAlone
          ? "the source changes data that it reads, so the host reads it again and again"
          : "these sources read each other again and again: \(names)",
        hint:
          "let \(isAlone ? "it" : "one of them") read something else; while the values change, "
          + "\(isAlone ? "it" : "each") is read ten times a second")
    }
  }

  /// The data that steps on the life events of a source set or remove.
  private func keysSet(after source: String) -> Set<String> {
    func isOfSource(_ event: String) -> Bool { LifePhase.split(event)?.name == source }
    var keys: Set<String> = []
    var actionsSeen: Set<String> = []
    func collect(_ steps: [Step]) {
      for step in steps {
        switch step {
        case .set(let assignments), .http(_, _, let assignments, _),
          .command(_, _, let assignments, _), .bus(_, let assignments, _),
          .socket(_, let assignments, _):
          keys.formUnion(assignments.values.map(\.key))
        case .unset(let names): keys.formUnion(names)
        case .run(let name):
          if actionsSeen.insert(name).inserted, let action = actions[name] { collect(action) }
        case .action(let action): collect(action)
        case .presence, .reload, .emit, .cancel: break
        }
      }
    }
    func collect(_ action: Action) {
      keys.formUnion(action.optimistic.values.map(\.key))
      for steps in [action.steps, action.otherwise, action.success, action.failure] {
        collect(steps)
      }
    }
    for reducer in kind.reducers where reducer.nodeID.isEmpty && isOfSource(reducer.event) {
      keys.formUnion(Array(reducer.assignments.keys) + reducer.unset)
    }
    for trigger in triggers {
      if case .event(let name, nil) = trigger.when, isOfSource(name) { collect(trigger.steps) }
    }
    return keys
  }

  /// The shortest cycle of sources that begins and ends at `start`.
  private func shortestCycle(from start: Int, _ next: [[Int]]) -> [Int]? {
    var before: [Int: Int] = [:]
    var level = [start]
    while !level.isEmpty {
      var following: [Int] = []
      for index in level {
        for other in next[index] {
          if other == start {
            var path = [index]
            while let former = before[path[0]] { path.insert(former, at: 0) }
            return path
          }
          guard before[other] == nil else { continue }
          before[other] = index
          following.append(other)
        }
      }
      level = following
    }
    return nil
  }

  // MARK: - Parsing

  func parse(_ item: Item?) -> Parse {
    var parse = Parse()
    guard let item else { return parse }
    let formats = Parse.Format.allCases.map { (name: $0.rawValue, value: $0) }
    if case .scalar = item.node.content {
      parse.format = reading.choice(item, "format", formats)
      return parse
    }
    guard let object = reading.object(item, .parse, or: " or a format") else { return parse }
    parse.format = reading.choice(object["format"], "format", formats)
    let shapes = Parse.Shape.allCases.map { (name: $0.rawValue, value: $0) }
    parse.shape = reading.choice(object["shape"], "shape", shapes) ?? .any
    parse.path = path(object["path"])
    parse.errorPath = path(object["errorPath"])
    for key in ["shape", "path", "errorPath"] where object.has(key) {
      if let format = parse.format, format != .json, let item = object[key] {
        reading.report(
          item, "\"\(key)\" is for JSON, but the format is \(format.rawValue)",
          hint: "write format: json")
      }
    }
    if parse.format == nil, object.has("shape") || object.has("path") || object.has("errorPath") {
      parse.format = .json
    }
    return parse
  }

  /// `data.items[0].name`, or a list of keys and indexes.
  private func path(_ item: Item?) -> [Parse.PathStep] {
    guard let item else { return [] }
    if case .list(let elements) = item.node.content {
      return elements.enumerated().compactMap { index, element in
        let item = item.element(index, element)
        guard case .scalar(let text, let isPlain) = element.content else {
          reading.report(item, "expected a key or an index, not \(element.words)")
          return nil
        }
        if isPlain, case .int(let number)? = PlainScalar.value(text), number >= 0 {
          return .index(Int(number))
        }
        return .key(text)
      }
    }
    guard let text = reading.text(item, "a path") else { return [] }
    var steps: [Parse.PathStep] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      let name = part.prefix { $0 != "[" }
      var rest = part.dropFirst(name.count)
      var isRight = !name.isEmpty || (!rest.isEmpty && steps.isEmpty)
      if !name.isEmpty { steps.append(.key(String(name))) }
      while rest.first == "[", isRight {
        let digits = rest.dropFirst().prefix { $0 != "]" }
        guard let number = Int(digits), number >= 0, rest.dropFirst(digits.count + 1).first == "]"
        else {
          isRight = false
          break
        }
        steps.append(.index(number))
        rest = rest.dropFirst(digits.count + 2)
      }
      guard isRight, rest.isEmpty else {
        reading.report(
          item, "\"\(text.prefix(60))\" is not a path",
          hint: "write data.items[0].name, or a list: [data, items, 0]")
        return []
      }
    }
    return steps
  }

  /// The type of `result`, as far as it follows from the format.
  func resultType(_ parse: Parse) -> ExpressionType {
    switch parse.format {
    case .text: .string
    case .lines: .list(.string)
    case .words: .list(.list(.string))
    case .json:
      switch parse.shape {
      case .any: .dyn
      case .object: .map(.string, .dyn)
      case .list: .list(.dyn)
      }
    case nil: .dyn
    }
  }

  func stub(_ object: Object, _ parse: Parse, _ variables: Variables) -> Stub? {
    let type: FieldType =
      switch parse.format {
      case .text: .string
      case .lines: .list(.string)
      case .words: .list(.list(.string))
      case .json:
        switch parse.shape {
        case .any: .any
        case .object: .map(.any)
        case .list: .list(.any)
        }
      case nil: .any
      }
    let value = reading.template(
      object["stub"], variables, giving: type == .any ? nil : type, for: "the stub")
    let delay = reading.duration(object["debugDelay"], atLeast: .zero)
    return value == nil && delay == nil ? nil : Stub(value: value, delay: delay ?? .zero)
  }

  // MARK: - Inputs

  func file(_ item: Item, _ variables: Variables) -> Template? {
    guard
      let template = reading.template(item, variables, giving: .string, for: "the path of a file")
    else { return nil }
    if let path = template.constantText {
      if let problem = PathText.problem(with: path) {
        reading.report(item, problem.message, hint: problem.hint)
      } else if !context.permissions.allowReading(path) {
        reading.report(
          item, "the bundle may not read \(path)", hint: "add \(path) to permissions.read")
      }
    }
    return template
  }

  private func socket(_ item: Item, _ variables: Variables) -> SocketInput? {
    var (pathItem, sendItem): (Item?, Item?) = (item, nil)
    var i3: I3Input?
    if case .map = item.node.content {
      guard let object = reading.object(item, .socket) else { return nil }
      if !object.has("path") {
        reading.reportMissing(
          "path", of: object, "the path is missing", hint: "add path: PATH")
      }
      (pathItem, sendItem) = (object["path"], object["send"])
      i3 = self.i3(object)
    }
    guard let path = socketPath(pathItem, variables) else { return nil }
    return SocketInput(
      path: path,
      send: reading.template(sendItem, variables, giving: .string, for: "what is sent"), i3: i3)
  }

  /// The socket of i3 or sway, and the command that a step sends.
  func commandSocket(_ item: Item, _ variables: Variables) -> SocketInput? {
    guard let object = reading.object(item, .socket) else { return nil }
    let format = reading.choice(object["format"], "format", [("lines", false), ("i3", true)])
    if format == false || !object.has("format") {
      reading.report(
        object["format"] ?? item, "a step sends commands to i3 or sway only",
        hint: "write format: i3")
    }
    for key in ["request", "subscribe"] {
      if let item = object[key] {
        reading.report(item, "\"\(key)\" is for sources", hint: "write send: COMMAND")
      }
    }
    for key in ["path", "send"] where object[key] == nil {
      reading.reportMissing(
        key, of: object, "the \(key == "path" ? "path" : "command") is missing",
        hint: "add \(key): \(key == "path" ? "PATH" : "COMMAND")")
    }
    guard let path = socketPath(object["path"], variables),
      let send = reading.template(object["send"], variables, giving: .string, for: "a command")
    else { return nil }
    return SocketInput(path: path, send: send)
  }

  private func socketPath(_ item: Item?, _ variables: Variables) -> Template? {
    guard let item,
      let path = reading.template(item, variables, giving: .string, for: "the path of a socket")
    else { return nil }
    if let text = path.constantText {
      if let problem = PathText.problem(with: text) {
        reading.report(item, problem.message, hint: problem.hint)
      } else if context.hasHost, !context.permissions.sockets.contains(text) {
        reading.report(
          item, "the bundle may not use the socket \(text)",
          hint: "add \(text) to permissions.sockets")
      }
    }
    return path
  }

  /// The request to i3 or sway. Nil for a socket that gives lines.
  private func i3(_ object: Object) -> I3Input? {
    let isI3 =
      reading.choice(object["format"], "format", [("lines", false), ("i3", true)]) ?? false
    for key in isI3 ? ["send"] : ["request", "subscribe"] {
      if let item = object[key] {
        reading.report(
          item, "\"\(key)\" is for sockets with format: \(isI3 ? "lines" : "i3")",
          hint: isI3 ? "write request and subscribe" : "add format: i3")
      }
    }
    guard isI3 else { return nil }
    let request = reading.choice(
      object["request"], "request", I3Input.Request.allCases.map { ($0.rawValue, $0) })
    let events = reading.list(object["subscribe"], of: "events").compactMap {
      reading.choice($0, "event", I3Input.Event.allCases.map { ($0.rawValue, $0) })
    }
    if !object.has("request"), !object.has("subscribe") {
      reading.report(
        object.item, "nothing is asked", hint: "add request: get_workspaces, or subscribe: [window]"
      )
    }
    return I3Input(request: request, events: events)
  }

  /// - Parameter object: has `input` and `timeout`.
  func command(_ item: Item, _ object: Object, _ variables: Variables) -> ProgramCommand? {
    let templates = reading.list(item, of: "the program and its arguments").compactMap {
      reading.template($0, variables, giving: .string, for: "an argument")
    }
    guard case .list(let elements) = item.node.content else { return nil }
    guard !elements.isEmpty else {
      reading.report(item, "the program is missing", hint: "write [PROGRAM, ARGUMENT, …]")
      return nil
    }
    if let program = templates.first?.constantText, templates.count == elements.count,
      context.hasHost, !context.permissions.allowRunning(program)
    {
      // `[ls -l]` is one word for the host, which uses no shell.
      let words = program.split(separator: " ")
      let isLine = words.count > 1 && !program.hasPrefix("/")
      reading.report(
        item.element(0, elements[0]),
        isLine
          ? "\"\(program.prefix(80))\" is not a program, but a program with its arguments"
          : "the bundle may not run \(program.prefix(80))",
        hint: isLine
          ? "split it: [\(words.joined(separator: ", ").prefix(80))]"
          : "add \(program.prefix(80)) to permissions.commands")
    }
    let input = reading.template(
      object["input"], variables, giving: .string, for: "a program's input")
    let timeout = reading.duration(object["timeout"], atLeast: .milliseconds(1))
    guard templates.count == elements.count else { return nil }
    return ProgramCommand(arguments: templates, input: input, timeout: timeout)
  }
}
