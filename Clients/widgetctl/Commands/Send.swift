import ArgumentParser
import WidgetClient
import WidgetModel

/// `send`: sends an event.
struct SendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send an event to a widget.",
    discussion: """
      A hidden or disabled widget or node takes no events (status 5). With --force, it takes the \
      event. Only root and the daemon's user may use --force. \(Assignment.help)

      With --wait, the command waits until everything that the event starts has ended: the kind's \
      reducers, and the actions of a bundle. If one of them fails, the command prints the reason \
      and exits with status 11, even if the bundle handles the failure (`catch`, `on: error`). If \
      one of them is cancelled, the command exits with status 12. If a form refuses its values, \
      the command prints each wrong value and exits with status 10.

      A kind that declares no events takes all events. If nothing handles the event, the command \
      prints a warning.

      `describe KIND` shows the events of nodes. A toggle and an input take a value. A form takes \
      the values of its inputs: give --value with the name of each input.

      Examples:
        widgetctl send counter click
        widgetctl send todo press --node clear
        widgetctl send todo change --node done/7 value=true
        widgetctl send todo change --node search value==milk
        widgetctl send todo submit --node new \\
          --value title=='Buy milk' --value urgent=true
        widgetctl send album submit --node new \\
          --value title==Cat --upload photo=cat.png
        widgetctl send cpu alarm above=90 who==Ada
        widgetctl send notes press --node save --wait --timeout 10s
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @Argument(
    help: ArgumentHelp("The event's name: click, toggle, submit, …", valueName: "event"),
    completion: eventCompletion)
  var name: String?

  @Argument(
    help: ArgumentHelp("The event's payload.", valueName: "key=value"),
    completion: payloadCompletion, transform: parseAssignment)
  var payload: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      "The node of the event, such as a button; `view ID --nodes` lists the nodes.",
      valueName: "id"),
    completion: nodeCompletion)
  var node: String?

  @Option(
    name: .customLong("value"),
    help: ArgumentHelp(
      """
      The value of an input of the form; may be repeated. If the input takes a file, name=@file \
      uploads the file.
      """, valueName: "name=value"),
    completion: inputCompletion, transform: parseAssignment)
  var values: [Assignment] = []

  @Option(
    name: .customLong("upload"),
    help: ArgumentHelp(
      "A file for an input of the form, which is uploaded first; may be repeated.",
      valueName: "name=file"), completion: .file())
  var uploads: [String] = []

  @Flag(help: "Send even to a hidden or disabled widget. Only for root and the daemon's user.")
  var force = false

  @Flag(
    name: .customLong("wait"),
    help: "Wait until everything that the event starts has ended, and print the outcome.")
  var waits = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    for upload in uploads {
      guard let equals = upload.firstIndex(of: "="), equals != upload.startIndex,
        upload.index(after: equals) != upload.endIndex
      else { throw ValidationError("--upload \(upload): write NAME=FILE") }
    }
    try refuseRepeated(
      payload.keys, values.keys + uploads.map { String($0.prefix { $0 != "=" }) })
    guard values.isEmpty && uploads.isEmpty || !payload.contains(where: { $0.key == "values" })
    else {
      throw ValidationError("--value and --upload set values=…; leave out values=…")
    }
  }

  /// A file for an input of the form.
  struct File: Hashable {
    let name: String
    let path: String
  }

  /// The files of `--upload`. `validate` has checked that each has a name and a path.
  private var namedFiles: [File] {
    uploads.map { upload in
      let parts = upload.split(separator: "=", maxSplits: 1).map(String.init)
      return File(name: parts.first ?? "", path: parts.last ?? "")
    }
  }

  /// The payload, with the form's values in it.
  ///
  /// - Parameter files: values that are uploaded, and are not in the payload yet.
  func allOfPayload(without files: [File] = []) throws(CommandFailure) -> ValueMap {
    var map = try payload.values()
    let values = values.filter { value in !files.contains { $0.name == value.key } }
    if !values.isEmpty { map["values"] = .map(try values.values()) }
    return map
  }

  /// The refusal to upload files for inputs that take none. nil if the widget shows no inputs.
  static func refusal(ofUploads names: [String], to widget: Widget) -> CommandFailure? {
    let inputs = (widget.content?.nodes ?? []).filter {
      $0.role == .input && !$0.text("name").isEmpty
    }
    guard !inputs.isEmpty else { return nil }
    let files = inputs.filter { $0.text("mode") == "file" }.map { $0.text("name") }
    guard let name = names.first(where: { !files.contains($0) }) else { return nil }
    let isThere = inputs.contains { $0.text("name") == name }
    let hint =
      files.isEmpty
      ? isThere ? "write --value \(name)==TEXT" : "no input of \(widget.id) takes a file"
      : "inputs that take a file: " + files.joined(separator: ", ")
    return CommandFailure(
      .invalidArgument,
      isThere
        ? "the input \"\(name)\" takes no file; \(hint)"
        : "widget \"\(widget.id)\" has no input \"\(name)\"; \(hint)")
  }

  /// The message for a command without an event, with the events that the kind declares.
  private func missingEvent(_ session: Session) async -> CommandFailure {
    guard
      let widget = try? await session.client.getWidget(
        GetWidgetRequest(id: id), options: session.options
      ).widget
    else { return CommandFailure(.usage, "name an event: `widgetctl send \(id) EVENT`") }
    let kind = try? await session.client.getKind(
      GetKindRequest(name: widget.kind), options: session.options
    ).kind.kind
    let names = (kind?.events ?? []).map(\.name)
    let known = names.isEmpty ? "" : "\(id) takes \(names.joined(separator: ", ")); "
    return CommandFailure(
      .usage,
      "name an event: `widgetctl send \(id) EVENT`; \(known)`widgetctl describe \(widget.kind)` shows "
        + "the events of the kind and its nodes")
  }

  func run() async throws {
    let session = try global.session()
    guard let name else { throw await missingEvent(session) }
    let target = try await SendTarget.look(for: self, session)
    let node = try node ?? target?.form(for: name, of: id)
    let files = try namedFiles + (target?.files(among: values, node: node) ?? [])
    var payload = try allOfPayload(without: files)
    var warnings: [RequestWarning] = []
    if let target {
      payload = try target.typed(payload, self.payload, values, event: name, node: node)
      payload = target.completed(payload, event: name, node: node)
      // With --wait, the outcome has the form's messages.
      warnings =
        waits
        ? []
        : target.warnings(payload, event: name, node: node, uploads: files.map(\.name))
    }
    var blobs: [String] = []
    if !files.isEmpty {
      let widget = try await session.client.getWidget(
        GetWidgetRequest(id: id), options: session.options
      ).widget
      if let refusal = SendCommand.refusal(ofUploads: files.map(\.name), to: widget) {
        throw refusal
      }
      var values = ValueMap()
      if case .map(let map)? = payload["values"] { values = map }
      blobs = try await Upload.run(files.map(\.path), session)
      for (file, blob) in zip(files, blobs) { values[file.name] = .string(blob) }
      payload["values"] = .map(values)
    }
    let request = SendEventRequest(
      widgetID: id, nodeID: node ?? "", name: name, payload: payload, force: force,
      client: "widgetctl", requestID: global.requestId ?? "", wantsOutcome: waits)
    guard !waits else {
      return try await hinting(at: target) {
        try await OutcomeWait(request, with: blobs, session, global).run()
      }
    }
    let answer = try await hinting(at: target) {
      try await Upload.send(request, with: blobs, session)
    }
    if let warning = await EventCheck.warning(request, session) { warnings.append(warning) }
    if !warnings.isEmpty { Output.warn(warnings) }
    session.printer.print(
      .map([
        "sequence": .revision(answer.sequence), "revision": .revision(answer.revision),
        "warnings": .list(warnings.map(\.document)),
      ])
    ) { "\(id) \(name.safeForTerminal) sent (event \(answer.sequence))\n" }
  }

  /// Adds `--value` to the refusal of a detail that is the value of a form's input.
  private func hinting<T>(
    at target: SendTarget?, _ call: () async throws -> T
  ) async throws -> T {
    do { return try await call() } catch let error as ClientError {
      let violations = error.status?.fieldViolations ?? []
      guard let hint = target?.hint(at: payload, of: name, refusedBy: violations)
      else { throw error }
      throw CommandFailure(error, socket: global.socket).adding(hint)
    }
  }
}
