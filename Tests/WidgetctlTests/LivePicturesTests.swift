import Glibc
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Pictures on a dashboard: reading files, drawing on the terminal, and removing pictures.
@Suite struct LivePicturesTests {
  private static let red = PixelImage(
    width: 2, height: 2, rgba: Array(repeating: [255, 0, 0, 255], count: 4).flatMap(\.self))

  private func board(
    _ method: TerminalCapabilities.Images?, count: Int = 1, rows: Int = 24
  ) throws -> LiveBoard {
    let widgets = (0..<count).map { index in
      LiveSamples.widget(
        "w\(index)",
        content: Content(
          rootID: "i",
          nodes: [
            Node(
              id: "i", type: .image,
              properties: [
                "source": .string("/p\(index).png"), "alt": .string("a map"),
                "width": .double(160), "height": .double(96),
              ])
          ]), position: Int64(index))
    }
    var board = try LiveSamples.board(widgets, columns: 40, rows: rows, look: CellLook())
    board.pictures.method = method
    for source in board.picturesToLoad() {
      board.pictures.take(source, Self.red.map { .ready($0) } ?? .failed("no"))
    }
    return board
  }

  @Test func `a node gets one life event for each source that it is given`() throws {
    func image(_ source: String, _ events: [String]) -> Node {
      Node(
        id: "i", type: .image,
        properties: ["source": .string(source), "height": .double(96)], events: events)
    }
    let content = Content(rootID: "i", nodes: [image("/a", ["load", "error"])])
    var board = try LiveSamples.board([LiveSamples.widget("w", content: content)])
    board.pictures.method = .kitty
    func event(_ name: String, _ payload: ValueMap) -> LiveEvent {
      LiveEvent(widget: Samples.id("w"), node: "i", name: name, payload: payload)
    }
    #expect(board.picturesToLoad() == ["/a"])
    #expect(board.pictureEvents() == [])
    board.pictures.take("/a", .failed("no such file"))
    #expect(
      board.pictureEvents() == [
        event("error", ["source": .string("/a"), "reason": .string("no such file")])
      ])
    #expect(board.pictureEvents() == [])
    func rebind(_ node: Node, _ revision: Revision) throws {
      var update = WidgetUpdate(id: Samples.id("w"), revision: revision, updateTime: .epoch)
      update.content = ContentChange(setNodes: [node])
      try board.take(
        .changes(
          ChangeSet(
            fromRevision: revision - 1, toRevision: revision, changes: [.updated(update)])))
    }
    try rebind(image("/b", ["load", "error"]), 2)
    #expect(board.picturesToLoad() == ["/b"])
    // Meanwhile the old picture is not shown, and no event is sent.
    #expect(board.pictureEvents() == [])
    board.pictures.take("/b", Self.red.map { .ready($0) } ?? .failed("no"))
    #expect(board.pictureEvents() == [event("load", ["source": .string("/b")])])
    // A source that is already loaded causes an event too.
    try rebind(image("/a", ["load", "error"]), 3)
    #expect(board.pictureEvents().map(\.name) == ["error"])
    // A node that does not take these events gets none.
    try rebind(image("/b", ["press"]), 4)
    #expect(board.pictureEvents() == [])
  }

  @Test func `a source is requested once, as soon as its node is visible`() throws {
    var board = try LiveSamples.board([
      LiveSamples.widget(
        "w",
        content: Content(
          rootID: "i",
          nodes: [
            Node(
              id: "i", type: .image,
              properties: [
                "source": .string("/a"), "fallback": .string("/b"), "height": .double(96),
              ])
          ]))
    ])
    board.pictures.method = .kitty
    #expect(board.picturesToLoad() == ["/a"])
    #expect(board.picturesToLoad() == [])
    board.pictures.take("/a", .failed("no such file"))
    #expect(board.picturesToLoad() == ["/b"])
    board.pictures.take("/b", .failed("is none either"))
    #expect(board.picturesToLoad() == [])
    #expect(LiveSamples.lines(&board).contains { $0.contains("no such file") })
  }

  @Test func `the fallback of an image without a source is loaded, and has the reason`() throws {
    var board = try LiveSamples.board([
      LiveSamples.widget(
        "w",
        content: Content(
          rootID: "i",
          nodes: [
            Node(
              id: "i", type: .image,
              properties: [
                "fallback": .string("/b"), "width": .double(320), "height": .double(96),
              ])
          ]))
    ])
    board.pictures.method = .kitty
    #expect(board.picturesToLoad() == ["/b"])
    board.pictures.take("/b", .failed("no such file"))
    #expect(LiveSamples.lines(&board).contains { $0.contains("no such file") })
  }

  @Test func `an icon has no reason`() throws {
    var node = Node(id: "i", type: .image, properties: ["source": .string("mail")])
    var pictures = LivePictures()
    pictures.method = .blocks
    #expect(pictures.request(["mail", "", "/a"]) == ["/a"])
    #expect(pictures.states["mail"] == nil)
    #expect(pictures.problem(of: node) == nil)
    node.properties["fallback"] = .string("/a")
    #expect(pictures.source(of: node) == "/a")
  }

  @Test func `an image that is only text has the reason above it`() throws {
    let nodes = ["a", "b"].map { name in
      Node(
        id: name, type: .image,
        properties: ["source": .string("/\(name).png"), "alt": .string("map \(name)")])
    }
    let root = Node(id: "top", type: .stack, childIDs: ["a", "b"])
    var board = try LiveSamples.board([
      LiveSamples.widget("w", content: Content(rootID: "top", nodes: [root] + nodes))
    ])
    board.pictures.method = .blocks
    #expect(board.picturesToLoad() == ["/a.png", "/b.png"])
    board.take(picture: "/a.png", .failed("no such file"))
    board.take(picture: "/b.png", .failed("no such file"))
    let lines = LiveSamples.lines(&board)
    for name in ["a", "b"] {
      let reason = "! \(name): source: /\(name).png: no such file"
      #expect(lines.contains { $0.contains(reason) }, "\(lines)")
      #expect(lines.contains { $0.contains("map \(name)") }, "\(lines)")
    }
  }

  @Test func `a terminal without a protocol for pictures gets half blocks or text`() throws {
    var blocks = try board(.blocks)
    #expect(blocks.sprites.isEmpty)
    #expect(LiveSamples.lines(&blocks).contains { $0.contains("█") })
    var none = try board(nil)
    #expect(none.picturesToLoad() == [])
    #expect(LiveSamples.lines(&none).contains { $0.contains("a map") })
  }

  @Test func `a sprite follows the page, is cut at its edge, and is hidden below a box`() throws {
    var board = try board(.kitty, count: 4, rows: 20)
    let first = try #require(board.sprites.first)
    #expect(first.place == first.frame)
    #expect(!LiveSamples.lines(&board).contains { $0.contains("█") })
    board.scrollPage(by: 3)
    let moved = try #require(board.sprites.first)
    #expect(moved.frame.y == first.frame.y - 3)
    #expect(moved.place.y == 0 && moved.place.height == moved.frame.height - 2)
    _ = board.take(.key(.character("?"), []))
    #expect(board.sprites.isEmpty)
    #expect(LiveSamples.lines(&board).contains { $0.contains("█") })
  }

  @Test func `beyond the limit pictures are half blocks`() throws {
    var board = try board(.sixel, count: LivePictures.shownMax + 1, rows: 200)
    #expect(board.sprites.count == LivePictures.shownMax)
    #expect(LiveSamples.lines(&board).contains { $0.contains("█") })
  }

  @Test func `only the visible part of a picture is sent, up to a limit`() throws {
    var board = try board(.kitty)
    board.pictures.cellWidth = 40
    board.pictures.cellHeight = 80
    let whole = LiveSprite(
      source: "/p0.png", frame: LayoutRect(x: 0, y: 0, width: 60, height: 20),
      place: LayoutRect(x: 0, y: 0, width: 60, height: 20))
    let image = try #require(board.pictures.pixels(of: whole))
    #expect(image.width * image.height <= LivePictures.sentPixelsMax)
    // A square in the middle of a wide frame: the upper left is empty, the middle is not.
    #expect(Array(image.rgba[..<4]) == [0, 0, 0, 0])
    board.pictures.cellWidth = 2
    board.pictures.cellHeight = 4
    let part = LiveSprite(
      source: "/p0.png", frame: LayoutRect(x: 0, y: -3, width: 8, height: 4),
      place: LayoutRect(x: 2, y: 0, width: 2, height: 1))
    let seen = try #require(board.pictures.pixels(of: part))
    #expect((seen.width, seen.height) == (4, 4))
    #expect(Array(seen.rgba[..<4]) == [255, 0, 0, 255])
  }

  @Test func `sixels of too many pixels are half blocks`() throws {
    var board = try board(.sixel)
    #expect(board.sprites.count == 1)
    board.pictures.cellWidth = 200
    board.pictures.cellHeight = 400
    #expect(board.sprites.isEmpty)
    #expect(LiveSamples.lines(&board).contains { $0.contains("█") })
  }

  @Test func `kitty's pictures are removed by name, sixels by writing over them`() throws {
    let board = try board(.kitty)
    var update = SpriteUpdate()
    let shown = update.next(board.sprites, board.pictures)
    #expect(shown.text.contains("a=T") && !shown.isScreenLost)
    #expect(update.next(board.sprites, board.pictures) == SpriteUpdate.Output())
    #expect(update.next([], board.pictures).text == TerminalPicture.kittyRemoval(id: 1))

    let other = try self.board(.sixel, count: 2)
    var sixels = SpriteUpdate()
    #expect(sixels.next(other.sprites, other.pictures).text.contains("\u{1B}P0;1"))
    let rest = sixels.next(Array(other.sprites.dropFirst()), other.pictures)
    #expect(rest.isScreenLost)
    #expect(rest.text.contains("\u{1B}P0;1"))
  }

  @Test func `files that are not pictures have the reason`() throws {
    func words(_ source: String) -> String {
      if case .failed(let reason) = LivePictures.load(source) { reason } else { "" }
    }
    #expect(words("/does/not/exist") == "No such file or directory")
    #expect(words("/dev/null") == "not a file")
    #expect(words("/etc/passwd") == "it is not a PNG")
    #expect(words("https://example.org/a.png") == "widgetctl reads files only")
    #expect(words("icon") == "\"icon\" is not an absolute path")
  }

  @Test func `pictures that are no longer visible make room for others`() {
    var pictures = LivePictures()
    pictures.method = .blocks
    for index in 0..<LivePictures.keptMax + 5 {
      let source = "/\(index)"
      #expect(pictures.request([source]) == [source])
      pictures.take(source, .failed("x"))
    }
    #expect(pictures.states.count == LivePictures.keptMax)
  }
}
