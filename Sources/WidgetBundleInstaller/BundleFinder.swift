import Glibc
import WidgetBundle
import WidgetExpression
import WidgetModel

/// Finds the bundle in a file, a folder or an archive, and reads it.
struct BundleFinder {
  let limits: BundleLimits
  let timeZones: (@Sendable (String) -> TimeZoneRules?)?

  /// The bundle that a file describes, or that is in a folder or an archive.
  func find(at path: String) throws(BundleInstallerError) -> BundleInstaller.Found {
    guard let mode = FileMode.of(path) else { throw BundleFinder.missing(path) }
    guard mode & FileMode.type == FileMode.folder else {
      return try find(in: try bytes(at: path), name: path)
    }
    let folder = try Folder(path)
    return try find(in: folder)
  }

  /// The bundle of an archive, or of the file of a bundle, from its bytes. An archive is unpacked
  /// into a temporary folder, with the limits of an installation, and removed again.
  ///
  /// - Parameter name: its name, for messages.
  func find(in bytes: [UInt8], name: String) throws(BundleInstallerError) -> BundleInstaller.Found {
    guard BundleFinder.isArchive(bytes) else {
      // This limit is higher than the reader's, so that the reader reports the size of a file that
      // is too large.
      guard bytes.count <= 4 * BundleReader.bytesMax else {
        throw .refused(
          "\(name) has more than \(4 * BundleReader.bytesMax) bytes",
          hint: "make the bundle smaller")
      }
      return try found(bytes, file: name)
    }
    let temporary = try TemporaryFolder()
    defer { temporary.remove() }
    try ArchiveReader(limits: limits).unpack(bytes, into: temporary.folder)
    let (root, rootName) = try BundleFinder.root(of: temporary.folder, "")
    let shown = name + rootName
    do throws(BundleInstallerError) {
      let found = try find(in: root)
      return BundleInstaller.Found(
        bundle: found.bundle, file: found.file.replacing(root.path, with: shown), text: found.text)
    } catch { throw error.replacing(root.path, with: shown) }
  }

  func bytes(at path: String) throws(BundleInstallerError) -> [UInt8] {
    if let mode = FileMode.of(path), !SpecialFile.isFile(mode: mode) {
      throw .refused(
        "\(path) is \(SpecialFile.words(mode: mode)), not a bundle",
        hint: "name a bundle's file, folder or archive")
    }
    // Somebody may exchange the file now. Opening a pipe would wait for its other end.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw Folder.failure("read", path) }
    defer { close(file) }
    return try FileBytes.all(of: file, path, bytesMax: limits.archiveBytesMax)
  }

  func find(in folder: Folder, settings: SettingsFile? = nil) throws(BundleInstallerError)
    -> BundleInstaller.Found
  {
    let name = try BundleFinder.fileName(in: folder)
    // The host runs a bundle whose file is a link, too. An archive cannot have links.
    let bytes = try folder.read(
      name, bytesMax: 4 * BundleReader.bytesMax, followingLink: true)
    return try found(bytes, file: "\(folder.path)/\(name)", settings: settings)
  }

  /// The name of an unsupported archive or compression format. Nil for anything else.
  static func otherArchive(_ bytes: [UInt8]) -> String? {
    let marks: [(String, [UInt8])] = [
      ("xz", [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]), ("bzip2", [0x42, 0x5A, 0x68]),
      ("zstd", [0x28, 0xB5, 0x2F, 0xFD]), ("7z", [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]),
      ("rar", [0x52, 0x61, 0x72, 0x21, 0x1A, 0x07]),
    ]
    return marks.first { bytes.starts(with: $0.1) }?.0
  }

  private func found(
    _ bytes: [UInt8], file: String, settings: SettingsFile? = nil
  ) throws(BundleInstallerError) -> BundleInstaller.Found {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      if let format = BundleFinder.otherArchive(bytes) {
        throw .refused(
          "\(file) is a \(format) archive", hint: "pack the bundle as zip or tar.gz instead")
      }
      throw .refused("\(file) is not well-formed UTF-8", hint: "save it as UTF-8")
    }
    do throws(InvalidBundle) {
      let bundle = try BundleReader.read(
        text, isJSON: BundleFileName.isJSON(file), settings: settings, timeZones: timeZones)
      return BundleInstaller.Found(bundle: bundle, file: file, text: text)
    } catch {
      throw .invalid(file: file, error)
    }
  }

  private static func fileName(in folder: Folder) throws(BundleInstallerError) -> String {
    let names = BundleInstaller.fileNames.filter { folder.entry($0) != nil }
    guard let name = names.first else {
      if let problem = try suspicion(about: folder) { throw problem }
      throw .notFound(
        BundleFileName.missing(from: folder.path),
        hint: "a bundle's folder has a \(BundleInstaller.fileNames.joined(separator: ", or a "))")
    }
    guard names.count == 1 else {
      throw .refused(
        "\(folder.path) has \(names.joined(separator: " and "))", hint: "keep one of them")
    }
    return name
  }

  /// The id that is written in the bundle's file of a folder, also if the file has mistakes. Nil if
  /// there is none.
  static func writtenID(in folder: Folder) -> String? {
    guard let name = try? fileName(in: folder),
      let bytes = try? folder.read(
        name, bytesMax: 4 * BundleReader.bytesMax, followingLink: true)
    else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    let isJSON = BundleFileName.isJSON(name)
    let value: Substring?
    if isJSON {
      value = text.firstRange(of: "\"bundle\"").map { text[$0.upperBound...] }
    } else {
      value = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("bundle:") }?
        .dropFirst("bundle".count)
    }
    let start = (value ?? "").drop { ": \t\"'".contains($0) }
    let id = start.prefix { $0.isLetter || $0.isNumber || $0 == "-" }
    guard BundleReader.isID(String(id)), endsValue(start[id.endIndex...], isJSON: isJSON) else {
      return nil
    }
    return String(id)
  }

  /// Whether nothing of a value is left. Otherwise, the text before is only the beginning of the
  /// value: of `my_clock`, `clock.v2` or `clock 2`.
  private static func endsValue(_ text: Substring, isJSON: Bool) -> Bool {
    var rest = text
    if let quote = rest.first, quote == "\"" || quote == "'" { rest = rest.dropFirst() }
    let next = rest.drop { $0 == " " || $0 == "\t" }
    guard let first = next.first, !first.isNewline else { return true }
    // A comment begins after a blank.
    if !isJSON, first == "#" { return next.startIndex > rest.startIndex }
    return isJSON && (first == "," || first == "}")
  }

  /// The problem of a folder without a bundle's file that has files like one. Nil for other
  /// folders.
  static func suspicion(
    about folder: Folder
  ) throws(BundleInstallerError) -> BundleInstallerError? {
    let files = try folder.names().filter { name in
      switch folder.entry(name) {
      case .file: true
      case .other: folder.target(ofLink: name) != nil
      case .folder, nil: false
      }
    }
    return BundleFileName.problem(of: folder.path, with: files).map {
      .notFound($0.message, hint: $0.hint)
    }
  }

  static func missing(_ path: String) -> BundleInstallerError {
    if errno == ENOENT, BundleFileName.isRepaired(path) {
      let problem = BundleFileName.unreadable(path)
      return .refused(problem.message, hint: problem.hint)
    }
    return errno == ENOENT
      ? .notFound(
        "there is no file or folder \(path)", hint: "name a bundle's file, folder or archive")
      : Folder.failure("read", path)
  }

  static func isArchive(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: ArchiveReader.zipMark) || bytes.starts(with: ArchiveReader.gzipMark)
      || (bytes.count > 262 && bytes[257..<262].elementsEqual("ustar".utf8))
  }

  /// The folder with the bundle's file: the top, or the one folder in it.
  static func root(
    of staging: Folder, _ stagingName: String
  ) throws(BundleInstallerError) -> (Folder, String) {
    if BundleInstaller.fileNames.contains(where: { staging.entry($0) != nil }) {
      return (staging, stagingName)
    }
    let names = try staging.names()
    guard names.count == 1, let name = names.first, staging.entry(name) == .folder else {
      throw .notFound(
        "the folder or archive has no bundle file",
        hint: "put a \(BundleInstaller.fileNames.joined(separator: ", or a ")) at its top, or into "
          + "its only folder")
    }
    return (try staging.folder(name), "\(stagingName)/\(name)")
  }
}

extension BundleInstallerError {
  /// The error with another name for a temporary folder.
  func replacing(_ folder: String, with name: String) -> BundleInstallerError {
    switch self {
    case .invalid(let file, let problems):
      .invalid(file: file.replacing(folder, with: name), problems)
    case .refused(let message, let hint):
      .refused(message.replacing(folder, with: name), hint: hint)
    case .notFound(let message, let hint):
      .notFound(message.replacing(folder, with: name), hint: hint)
    case .system: self
    }
  }
}
