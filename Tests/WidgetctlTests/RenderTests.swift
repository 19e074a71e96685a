import Foundation
import Testing
import WidgetClient
import WidgetDrawing
import WidgetModel
import WidgetRender

@testable import widgetctl

@Suite struct RenderTests {
  @Test func `pixels do not go to a terminal`() throws {
    let page = RenderPage(dates: DateText(now: .epoch))
    let output = RenderOutput(file: OutputFile(nil), format: .png, scale: 1, page: page)
    #expect(throws: CommandFailure.self) { try output.check(isTerminal: true) }
    try output.check(isTerminal: false)
  }

  @Test func `widgets are one below the other`() throws {
    let page = RenderPage(dates: DateText(now: .epoch))
    let kind = try #require(KindName("k"))
    let widgets = try [("one", Family.small), ("two", .medium)].map { id, family in
      Widget(
        id: try #require(WidgetID(id)), kind: kind, family: family,
        data: ["text": .string("says \(id)")])
    }
    let drawing = try #require(page.drawing(of: widgets))
    #expect(drawing.width == 360)
    #expect(drawing.height == 170 + RenderPage.gap + 170)
    #expect(drawing.title == "one, two")
    #expect(drawing.words.contains("text: says two"))
    #expect(page.drawing(of: []) == nil)
  }

  @Test(arguments: [Family.small, .medium, .large], [false, true])
  func `a long error keeps its age on the card`(family: Family, isStale: Bool) throws {
    let now = try #require(Timestamp(seconds: 300, nanoseconds: 0))
    for message in [
      String(repeating: "the server answers nothing ", count: 20),
      String(repeating: "/a/long/path/without/blanks", count: 20),
      String(repeating: "WWW MMM ", count: 40),
    ] {
      var widget = Widget(
        id: Samples.id("w"), kind: Samples.kind("k"), family: family,
        error: WidgetError(reason: "SOURCE_FAILED", message: message, since: .epoch))
      widget.isStale = isStale
      let svg = SVGEncoder.text(
        try #require(RenderPage(dates: DateText(now: now)).drawing(of: [widget])))
      let shown = svg.split(separator: "<text").dropFirst().joined()
      #expect(shown.contains("(for 5m)") || shown.contains("5m)"), "\(svg)")
      #expect(shown.contains("…"))
    }
  }

  @Test func `a lost daemon is on the first picture, with an age`() throws {
    var page = RenderPage(
      dates: DateText(now: try #require(Timestamp(seconds: 12, nanoseconds: 0))))
    page.loss = ConnectionLoss(.connectionLost(socketPath: "/s"), at: .epoch)
    let widgets = ["one", "two"].map { Widget(id: Samples.id($0), kind: Samples.kind("k")) }
    let words = try #require(page.drawing(of: widgets)).words
    #expect(words.split(separator: "widgetd has been away for 12s").count == 2, "\(words)")
  }

  @Test func `a picture with a huge side is refused by name`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".png")
    defer { try? FileManager.default.removeItem(at: file) }
    for (width, height) in [(40_000, 1), (1, 40_000)] {
      let image = try #require(
        PixelImage(
          width: width, height: height, rgba: Array(repeating: 1, count: width * height * 4)))
      try Data(PNGEncoder.bytes(image)).write(to: file)
      guard case .failure(let problem) = PictureFile.read(file.path) else {
        Issue.record("\(width) x \(height) pixels were read")
        continue
      }
      #expect(problem.reason.contains("\(width) x \(height)") && problem.reason.contains("32767"))
      let node = Node(
        id: "photo", type: .image,
        properties: ["source": .string(file.path), "alt": .string("a cat")])
      let widget = Widget(
        id: Samples.id("w"), kind: Samples.kind("k"),
        content: Content(rootID: "photo", nodes: [node]))
      var page = RenderPage(dates: DateText(now: .epoch))
      page.tellsAll = true
      let words = try #require(page.drawing(of: [widget])).words
      let reason = "photo: source: \(file.path): \(width) x \(height) pixels"
      #expect(words.contains(reason), "\(words)")
    }
  }

  @Test func `a file is replaced atomically, through links, and keeps its mode`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (file, link) = (folder.appending(path: "a"), folder.appending(path: "link"))
    try "old".write(to: file, atomically: false, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let reader = try FileHandle(forReadingFrom: file)
    try OutputFile(link.path).write(Array("new".utf8))
    #expect(try reader.readToEnd() == Data("old".utf8))
    #expect(try String(contentsOf: file, encoding: .utf8) == "new")
    let facts = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(facts[.posixPermissions] as? Int == 0o640)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a", "link"])
    #expect(throws: CommandFailure.self) {
      try OutputFile(folder.path + "/no/file").write([1])
    }
  }
}
