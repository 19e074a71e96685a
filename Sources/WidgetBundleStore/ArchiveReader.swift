import CLibArchive
import Glibc

/// Unpacks an archive (zip, tar, tar.gz) into a folder.
///
/// libarchive only takes the archive apart; which paths there may be, how large all of it may get, and
/// the writing itself are decided here. Nothing but files and folders is taken: no links, no devices.
struct ArchiveReader {
  let limits: BundleLimits

  func unpack(_ bytes: [UInt8], into folder: Folder) throws(BundleStoreError) {
    guard clibarchive_is_available() else {
      throw .refused(
        "archives cannot be read here: libarchive is missing",
        hint: "install it (apt-get install libarchive13), or give the bundle's folder")
    }
    var failure: BundleStoreError?
    // The bytes stay where they are as long as libarchive reads them.
    bytes.withUnsafeBytes { buffer in
      do throws(BundleStoreError) {
        guard let archive = clibarchive_open(buffer.baseAddress, buffer.count) else {
          throw .system("an archive cannot be read", errno: ENOMEM)
        }
        defer { clibarchive_close(archive) }
        try entries(of: archive, archiveBytes: buffer.count, into: folder)
      } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private func entries(
    of archive: OpaquePointer, archiveBytes: Int, into folder: Folder
  ) throws(BundleStoreError) {
    var entry = clibarchive_entry()
    var count = 0
    let allowance = min(limits.totalBytesMax, (1 << 20) + archiveBytes * limits.ratioMax)
    let budget = UnpackBudget(allowance, fileBytesMax: limits.fileBytesMax)
    while true {
      let status = clibarchive_next(archive, &entry)
      if status == 0 { break }
      guard status > 0 else { throw ArchiveReader.damaged(archive) }
      count += 1
      guard count <= limits.entriesMax else {
        throw .refused(
          "the archive has more than \(limits.entriesMax) entries", hint: "make the bundle smaller")
      }
      try take(entry, of: archive, budget, into: folder)
    }
    guard count > 0 else {
      throw .refused("the archive is empty", hint: "pack the bundle's folder")
    }
  }

  private func take(
    _ entry: clibarchive_entry, of archive: OpaquePointer, _ budget: UnpackBudget,
    into folder: Folder
  ) throws(BundleStoreError) {
    guard let pointer = entry.name, let name = String(validatingCString: pointer) else {
      throw .refused("the name of an entry is not UTF-8", hint: "rename it, and pack anew")
    }
    guard let path = try EntryPath(name, depthMax: limits.depthMax) else { return }
    // What another system's archiver puts beside the files.
    if path.components[0] == "__MACOSX" || path.components.last == ".DS_Store" { return }
    guard !entry.is_encrypted else {
      throw .refused("the archive is encrypted", hint: "pack it without a password")
    }
    guard !entry.is_link else {
      throw .refused("\"\(path.text)\" is a link", hint: "a bundle has files and folders only")
    }
    let type = entry.mode & FileMode.type
    guard type == FileMode.file || type == FileMode.folder else {
      throw .refused(
        "\"\(path.text)\" is neither a file nor a folder",
        hint: "a bundle has files and folders only")
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

  fileprivate static func damaged(_ archive: OpaquePointer) -> BundleStoreError {
    let reason = String(cString: clibarchive_error(archive))
    return .refused(
      "this is no zip or tar.gz archive, or it is damaged: \(reason)",
      hint: "pack the bundle's folder with zip or tar -cz")
  }
}

/// How much may still be unpacked.
private final class UnpackBudget {
  private var total: Int
  private var file = 0
  private let fileBytesMax: Int

  init(_ total: Int, fileBytesMax: Int) {
    self.total = total
    self.fileBytesMax = fileBytesMax
  }

  func beginFile() { file = fileBytesMax }

  func take(_ bytes: Int) throws(BundleStoreError) {
    total -= bytes
    file -= bytes
    guard total >= 0, file >= 0 else {
      throw .refused(
        "the archive unpacks to far more than it should", hint: "make the bundle smaller")
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

  func next() throws(BundleStoreError) -> [UInt8]? {
    let count = clibarchive_read(archive, &chunk, chunk.count)
    if count == 0 { return nil }
    guard count > 0 else { throw ArchiveReader.damaged(archive) }
    try budget.take(count)
    return Array(chunk[..<count])
  }
}
