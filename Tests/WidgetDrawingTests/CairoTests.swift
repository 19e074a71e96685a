import Testing
import WidgetCairo
import WidgetDrawing
import WidgetModel
import WidgetRender

/// Pixels. Without cairo and pango on this machine only their absence can be tested.
@Suite struct CairoTests {
  private static let drawing = WidgetCard(look: DrawingLook(appearance: .light)).drawing(
    of: Content(
      rootID: "g",
      nodes: [
        Node(
          id: "g", type: .gauge, properties: ["value": .double(0.75), "style": .string("ring")])
      ]),
    name: "g", family: .small)

  @Test(arguments: [1.0, 2, 1.5])
  func `a picture has the pixels of its scale`(scale: Double) throws {
    guard CairoPainter.isAvailable else {
      #expect(throws: CairoFailure.librariesMissing) {
        try CairoPainter.png(of: Self.drawing, scale: scale)
      }
      return
    }
    let image = try PNGDecoder.image(
      CairoPainter.png(of: Self.drawing, scale: scale), pixelsMax: 1 << 20)
    #expect(image.width == Int(170 * scale))
    #expect(image.height == Int(170 * scale))
    // The corner is outside of the card, the middle is its background, the ring has its tint.
    #expect(Array(image.rgba[0..<4]) == [0, 0, 0, 0])
    let middle = (image.height * 3 / 4 * image.width + image.width / 2) * 4
    #expect(Array(image.rgba[middle..<middle + 4]) == [255, 255, 255, 255])
    var hasTint = false
    for at in stride(from: 0, to: image.rgba.count, by: 4) {
      if image.rgba[at..<at + 3].elementsEqual([0x1F, 0x7A, 0x6C] as [UInt8]) { hasTint = true }
    }
    #expect(hasTint)
  }

  @Test func `a picture that is too large is refused`() {
    guard CairoPainter.isAvailable else { return }
    var drawing = Self.drawing
    (drawing.width, drawing.height) = (10_000, 10_000)
    #expect(throws: CairoFailure.tooLarge(pixels: 100_000_000)) {
      try CairoPainter.png(of: drawing, scale: 1)
    }
  }

  @Test func `a picture with a side that cairo does not have is refused`() {
    guard CairoPainter.isAvailable else { return }
    var drawing = Self.drawing
    (drawing.width, drawing.height) = (10, 32_768)
    #expect(throws: CairoFailure.tooLong(pixels: 32_768)) {
      try CairoPainter.png(of: drawing, scale: 1)
    }
    drawing.height = 32_767
    #expect(throws: Never.self) { try CairoPainter.png(of: drawing, scale: 1) }
  }

  @Test func `the message says what to install`() {
    #expect("\(CairoFailure.librariesMissing)".contains("apt install libcairo2"))
  }
}
