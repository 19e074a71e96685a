import Synchronization
import WidgetDrawing
import WidgetModel
import WidgetRender

/// The files of image nodes. Each is read once.
final class PictureCache: Sendable {
  private typealias Found = Result<PictureFile, PictureFile.Problem>

  private let known = Mutex<[String: Found]>([:])

  /// Why pictures are missing, one line for each: `photo: /x.png: No such file or directory`.
  func problems(in content: Content) -> [String] {
    content.nodes.filter { $0.role == .image }.flatMap { node in
      let sources = ["source", "fallback"].map { node.text($0) }.filter { !$0.isEmpty }
      // The fallback is read only if the picture cannot be.
      return sources.prefix(while: { file($0) == nil }).compactMap { source in
        reason(of: source).map { "\(node.id): \(source): \($0)" }
      }
    }
  }

  /// Why a node has no picture: the problem of its `source`. Nil if it or its fallback can be read.
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

  private func reason(of source: String) -> String? {
    if case .failure(let problem) = read(source) { problem.reason } else { nil }
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
