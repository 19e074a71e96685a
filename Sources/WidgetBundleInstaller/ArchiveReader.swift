import CLibArchive
import Glibc
import WidgetBundle

/// Unpacks an archive (zip, tar, tar.gz) into a folder.
///
/// libarchive only splits the archive. This type checks the paths and the total size, and writes
/// the files. It accepts files and folders only: no links, no devices.
struct ArchiveReader {
  let limits: BundleLimits

  func unpack(_ bytes: [UInt8], into folder: Folder) throws(BundleInstallerError) {
    guard clibarchive_is_available() else {
      throw .refused(
        "archives cannot be read here: libarchive is missing",
        hint: "install it (apt-get install libarchive13), or give the bundle's folder")
    }
    let allowance = min(limits.totalBytesMax, (1 << 20) + bytes.count * limits.ratioMax)
    let budget = UnpackBudget(allowance, fileBytesMax: limits.fileBytesMax)
    if bytes.starts(with: ArchiveReader.zipMark) {
      let count = try ArchiveCompleteness.checkZip(bytes, entriesMax: limits.entriesMax)
      guard try entries(of: bytes, budget, into: folder) == count else {
        throw ArchiveCompleteness.cut("its directory does not name all of its entries")
      }
      return
    }
    let tar = bytes.starts(with: ArchiveReader.gzipMark) ? try contents(ofGzip: bytes) : bytes
    try ArchiveCompleteness.checkTar(tar)
    _ = try entries(of: tar, budget, into: folder)
  }

  static let zipMark: [UInt8] = [0x50, 0x4B]
  static let gzipMark: [UInt8] = [0x1F, 0x8B]

  /// The content of a gzip stream. Beyond the files' bytes it may have headers and padding only.
  private func contents(ofGzip bytes: [UInt8]) throws(BundleInstallerError) -> [UInt8] {
    let allowance =
      min(limits.totalBytesMax, (1 << 20) + bytes.count * limits.ratioMax)
      + (limits.entriesMax + 1) * 3 * 512 + (1 << 20)
    let budget = UnpackBudget(allowance, fileBytesMax: allowance)
    budget.beginFile()
    var contents: [UInt8] = []
    try reading(bytes, with: clibarchive_open_gzip) { archive throws(BundleInstallerError) in
      var entry = clibarchive_entry()
      guard clibarchive_next(archive, &entry) == 1 else { throw ArchiveReader.damaged(archive) }
      let source = EntryBytes(archive, budget)
      while let chunk = try source.next() { contents += chunk }
    }
    try ArchiveCompleteness.checkGzip(bytes, contents: contents)
    return contents
  }

  /// Runs a body with an archive. The bytes are not moved while libarchive reads them.
  private func reading(
    _ bytes: [UInt8], with open: (UnsafeRawPointer?, Int) -> OpaquePointer?,
    _ body: (OpaquePointer) throws(BundleInstallerError) -> Void
  ) throws(BundleInstallerError) {
    var failure: BundleInstallerError?
    bytes.withUnsafeBytes { buffer in
      do throws(BundleInstallerError) {
        guard let archive = open(buffer.baseAddress, buffer.count) else {
          throw .system("an archive cannot be read", errno: ENOMEM)
        }
        defer { clibarchive_close(archive) }
        try body(archive)
      } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Unpacks all entries.
  ///
  /// - Returns: the number of entries.
  private func entries(
    of bytes: [UInt8], _ budget: UnpackBudget, into folder: Folder
  ) throws(BundleInstallerError) -> Int {
    var count = 0
    try reading(bytes, with: clibarchive_open) { archive throws(BundleInstallerError) in
      count = try entries(of: archive, budget, into: folder)
    }
    return count
  }

  private func entries(
    of archive: OpaquePointer, _ budget: UnpackBudget, into folder: Folder
  ) throws(BundleInstallerError) -> Int {
    var entry = clibarchive_entry()
    var count = 0
    while true {
      let status = clibarchive_next(archive, &entry)
      if status == 0 { break }
      guard status > 0 else { throw ArchiveReader.damaged(archive) }
      count += 1
      guard count <= limits.entriesMax else { throw .tooManyEntries(limits.entriesMax) }
      try take(entry, of: archive, budget, into: folder)
    }
    guard count > 0 else {
      throw .refused("the archive is empty", hint: "pack the bundle's folder")
    }
    return count
  }

  private func take(
    _ entry: clibarchive_entry, of archive: OpaquePointer, _ budget: UnpackBudget,
    into folder: Folder
  ) throws(BundleInstallerError) {
    guard let pointer = entry.name, let name = String(validatingCString: pointer) else {
      throw .refused("the name of an entry is not UTF-8", hint: "rename it, and pack it again")
    }
    guard let path = try EntryPath(name, depthMax: limits.depthMax) else { return }
    // Files that archivers of other systems add.
    if path.components[0] == "__MACOSX" || path.components.last == ".DS_Store" { return }
    guard !entry.is_encrypted else {
      throw .refused("the archive is encrypted", hint: "pack it without a password")
    }
    guard !entry.is_link else {
      throw .refused(
        "\"\(path.text)\" is a link, but a bundle has only files and folders",
        hint: "put a copy of its target in its place, and pack the bundle again")
    }
    let type = entry.mode & FileMode.type
    guard type == FileMode.file || type == FileMode.folder else {
      throw .refused(
        "\"\(path.text)\" is \(SpecialFile.words(mode: type)), but a bundle has only files and "
          + "folders",
        hint: "remove it, and pack the bundle again")
    }
    var parent = folder
    for component in path.components.dropLast() { parent = try parent.making(component) }
    let last = path.components[path.components.count - 1]
    if type == FileMode.folder {
      _ = try parent.making(last)
    } else {
      budget.beginFile()
      let bytes = EntryBytes(archive, budget)
      let isExecutable = entry.mode & FileMode.ownerExecutes != 0
      try parent.write(last, bytes, isExecutable: isExecutable)
    }
  }

  fileprivate static func damaged(_ archive: OpaquePointer) -> BundleInstallerError {
    let reason = String(cString: clibarchive_error(archive))
    return .refused(
      "this is not a zip or tar.gz archive, or it is damaged: \(reason)",
      hint: "pack the bundle's folder with zip or tar -cz")
  }
}

/// The rest of the limit for unpacked bytes.
private final class UnpackBudget {
  private var total: Int
  private var file = 0
  private let fileBytesMax: Int

  init(_ total: Int, fileBytesMax: Int) {
    self.total = total
    self.fileBytesMax = fileBytesMax
  }

  func beginFile() { file = fileBytesMax }

  func take(_ bytes: Int) throws(BundleInstallerError) {
    total -= bytes
    file -= bytes
    guard total >= 0, file >= 0 else {
      throw .refused(
        "the archive unpacks to more than a bundle may have", hint: "make the bundle smaller")
    }
  }
}

/// The contents of one entry.
private final class EntryBytes: ContiguousBytesSource {
  private let archive: OpaquePointer
  private let budget: UnpackBudget
  private var chunk = [UInt8](repeating: 0, count: 64 << 10)

  init(_ archive: OpaquePointer, _ budget: UnpackBudget) {
    self.archive = archive
    self.budget = budget
  }

  func next() throws(BundleInstallerError) -> [UInt8]? {
    let count = clibarchive_read(archive, &chunk, chunk.count)
    if count == 0 { return nil }
    guard count > 0 else { throw ArchiveReader.damaged(archive) }
    try budget.take(count)
    return Array(chunk[..<count])
  }
}

extension BundleInstallerError {
  static func tooManyEntries(_ entriesMax: Int) -> BundleInstallerError {
    .refused("the archive has more than \(entriesMax) entries", hint: "make the bundle smaller")
  }
}
