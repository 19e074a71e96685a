import NodeSamples
import Testing
import WidgetCairo
import WidgetDrawing
import WidgetModel
import WidgetRender

/// Tests of pixels. Without cairo and pango on this machine, only their absence can be tested.
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

  @Test func `a text of any length has the width of its characters`() throws {
    guard CairoPainter.isAvailable else { return }
    let measure = try PangoTextMeasure()
    let font = ThemeFont(size: 16)
    let one = Double(measure.width(of: "mmmmmmmmmm", font: font)) / 10
    for count in [1_000, 100_000, 200_000] {
      let text = String(repeating: "m", count: count)
      let width = Double(measure.width(of: text[...], font: font))
      #expect(abs(width / (one * Double(count)) - 1) < 0.01, "\(count)")
    }
    let joined = String(repeating: "👩\u{200D}", count: 200_000)
    #expect(measure.width(of: joined[...], font: font) > 0)
  }

  @Test func `threads can measure and paint at the same time`() async throws {
    guard CairoPainter.isAvailable else { return }
    let measure = try PangoTextMeasure()
    let font = ThemeFont(size: 16)
    let wanted = measure.width(of: "Wohnzimmer 21 °C", font: font)
    let widths = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<32 {
        group.addTask {
          guard number % 2 == 0 else {
            _ = try CairoPainter.png(of: Self.words, scale: 1)
            return wanted
          }
          return measure.width(of: "Wohnzimmer 21 °C", font: font)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(widths.count == 32 && widths.allSatisfy { $0 == wanted })
  }

  private static let words = WidgetCard(look: DrawingLook(appearance: .light)).drawing(
    of: Content(
      rootID: "l",
      nodes: [Node(id: "l", type: .label, properties: ["text": .string("Küche 19 °C ☂ 漢字")])]),
    name: "l", family: .small)

  @Test func `the error for a missing library names its package`() {
    #expect("\(CairoFailure.librariesMissing)".contains("apt install libcairo2"))
  }
}
