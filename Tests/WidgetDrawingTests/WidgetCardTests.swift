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

  @Test func `a very long description of an image is cut`() {
    let image = Node(
      id: "i", type: .image,
      properties: ["alt": .string(String(repeating: "word ", count: 50_000))])
    let file = svg([image])
    #expect(file.contains("word") && file.contains("…"))
    #expect(file.utf8.count < 10_000)
  }
}
