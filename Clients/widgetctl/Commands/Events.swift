import ArgumentParser
import WidgetClient
import WidgetModel

/// `events`: follows events.
struct EventsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events", abstract: "Follow events, which users and programs send to widgets.",
    discussion: """
      On a terminal, or with -o table, the command prints one line per event. Otherwise, or with \
      -o json or jsonl, it prints one JSON object per line, of type event or gap. A gap has the \
      numbers of events that the command may have missed. After a crash of the daemon, the numbers \
      of events jump, because the daemon reserves numbers in blocks. So a gap can contain up to \
      4,096 numbers that no event had.

      After a restart of the daemon, the command reconnects. It ends with Ctrl-C, after --count \
      events, with --timeout (status 8), or when its output is closed.

      --after-sequence also prints recent events. The daemon keeps recent events only until it \
      restarts.

      Examples:
        widgetctl events
        widgetctl events counter --name click --count 1
        widgetctl events --after-sequence 0 -o jsonl
      """)

  @Argument(
    help: "Only events of these widgets. They need not exist yet.", completion: idCompletion,
    transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Option(
    name: .customLong("name"),
    help: ArgumentHelp("Only events with this name; may be repeated.", valueName: "event"))
  var names: [String] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Start after this event; 0 for all recent events since the daemon's start. Default: now.",
      valueName: "n"),
    transform: { text in
      guard let number = UInt64(text) else {
        throw ValidationError("write a whole number, 0 or more")
      }
      return number
    })
  var afterSequence: UInt64?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("End after this many events.", valueName: "n"),
    transform: { try parseWhole($0, "1 or more") })
  var count: Int?

  @Flag(help: "Wait for the daemon if it is not running.")
  var wait = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count must be 1 or more") }
  }

  func run() async throws {
    let follow = FollowOptions(global: global, waits: wait)
    let session = try follow.session()
    let options = WatchEventsOptions(
      selector: selection.selector(ids: ids), names: names, afterSequence: afterSequence,
      retry: FollowOptions.retry)
    let format = global.output ?? (Terminal.outputIsTerminal ? .table : .jsonl)
    let printer = WatchPrinter(
      format: format, mask: .all, painter: global.painter, width: Terminal.width)
    Output.endWithReader()
    try await follow.limited {
      var notes = ConnectionNotes(follow)
      var left = count
      var hasLooked = false
      for try await frame in session.client.watchEvents(options) {
        try notes.note(frame)
        if case .opened = frame, !hasLooked {
          hasLooked = true
          try await FollowOptions.noteMissing(of: ids, session)
          await selection.noteUnregisteredKinds(in: session)
        }
        switch frame {
        case .events(let batch):
          let events = batch.events.prefix(left ?? .max)
          Output.write(events.map(printer.text).joined())
          left = left.map { $0 - events.count }
          if left == 0 { return }
        case .gap(let gap):
          Output.write(printer.text(gap))
        case .opened, .disconnected, .reconnected:
          break
        }
      }
    }
  }
}
