import SeededRandom
import Testing
import WidgetBundle
import WidgetCore
import WidgetModel

/// The daemon's core accepts all kinds and widgets that the reader accepts.
@Suite struct DaemonTests {
  private static let now = Timestamp(nanosecondsSinceEpoch: 1_800_000_000_000_000_000)

  /// A daemon's state after a host has added the bundle.
  private final class Daemon {
    private var store = WidgetStore(image: StoreImage(epoch: 1), isRevocable: false)

    init(_ bundle: Bundle) throws(StoreError) {
      try apply(.applyKinds(KindDeclaration(provider: bundle.id, kinds: bundle.kinds.map(\.kind))))
      try apply(.apply(Declaration(applySet: bundle.id, widgets: bundle.widgets)))
    }

    func apply(_ command: WidgetCore.Command) throws(StoreError) {
      _ = try store.apply(command, by: Caller(uid: 1), at: DaemonTests.now)
    }

    func widget(_ id: WidgetID?) -> Widget? { id.flatMap { store.widget($0) } }
  }

  @Test(arguments: [Samples.full, BundleScaffold.text(id: "panel")])
  func `kinds and widgets of a bundle are taken as they are`(text: String) throws {
    let bundle = try Samples.read(text)
    let daemon = try Daemon(bundle)
    for spec in bundle.widgets {
      let widget = try #require(daemon.widget(spec.id))
      let content = try #require(widget.content)
      #expect(content.nodes.map(\.problem).filter { !$0.isEmpty } == [])
    }
  }

  @Test func `a press runs the bundle's reducer in the daemon`() throws {
    let bundle = try Samples.read(BundleScaffold.text(id: "panel"))
    let daemon = try Daemon(bundle)
    let id = try #require(WidgetID("panel"))
    func texts() -> [Value] {
      daemon.widget(id)?.content?.nodes.compactMap { $0.properties["text"] } ?? []
    }
    for words in ["0 clicks", "1 click", "2 clicks", "3 clicks"] {
      if words != "0 clicks" {
        try daemon.apply(.sendEvent(EventDraft(widgetID: id, nodeID: "click", name: "press")))
      }
      #expect(texts().contains(.string(words)))
    }
    #expect(daemon.widget(id)?.data["clicks"] == .int(3))
    // The load is not known yet.
    #expect(texts().contains(.string("--")))
  }

  @Test func `bindings in the long form give their values, and placeholders`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        data: {n: 0, list: [], late: {type: double}}
        content:
          stack:
            - label: {from: data.n, if: value > 3, then: many, else: '=value', format: "<%@> 100%%"}
            - label: {from: 'data.list[0]', placeholder: none}
            - label: {value: '=null', format: "%@!", placeholder: "--"}
            - label: {from: data.late, then: '=formatNumber(value, 1)', placeholder: soon}
            - label: {from: data.n, then: '=formatNumber(value, 1)', format: "%@ km"}
            - toggle: x
              value: {from: data.n, if: value == 0}
            - chart: [1, '=double(data.n)', 2.5]
            - label: {value: =data.n // a remark
                , format: "n %@"}
            - {label: x, padding: {top: '=data.n', leading: 2}}
        """, data: "") + "widgets: [{id: w, kind: k}]\n")
    let daemon = try Daemon(bundle)
    let nodes = try #require(daemon.widget(WidgetID("w"))?.content?.nodes)
    #expect(
      nodes.compactMap { $0.properties["text"] }
        == [
          "<0> 100%", "none", "--", "soon", "0.0 km", "x", "n 0", "x",
        ].map { .string($0) })
    #expect(nodes.first { $0.type == .toggle }?.properties["value"] == .bool(true))
    #expect(
      nodes.first { $0.type == .chart }?.properties["values"]
        == .list([.double(1), .double(0), .double(2.5)]))
    #expect(nodes.last?.properties["padding"] == .map(["top": .double(0), "leading": .double(2)]))
  }

  @Test func `a transform is applied by name, before the format`() throws {
    let bundle = try Samples.read(
      "transforms: {price: 'formatNumber(value, 2)', half: value / 2}\n"
        + Samples.kind(
          """
          data: {n: 12, text: "7", late: {type: double}, list: []}
          content:
            stack:
              - label: {from: data.n, transform: [half, price], format: "%@ €"}
              - label: {from: data.text, transform: int, placeholder: none}
              - label: {from: data.late, transform: percent, placeholder: soon}
              - label: {from: data.n, if: value > 3, then: '=2048', else: '=0', transform: bytes}
              - label: {from: dyn(data.text), transform: duration, placeholder: "?"}
              - gauge: {from: data.text, transform: double}
          """, data: "") + "widgets: [{id: w, kind: k}]\n")
    let daemon = try Daemon(bundle)
    let nodes = try #require(daemon.widget(WidgetID("w"))?.content?.nodes)
    #expect(
      nodes.compactMap { $0.properties["text"] }
        == ["6.00 €", "7", "soon", "2.0 KiB", "?"].map { .string($0) })
    #expect(nodes.last?.properties["value"] == .double(7))
  }

  @Test func `content and reducers use the names of let`() throws {
    let text =
      "defaults: {unit: C}\nlet: {unit: ' defaults.unit + \"!\"', all: size(data.list)}\n"
      + Samples.kind(
        """
        let: {more: all + data.n, words: string(more) + unit}
        content:
          stack:
            - label: =words
            - label: {from: more, if: value > all, then: =unit, else: little}
            - label: =unit + string(item)
              rows: data.list.map(all, all + more)
            - button: More
              id: more
              on: {press: {set: {n: more + 1}}}
        """, data: "    data: {n: 1, list: [5, 6]}\n") + "widgets: [{id: w, kind: k}]\n"
    let daemon = try Daemon(try Samples.read(text))
    let id = try #require(WidgetID("w"))
    func texts() -> [Value]? {
      daemon.widget(id)?.content?.nodes.compactMap { $0.properties["text"] }
    }
    #expect(texts() == ["3C!", "C!", "C!8", "C!9", "More"].map { .string($0) })
    try daemon.apply(.sendEvent(EventDraft(widgetID: id, nodeID: "more", name: "press")))
    #expect(daemon.widget(id)?.data["n"] == .int(4))
    #expect(texts()?.first == .string("6C!"))
  }

  @Test(arguments: [nil, #"{"unit": "F", "step": 5}"#])
  func `content and reducers read settings as defaults`(settings: String?) throws {
    let text =
      "defaults: {unit: C, step: {type: int, default: 2, description: So much.}}\n"
      + Samples.kind(
        """
        data: {n: 1}
        content:
          stack:
            - label: '=string(data.n) + " " + defaults.unit'
            - label: {from: data.n, if: value > defaults.step, then: much, else: little}
            - button: More
              id: more
              on: {press: {set: {n: data.n + defaults.step}}}
        """, data: "") + "widgets: [{id: w, kind: k}]\n"
    let bundle = try BundleReader.read(text, settings: settings.map { .text($0) })
    let daemon = try Daemon(bundle)
    let id = try #require(WidgetID("w"))
    try daemon.apply(.sendEvent(EventDraft(widgetID: id, nodeID: "more", name: "press")))
    let texts = try #require(daemon.widget(id)?.content?.nodes).compactMap { $0.properties["text"] }
    let expected = settings == nil ? ["3 C", "much", "More"] : ["6 F", "much", "More"]
    #expect(texts == expected.map { .string($0) })
  }

  @Test func `the problem of a node quotes the failed part of the file`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        data: {list: {type: list(string)}, n: 0}
        content:
          stack:
            - label: {from: 'string(data.n) + data.list[5]', then: '=value + "!"', format: "%@"}
            - label: '=string(10 / data.n)'
        """, data: "") + "widgets: [{id: w, kind: k, data: {list: [a]}}]\n")
    let daemon = try Daemon(bundle)
    let nodes = try #require(daemon.widget(WidgetID("w"))?.content?.nodes)
    let problems = nodes.map(\.problem)
    #expect(
      problems[1].hasSuffix(", in `string(data.n) + data.list[5]`"), "\(problems)")
    #expect(problems[2].hasSuffix(", in `10 / data.n`"), "\(problems)")
  }

  @Test(arguments: 0..<2)
  func `the daemon accepts every mutated bundle that the reader accepts`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed) &* 104_729 &+ 5)
    let original = Array(Samples.full.utf8)
    var taken = 0
    for _ in 0..<75 {
      let text = String(decoding: HostileTests.mutated(original, &generator), as: UTF8.self)
      guard let bundle = try? Samples.read(text) else { continue }
      do throws(StoreError) {
        _ = try Daemon(bundle)
        taken += 1
      } catch {
        Issue.record("seed \(seed): the daemon refuses what the reader took: \(error)\n\(text)")
      }
    }
    #expect(taken > 0)
  }
}
