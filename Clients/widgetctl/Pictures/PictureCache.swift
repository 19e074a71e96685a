import Synchronization
import WidgetDrawing
import WidgetModel
import WidgetRender

/// The files of image nodes. Each is read once.
final class PictureCache: Sendable {
  private typealias Found = Result<PictureFile, PictureFile.Problem>

  private let known = Mutex<[String: Found]>([:])

  /// Why pictures are missing, one line for each: `! photo: source: /x.png: No such file or directory`.
  ///
  /// Without `tellsAll`, only the reasons for which the node has no room. Icons are never missing.
  func problems(in content: Content, tellsAll: Bool) -> [String] {
    let nodes = content.nodes.filter {
      $0.role == .image && $0.properties["visible"] != .bool(false)
    }
    guard tellsAll else {
      return nodes.compactMap { node in
        let absence = PictureFile.absence(of: node) { self.reason(of: $0) }
        guard let absence, !node.hasRoomForReason(problem(of: node) ?? "") else { return nil }
        return "! \(node.id.safeForTerminal): \(absence.onOneLine)"
      }
    }
    return nodes.flatMap { node in
      let properties = ["source", "fallback"].filter { !node.text($0).isEmpty }
      // The fallback is read only if the picture cannot be read.
      return properties.prefix(while: { file(node.text($0)) == nil }).compactMap { property in
        let source = node.text(property)
        return reason(of: source).map {
          "! \(node.id.safeForTerminal): \("\(property): \(source): \($0)".onOneLine)"
        }
      }
    }
  }

  /// The reason why a node has no picture: the problem of its `source`. Nil if the source or its
  /// fallback can be read, or if both are icons.
  func problem(of node: Node) -> String? {
    guard file(of: node) == nil else { return nil }
    return [node.text("source"), node.text("fallback")].lazy.filter { !$0.isEmpty }
      .compactMap { self.reason(of: $0) }.first
  }

  /// The picture of a node, or of its fallback, for a drawing.
  func image(of node: Node) -> DrawingImage? {
    file(of: node).map { found in
      let words = node.text("alt")
      return DrawingImage(
        png: found.file.bytes, width: found.file.image.width, height: found.file.image.height,
        words: words.isEmpty ? found.source : words)
    }
  }

  /// The pixels of a node's picture, or of its fallback.
  func pixels(of node: Node) -> PixelImage? { file(of: node)?.file.image }

  private func file(of node: Node) -> (source: String, file: PictureFile)? {
    [node.text("source"), node.text("fallback")].lazy.filter { !$0.isEmpty }
      .compactMap { source in self.file(source).map { (source, $0) } }.first
  }

  private func file(_ source: String) -> PictureFile? { try? read(source).get() }

  /// Why a source has no picture. Nil if it has one, or if it is an icon.
  private func reason(of source: String) -> String? {
    guard !PictureFile.namesIcon(source) else { return nil }
    return if case .failure(let problem) = read(source) { problem.reason } else { nil }
  }

  private func read(_ source: String) -> Found {
    known.withLock { known in
      if let found = known[source] { return found }
      let found = PictureFile.read(source)
      known[source] = found
      return found
    }
  }
}

extension Node {
  /// The points of a column of cells.
  private static let columnPoints = 8.0

  /// Whether the box of an image shows a reason on one line.
  fileprivate func hasRoomForReason(_ reason: String) -> Bool {
    guard let width = properties["width"]?.number else { return false }
    return width >= Node.columnPoints * Double(reason.count + 2)
  }
}
