import Glibc
import Testing

@testable import WidgetHost

/// A folder for one test, removed with it.
final class Folder: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/widgetd-host-test.XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
    }
    path = try #require(made.flatMap { FileReading.resolved($0) })
  }

  deinit { Folder.remove(path) }

  func write(_ name: String, _ text: String) throws {
    let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    try #require(file >= 0)
    let bytes = Array(text.utf8)
    _ = Glibc.write(file, bytes, bytes.count)
    close(file)
  }

  func makeFolder(_ name: String) { mkdir("\(path)/\(name)", 0o755) }

  static func remove(_ path: String) {
    if unlink(path) == 0 { return }
    for name in entries(path) { remove("\(path)/\(name)") }
    rmdir(path)
  }

  static func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
