import CSQLite
import Glibc
import WidgetCore
import WidgetModel

/// The file `store.mark` beside the database. It records, outside of the database, that the store
/// exists, and the number of its groups.
///
/// A missing, empty or replaced database cannot report its loss, and without its write-ahead log a
/// database looks complete. The mark names the store, and counts the appended groups. So a database
/// with fewer groups has lost some.
///
/// The count is written after each group, without a flush, so it can be behind the database, but
/// never ahead. The mark can be newer only after a power cut that the durability permits.
///
/// The file is created with a rename, and then written in place, within one sector. So a write
/// needs no room on a full disk, and the mark is always complete.
final class StoreMark {
  static let fileName = "store.mark"

  /// The content of a mark.
  struct Content: Equatable {
    /// The store's name: `state.store_id` of its database.
    var storeID: String
    /// Whether a log is open, or was when its process ended.
    var isOpen: Bool
    /// The durability of the session's groups.
    var durability: Durability
    /// The boot of the machine in which the session began.
    var boot: String
    /// The number of groups that were appended to the store so far.
    var groups: UInt64
    /// The revision of the last group.
    var revision: Revision

    /// Whether groups can be missing without any fault, because the power was cut and they did not
    /// wait for the disk.
    func permitsLoss(at boot: String) -> Bool {
      isOpen && durability == .process && (self.boot != boot || boot == SavedState.unknownBoot)
    }
  }

  /// The result of reading a mark.
  enum Found: Equatable {
    case none
    /// The file is incomplete, or was not written by this program.
    case damaged
    case mark(Content)
  }

  let path: String
  private let descriptor: Int32
  private(set) var content: Content
  /// The file's bytes: those of `content`.
  private var bytes: [UInt8]

  /// Creates or replaces the mark with this content.
  init(path: String, replacing found: Found, content: Content) throws(StorageError) {
    self.path = path
    self.content = content
    bytes = content.bytes
    if case .mark = found {
      descriptor = try openPlainFile(path, O_RDWR)
      write()
      return
    }
    let temporary = path + ".new"
    FileCalls.unlink(temporary)
    descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw StorageError(errno: errno, path: temporary) }
    giveToFolderOwner(descriptor, path)
    let count = FileCalls.write(bytes, to: descriptor, temporary)
    guard count == bytes.count, FileCalls.flush(descriptor, temporary) == 0,
      FileCalls.rename(temporary, to: path) == 0
    else {
      let code = count >= 0 && count < bytes.count ? ENOSPC : errno
      FileCalls.unlink(temporary)
      // All properties are set, so the deinitializer closes the file.
      throw StorageError(errno: code, path: path)
    }
    syncFolder(of: path)
  }

  deinit { _ = Glibc.close(descriptor) }

  /// Records a group that is in the database now.
  func note(groups: UInt64, revision: Revision) {
    content.groups = groups
    content.revision = revision
    Content.renumber(&bytes, groups: groups, revision: revision)
    write()
  }

  /// Records that the database is complete without a write-ahead log.
  func close() {
    content.isOpen = false
    bytes = content.bytes
    write()
  }

  /// A mark that is behind does no harm: it only has a lower number of groups.
  private func write() {
    _ = FileCalls.write(bytes, to: descriptor, path)
  }

  /// Reads the mark at a path.
  static func read(_ path: String) throws(StorageError) -> Found {
    var status = stat()
    if lstat(path, &status) != 0, errno == ENOENT { return .none }
    let descriptor = try openPlainFile(path, O_RDONLY)
    defer { _ = Glibc.close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw StorageError(errno: errno, path: path) }
    return Content(Array(bytes[..<count])).map { .mark($0) } ?? .damaged
  }
}

extension StoreMark.Content {
  private static let heading = "widgetd store 1: that widgetd.db is in use here. Do not edit.\n"

  /// All marks of a store have the same length.
  var bytes: [UInt8] {
    var text = Array(Self.heading.utf8)
    func add(_ name: String, _ value: String, width: Int) {
      text += name.utf8
      text.append(UInt8(ascii: " "))
      text += value.utf8.prefix(width)
      text += repeatElement(UInt8(ascii: " "), count: max(0, width - value.utf8.count))
      text.append(UInt8(ascii: "\n"))
    }
    add("id", storeID, width: 16)
    add("state", isOpen ? "open" : "closed", width: 6)
    add("durability", durability.rawValue, width: 7)
    add("boot", boot, width: 36)
    add("groups", "", width: Self.numberWidth)
    add("revision", "", width: Self.numberWidth)
    add("check", "", width: 16)
    Self.renumber(&text, groups: groups, revision: revision)
    return text
  }

  /// The columns of a number.
  private static let numberWidth = 20

  /// Writes the numbers and the checksum into the bytes of a mark. Each group changes only these, so the other
  /// lines are not made again.
  ///
  /// - Parameter bytes: They end with the lines `groups`, `revision` and `check`.
  static func renumber(_ bytes: inout [UInt8], groups: UInt64, revision: Revision) {
    let check = bytes.count - 17
    let revisionPlace = check - 6 - 1 - numberWidth
    let groupsPlace = revisionPlace - 9 - 1 - numberWidth
    write(groups, to: &bytes, at: groupsPlace)
    write(UInt64(revision), to: &bytes, at: revisionPlace)
    var hash = bytes.withUnsafeBytes { csqlite_hash($0.baseAddress, check - 6, 0) }
    for place in (check..<check + 16).reversed() {
      let digit = UInt8(truncatingIfNeeded: hash & 15)
      bytes[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      hash >>= 4
    }
  }

  /// Writes a number and spaces behind it.
  private static func write(_ number: UInt64, to bytes: inout [UInt8], at place: Int) {
    var (rest, count) = (number, 1)
    while rest >= 10 { (rest, count) = (rest / 10, count + 1) }
    rest = number
    for index in (place..<place + count).reversed() {
      bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    for index in place + count..<place + numberWidth { bytes[index] = UInt8(ascii: " ") }
  }

  /// nil for bytes that are not a complete mark.
  fileprivate init?(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self),
      text.hasPrefix(Self.heading)
    else { return nil }
    var values: [Substring: String] = [:]
    for line in text.utf8.dropFirst(Self.heading.utf8.count).split(separator: UInt8(ascii: "\n")) {
      let parts = Substring(line).split(separator: " ")
      guard parts.count == 2 else { return nil }
      values[parts[0]] = String(parts[1])
    }
    guard let storeID = values["id"], let state = values["state"], let boot = values["boot"],
      let durability = values["durability"].flatMap({ Durability(rawValue: $0) }),
      let groups = values["groups"].flatMap({ UInt64($0) }),
      let revision = values["revision"].flatMap({ Revision($0) })
    else { return nil }
    self.init(
      storeID: storeID, isOpen: state == "open", durability: durability, boot: boot,
      groups: groups, revision: revision)
    guard self.bytes == bytes else { return nil }
  }
}

/// Flushes the names in a file's folder to disk.
func syncFolder(of path: String) {
  let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  let descriptor = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard descriptor >= 0 else { return }
  _ = FileCalls.flush(descriptor, folder)
  _ = Glibc.close(descriptor)
}
