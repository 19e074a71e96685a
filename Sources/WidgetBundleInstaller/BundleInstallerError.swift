import Glibc
public import WidgetBundle

/// Why a bundle could not be installed, read or removed. After an error the folder has not changed.
public enum BundleInstallerError: Error, Sendable {
  /// The file of a bundle has mistakes.
  case invalid(file: String, InvalidBundle)
  /// The given bundle is not the promised one, or cannot be installed. `hint` is the next step.
  case refused(String, hint: String)
  /// There is no such bundle or file.
  case notFound(String, hint: String)
  /// A system call failed.
  case system(String, errno: Int32)

  /// A message with its hint, if there is one.
  public static func text(_ message: String, hint: String) -> String {
    hint.isEmpty ? message : "\(message); \(hint)"
  }

  /// A message about a failed system call, with its reason.
  public static func text(_ message: String, errno: Int32) -> String {
    text(
      "\(message): \(String(cString: strerror(errno)))",
      hint: isFull(errno) ? "make room on its file system, and try again" : "")
  }

  /// The error on one line, with its next step.
  var text: String {
    switch self {
    case .invalid(let file, let problems): "\(file): \(problems)"
    case .refused(let message, let hint), .notFound(let message, let hint):
      BundleInstallerError.text(message, hint: hint)
    case .system(let message, let number): BundleInstallerError.text(message, errno: number)
    }
  }

  /// The error with other words before its message. The mistakes of a file stay as they are,
  /// because each has its place.
  func preceded(by words: String) -> BundleInstallerError {
    switch self {
    case .invalid: self
    case .refused(let message, let hint): .refused("\(words): \(message)", hint: hint)
    case .notFound(let message, let hint): .notFound("\(words): \(message)", hint: hint)
    case .system(let message, let number): .system("\(words): \(message)", errno: number)
    }
  }

  /// Whether a system call failed because a disk or a quota is full.
  public static func isFull(_ errno: Int32) -> Bool { errno == ENOSPC || errno == EDQUOT }
}

/// The limits of a bundle, so that no archive fills a disk or keeps a machine busy.
public struct BundleLimits: Hashable, Sendable {
  public var archiveBytesMax = 32 << 20
  public var entriesMax = 1000
  public var fileBytesMax = 32 << 20
  public var totalBytesMax = 64 << 20
  /// The maximum size of an unpacked archive, as a multiple of its packed size. The first mebibyte
  /// does not count.
  public var ratioMax = 100
  /// Folders inside one another.
  public var depthMax = 16

  public init() {}
}

/// The path of a file in a bundle, checked: relative, without `..`, and text.
struct EntryPath: Hashable {
  let components: [String]

  var text: String { components.joined(separator: "/") }

  /// nil for the folder itself (`./`).
  init?(_ text: String, depthMax: Int) throws(BundleInstallerError) {
    let shown = "\"\(text.prefix(100))\""
    guard !text.hasPrefix("/") else {
      throw .refused(
        "\(shown) is an absolute path", hint: "pack the bundle again, with relative paths")
    }
    guard text.utf8.count <= 1024 else {
      throw .refused("a path has more than 1024 bytes", hint: "use shorter names")
    }
    let isPrintable = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    guard isPrintable, !text.utf8.contains(UInt8(ascii: "\\")) else {
      throw .refused(
        "the name of an entry has a backslash or a control character", hint: "rename it")
    }
    components = text.split(separator: "/").map(String.init).filter { $0 != "." }
    guard !components.contains("..") else {
      throw .refused(
        "\(shown) has .. in it and would lead out of the bundle", hint: "do not trust this archive")
    }
    guard components.count <= depthMax, components.allSatisfy({ $0.utf8.count <= 255 }) else {
      throw .refused("\(shown) is too deep or too long", hint: "use fewer folders")
    }
    if components.isEmpty { return nil }
  }
}
