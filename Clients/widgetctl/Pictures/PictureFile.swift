import Glibc
import WidgetRender

/// The picture of an image node, read from a file.
struct PictureFile: Sendable {
  let bytes: [UInt8]
  let image: PixelImage

  struct Problem: Error, Hashable {
    let reason: String
  }

  /// The largest file that is read, in bytes.
  static let fileBytesMax = 16 << 20
  /// The most pixels of a picture in a file.
  static let pixelsMax = 8 << 20

  /// Reads the file of a source: an absolute path, or a `file:` URL.
  static func read(_ source: String) -> Result<PictureFile, Problem> {
    guard let path = path(source) else {
      return .failure(
        Problem(
          reason: source.hasPrefix("http:") || source.hasPrefix("https:")
            ? "widgetctl reads files only" : "\"\(source.prefix(64))\" is not an absolute path"))
    }
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return .failure(Problem(reason: String(cString: strerror(errno)))) }
    defer { close(file) }
    var facts = stat()
    guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      return .failure(Problem(reason: "not a file"))
    }
    guard facts.st_size <= fileBytesMax else {
      return .failure(Problem(reason: "larger than \(fileBytesMax >> 20) MiB"))
    }
    var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
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

  private static func path(_ source: String) -> String? {
    if source.hasPrefix("/") { return source }
    return source.hasPrefix("file:///") ? String(source.dropFirst("file://".count)) : nil
  }
}
