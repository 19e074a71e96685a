import WidgetBundle
import WidgetModel

/// The content of a folder, as the host last found it. Only `FolderTable` changes it.
struct FolderState: Sendable {
  fileprivate(set) var digest: UInt64 = 0
  /// The digest of the file of the running version; nil if the daemon refused that version.
  fileprivate(set) var goodDigest: UInt64?
  fileprivate(set) var problem: String?
  /// When this host first saw that the file has a mistake, or that it is missing.
  fileprivate(set) var problemTime: Timestamp?
  /// The problem, for widgets of other owners; nil for the same words.
  fileprivate(set) var problemOfOthers: String?
  /// The last valid bundle in the folder.
  fileprivate(set) var bundle: Bundle?
  /// The id to use before a valid file gives one.
  fileprivate(set) var fallbackID: String
  /// The bundles that earlier hosts ran in the folder, before this host has read a valid file.
  /// They are in the order in which they ran. The last one was to take over the widgets of the
  /// others.
  fileprivate(set) var remembered: [HostState.Remembered] = []
  /// A file that probably was meant as the file of the missing bundle.
  fileprivate(set) var suspicion: HostState.Found?
  /// Whether the folder without a bundle's file exists; nil if nobody knows.
  fileprivate(set) var isThere: Bool?
  /// The reason why the folder has no bundle's file now; nil if it has one.
  fileprivate(set) var absence: HostState.Absence?
  /// The time at which the widgets of the missing bundle are removed; nil for never, and while the
  /// time stands still.
  fileprivate(set) var removeAt: Duration?
  /// The time at which the present file came back, if the folder or the file was missing before.
  fileprivate(set) var returnedAt: Timestamp?
  /// Whether the file is as the installer wrote it.
  fileprivate(set) var isInstalled = false
  /// The identities of the marks of removals that were there when this host last saw a file in the
  /// folder. Nil if it has seen none.
  fileprivate(set) var marks: Set<String>?
  /// Whether the file has a mistake, so that nobody knows its widgets.
  fileprivate(set) var isBroken = false

  fileprivate init(fallbackID: String) { self.fallbackID = fallbackID }

  var id: String { bundle?.id ?? fallbackID }

  /// Whether an earlier host ran this bundle in the folder.
  func remembers(_ id: String) -> Bool { remembered.contains { $0.id == id } }

  /// The folder has a file.
  fileprivate mutating func returned() {
    (absence, removeAt, suspicion, returnedAt) = (nil, nil, nil, nil)
    (problemOfOthers, isThere) = (nil, nil)
  }
}

/// The folders of bundles, in the order in which they were found. `BundleFolderOrder` decides which
/// folder has a bundle next. A change of a folder that is not known has no effect.
struct FolderTable: Sendable {
  private var folders: [String: FolderState] = [:]
  private let order: BundleFolderOrder
  /// The paths, in order.
  private(set) var paths: [String] = []

  /// - Parameter roots: the folders that hold bundles' folders, without symbolic links.
  init(roots: [String] = []) { order = BundleFolderOrder(roots: roots) }

  subscript(path: String) -> FolderState? { folders[path] }

  /// In order.
  var all: [(path: String, folder: FolderState)] {
    paths.compactMap { path in folders[path].map { (path, $0) } }
  }

  /// The folders whose file has a bundle. The first one runs next.
  func holding(_ id: String) -> [String] {
    order.sorted(paths.filter { folders[$0]?.bundle?.id == id })
  }

  private mutating func add(_ path: String, fallbackID: @autoclosure () -> String) {
    guard folders[path] == nil else { return }
    folders[path] = FolderState(fallbackID: fallbackID())
    paths.append(path)
  }

  /// - Returns: the folder, in its last state.
  @discardableResult
  mutating func remove(_ path: String) -> FolderState? {
    paths.removeAll { $0 == path }
    return folders.removeValue(forKey: path)
  }

  // MARK: Files

  /// A folder has a file that is not a bundle.
  ///
  /// - Returns: whether that is news.
  mutating func found(
    broken problem: String, digest: UInt64, in path: String, at time: Timestamp
  ) -> Bool {
    if let folder = folders[path], folder.digest == digest, folder.problem == problem {
      return false
    }
    add(path, fallbackID: HostState.id(ofFolder: path))
    if folders[path]?.problem == nil || folders[path]?.absence != nil {
      folders[path]?.problemTime = time
    }
    folders[path]?.returned()
    folders[path]?.digest = digest
    folders[path]?.problem = problem
    folders[path]?.isBroken = true
    return true
  }

  /// A folder has a bundle.
  ///
  /// - Returns: whether that is news, and the folder before.
  mutating func found(
    _ bundle: Bundle, digest: UInt64, isInstalled: Bool, in path: String
  ) -> (isNews: Bool, before: FolderState?) {
    let before = folders[path]
    if let before, before.digest == digest, before.absence == nil { return (false, before) }
    add(path, fallbackID: HostState.id(ofFolder: path))
    folders[path]?.returned()
    folders[path]?.remembered = []
    folders[path]?.digest = digest
    folders[path]?.goodDigest = digest
    folders[path]?.problem = nil
    folders[path]?.isBroken = false
    folders[path]?.bundle = bundle
    folders[path]?.isInstalled = isInstalled
    return (true, before)
  }

  /// The file was missing before.
  mutating func returned(_ path: String, at time: Timestamp) { folders[path]?.returnedAt = time }

  /// The folder has a file, beside these marks of removals.
  ///
  /// - Returns: whether that is news.
  mutating func saw(_ marks: Set<String>, in path: String) -> Bool {
    guard let folder = folders[path], folder.marks != marks else { return false }
    folders[path]?.marks = marks
    return true
  }

  /// Shows why the bundle in the folder does not run; nil if it runs.
  mutating func set(_ path: String, problem: String?) { folders[path]?.problem = problem }

  /// The daemon refuses the version in the folder.
  mutating func refused(_ path: String, problem: String) {
    folders[path]?.problem = problem
    folders[path]?.goodDigest = nil
  }

  /// The version that the daemon has refused runs again. The problem stays until the daemon takes it.
  mutating func retry(_ path: String) {
    guard let folder = folders[path] else { return }
    folders[path]?.goodDigest = folder.digest
  }

  // MARK: Missing files

  /// The folder probably has a file that was meant as the missing bundle's.
  mutating func suspect(_ path: String, _ suspicion: HostState.Found?) {
    folders[path]?.suspicion = suspicion
  }

  mutating func set(_ path: String, isThere: Bool?) { folders[path]?.isThere = isThere }

  /// The folder has no bundle's file.
  ///
  /// - Parameter removal: the time at which the widgets are removed; nil for never, and while the
  ///   time stands still.
  mutating func miss(
    _ path: String, _ absence: HostState.Absence, problem: String, forOthers words: String,
    until removal: Duration?, at time: Timestamp
  ) {
    if folders[path]?.absence == nil { folders[path]?.problemTime = time }
    folders[path]?.absence = absence
    folders[path]?.problem = problem
    folders[path]?.problemOfOthers = words
    folders[path]?.removeAt = removal
  }

  /// The missing folders whose widgets are removed now, in order.
  func due(at uptime: Duration) -> [String] {
    paths.filter { path in folders[path]?.removeAt.map { $0 <= uptime } ?? false }
  }

  var nextDeadline: Duration? { folders.values.compactMap(\.removeAt).min() }

  // MARK: Earlier hosts

  /// An earlier host ran a bundle in its folder.
  mutating func remember(_ bundle: HostState.Remembered) {
    let path = bundle.path
    add(path, fallbackID: bundle.id)
    folders[path]?.remembered.removeAll { $0.id == bundle.id }
    folders[path]?.remembered.append(bundle)
    folders[path]?.fallbackID = bundle.id
  }
}
