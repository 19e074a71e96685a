import Foundation
import NodeSamples
import Testing
import WidgetDrawing
import WidgetModel

/// The look of each type of node as SVG, compared with the files in `Golden`.
///
/// After an intended change: `WIDGETD_RECORD_GOLDEN=1 swift test --filter GoldenSVGTests`, look at
/// the files in a browser, and commit them.
struct GoldenSVGTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "Golden")
  private static let isRecording =
    ProcessInfo.processInfo.environment["WIDGETD_RECORD_GOLDEN"] == "1"

  @Test(arguments: Gallery.contents.map(\.name), [Theme.Appearance.light, .dark])
  func `a node looks as it was recorded`(name: String, appearance: Theme.Appearance) throws {
    let content = try #require(Gallery.contents.first { $0.name == name }).content
    var card = WidgetCard(look: Self.look(appearance))
    card.dateText = { _ in "1 January 1970" }
    let now = SVGEncoder.text(card.drawing(of: content, name: name, family: .large))
    try Self.compare(now, "\(name)-\(appearance.name).svg")
  }

  @Test(arguments: ["start", "center", "end", "fill"])
  func `a distributed row has the expected places`(distribution: String) throws {
    let labels = ["one", "two", "three"].map {
      Node(
        id: $0, type: .label,
        properties: ["text": .string($0), "background": .string("color.selected")])
    }
    let row = Node(
      id: "row", type: .stack,
      properties: [
        "axis": .string("horizontal"), "distribution": .string(distribution), "spacing": .int(8),
      ], childIDs: labels.map(\.id))
    let drawing = WidgetCard(look: Self.look(.light)).drawing(
      of: Content(rootID: "row", nodes: [row] + labels), name: "row", family: .rectangular,
      width: 360)
    try Self.compare(SVGEncoder.text(drawing), "row-\(distribution).svg")
  }

  @Test func `stale and failed widgets are marked`() throws {
    let content = try #require(Gallery.contents.first { $0.name == "gauge" }).content
    var look = Self.look(.dark)
    look.isStale = true
    let notes = WidgetCard.Notes(
      failures: ["stale", "FETCH_FAILED for 5m: no answer"], problems: ["! bar: no such field"])
    let card = WidgetCard(look: look)
    try Self.compare(
      SVGEncoder.text(card.drawing(of: content, name: "old", family: .medium, notes: notes)),
      "stale.svg")
    try Self.compare(
      SVGEncoder.text(
        card.drawing(
          of: Content(
            rootID: "l",
            nodes: [Node(id: "l", type: .label, properties: ["text": .string("CPU 38%")])]),
          name: "old", family: .inline, notes: notes)), "stale-inline.svg")
  }

  @Test func `an error is not dimmed with old content`() {
    var look = Self.look(.dark)
    look.isStale = true
    let error = Node(
      id: "e", type: .label,
      properties: ["text": .string("no answer"), "color": .string("error")])
    let old = Node(id: "o", type: .label, properties: ["text": .string("5 posts")])
    let root = Node(id: "r", type: .stack, childIDs: ["o", "e"])
    let marks = WidgetCard(look: look).drawing(
      of: Content(rootID: "r", nodes: [root, old, error]), name: "old", family: .medium
    ).marks
    #expect(Self.opacity(of: "no answer", in: marks) == 1)
    #expect((Self.opacity(of: "5 posts", in: marks) ?? 1) < 1)
  }

  /// The opacity of a drawn text. Nil if it is not drawn.
  private static func opacity(of text: String, in marks: [Mark]) -> Double? {
    for mark in marks {
      switch mark {
      case .text(let one) where one.text == text: return 1
      case .group(let group):
        if let inner = opacity(of: text, in: group.marks) { return inner * group.opacity }
      default: continue
      }
    }
    return nil
  }

  private static func compare(_ now: String, _ name: String) throws {
    let file = folder.appending(path: name)
    if isRecording {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try now.write(to: file, atomically: true, encoding: .utf8)
    }
    let recorded = try String(contentsOf: file, encoding: .utf8)
    #expect(now == recorded)
  }

  private static func look(_ appearance: Theme.Appearance) -> DrawingLook {
    var look = DrawingLook(appearance: appearance) { node in
      guard node.properties["source"] == .string("pixels") else { return nil }
      return DrawingImage(png: [1, 2, 3], width: 2, height: 2, words: "pixels")
    }
    look.isPrivate = true
    return look
  }
}
