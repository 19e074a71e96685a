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
  /// - Throws: if there is no such bundle, or if its file or its file of settings has a mistake.
  public func configured(_ id: String) throws(BundleInstallerError) -> Bundle {
    let folder = try folder(of: id)
    return try read(in: folder, settings: settings(in: folder)).bundle
  }

  /// The user's values in the folder of a bundle, also those that the installed version does not take.
  /// Empty if there are none, or if the file of settings cannot be used.
  ///
  /// - Parameter id: also the name of a listed folder that is no id.
  public func chosenSettings(of id: String) -> ValueMap {
    guard let text = settingsText(of: id) else { return [:] }
    return (try? BundleDefaults.values(in: text)) ?? [:]
  }

  /// For each of the user's values that a version does not take, a message with the reason. The
  /// values are those of the installed version. If its file of settings has a mistake, a message
  /// about this.
  public func droppedSettings(by bundle: Bundle) -> [String] {
    guard let text = settingsText(of: bundle.id) else { return [] }
    let problems: [String]
    do throws(BundleProblem) {
      problems = bundle.defaults.problems(with: try BundleDefaults.values(in: text))
    } catch {
      problems = [BundleDefaults.words(about: error)]
    }
    return problems.map { "bundle \(bundle.id) \(bundle.version): \($0)" }
  }

  /// The text of a bundle's file of settings. Nil if there is none, or if it cannot be read.
  private func settingsText(of id: String) -> String? {
    guard let bundles = try? existing(id, mayBeMisnamed: true), bundles.entry(id) == .folder,
      let folder = try? bundles.folder(id)
    else { return nil }
    return try? settings(in: folder)
  }

  /// The sorted paths of the files in a bundle's folder that a removal of it needs `force` for. The
  /// file of settings is one of them only if nobody can name its values.
  func irreplaceable(in folder: Folder) throws(BundleInstallerError) -> [String] {
    var paths = try BundleOrigin.valuable(in: folder)
    if hasUnusableSettings(folder) { paths.append(BundleDefaults.fileName) }
    return paths.sorted()
  }

  private func hasUnusableSettings(_ folder: Folder) -> Bool {
    guard case .file? = folder.entry(BundleDefaults.fileName) else { return false }
    guard let text = try? settings(in: folder) else { return true }
    let isBlank = text.allSatisfy { $0.isWhitespace }
    return !isBlank && (try? BundleDefaults.values(in: text)) == nil
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
      for entry in defaults.chosen.entries { chosen[entry.key] = entry.value }
      for entry in values.entries {
        do throws(BundleDefaults.UnfitSetting) {
          chosen[entry.key] = try defaults.fitted(entry.value, for: entry.key)
        } catch {
          throw .refused("bundle \(id): \(error.message)", hint: "")
        }
      }
      for key in unset {
        guard chosen[key] != nil || defaults.fields.contains(where: { $0.name == key }) else {
          let near = key.closest(among: defaults.fields.map(\.name) + chosen.keys)
          throw .refused(
            "bundle \(id): there is no setting \"\(key.prefix(64))\"",
            hint: near.map { "did you mean \"\($0)\"?" }
              ?? "`widgetctl bundle set \(id)` lists them")
        }
        chosen[key] = nil
      }
      return chosen.isEmpty ? nil : JSONWriter.compact(.map(chosen)) + "\n"
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
    let bundle = try read(in: folder, settings: settings(in: folder)).bundle
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
    return try bundles.folder(id)
  }

  /// The text of the user's file; nil if there is none.
  private func settings(in folder: Folder) throws(BundleInstallerError) -> String? {
    switch folder.entry(BundleDefaults.fileName) {
    case nil: return nil
    case .file?: break
    default:
      throw .refused(
        "\(folder.path)/\(BundleDefaults.fileName) is not a file",
        hint: "remove it, and set each value again with `widgetctl bundle set`")
    }
    let bytes = try folder.read(
      BundleDefaults.fileName, bytesMax: BundleInstaller.settingsBytesMax)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .refused(
        "\(folder.path)/\(BundleDefaults.fileName) is not well-formed UTF-8",
        hint: "save it as UTF-8, or remove it and set each value again with `widgetctl bundle set`")
    }
    return text
  }
}
