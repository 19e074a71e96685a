import Foundation
import Testing
import WidgetBundle
import WidgetCore
import WidgetModel
import WidgetRender

/// The look of the bundles of `Clients/bundles` with fixed data, compared with the files in `Golden`.
///
/// After an intended change: `WIDGETD_RECORD_GOLDEN=1 swift test --filter
/// WidgetBundleTests.GoldenTests`, look at `git diff Tests/WidgetBundleTests/Golden`, and commit
/// it. Escape characters are written as `␛`, so that the files can be read.
///
/// `Samples` has the data of bundles that read hardware or programs: the results of their stubs.
@Suite struct GoldenTests {
  private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
  private static let golden = tests.appending(path: "Golden")
  private static let bundles = tests.appending(path: "../../Clients/bundles").standardized
  private static let isRecording =
    ProcessInfo.processInfo.environment["WIDGETD_RECORD_GOLDEN"] == "1"
  /// 2026-01-02T03:04:05Z
  private static let now = Timestamp(nanosecondsSinceEpoch: 1_767_323_045_000_000_000)
  /// A tenth of the default: the content of bundles is far below the limit.
  private static let limits = {
    var limits = StoreLimits()
    limits.contentCostMax /= 10
    return limits
  }()

  /// A state of a bundle's first widget, as a host would set it.
  private struct State {
    let name: String
    var family: Family?
    var data: ValueMap = [:]
    var sources: [String: ActionStatus] = [:]
  }

  private static let done = ActionStatus(state: .success)
  private static let failed = ActionStatus(
    state: .failure, title: "Feed failed", message: "127.0.0.1:8765 refused the connection")

  private static let states: [String: [State]] = [
    "clock": [State(name: "as it is made"), State(name: "in one line", family: .inline)],
    "counter": [
      State(name: "as it is made"), State(name: "counted", data: ["n": .int(42)]),
      State(name: "in one line", family: .inline, data: ["n": .int(42)]),
    ],
    "disk": [
      State(name: "two disks", data: disks, sources: ["df": done]),
      State(
        name: "failed",
        sources: ["df": ActionStatus(state: .failure, message: "df: no such program")]),
      State(name: "in one line", family: .inline, data: disks, sources: ["df": done]),
    ],
    "feed": [
      State(name: "as it is made", sources: feed(done)),
      State(name: "posts", data: posts, sources: feed(done)),
      State(name: "loading", data: posts, sources: feed(ActionStatus(state: .running))),
      State(name: "failed", sources: feed(failed)),
      State(name: "in one line", family: .inline, data: posts, sources: feed(done)),
    ],
    "load": [
      State(name: "as it is made", sources: ["load": ActionStatus(), "uptime": ActionStatus()]),
      State(name: "busy", data: load, sources: ["load": done, "uptime": done]),
      State(name: "in one line", family: .inline, data: load, sources: ["load": done]),
    ],
    "todo": [
      State(name: "as it is made", sources: ["add": ActionStatus()]),
      State(name: "items", data: items, sources: ["add": ActionStatus()]),
      State(
        name: "refused", data: items,
        sources: ["add": ActionStatus(state: .failure, fields: ["title": "Required"])]),
      State(name: "in one line", family: .inline, data: items, sources: ["add": ActionStatus()]),
    ],
    "units": [
      State(name: "well", data: units(["running", "exited"]), sources: ["units": done]),
      State(name: "one failed", data: units(["running", "failed"]), sources: ["units": done]),
      State(
        name: "in one line", family: .inline, data: units(["failed"]), sources: ["units": done]),
    ],
  ]

  private static let disks: ValueMap = [
    "disks": .list([
      .map(["path": .string("/"), "used": .int(128 << 30), "free": .int(384 << 30)]),
      .map(["path": .string("/srv/backup"), "used": .int(1900 << 30), "free": .int(100 << 30)]),
    ])
  ]
  private static let posts: ValueMap = [
    "posts": .list([
      post(1, "Café opened", by: "me"),
      post(2, "A title that is so long that it has no room", by: "ada"),
      post(3, "日本語の題", by: "grace"),
    ])
  ]
  private static let load: ValueMap = [
    "one": .double(0.42), "five": .double(1.3), "fifteen": .double(0.2),
    "tasks": .string("1/80"), "uptime": .duration(.seconds(4711)),
    "history": .list([0.1, 0.2, 0.9, 1.4, 2.2, 1.1, 0.6, 0.42].map { .double($0) }),
  ]
  private static let items: ValueMap = [
    "items": .list(
      ["Dishes", "Laundry", "Write to the landlord about the window", "Bread"].enumerated().map {
        .map([
          "id": .int(Int64($0.offset + 1)), "title": .string($0.element),
          "done": .bool($0.offset == 1),
        ])
      }), "next": .int(5),
  ]

  private static func post(_ id: Int64, _ title: String, by author: String) -> Value {
    .map([
      "id": .int(id), "title": .string(title), "author": .string(author),
      "time": .string("2026-01-01T00:00:00Z"),
    ])
  }

  private static func units(_ states: [String]) -> ValueMap {
    [
      "units": .list(
        states.enumerated().map {
          .map([
            "name": .string("unit\($0.offset).service"), "state": .string($0.element),
            "about": .string("Unit \($0.offset)"),
          ])
        })
    ]
  }

  private static func feed(_ source: ActionStatus) -> [String: ActionStatus] {
    ["feed": source, "publish": ActionStatus(), "delete": ActionStatus()]
  }

  /// The states of a bundle with data from `Samples`: before and after its sources were read, on one line,
  /// and after they have all failed.
  private static func sampledStates(_ name: String) throws -> [State] {
    let text = try String(
      contentsOf: tests.appending(path: "Samples/\(name).json"), encoding: .utf8)
    guard case .map(let sample) = try DataDocument.untagged(JSONReader.value(of: text)),
      case .map(let data)? = sample["data"], case .list(let names)? = sample["sources"]
    else { throw CocoaError(.fileReadCorruptFile) }
    func sources(_ status: ActionStatus) -> [String: ActionStatus] {
      var sources: [String: ActionStatus] = [:]
      for case .string(let name) in names { sources[name] = status }
      return sources
    }
    let failure = ActionStatus(state: .failure, message: "the sensor does not answer")
    return [
      State(name: "as it is made", sources: sources(ActionStatus())),
      State(name: "with values", data: data, sources: sources(done)),
      State(name: "in one line", family: .inline, data: data, sources: sources(done)),
      State(name: "failed", sources: sources(failure)),
    ]
  }

  private static let folders =
    ((try? FileManager.default.contentsOfDirectory(atPath: bundles.path)) ?? [])
    .filter { FileManager.default.fileExists(atPath: bundles.path + "/\($0)/bundle.yaml") }.sorted()

  @Test(arguments: folders)
  func `a bundle looks as it was recorded`(name: String) throws {
    let now = try Self.page(name)
    let file = Self.golden.appending(path: name + ".txt")
    if Self.isRecording { try now.write(to: file, atomically: true, encoding: .utf8) }
    let recorded = try String(contentsOf: file, encoding: .utf8)
    #expect(now == recorded)
  }

  @Test func `each bundle is recorded`() throws {
    let recorded = try FileManager.default.contentsOfDirectory(atPath: Self.golden.path)
    #expect(recorded.sorted() == Self.folders.map { $0 + ".txt" })
    #expect(Self.folders.count > 20)
  }

  /// `gallery` and `placeholder` show samples.
  @Test(arguments: folders)
  func `each kind with data has a sample, which its content shows`(name: String) throws {
    let bundle = try BundleReader.read(
      String(contentsOf: Self.bundles.appending(path: name + "/bundle.yaml"), encoding: .utf8))
    var store = WidgetStore(
      image: StoreImage(epoch: 1), limits: Self.limits, isRevocable: false)
    let kinds = bundle.kinds.map(\.kind)
    _ = try store.apply(
      .applyKinds(KindDeclaration(provider: bundle.id, kinds: kinds)), by: Caller(uid: 1),
      at: Self.now)
    // A countdown that does not run has no data.
    for kind in kinds where !kind.data.isEmpty && kind.name.rawValue != "pomodoro" {
      for family in kind.families {
        func content(_ data: ValueMap?) throws -> Content? {
          try store.preview(
            of: kind.name, family: family, parameters: nil, data: data, at: Self.now
          )
          .content
        }
        let sample = try #require(try content(nil))
        #expect(sample != (try content([:])), "\(family)")
        #expect(sample.nodes.map(\.problem).filter { !$0.isEmpty } == [], "\(family)")
      }
    }
  }

  private static func page(_ name: String) throws -> String {
    let bundle = try BundleReader.read(
      String(contentsOf: bundles.appending(path: name + "/bundle.yaml"), encoding: .utf8))
    var page = ""
    for state in try states[name] ?? sampledStates(name) {
      let content = try content(of: bundle, state)
      for (width, height) in [(80, 24), (200, 60)] {
        page += "== \(state.name): text, \(width) columns\n"
        let text = picture(.text, .dark).text(of: content, width: width)
        page += text
        // Nothing is cut at the height of the terminal.
        #expect(text.count { $0 == "\n" } <= height, "\(state.name)")
        for (name, appearance) in [("dark", Theme.Appearance.dark), ("light", .light)] {
          page += "== \(state.name): \(name), \(width) columns\n"
          page += picture(.ansi(.truecolor), appearance).text(of: content, width: width)
        }
      }
    }
    return page.replacing("\u{1B}", with: "␛")
  }

  private static func picture(
    _ format: WidgetPicture.Format, _ appearance: Theme.Appearance
  ) -> WidgetPicture {
    WidgetPicture(format: format, look: CellLook(appearance: appearance))
  }

  /// The content of the bundle's first widget in the daemon's own core.
  private static func content(of bundle: WidgetBundle.Bundle, _ state: State) throws -> Content {
    var store = WidgetStore(
      image: StoreImage(epoch: 1), limits: Self.limits, isRevocable: false)
    var spec = try #require(bundle.widgets.first)
    spec.family = state.family ?? spec.family
    let id = try #require(spec.id)
    var patch = WidgetPatch(setData: state.data)
    if !state.sources.isEmpty {
      patch.setData["status"] = .map(
        ValueMap(state.sources.map { ValueMap.Entry(key: $0.key, value: $0.value.value) }))
    }
    let commands: [WidgetCore.Command] = [
      .applyKinds(KindDeclaration(provider: bundle.id, kinds: bundle.kinds.map(\.kind))),
      .apply(Declaration(applySet: bundle.id, widgets: [spec])), .update(id, patch),
    ]
    for command in commands { _ = try store.apply(command, by: Caller(uid: 1), at: now) }
    let content = try #require(store.widget(id)?.content)
    #expect(content.nodes.map(\.problem).filter { !$0.isEmpty } == [], "\(state.name)")
    return content
  }
}
