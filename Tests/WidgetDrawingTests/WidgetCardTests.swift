import NodeSamples
import Testing
import WidgetDrawing
import WidgetModel

struct WidgetCardTests {
  private func svg(_ nodes: [Node], change: (inout DrawingLook) -> Void = { _ in }) -> String {
    var look = DrawingLook(appearance: .light) { _ in nil }
    change(&look)
    return SVGEncoder.text(
      WidgetCard(look: look).drawing(
        of: Content(rootID: nodes[0].id, nodes: nodes), name: "w", family: .large))
  }

  @Test(arguments: [true, false])
  func `a private node leaves nothing of its text in the file`(isPrivate: Bool) {
    let nodes = [
      Node(id: "top", type: .stack, childIDs: ["open", "box"]),
      Node(id: "open", type: .label, properties: ["text": .string("public words")]),
      Node(
        id: "box", type: .stack, properties: ["privacy": .bool(true)],
        childIDs: ["label", "inner", "link", "gauge", "image", "input"]),
      Node(id: "label", type: .label, properties: ["text": .string("secret one")]),
      Node(id: "inner", type: .stack, childIDs: ["deep"]),
      Node(id: "deep", type: .label, properties: ["text": .string("secret deep")]),
      Node(
        id: "link", type: .link,
        properties: ["text": .string("secret link"), "url": .string("https://secret.example/")]),
      Node(
        id: "gauge", type: .gauge,
        properties: ["text": .string("secret gauge"), "value": .double(0.42)]),
      Node(id: "image", type: .image, properties: ["alt": .string("secret image")]),
      Node(
        id: "input", type: .input,
        properties: ["text": .string("secret name"), "value": .string("secret value")]),
    ]
    let file = svg(nodes) { $0.isPrivate = isPrivate }
    #expect(file.contains("public words"))
    #expect(file.contains("secret") == !isPrivate)
    #expect(file.contains("42") || isPrivate)
  }

  @Test(
    arguments: [
      (["fallback": "moon"], "moon"), (["source": "", "fallback": "moon"], "moon"),
      (["source": "sun", "fallback": "moon"], "sun"),
      (["alt": "A map", "fallback": "moon"], "A map"), ([:], "image"),
    ] as [(ValueMap, String)])
  func `an image without a picture shows the first of its texts`(
    properties: ValueMap, words: String
  ) {
    let file = svg([Node(id: "i", type: .image, properties: properties)])
    #expect(file.contains(">\(words)</text>"), "\(file)")
  }

  @Test func `a very long description of an image is cut`() {
    let image = Node(
      id: "i", type: .image,
      properties: ["alt": .string(String(repeating: "word ", count: 50_000))])
    let file = svg([image])
    #expect(file.contains("word") && file.contains("…"))
    #expect(file.utf8.count < 10_000)
  }

  @Test(arguments: [[], ["stale: the program of this widget has been away for two days"]])
  func `no text of a stale card lies under its mark`(failures: [String]) throws {
    var look = DrawingLook(appearance: .dark)
    look.isStale = true
    let warning = try #require(look.theme.token("color.warning", .dark))
    let label = Node(
      id: "l", type: .label,
      properties: ["text": .string(String(repeating: "i", count: 400))])
    let drawing = WidgetCard(look: look).drawing(
      of: Content(rootID: "l", nodes: [label]), name: "w", family: .small,
      notes: WidgetCard.Notes(failures: failures))
    let (texts, others) = Self.leaves(drawing.marks)
    let mark = others.filter {
      switch $0 {
      case .arc(_, _, _, _, let paint), .path(_, _, let paint): paint.stroke == warning
      default: false
      }
    }
    #expect(mark.count == 2)
    #expect(texts.count > 1)
    for text in texts {
      #expect(!mark.contains { $0.bounds.overlaps(text.frame) }, "\(text.text)")
    }
  }

  @Test func `an inline gauge has its natural width`() {
    func width(_ text: String) -> Double {
      let gauge = Node(
        id: "g", type: .gauge, properties: ["value": .double(0.4), "text": .string(text)])
      return WidgetCard(look: DrawingLook(appearance: .dark)).drawing(
        of: Content(rootID: "g", nodes: [gauge]), name: "w", family: .inline
      ).width
    }
    #expect(width("") > 60 && width("") < 320)
    #expect(width("Disk") > width("") && width("Disk") < 360)
  }

  /// All texts, and all other marks, without the groups around them.
  private static func leaves(_ marks: [Mark]) -> (texts: [TextMark], others: [Mark]) {
    var found: (texts: [TextMark], others: [Mark]) = ([], [])
    for mark in marks {
      switch mark {
      case .text(let text): found.texts.append(text)
      case .group(let group):
        let inner = leaves(group.marks)
        found.texts += inner.texts
        found.others += inner.others
      default: found.others.append(mark)
      }
    }
    return found
  }
}
