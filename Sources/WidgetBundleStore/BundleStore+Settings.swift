import Glibc
public import WidgetBundle

// What the user chose for the settings of a bundle.
extension BundleStore {
  /// The longest file of settings, in bytes.
  static let settingsBytesMax = 1 << 16

  /// An installed bundle with its settings.
  ///
  /// - Throws: that it is not there, or what is wrong with its file.
  public func configured(_ id: String) throws(BundleStoreError) -> Bundle {
    let folder = try folder(of: id)
    return try read(in: folder, settings: settings(in: folder)).bundle
  }

  /// Puts the text of `BundleDefaults.fileName` in the place of what was there, in one step; nil
  /// removes it.
  public func setSettings(_ text: String?, of id: String) throws(BundleStoreError) {
    let folder = try folder(of: id)
    let lock = try StoreLock(try existing(id))
    defer { lock.release() }
    let name = BundleDefaults.fileName
    guard let text else {
      if folder.entry(name) != nil { try folder.remove(name) }
      return
    }
    let new = "\(name).new"
    if folder.entry(new) != nil { try folder.remove(new) }
    try folder.write(new, WholeBytes(Array(text.utf8)), isExecutable: false)
    guard renameat(folder.descriptor, new, folder.descriptor, name) == 0 else {
      throw Folder.failure("write", "\(folder.path)/\(name)")
    }
    fsync(folder.descriptor)
  }

  private func folder(of id: String) throws(BundleStoreError) -> Folder {
    let store = try existing(id)
    try checkIsBundle(id, in: store)
    return try store.folder(id)
  }

  private func settings(in folder: Folder) -> String? {
    let bytes = try? folder.read(
      BundleDefaults.fileName, bytesMax: BundleStore.settingsBytesMax)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
