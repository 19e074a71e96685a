import Testing
import WidgetModel
import WidgetProto
import WidgetRender

@testable import widgetctl

/// The times by which the host removes something, while it is away.
@Suite struct PromiseTests {
  private static let now = Samples.time(1300)
  private static let dates = DateText(now: now, localZone: { _ in "+00:00" })
  private static let missing =
    "the folder /b/feed has no bundle file; put the file or folder back by 1970-01-01T00:20:00Z, or"
    + " the widgets of the bundle are removed with their data"

  private static func kept(_ reason: String) -> String {
    missing.replacing(" by 1970-01-01T00:20:00Z", with: " (\(reason))")
  }

  private static func widget(_ message: String = missing) -> Widget {
    LiveSamples.widget("w") {
      $0.isStale = true
      $0.applySet = "bundle/feed"
      $0.error = WidgetError(reason: "BUNDLE_INVALID", message: message, since: Samples.time(1240))
    }
  }

  /// The facts about a widget whose kind has this provider, and about the host.
  private static func facts(
    _ provider: String = "bundle/feed", isAway: Bool = true, silence: ProviderSilence? = nil
  ) throws -> ProviderFacts {
    var facts = ProviderFacts()
    let kind = Kind(name: Samples.kind("k"))
    var registered = RegisteredKind(kind: kind, provider: provider, isAttended: true)
    registered.isProviderConnected = silence == nil && (provider == "sysmon" || !isAway)
    registered.providerSilence = silence
    facts.kinds[kind.name] = registered
    let id = try #require(Staleness.hostID)
    facts.widgets[id] = LiveSamples.widget(BundleHost.widget) {
      $0.isStale = isAway
      $0.data = ["state": .string("running"), "folders": .list([.string("/b")])]
    }
    return facts
  }

  @Test(arguments: [
    ("put it back by 1970-01-01T00:20:00Z, or else", "put it back (x), or else"),
    ("undo that by 1970-01-01T00:21:39Z, or by noon", "undo that (x), or by noon"),
    (
      "put it back by 1970-01-01T00:21:41Z, or else", "put it back by 1970-01-01T00:21:41Z, or else"
    ),
    (" by 1970-01-01T00:20:00Z by 1970-01-01T00:20:01Z", " (x) (x)"),
    ("made by hand", "made by hand"), ("", ""),
  ])
  func `a promised time that has passed is not shown`(text: String, shown: String) {
    #expect(Promise.text(text, "x", at: Self.now) == shown)
  }

  @Test func `status says that the host is not running, as view does`() throws {
    let tagged = [TaggedWidget(widget: Self.widget())]
    let kept = FailingWidgets.keepingPromises(tagged, at: Self.now, try Self.facts())
    let failing = FailingWidgets(kept, isCut: false)
    guard case .error(let error)? = failing.widgets.first?.failures.first else {
      Issue.record("no error")
      return
    }
    #expect(error.message == Self.kept(Promise.stopped))
  }

  /// The second kind belongs to a program that runs.
  @Test(arguments: ["bundle/feed", "sysmon"])
  func `view and get say that the host is not running`(provider: String) throws {
    let facts = try Self.facts(provider)
    let words = "failed: \(Self.kept(Promise.stopped))"
    let page = PicturePage(format: .text, width: 400, isTitled: false, dates: Self.dates)
    let text = page.text(of: [Self.widget()], kinds: KindNames(providers: facts))
    #expect(text.contains(words) && !text.contains("1970"))
    let widget = Self.widget().keepingPromises(at: Self.now, facts.staleness(of: Self.widget()))
    #expect(GetCommand.problems(of: widget, facts, now: Self.now).contains(words))
    #expect(GetCommand.errorText(of: widget, now: Self.now).contains(words))
  }

  @Test func `the reason for a passed time depends on the host`() throws {
    func message(_ facts: ProviderFacts?) -> String? {
      let widget = Self.widget()
      return widget.keepingPromises(at: Self.now, facts?.staleness(of: widget)).error?.message
    }
    let silence = ProviderSilence(since: .epoch, pid: 0)
    let silent = try Self.facts(silence: silence)
    let running = try Self.facts(isAway: false)
    #expect(message(silent) == Self.kept(Promise.silent))
    // The daemon does not take the removal, or has just not answered.
    #expect(message(running) == Self.kept(Promise.unasked))
    #expect(message(nil) == Self.kept(Promise.unasked))
    #expect(Self.widget().hasPromise && !Self.widget("made by hand").hasPromise)
  }

  @Test func `a later time does not count either while no host runs`() throws {
    let widget = Self.widget()
    func message(_ facts: ProviderFacts) -> String? {
      widget.keepingPromises(at: Samples.time(1100), facts.staleness(of: widget)).error?.message
    }
    #expect(message(try Self.facts()) == Self.kept(Promise.stopped))
    #expect(message(try Self.facts(isAway: false)) == Self.missing)
    let silence = ProviderSilence(since: .epoch, pid: 0)
    #expect(message(try Self.facts(silence: silence)) == Self.missing)
  }

  @Test func `the errors of programs, and other errors, stay`() {
    let text = "call back by 1970-01-01T00:20:00Z, please"
    var widget = Self.widget()
    widget.error = WidgetError(joining: [
      WidgetError(reason: "BUNDLE_INVALID", message: Self.missing, since: Samples.time(1240)),
      WidgetError(reason: "LATE", message: text),
    ])
    let error = widget.keepingPromises(at: Self.now).error
    #expect(error?.all.map(\.message) == [Self.kept(Promise.unasked), text])
    #expect(error?.since == Samples.time(1240))
  }

  @Test func `the widget of a bundle shows no passed time`() throws {
    let widget = LiveSamples.widget("bundle/feed") {
      $0.kind = Samples.kind("bundle")
      $0.isStale = true
      $0.data = [
        "problem": .string(Self.missing), "remarks": .list([.string(Self.missing), .int(1)]),
        "path": .string("/b by 1970-01-01T00:20:00Z"),
      ]
      let node = Node(id: "problem", type: .label, properties: ["text": .string(Self.missing)])
      $0.content = Content(rootID: "problem", nodes: [node])
    }
    let shown = widget.keepingPromises(at: Self.now)
    let words = Value.string(Self.kept(Promise.unasked))
    #expect(shown.data["problem"] == words && shown.data["remarks"] == .list([words, .int(1)]))
    #expect(shown.data["path"] == widget.data["path"])
    #expect(shown.content?.nodes.first?.properties["text"] == words)
  }
}
