import Foundation
import NodeSamples
import SeededRandom
import Testing
import WidgetDrawing
import WidgetLayout
import WidgetModel

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Properties of every content, on random trees with hostile values. A failure names its seed.
@Suite struct DrawingInvariantTests {
  private static let elements: Set<String> = [
    "svg", "title", "rect", "path", "circle", "text", "g", "clipPath", "image", "a",
  ]

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `nothing leaves its card, and the SVG is well-formed`(seed: UInt64) throws {
    var trees = RandomTree(seed: seed)
    let content = trees.tree().content
    let family = trees.pick(Family.allCases)
    var look = DrawingLook(appearance: trees.pick(Theme.Appearance.allCases))
    look.isStale = trees.chance(20)
    look.isPrivate = trees.chance(20)
    var card = WidgetCard(look: look)
    card.dateText = { _ in "<b>1 & 2</b>" }
    let drawing = card.drawing(
      of: content, name: "w\(seed)", family: family,
      width: trees.chance(30) ? Double.random(in: 16...400, using: &trees.random) : nil,
      height: trees.chance(30) ? Double.random(in: 16...400, using: &trees.random) : nil,
      notes: WidgetCard.Notes(failures: trees.chance(20) ? ["<script>\u{1}"] : []))
    let whole = DrawingRect(x: 0, y: 0, width: drawing.width, height: drawing.height).inset(-1)
    let outside = Self.outside(drawing.marks, whole, isDeep: true)
    #expect(outside == [], "seed \(seed)")

    let svg = SVGEncoder.text(drawing)
    let reader = Reader()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = reader
    #expect(parser.parse(), "seed \(seed): \(String(describing: parser.parserError))")
    #expect(reader.elements.isSubset(of: Self.elements), "seed \(seed): \(reader.elements)")
    #expect(reader.attributes.allSatisfy { !$0.hasPrefix("on") }, "seed \(seed)")
  }

  @Test(arguments: [
    "</text><script>alert(1)</script>", "\" onload=\"alert(1)", "]]>", "&lt;b&gt;", "<!--",
    "\u{0}\u{8}\u{1B}[31m", "\u{FFFE}\u{FFFF}", "a\u{202E}b",
  ])
  func `hostile text in a node adds no elements or attributes to an SVG`(text: String) throws {
    let node = Node(
      id: "l", type: .link,
      properties: [
        "text": .string(text), "url": .string("javascript:alert(1)//\(text)"),
        "color": .string(text), "font": .string(text),
      ])
    let drawing = WidgetCard(look: DrawingLook()).drawing(
      of: Content(rootID: "l", nodes: [node]), name: text, family: .large,
      notes: WidgetCard.Notes(failures: [text]))
    let svg = SVGEncoder.text(drawing)
    let reader = Reader()
    let parser = XMLParser(data: Data(svg.utf8))
    parser.delegate = reader
    #expect(parser.parse())
    #expect(reader.elements == ["svg", "title", "rect", "text"])
    #expect(!reader.attributes.contains("onload"))
    #expect(!svg.contains("javascript"))
  }

  @Test func `two pictures of a widget on one page do not share clips`() {
    func ids(_ width: Double) -> Set<Substring> {
      let mark = Mark.rectangle(
        DrawingRect(x: 0, y: 0, width: 500, height: 5), corner: 0,
        Paint(fill: ThemeColor(red: 1, green: 2, blue: 3)))
      let clips = [DrawingRect(x: 0, y: 0, width: width, height: 9)].map {
        Mark.group(MarkGroup(clip: $0, marks: [mark]))
      }
      let text = SVGEncoder.text(
        Drawing(width: 600, height: 10, title: "clock", words: "", marks: clips))
      return Set(
        text.split(separator: "<clipPath id=\"").dropFirst().compactMap {
          $0.split(separator: "\"").first
        })
    }
    #expect(ids(10).count == 1)
    #expect(ids(10).isDisjoint(with: ids(20)))
    #expect(ids(10) == ids(10))
  }

  @Test func `links to pages are links`() {
    let node = Node(
      id: "l", type: .link,
      properties: ["text": .string("Docs"), "url": .string("https://example.org/?a=1&b=\"2\"")])
    let drawing = WidgetCard(look: DrawingLook()).drawing(
      of: Content(rootID: "l", nodes: [node]), name: "l", family: .small)
    #expect(
      SVGEncoder.text(drawing).contains(
        "<a href=\"https://example.org/?a=1&amp;b=&quot;2&quot;\">"))
  }

  /// The marks that extend beyond a rectangle. For a clipped group, the clip counts.
  private static func outside(_ marks: [Mark], _ whole: DrawingRect, isDeep: Bool) -> [String] {
    marks.flatMap { mark -> [String] in
      if case .group(let group) = mark, group.clip == nil {
        return outside(group.marks, whole, isDeep: isDeep)
      }
      let bounds = mark.bounds
      return bounds.isEmpty || whole.contains(bounds) ? [] : ["\(mark)".prefix(200).description]
    }
  }
}

private final class Reader: NSObject, XMLParserDelegate {
  var elements: Set<String> = []
  var attributes: Set<String> = []

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    elements.insert(name)
    self.attributes.formUnion(attributes.keys)
  }
}
