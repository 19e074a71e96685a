import Foundation
import NodeSamples
import Testing
import WidgetModel
import WidgetRender

/// The look of each type of node, compared with the files in `Golden`.
///
/// After an intended change: `WIDGETD_RECORD_GOLDEN=1 swift test --filter GoldenTests`, look at
/// `git diff Tests/WidgetRenderTests/Golden`, and commit it. Escape characters are written as `␛`,
/// so that the files can be read.
struct GoldenTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "Golden")
  private static let isRecording =
    ProcessInfo.processInfo.environment["WIDGETD_RECORD_GOLDEN"] == "1"

  @Test(arguments: Gallery.contents.map(\.name))
  func `a node looks as it was recorded`(name: String) throws {
    let content = try #require(Gallery.contents.first { $0.name == name }).content
    let file = Self.folder.appending(path: name + ".txt")
    let now = Self.page(content)
    if Self.isRecording {
      try FileManager.default.createDirectory(
        at: Self.folder, withIntermediateDirectories: true)
      try now.write(to: file, atomically: true, encoding: .utf8)
    }
    let recorded = try String(contentsOf: file, encoding: .utf8)
    #expect(now == recorded)
  }

  @Test func `each type of node is recorded`() {
    #expect(Set(Gallery.contents.map(\.name)) == Set(NodeType.allCases.map(\.name)))
  }

  private static func page(_ content: Content) -> String {
    var page = ""
    for width in [200, 80, 24] {
      page += "== text, \(width) columns\n" + picture(.text, .dark).text(of: content, width: width)
    }
    for (name, appearance) in [("dark", Theme.Appearance.dark), ("light", .light)] {
      for width in [200, 80, 24] {
        page += "== \(name), \(width) columns\n"
        page += picture(.ansi(.truecolor), appearance).text(of: content, width: width)
      }
    }
    page += "== 16 colours, high contrast\n"
    page += picture(.ansi(.sixteen), .highContrast).text(of: content, width: 40)
    page += "== no colours\n" + picture(.ansi(.none), .dark).text(of: content, width: 40)
    return page.replacing("\u{1B}", with: "␛")
  }

  private static func picture(
    _ format: WidgetPicture.Format, _ appearance: Theme.Appearance
  ) -> WidgetPicture {
    var look = CellLook(appearance: appearance) { node in
      guard node.properties["source"] == .string("pixels") else { return nil }
      return PixelImage(
        width: 2, height: 2,
        rgba: [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255])
    }
    look.isPrivate = true
    look.focusedID = "focused"
    look.pressedID = "pressed"
    look.hoveredID = "hovered"
    return WidgetPicture(format: format, look: look) { _ in "1 January 1970" }
  }
}
