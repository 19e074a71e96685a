import Glibc
import WidgetModel

/// The target of a picture: standard output, or a file. Readers see the old file or the new one,
/// never a mixture.
struct OutputFile: Hashable, Sendable {
  /// Nil for standard output.
  let path: String?

  /// `-` and no name are standard output.
  init(_ name: String?) { path = name == "-" ? nil : name }

  /// Whether the target is standard output, or exists and is no regular file.
  var isSpecial: Bool {
    guard let path else { return true }
    var facts = stat()
    return stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFREG
  }

  /// Replaces the file in one step. A special file, such as a pipe, is written to instead.
  func write(_ bytes: [UInt8]) throws(CommandFailure) {
    guard let path else { return Output.write(bytes) }
    let target = OutputFile.target(of: path)
    var facts = stat()
    let isThere = stat(target, &facts) == 0
    if isThere, facts.st_mode & S_IFMT != S_IFREG {
      // Without O_NONBLOCK, a pipe that nobody reads would block for ever.
      let file = open(target, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
      guard file >= 0 else { throw failure() }
      defer { close(file) }
      _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK)
      return try write(bytes, to: file)
    }
    let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
    var template = Array("\(folder).widgetctl-render-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { throw failure() }
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    let temporary = String(
      decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { close(file) }
    do throws(CommandFailure) {
      try write(bytes, to: file)
      guard fchmod(file, isThere ? facts.st_mode & 0o7777 : 0o666 & ~OutputFile.mask) == 0,
        rename(temporary, target) == 0
      else { throw failure() }
    } catch {
      unlink(temporary)
      throw error
    }
  }

  /// The process's mask for new files. The system returns it only when it is set, so it is read
  /// once.
  private static let mask: mode_t = {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }()

  /// The file to write for a path. For a symbolic link, its target is written, even if the target
  /// does not exist yet. The link stays.
  private static func target(of path: String) -> String {
    if let whole = realpath(path, nil) {
      defer { free(whole) }
      return String(cString: whole)
    }
    var target = path
    for _ in 0..<linksMax {
      var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
      let count = readlink(target, &bytes, bytes.count)
      guard count > 0, count < bytes.count else { return target }
      let link = String(decoding: bytes[..<count], as: UTF8.self)
      let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
      target = link.hasPrefix("/") ? link : folder + link
    }
    return target
  }

  /// The maximum number of followed links, as in Linux.
  private static let linksMax = 40

  private func write(_ bytes: [UInt8], to file: Int32) throws(CommandFailure) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.write(file, buffer.baseAddress.map { $0 + done }, buffer.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure() }
      done += count
    }
  }

  private func failure() -> CommandFailure {
    let number = errno
    let path = (path ?? "-").safeForTerminal
    let next =
      switch number {
      case ENOENT: "; create the folder first"
      case EACCES, EROFS, EPERM: "; choose a folder that you can write to"
      case ENXIO: "; start a program that reads the pipe first"
      case ENOSPC: "; try again when the disk has room"
      default: ""
      }
    return CommandFailure(
      ExitStatus(errno: number),
      "cannot write \(path): \(String(cString: strerror(number)))\(next)")
  }
}
