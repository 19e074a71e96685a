import Glibc
public import WidgetBundle
public import WidgetModel

// The user's values for the settings of a bundle.
extension BundleInstaller {
  /// The maximum size of a file of settings, in bytes.
  static let settingsBytesMax = 1 << 16
  /// The name of the file of settings until it is complete.
  static let newSettingsName = BundleDefaults.fileName + ".new"

  /// An installed bundle with its settings.
  ///
  /// - Throws: if there is no such bundle, if its file has a mistake, or if its file of settings
  ///   cannot be read. A mistake in the file of settings is in `Bundle.defaults`.
  public func configured(_ id: String) throws(BundleInstallerError) -> Bundle {
    let folder = try folder(of: id)
    return try read(in: folder, settings: settings(in: folder).map { .text($0) }).bundle
  }

  /// The user's values in the folder of a bundle, also those that the installed version does not
  /// take. A value with a mistake is its text. Empty if there are none, or if the file of settings
  /// cannot be used.
  ///
  /// - Parameter id: also the name of a listed folder that is no id.
  public func chosenSettings(of id: String) -> ValueMap {
    guard let folder = settingsFolder(of: id),
      case .success(let settings?) = writtenSettings(in: folder)
    else { return [:] }
    var values = settings.values
    for value in settings.unreadable { values[value.name] = .string(value.text) }
    return values
  }

  /// Whether the folder of a bundle has a file of settings whose values nobody can name.
  ///
  /// - Parameter id: also the name of a listed folder that is no id.
  public func hidesSettings(of id: String) -> Bool {
    settingsFolder(of: id).map { hiddenSettings(in: $0) != nil } ?? false
  }

  /// The same as `settingsProblems`, with the bundle and its version.
  public func droppedSettings(by bundle: Bundle) -> [String] {
    settingsProblems(with: bundle).map { "bundle \(bundle.id) \(bundle.version): \($0)" }
  }

  /// For each of the user's values that a version does not take, a message with the reason. The
  /// values are those of the installed version. If its file of settings cannot be used, a message
  /// about this.
  public func settingsProblems(with bundle: Bundle) -> [String] {
    // The settings of another bundle stay with it.
    guard let folder = settingsFolder(of: bundle.id), occupant(of: bundle.id) == nil else {
      return []
    }
    switch writtenSettings(in: folder) {
    case .success(let settings): return settings.map { bundle.defaults.problems(with: $0) } ?? []
    case .failure(let mistake):
      let path = "\(folder.path)/\(BundleDefaults.fileName)"
      return [BundleDefaults.words(about: mistake, of: bundle.id, in: path)]
    }
  }

  /// The warning about a version in the place of a folder that was missing. Nil if the version has no
  /// settings.
  ///
  /// - Parameters:
  ///   - place: the path of the folder.
  ///   - hasFormer: whether the version has the values from before its own replacement.
  public static func lossOfSettings(
    of bundle: Bundle, missing place: String, hasFormer: Bool = false
  ) -> String? {
    guard !bundle.defaults.fields.isEmpty else { return nil }
    let file = BundleDefaults.fileName
    let set = "values of `widgetctl bundle set`"
    let loss =
      hasFormer
      ? "the new folder has the \(set) that were kept with this version, not the latest ones"
      : "the \(set) are not in the new folder"
    return "the folder \(place) was missing, so \(loss); if you moved the old folder, copy its "
      + "\(file) into the new one"
  }

  private func settingsFolder(of id: String) -> Folder? {
    guard let bundles = try? existing(id, mayBeMisnamed: true), bundles.entry(id) == .folder
    else { return nil }
    return try? bundles.folder(id)
  }

  /// The content of the file of settings; nil if there is none. A problem without a line if the file
  /// cannot be read.
  private func writtenSettings(in folder: Folder) -> Result<UserSettings?, BundleProblem> {
    let text: String?
    do throws(BundleInstallerError) { text = try settings(in: folder) } catch {
      guard case .refused(let message, let hint) = error else {
        return .failure(BundleProblem(line: 0, column: 0, message: error.text))
      }
      return .failure(BundleProblem(line: 0, column: 0, message: message, hint: hint))
    }
    guard let text else { return .success(nil) }
    do throws(BundleProblem) { return .success(try UserSettings(text)) } catch {
      return .failure(error)
    }
  }

  /// The reason why nobody can name the values in a file of settings. Nil if it has none, or if
  /// their names are known.
  private func hiddenSettings(in folder: Folder) -> BundleProblem? {
    guard case .file? = folder.entry(BundleDefaults.fileName),
      case .failure(let mistake) = writtenSettings(in: folder),
      BundleDefaults.hidesValues(BundleDefaults.words(about: mistake, of: ""))
    else { return nil }
    return mistake
  }

  /// The sorted paths of the files in a bundle's folder that a removal of it needs `force` for. The
  /// file of settings is one of them only if nobody can name its values.
  func irreplaceable(in folder: Folder) throws(BundleInstallerError) -> [String] {
    var paths = try BundleOrigin.valuable(in: folder)
    if hiddenSettings(in: folder) != nil { paths.append(BundleDefaults.fileName) }
    return paths.sorted()
  }

  private static let writtenFilesWords = "would delete files that you wrote into"
  private static let otherBundleWords = "would delete the bundle"
  private static let hiddenSettingsWords = "so its values cannot be named"

  /// Whether `remove` refuses to delete files that it would delete with `force`.
  ///
  /// - Parameter message: of the error.
  public static func isAboutWrittenFiles(_ message: String) -> Bool {
    [writtenFilesWords, otherBundleWords, hiddenSettingsWords].contains { message.contains($0) }
  }

  /// Throws if a removal would delete files for which it needs `force`.
  ///
  /// - Parameters:
  ///   - files: these files.
  ///   - others: the other bundles that it would delete, with their folders.
  func checkAreDispensable(
    _ files: [String], and others: [(id: String, folder: String)], of id: String, in bundles: Folder
  ) throws(BundleInstallerError) {
    if !others.isEmpty {
      let kept = others.map { "\"\($0.id)\", which is kept in \(path)/\($0.folder)" }
      let loss =
        files.isEmpty
        ? "" : ", and \(BundleInstaller.writtenFilesWords) \(path): \(BundleInstaller.few(files))"
      throw .refused(
        "the removal \(BundleInstaller.otherBundleWords) \(kept.joined(separator: ", and "))\(loss)",
        hint: "move \(BundleInstaller.few(others.map { "\(path)/\($0.folder)" })) elsewhere, or "
          + "delete everything with --force")
    }
    guard !files.isEmpty else { return }
    let name = "\(id)/\(BundleDefaults.fileName)"
    guard files == [name], let mistake = hiddenSettings(in: try bundles.folder(id)) else {
      throw .refused(
        "the removal \(BundleInstaller.writtenFilesWords) \(path): " + BundleInstaller.few(files),
        hint: "move these files elsewhere, or delete them with --force")
    }
    let place = mistake.line > 0 ? "\(name):\(mistake.line):\(mistake.column): " : ""
    throw .refused(
      "\(place)\(mistake.message), \(BundleInstaller.hiddenSettingsWords)",
      hint: "correct the file, or delete it with --force")
  }

  /// Changes the user's values for settings: all, or none.
  ///
  /// - Parameter unset: The settings to reset to their default.
  public func changeSettings(
    of id: String, to values: ValueMap, unset: [String] = []
  ) throws(BundleInstallerError) {
    try changeSettings(of: id) { (bundle) throws(BundleInstallerError) in
      let defaults = bundle.defaults
      var chosen = defaults.passedOver
      // A value with a mistake stays as it is written.
      var unreadable = defaults.written?.unreadable ?? []
      for entry in defaults.chosen.entries { chosen[entry.key] = entry.value }
      for entry in values.entries {
        do throws(BundleDefaults.UnfitSetting) {
          chosen[entry.key] = try defaults.fitted(entry.value, for: entry.key)
          unreadable.removeAll { $0.name == entry.key }
        } catch {
          throw .refused("bundle \(id): \(error.message)", hint: "")
        }
      }
      for key in unset {
        let written = chosen.keys + unreadable.map(\.name)
        guard written.contains(key) || defaults.fields.contains(where: { $0.name == key }) else {
          let near = key.closest(among: defaults.fields.map(\.name) + written)
          throw .refused(
            "bundle \(id): there is no setting \"\(key.prefix(64))\"",
            hint: near.map { "did you mean \"\($0)\"?" }
              ?? "`widgetctl bundle set \(id)` lists them")
        }
        chosen[key] = nil
        unreadable.removeAll { $0.name == key }
      }
      return UserSettings.text(of: chosen, and: unreadable)
    }
  }

  /// Changes the user's settings. Holds the lock of the folder meanwhile. Replaces the file in one
  /// step.
  ///
  /// - Parameter change: gets the bundle with its settings, and returns the text of
  ///   `BundleDefaults.fileName`, or nil to remove the file.
  /// - Throws: also if the file exists but cannot be read; it is not overwritten.
  public func changeSettings(
    of id: String, _ change: (Bundle) throws(BundleInstallerError) -> String?
  ) throws(BundleInstallerError) {
    let lock = try InstallerLock(try existing(id))
    defer { lock.release() }
    let folder = try folder(of: id)
    let bundle = try read(in: folder, settings: settings(in: folder).map { .text($0) }).bundle
    let name = BundleDefaults.fileName
    if let mistake = bundle.defaults.mistake {
      throw .refused(
        "\(folder.path)/\(name):\(mistake.line):\(mistake.column): \(mistake.message)",
        hint: (mistake.hint.isEmpty ? "" : "\(mistake.hint); ")
          + "correct the file, or remove it to start again")
    }
    guard let text = try change(bundle) else {
      if folder.entry(name) != nil { try folder.remove(name) }
      return
    }
    guard text.utf8.count <= BundleInstaller.settingsBytesMax else {
      throw .refused(
        "the settings would have \(text.utf8.count) bytes; the limit is "
          + "\(BundleInstaller.settingsBytesMax)", hint: "choose shorter values")
    }
    do throws(BundleProblem) { _ = try UserSettings(text) } catch {
      throw .refused(
        "bundle \(id): the new settings could not be read again: \(error.message)",
        hint: "choose another value")
    }
    let new = BundleInstaller.newSettingsName
    if folder.entry(new) != nil { try folder.remove(new) }
    try folder.write(new, WholeBytes(Array(text.utf8)), isExecutable: false)
    guard renameat(folder.descriptor, new, folder.descriptor, name) == 0 else {
      let failure = Folder.failure("write", "\(folder.path)/\(name)")
      try? folder.remove(new)
      throw failure
    }
    fsync(folder.descriptor)
  }

  private func folder(of id: String) throws(BundleInstallerError) -> Folder {
    let bundles = try existing(id)
    try checkIsBundle(id, in: bundles)
    try checkHoldsNoOther(id, in: bundles)
    return try bundles.folder(id)
  }

  /// The text of the user's file; nil if there is none.
  private func settings(in folder: Folder) throws(BundleInstallerError) -> String? {
    let path = "\(folder.path)/\(BundleDefaults.fileName)"
    switch folder.entry(BundleDefaults.fileName) {
    case nil: return nil
    case .file?: break
    default:
      throw .refused(
        "\(path) is not a file", hint: SettingsFile.removal(at: path))
    }
    let bytes: [UInt8]
    do throws(BundleInstallerError) {
      bytes = try folder.read(
        BundleDefaults.fileName, bytesMax: BundleInstaller.settingsBytesMax)
    } catch {
      guard case .refused(let message, let hint) = error else { throw error }
      throw .refused(message, hint: hint.replacing("make the bundle", with: "make the file"))
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .refused(
        "\(path) is not well-formed UTF-8",
        hint: "save it as UTF-8, or \(SettingsFile.removal(at: path))")
    }
    return text
  }
}
