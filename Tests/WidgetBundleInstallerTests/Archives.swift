import Glibc
import WidgetBundle
import WidgetBundleInstaller

/// A folder for one test, removed with it.
final class Scratch {
  let path: String

  init() {
    var template = Array("/tmp/widgetd-bundles-XXXXXX\0".utf8CString.dropLast())
    path = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? "/nonexistent"
    }
  }

  deinit { Scratch.remove(path) }

  private static func remove(_ path: String) {
    if let stream = opendir(path) {
      while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { remove("\(path)/\(name)") }
      }
      closedir(stream)
    }
    Glibc.remove(path)
  }

  @discardableResult
  func write(_ name: String, _ text: String) -> String { write(name, Array(text.utf8)) }

  @discardableResult
  func write(_ name: String, _ bytes: [UInt8]) -> String {
    var folder = path
    for part in name.split(separator: "/").dropLast() {
      folder += "/\(part)"
      mkdir(folder, 0o755)
    }
    let full = "\(path)/\(name)"
    if let file = fopen(full, "w") {
      _ = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
      fclose(file)
    }
    return full
  }

  func read(_ name: String) -> String? {
    bytes(name).map { String(decoding: $0, as: UTF8.self) }
  }

  func bytes(_ name: String) -> [UInt8]? {
    guard let file = fopen("\(path)/\(name)", "r") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes[..<count])
  }

  /// Everything below a folder: relative paths, sorted, folders with a slash.
  func listing(_ folder: String = "") -> [String] {
    let at = folder.isEmpty ? path : "\(path)/\(folder)"
    guard let stream = opendir(at) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      let inner = folder.isEmpty ? name : "\(folder)/\(name)"
      if entry.pointee.d_type == UInt8(DT_DIR) {
        names.append("\(inner)/")
        names += listing(inner)
      } else {
        names.append(inner)
      }
    }
    return names.sorted()
  }
}

/// Writes tar archives, also harmful ones.
struct Tar {
  private(set) var bytes: [UInt8] = []

  /// - Parameter type: `0` a file, `5` a folder, `1` and `2` links, `3` a device, `6` a pipe.
  mutating func add(
    _ name: [UInt8], _ contents: [UInt8] = [], type: Character = "0", link: String = "",
    mode: Int = 0o644
  ) {
    var header = [UInt8](repeating: 0, count: 512)
    func put(_ bytes: [UInt8], _ offset: Int) {
      header.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
    func octal(_ number: Int, _ digits: Int) -> [UInt8] {
      let text = String(number, radix: 8)
      return Array((String(repeating: "0", count: digits - text.count) + text).utf8)
    }
    put(Array(name.prefix(100)), 0)
    put(octal(mode, 7), 100)
    put(octal(0, 7), 108)
    put(octal(0, 7), 116)
    put(octal(contents.count, 11), 124)
    put(octal(0, 11), 136)
    put(Array("        ".utf8), 148)
    put(Array(String(type).utf8), 156)
    put(Array(link.utf8.prefix(100)), 157)
    put(Array("ustar\u{0}00".utf8), 257)
    put(octal(header.reduce(0) { $0 + Int($1) }, 6) + [0, 0x20], 148)
    bytes += header + contents
    bytes += [UInt8](repeating: 0, count: (512 - contents.count % 512) % 512)
  }

  mutating func add(_ name: String, _ text: String = "", type: Character = "0", link: String = "") {
    add(Array(name.utf8), Array(text.utf8), type: type, link: link)
  }

  /// The archive with the two blocks at its end.
  var archive: [UInt8] { bytes + [UInt8](repeating: 0, count: 1024) }
}

/// Writes zip archives with stored entries: PKWARE APPNOTE 4.3.
struct Zip {
  private var entries: [UInt8] = []
  private var directory: [UInt8] = []
  private var count = 0

  /// - Parameter describesBehind: checksum and sizes follow the contents deflated in one stored block,
  ///   as archivers write them into a pipe.
  mutating func add(_ name: String, _ text: String, describesBehind: Bool = false) {
    let contents = Array(text.utf8)
    let length = UInt32(contents.count)
    let packed =
      describesBehind
      ? [1] + little(length, 2) + little(length ^ 0xFFFF, 2) + contents : contents
    let sizes = little(crc32(contents), 4) + little(UInt32(packed.count), 4) + little(length, 4)
    let start: [UInt8] = [
      20, 0, describesBehind ? 8 : 0, 0, describesBehind ? 8 : 0, 0, 0, 0, 0x21, 0,
    ]
    let end = little(UInt32(name.utf8.count), 2) + [0, 0]
    directory +=
      little(0x0201_4B50, 4) + [20, 0] + start + sizes + end + [UInt8](repeating: 0, count: 10)
      + little(UInt32(entries.count), 4) + Array(name.utf8)
    let header = start + (describesBehind ? [UInt8](repeating: 0, count: 12) : sizes) + end
    entries += little(0x0403_4B50, 4) + header + Array(name.utf8) + packed
    if describesBehind { entries += little(0x0807_4B50, 4) + sizes }
    count += 1
  }

  var archive: [UInt8] {
    entries + directory + little(0x0605_4B50, 4) + [0, 0, 0, 0] + little(UInt32(count), 2)
      + little(UInt32(count), 2) + little(UInt32(directory.count), 4)
      + little(UInt32(entries.count), 4) + [0, 0]
  }

  /// The archive without some bytes of the directory.
  func archive(directoryCutBy cut: Int) -> [UInt8] {
    let whole = archive
    return Array(whole[..<(whole.count - 22 - cut)] + whole[(whole.count - 22)...])
  }
}

/// A gzip stream of stored blocks: RFC 1951 and 1952.
func gzip(_ bytes: [UInt8]) -> [UInt8] {
  var stream: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
  var rest = bytes[...]
  repeat {
    let block = rest.prefix(0xFFFF)
    rest = rest.dropFirst(block.count)
    let length = UInt32(block.count)
    stream += [rest.isEmpty ? 1 : 0] + little(length, 2) + little(length ^ 0xFFFF, 2) + block
  } while !rest.isEmpty
  return stream + little(crc32(bytes), 4) + little(UInt32(bytes.count), 4)
}

private func little(_ number: UInt32, _ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
}

private func crc32(_ bytes: [UInt8]) -> UInt32 {
  var crc = ~UInt32(0)
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0xEDB8_8320 }
  }
  return ~crc
}

enum Texts {
  static func bundle(_ id: String, version: String = "1.0.0", kind: String? = nil) -> String {
    """
    bundle: \(id)
    format: 1
    version: \(version)
    kinds: {\(kind ?? id): {data: {n: 0}}}
    widgets: [{id: \(kind ?? id), kind: \(kind ?? id)}]

    """
  }
}
