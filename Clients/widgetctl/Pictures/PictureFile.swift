import Glibc
import WidgetModel
import WidgetRender

/// The picture of an image node, read from a file.
struct PictureFile: Sendable {
  let bytes: [UInt8]
  let image: PixelImage

  struct Problem: Error, Hashable {
    let reason: String
  }

  /// The maximum size of a file, in bytes.
  static let fileBytesMax = 16 << 20
  /// The maximum number of pixels of a picture in a file.
  static let pixelsMax = 8 << 20

  /// A file that is open for reading.
  private struct Opened {
    let file: Int32
    let bytes: Int
  }

  /// Opens the file of a source: an absolute path, or a `file:` URL. The caller closes it.
  private static func open(_ source: String) -> Result<Opened, Problem> {
    guard let path = path(source) else {
      return .failure(
        Problem(
          reason: isAddress(source)
            ? "widgetctl reads files only" : "\"\(source.prefix(64))\" is not an absolute path"))
    }
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return .failure(Problem(reason: String(cString: strerror(errno)))) }
    var facts = stat()
    guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      close(file)
      return .failure(Problem(reason: "not a file"))
    }
    guard facts.st_size <= fileBytesMax else {
      close(file)
      return .failure(Problem(reason: "larger than \(fileBytesMax >> 20) MiB"))
    }
    return .success(Opened(file: file, bytes: Int(facts.st_size)))
  }

  /// Reads the file of a source: an absolute path, or a `file:` URL.
  static func read(_ source: String) -> Result<PictureFile, Problem> {
    let opened: Opened
    switch open(source) {
    case .success(let found): opened = found
    case .failure(let problem): return .failure(problem)
    }
    let file = opened.file
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: opened.bytes)
    var count = 0
    while count < bytes.count {
      let more = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(file, buffer.baseAddress.map { $0 + count }, buffer.count - count)
      }
      if more < 0, errno == EINTR { continue }
      guard more > 0 else {
        return .failure(
          Problem(reason: more == 0 ? "cut off" : String(cString: strerror(errno))))
      }
      count += more
    }
    do throws(PNGDecoder.Failure) {
      return .success(
        PictureFile(bytes: bytes, image: try PNGDecoder.image(bytes, pixelsMax: pixelsMax)))
    } catch {
      return .failure(Problem(reason: "\(error)"))
    }
  }

  /// Why a node has no picture: its source names a file that cannot be opened, and its fallback does
  /// not help. Nil if one of them can be opened, or if none names a file: then it is an icon.
  static func absence(of node: Node) -> String? { absence(of: node, reason) }

  /// Why a source cannot be opened; nil if it can.
  private static func reason(_ source: String) -> String? {
    switch open(source) {
    case .success(let opened):
      close(opened.file)
      return nil
    case .failure(let problem): return problem.reason
    }
  }

  /// The files of a node that cannot be opened, with the reasons: its source, and its fallback if the
  /// source cannot be opened.
  static func misses(of node: Node) -> [String] {
    var misses: [String] = []
    for property in ["source", "fallback"] {
      let source = node.text(property)
      guard namesFile(source) else { continue }
      guard let reason = reason(source) else {
        return misses.map { "\($0); its fallback is shown" }
      }
      misses.append("\(property): \(source): \(reason)")
    }
    return misses
  }

  /// - Parameter reason: The reason why a source has no picture; nil if it has one.
  static func absence(of node: Node, _ reason: (_ source: String) -> String?) -> String? {
    var absence: String?
    for property in ["source", "fallback"] {
      let source = node.text(property)
      guard namesFile(source) else { continue }
      guard let reason = reason(source) else { return nil }
      absence = absence ?? "\(property): \(source): \(reason)"
    }
    return absence
  }

  /// Whether a source is the name of an icon, which is not drawn, and so cannot be missing.
  static func namesIcon(_ source: String) -> Bool { !namesFile(source) && !isAddress(source) }

  private static func isAddress(_ source: String) -> Bool {
    source.hasPrefix("http:") || source.hasPrefix("https:")
  }

  /// Whether a source is meant as a file of this machine, and not as an icon's name or an address.
  static func namesFile(_ source: String) -> Bool {
    if isAddress(source) { return false }
    let endings = [
      ".png", ".apng", ".svg", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".heic", ".bmp", ".ico",
      ".tif", ".tiff", ".xpm",
    ]
    return source.contains("/") || source.contains(":")
      || endings.contains { source.lowercased().hasSuffix($0) }
  }

  /// A line that begins with `!` for each file of a content's images that cannot be opened.
  static func problemLines(of content: Content) -> [String] {
    content.nodes.filter { $0.role == .image && $0.properties["visible"] != .bool(false) }
      .flatMap { node in
        misses(of: node).map { "! \(node.id.safeForTerminal): \($0.onOneLine)" }
      }
  }

  private static func path(_ source: String) -> String? {
    if source.hasPrefix("/") { return source }
    return source.hasPrefix("file:///") ? String(source.dropFirst("file://".count)) : nil
  }
}
