import ArgumentParser
import Foundation
import Testing
import WidgetDrawing
import WidgetModel
import WidgetRender

@testable import widgetctl

/// The picture of `view`: its content, size and format.
struct PicturePageTests {
  private static let now = Samples.time(10_000)

  private static func page(
    _ format: WidgetPicture.Format = .text, width: Int = 24, height: Int? = nil,
    isTitled: Bool = false
  ) -> PicturePage {
    PicturePage(
      format: format, width: width, height: height, isTitled: isTitled,
      dates: DateText(now: now, localZone: { _ in "+00:00" }))
  }

  /// A widget that shows one label for each text, below each other.
  private static func widget(_ id: String, _ texts: String...) -> Widget {
    var widget = Samples.widget
    widget.id = Samples.id(id)
    widget.presence = Presence()
    widget.content = Content(
      rootID: "top",
      nodes: [Node(id: "top", type: .stack, childIDs: texts)]
        + texts.map { Node(id: $0, type: .label, properties: ["text": .string($0)]) })
    return widget
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
  }

  @Test func `one widget is drawn, and several with titles and lines between them`() {
    #expect(Self.page().text(of: [Self.widget("a", "one", "two")]) == " one\n two\n")
    #expect(
      Self.page(isTitled: true).text(of: [Self.widget("a", "one"), Self.widget("b", "two")])
        == "a\n one\n\nb\n two\n")
    #expect(Self.page().text(of: []).isEmpty)
  }

  @Test func `a widget without content shows its data`() {
    var widget = Self.widget("a")
    widget.content = nil
    widget.data = ["n": .int(1), "text": .string("a\nb \u{1B}[2J and more than there is room for")]
    let lines = Self.lines(Self.page().text(of: [widget]))
    #expect(lines[0] == "n: 1")
    #expect(lines.count == 2 && lines[1].hasPrefix("text: a ⏎ b") && lines[1].hasSuffix("…"))
  }

  @Test func `staleness is a warning and a failure an error, both with their age`() {
    var widget = Self.widget("a", "one")
    widget.isStale = true
    widget.error = WidgetError(
      reason: "NO_ANSWER", message: "refused", since: Samples.time(10_000 - 300))
    widget.updateTime = Samples.time(10_000 - 7200)
    #expect(
      Self.lines(Self.page(width: 60).text(of: [widget])).prefix(2)
        == ["stale: not updated for 2h", "failed: refused (for 5m)"])
    func code(_ token: String) -> String {
      let color = Theme.standard.color(token, .dark)
      return color.map { "\u{1B}[38;2;\($0.red);\($0.green);\($0.blue)m" } ?? "none"
    }
    let ansi = Self.page(.ansi(.truecolor), width: 60).text(of: [widget])
    #expect(ansi.hasPrefix(code("color.warning") + "stale: not updated for 2h"))
    #expect(ansi.contains(code("color.error") + "failed: refused (for 5m)"))
    #expect(Self.page(.html).text(of: [Self.widget("a", "<b>")]).contains("&lt;b&gt;"))
  }

  @Test func `a named widget is shown as hidden or disabled`() {
    var widget = Self.widget("a", "one")
    widget.presence = Presence(isVisible: false)
    #expect(Self.lines(Self.page().text(of: [widget])) == ["a, hidden", " one"])
  }

  @Test func `a disabled widget looks disabled in every format`() {
    var widget = Self.widget("a", "one")
    widget.content?.nodes[1] = Node(
      id: "one", type: .button, properties: ["text": .string("Go")], events: ["press"])
    func text(_ format: WidgetPicture.Format) -> String {
      Self.page(format, width: 40).text(of: [widget])
    }
    let gray = Theme.standard.color("color.disabled", .dark)
    #expect(text(.text).contains("[ Go ]"))
    widget.presence.isEnabled = false
    #expect(text(.text).contains("( Go )"))
    #expect(text(.ansi(.none)).contains("( Go )"))
    let ansi = gray.map { "\u{1B}[38;2;\($0.red);\($0.green);\($0.blue)" } ?? "none"
    #expect(text(.ansi(.truecolor)).contains(ansi))
    let drawing = RenderPage(dates: DateText(now: Self.now)).drawing(of: [widget])
    func colors(_ marks: [Mark]) -> [ThemeColor] {
      marks.flatMap { mark -> [ThemeColor] in
        switch mark {
        case .text(let text) where text.text == "Go": [text.color]
        case .group(let group): colors(group.marks)
        default: []
        }
      }
    }
    #expect(colors(drawing?.marks ?? []) == [gray].compactMap(\.self))
  }

  // MARK: - Images

  /// A widget with an image, and a folder with the file `red.png`.
  private static func image(
    _ source: String, fallback: String = "", _ body: (Widget, String) throws -> Void
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "widgetctl-\(UInt64.random(in: 0...UInt64.max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let red = try #require(
      PixelImage(
        width: 2, height: 2, rgba: Array(repeating: [255, 0, 0, 255], count: 4).flatMap(\.self)))
    try Data(PNGEncoder.bytes(red)).write(to: folder.appending(path: "red.png"))
    var widget = Self.widget("a")
    widget.content = Content(
      rootID: "i",
      nodes: [
        Node(
          id: "i", type: .image,
          properties: [
            "source": .string(folder.path + "/" + source),
            "fallback": .string(fallback.isEmpty ? "" : folder.path + "/" + fallback),
            "alt": .string("a map"), "width": .double(320), "height": .double(96),
          ])
      ])
    try body(widget, folder.path)
  }

  @Test func `a missing image has its reason`() throws {
    try Self.image("none.png") { widget, _ in
      for format in [WidgetPicture.Format.text, .ansi(.truecolor), .html] {
        let text = Self.page(format, width: 60).text(of: [widget])
        #expect(text.contains("a map"), "\(format)")
        #expect(text.contains("No such file or directory"), "\(format)")
      }
      let drawing = try #require(RenderPage(dates: DateText(now: Self.now)).drawing(of: [widget]))
      #expect(SVGEncoder.text(drawing, scale: 1).contains("No such file or directory"))
    }
  }

  @Test func `a missing image without room for the reason has it below`() throws {
    for width in [nil, 40.0] {
      try Self.image("none.png") { widget, folder in
        var widget = widget
        var node = try #require(widget.content?.nodes.first)
        node.properties["width"] = width.map { .double($0) }
        if width == nil { node.properties["height"] = nil }
        widget.content?.nodes = [node]
        let line = "! i: source: \(folder)/none.png: No such file or directory"
        let text = Self.page(.text, width: 200).text(of: [widget])
        #expect(text.contains("\n \(line)") || text.contains("\n\(line)"), "\(text)")
        let drawing = try #require(
          RenderPage(width: 1500, dates: DateText(now: Self.now)).drawing(of: [widget]))
        let svg = SVGEncoder.text(drawing, scale: 1)
        #expect(svg.contains("! i: source: "), "\(svg)")
      }
    }
  }

  @Test(arguments: [
    ("", nil), ("battery-low", nil), ("https://example.org/a.png", nil),
    ("/dev/null", "source: /dev/null: not a file"),
    ("file:///does/not/exist", "source: file:///does/not/exist: No such file or directory"),
    ("cat.png", "source: cat.png: \"cat.png\" is not an absolute path"),
    ("photo.bmp", "source: photo.bmp: \"photo.bmp\" is not an absolute path"),
    ("X.AVIF", "source: X.AVIF: \"X.AVIF\" is not an absolute path"),
    ("a.ico", "source: a.ico: \"a.ico\" is not an absolute path"),
    ("a.tiff", "source: a.tiff: \"a.tiff\" is not an absolute path"),
    ("blob:1", "source: blob:1: \"blob:1\" is not an absolute path"),
  ])
  func `only a source that names a file can be missing`(source: String, reason: String?) {
    let node = Node(id: "i", type: .image, properties: ["source": .string(source)])
    #expect(PictureFile.absence(of: node) == reason)
    var other = node
    other.properties["fallback"] = .string("/etc/passwd")
    #expect(PictureFile.absence(of: other) == nil)
  }

  @Test(arguments: [("mail", "", 0), ("mail", "/none.png", 1), ("", "mail", 0), ("cat.png", "", 1)])
  func `an icon is not a missing file`(source: String, fallback: String, count: Int) throws {
    var widget = Self.widget("a")
    let node = Node(
      id: "i", type: .image,
      properties: [
        "source": .string(source), "fallback": .string(fallback), "width": .double(320),
        "height": .double(96),
      ])
    let content = Content(rootID: "i", nodes: [node])
    widget.content = content
    let cache = PictureCache()
    #expect(cache.problems(in: content, tellsAll: true).count == count)
    #expect((cache.problem(of: node) != nil) == (count > 0))
    let text = Self.page(width: 60).text(of: [widget])
    #expect(!text.contains("\"mail\" is not an absolute path"), "\(text)")
    #expect(text.contains("mail") || count > 0, "\(text)")
  }

  @Test func `an image is drawn with colours, and its fallback if it is missing`() throws {
    for (source, fallback) in [("red.png", ""), ("none.png", "red.png"), ("", "red.png")] {
      try Self.image(source, fallback: fallback) { widget, _ in
        let ansi = Self.page(.ansi(.truecolor), width: 60).text(of: [widget])
        #expect(ansi.contains("38;2;255;0;0"))
        #expect(!ansi.contains("No such file"))
        // Half blocks need colours.
        let text = Self.page(.text, width: 60).text(of: [widget])
        #expect(text.contains("a map") && !text.contains("▀") && !text.contains("No such file"))
      }
    }
  }

  @Test func `nothing from the daemon controls the terminal`() {
    let evil = "\u{1B}[31m\u{7}\u{202E}x"
    let properties: ValueMap = [
      "text": .string(evil), "value": .string(evil), "url": .string(evil), "alt": .string(evil),
      "problem": .string(evil), "placeholder": .string(evil), "submit": .string(evil),
      "columns": .list([.string(evil)]), "labels": .list([.string(evil)]), "empty": .string(evil),
      "icon": .string(evil), "style": .string("bar"), "values": .list([.double(1)]),
      "format": .string(evil), "date": .timestamp(Self.now),
    ]
    for type in NodeType.allCases {
      var widget = Self.widget("a")
      widget.content = Content(
        rootID: evil, nodes: [Node(id: evil, type: type, properties: properties, problem: evil)])
      let text = Self.page(width: 60).text(of: [widget])
      #expect(!text.unicodeScalars.contains { $0.actsOnTerminal && $0 != "\n" }, "\(type)")
      #expect(text.contains("\\u{1b}"), "\(type)")
    }
  }

  @Test func `nodes in a circle or without end are drawn`() {
    var widget = Self.widget("a")
    widget.content = Content(
      rootID: "a",
      nodes: [
        Node(id: "a", type: .stack, childIDs: ["b", "a", "x", "b"]),
        Node(id: "b", type: .stack, childIDs: ["a", "x"]),
        Node(id: "x", type: .label, properties: ["text": .string("x")]),
      ])
    #expect(Self.page().text(of: [widget]).filter { $0 == "x" }.count == 1)
    widget.content = Content(
      rootID: "n0",
      nodes: (0..<100_000).map { Node(id: "n\($0)", type: .stack, childIDs: ["n\($0 + 1)"]) })
    #expect(Self.lines(Self.page().text(of: [widget])).count <= 1)
  }

  @Test func `problems of nodes are printed`() {
    var widget = Self.widget("a", "one")
    widget.content?.nodes[1].problem = "lines: no number"
    #expect(Self.lines(Self.page(width: 40).text(of: [widget])).last == "! one: lines: no number")
  }

  @Test(arguments: [false, true])
  func `an unregistered kind is named once, with its age, above the data`(hasData: Bool) {
    let widget = Samples.unregistered(hasData: hasData) {
      $0.updateTime = Samples.time(10_000 - 7200)
    }
    let problem = "the kind \"clock\" is not registered; not updated for 2h"
    let lines = Self.lines(Self.page(width: 60).text(of: [widget]))
    #expect(lines.first.map(String.init) == problem)
    #expect(lines.count { $0.contains("registered") } == 1)
    #expect(lines.contains { $0.contains("21.5") } == hasData)
    let red = Theme.standard.color("color.error", .dark)
      .map { "\u{1B}[38;2;\($0.red);\($0.green);\($0.blue)m" }
    #expect(Self.page(.ansi(.truecolor), width: 60).text(of: [widget]).hasPrefix(red! + problem))
    let drawing = RenderPage(dates: DateText(now: Self.now)).drawing(of: [widget])
    #expect(drawing?.words.hasPrefix("w, \(problem)") == true, "\(drawing?.words ?? "")")
    #expect(drawing?.words.components(separatedBy: "registered").count == 2)
  }

  @Test func `the advice about an unregistered kind does not repeat the problem`() {
    let widget = Samples.unregistered()
    #expect(
      ViewCommand.advice(aboutKindsOf: [widget, widget]) == [
        "`widgetctl apply -f FILE` registers the kind \"clock\", `widgetctl bundle install` installs a "
          + "bundle with kinds"
      ])
    let left = Samples.unregistered {
      $0.isStale = true
      $0.error = WidgetError(reason: "BUNDLE_INVALID", message: "put the file back")
    }
    #expect(ViewCommand.advice(aboutKindsOf: [left]) == [])
  }

  @Test func `an unregistered kind is marked on one line`() throws {
    func marks(_ widget: Widget) throws -> Int {
      var widget = widget
      widget.family = .inline
      let drawing = RenderPage(dates: DateText(now: Self.now)).drawing(of: [widget])
      return try #require(drawing).marks.count
    }
    var registered = Samples.unregistered()
    registered.content = registered.shownContent
    #expect(try marks(Samples.unregistered()) == marks(registered) + 1)
  }

  @Test func `content for another family only is named`() {
    var widget = Self.widget("a", "one")
    widget.content = nil
    widget.family = .medium
    func first(_ families: [Family]) -> String? {
      let kinds = KindNames(families: [widget.kind: families])
      return Self.lines(Self.page(width: 80).text(of: [widget], kinds: kinds)).first.map(
        String.init)
    }
    #expect(first([.inline]) == "no content for the family medium; --as inline shows some")
    #expect(first([.medium])?.hasPrefix("no content") != true)
    #expect(first([])?.hasPrefix("no content") != true)
    let kinds = KindNames(families: [widget.kind: [.inline]])
    #expect(
      kinds.advice(for: widget, family: .small)
        == "no content for the family small; --as inline shows some")
  }

  @Test(arguments: 1...9)
  func `a height limits the picture, and the lines that are cut off are counted`(height: Int) {
    let one = Self.widget("a", "one", "two", "three")
    #expect(Self.lines(Self.page(height: height).text(of: [one])).count == height)
    let two = Self.lines(Self.page(height: height, isTitled: true).text(of: [one, one]))
    #expect(two.count == height)
    #expect((two.last == "… \(9 - height + 1) more lines") == (height < 9))
  }

  @Test(arguments: [1, 2, 7, 80, 300])
  func `no line is wider than the picture`(width: Int) {
    var widget = Self.widget("a-widget-with-a-long-name", "日本語の題", "a word, and more words")
    widget.isStale = true
    let text = Self.page(width: width, isTitled: true).text(of: [widget])
    #expect(Self.lines(text).allSatisfy { String($0).columns <= width }, "\(text)")
  }

  @Test(
    arguments: [
      ([], true, ["TERM": "xterm-256color"], .ansi(.palette256)),
      ([], true, ["TERM": "xterm", "COLORTERM": "truecolor"], .ansi(.truecolor)),
      ([], true, ["TERM": "xterm", "NO_COLOR": "1"], .text), ([], true, ["TERM": "dumb"], .text),
      ([], true, [:], .text), ([], false, ["TERM": "xterm-256color"], .text),
      (["--format", "text"], true, ["TERM": "xterm"], .text),
      (["--format", "html"], true, ["TERM": "dumb"], .html),
      (["--format", "ansi"], false, ["TERM": "xterm-256color"], .ansi(.palette256)),
      (["--format", "ansi"], false, [:], .ansi(.sixteen)),
      (["--format", "ansi"], false, ["NO_COLOR": "1"], .ansi(.none)),
      (["--format", "ansi"], false, ["TERM": "dumb"], .ansi(.none)),
      (["--format", "ansi", "--no-color"], false, [:], .ansi(.none)),
      (["--no-color"], true, ["TERM": "xterm"], .text),
    ] as [([String], Bool, [String: String], WidgetPicture.Format)])
  func `the format fits the terminal`(
    arguments: [String], isTerminal: Bool, environment: [String: String],
    format: WidgetPicture.Format
  ) throws {
    let command = try #require(
      try Widgetctl.parseAsRoot(["view"] + arguments) as? ViewCommand)
    #expect(
      command.picture.format(
        isTerminal: isTerminal, noColor: command.global.noColor, environment: { environment[$0] })
        == format)
  }

  @Test func `absent properties of a node are shown with their defaults`() throws {
    var widget = Self.widget("a", "one")
    widget.content?.nodes[1].properties["margin"] = .double(2)
    let label = try #require(widget.withDefaults.content?.nodes[1].properties)
    #expect(label["padding"] == .double(4))
    #expect(label["margin"] == .double(2))
    #expect(label["separator"] == .bool(true))
    #expect(label["accessory"] == .string("none"))
    #expect(label["text"] == .string("one"))
    #expect(label["width"] == nil)
  }

  @Test func `the document of nodes has the tokens that the theme lacks`() throws {
    var widget = Self.widget("a", "one")
    widget.content?.nodes[1].properties["color"] = .string("color.nope")
    widget.content?.nodes[1].problem = "text: it failed"
    let row = Table.nodes(of: [widget]).text(width: nil, Samples.plain)
    let problem = try #require(widget.nodesDocument().node("one")?["problem"])
    guard case .string(let text) = problem else {
      Issue.record("\(problem)")
      return
    }
    #expect(text.split(separator: "\n").count == 2)
    #expect(text.contains("color.nope"))
    for line in text.split(separator: "\n") { #expect(row.contains("! \(line)"), "\(row)") }
  }

  @Test(
    arguments: [
      (Value.bool(false), nil, "the parent has no divider", "the parent has no divider"),
      (.bool(true), nil, nil, "it is the last child"),
      (.bool(false), .bool(true), nil, "the parent has no divider"),
      (.bool(true), .bool(false), nil, "it is the last child"),
    ] as [(Value, Value?, String?, String?)])
  func `a default separator that is not drawn has its reason`(
    divider: Value, own: Value?, first: String?, last: String?
  ) {
    var widget = Self.widget("a", "one", "two")
    widget.content?.nodes[0].properties["divider"] = divider
    widget.content?.nodes[1].properties["separator"] = own
    let missing = widget.content?.missingSeparators
    #expect(missing?["one"] == first)
    #expect(missing?["two"] == last)
    let text = Table.nodes(of: [widget], withDefaults: true).text(width: nil, Samples.plain)
    let rows = text.split(separator: "\n")
    for (id, reason) in [("one", first), ("two", last)] {
      let row = rows.first { $0.contains("  \(id)  ") }.map(String.init) ?? ""
      #expect(row.contains("not drawn") == (reason != nil), "\(row)")
      #expect(reason.map { row.contains("separator: not drawn, \($0)") } ?? true, "\(row)")
      let node = widget.nodesDocument(withDefaults: true).node(id)
      let notes = reason.map { Value.list([.string("separator: not drawn, \($0)")]) }
      #expect(node?["notes"] == notes)
      #expect(widget.nodesDocument().node(id)?["notes"] == nil)
    }
    #expect(
      !Table.nodes(of: [widget]).text(width: nil, Samples.plain).contains("not drawn"))
  }
}

extension Value {
  /// The document of a node in the document of its widget.
  fileprivate func node(_ id: String) -> ValueMap? {
    guard case .map(let widget) = self, case .map(let content)? = widget["content"],
      case .list(let nodes)? = content["nodes"]
    else { return nil }
    for case .map(let node) in nodes where node["id"] == .string(id) { return node }
    return nil
  }
}
