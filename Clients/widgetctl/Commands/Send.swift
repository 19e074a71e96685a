import ArgumentParser
import WidgetClient
import WidgetModel

/// `send`: sends an event.
struct SendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send an event to a widget.",
    discussion: """
      A hidden or disabled widget takes none (status 5), nor does such a node, unless --force is \
      given. \
      \(Assignment.help)

      --wait waits until what the event starts has ended: the actions of a bundle, and what its kind \
      does at once. If one fails its reason is told, and the exit status is 11.

      `describe KIND` says what nodes take: a toggle and an input a value, a form the values of its \
      inputs: --value for each, with the name that its input has.

      Examples:
        widgetctl send counter click
        widgetctl send todo press --node clear
        widgetctl send todo change --node done/7 value=true
        widgetctl send todo change --node search value==milk
        widgetctl send todo submit --node new --value title=='Buy milk' --value urgent=true
        widgetctl send album submit --node new --value title==Cat --upload photo=cat.png
        widgetctl send cpu alarm above=90 who==Ada
        widgetctl send notes press --node save --wait --timeout 10s
      """)

  @Argument(help: "The widget's id.", completion: idCompletion, transform: parseID)
  var id: WidgetID

  @Argument(help: ArgumentHelp("What happens: click, toggle, submit, …", valueName: "event"))
  var name: String

  @Argument(
    help: ArgumentHelp("The event's payload.", valueName: "key=value"),
    transform: parseAssignment)
  var payload: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      "The node it happens to, such as a button; `view ID --nodes` lists them.", valueName: "id"),
    completion: nodeCompletion)
  var node: String?

  @Option(
    name: .customLong("value"),
    help: ArgumentHelp(
      "An input of a form that is submitted; may be repeated.", valueName: "name=value"),
    transform: parseAssignment)
  var values: [Assignment] = []

  @Option(
    name: .customLong("upload"),
    help: ArgumentHelp(
      "A file for an input of a form; may be repeated. It is uploaded first.",
      valueName: "name=file"), completion: .file())
  var uploads: [String] = []

  @Flag(help: "Send it even if the widget is hidden or disabled.")
  var force = false

  @Flag(
    name: .customLong("wait"),
    help: "Wait until what it starts has ended, and tell what became of it.")
  var waits = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    for upload in uploads {
      guard let equals = upload.firstIndex(of: "="), equals != upload.startIndex,
        upload.index(after: equals) != upload.endIndex
      else { throw ValidationError("--upload \(upload): write NAME=FILE") }
    }
    guard values.isEmpty && uploads.isEmpty || !payload.contains(where: { $0.key == "values" })
    else {
      throw ValidationError("--value and --upload are parts of values=…; use one of them")
    }
  }

  /// The payload, with the form's values in it.
  func allOfPayload() throws(CommandFailure) -> ValueMap {
    var map = try payload.values()
    if !values.isEmpty { map["values"] = .map(try values.values()) }
    return map
  }

  func run() async throws {
    let session = try global.session()
    var payload = try allOfPayload()
    if !uploads.isEmpty {
      var values = ValueMap()
      if case .map(let map)? = payload["values"] { values = map }
      for upload in uploads {
        let parts = upload.split(separator: "=", maxSplits: 1)
        values[String(parts[0])] = .string(try await Upload.run(String(parts[1]), session))
      }
      payload["values"] = .map(values)
    }
    let request = SendEventRequest(
      widgetID: id, nodeID: node ?? "", name: name, payload: payload, force: force,
      client: "widgetctl", requestID: global.requestId ?? "", wantsOutcome: waits)
    guard !waits else { return try await OutcomeWait(request, session, global).run() }
    let answer = try await session.client.sendEvent(request, options: session.options)
    session.printer.print(
      .map([
        "sequence": .revision(answer.sequence), "revision": .revision(answer.revision),
      ])
    ) { "\(id) \(name.safeForTerminal) sent (event \(answer.sequence))\n" }
  }
}
