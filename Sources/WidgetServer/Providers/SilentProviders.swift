import Glibc
import WidgetModel

/// Providers that lost their sessions because they sent nothing, although their processes run: they are
/// stopped, or hang.
struct SilentProviders {
  /// The maximum number of remembered providers.
  static let countMax = 256

  /// A process, and when it started: the system uses the ids of ended processes again.
  private struct Process {
    let pid: UInt32
    let startTicks: String

    init?(_ pid: UInt32) {
      guard pid > 0, let ticks = Process.startTicks(of: pid) else { return nil }
      (self.pid, startTicks) = (pid, ticks)
    }

    var isRunning: Bool { Process.startTicks(of: pid) == startTicks }

    /// The 22nd field of proc_pid_stat(5). The name of the program, in brackets, can have spaces.
    private static func startTicks(of pid: UInt32) -> String? {
      let file = open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return nil }
      defer { close(file) }
      var bytes = [UInt8](repeating: 0, count: 1024)
      let count = read(file, &bytes, bytes.count)
      let line = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      guard let end = line.lastIndex(of: ")") else { return nil }
      let fields = line[end...].dropFirst(2).split(separator: " ")
      guard fields.count > 19, !["Z", "X"].contains(fields[0]) else { return nil }
      return String(fields[19])
    }
  }

  private struct Entry {
    let silence: ProviderSilence
    let process: Process
    let managesBundles: Bool
  }

  private var byName: [String: Entry] = [:]

  /// The lease of a provider's session is over.
  ///
  /// - Parameter since: When the provider sent its last message.
  mutating func expired(
    _ provider: String, pid: UInt32, since: Timestamp, managesBundles: Bool = false
  ) {
    guard let process = Process(pid) else { return }
    if byName.count >= SilentProviders.countMax { byName = byName.filter { $1.process.isRunning } }
    guard byName.count < SilentProviders.countMax else { return }
    byName[provider] = Entry(
      silence: ProviderSilence(since: since, pid: pid), process: process,
      managesBundles: managesBundles)
  }

  /// The provider has a session again.
  mutating func comeBack(_ provider: String) { byName[provider] = nil }

  /// The silence of the provider that manages bundles: of the last one, if there are several. Nil
  /// if none is silent.
  var ofBundleManager: ProviderSilence? {
    byName.values.filter { $0.managesBundles && $0.process.isRunning }.map(\.silence)
      .max { $0.since < $1.since }
  }

  /// Nil if the provider is not silent, or if its process has ended.
  subscript(provider: String) -> ProviderSilence? {
    byName[provider].flatMap { $0.process.isRunning ? $0.silence : nil }
  }
}

/// The silent providers for one call, which looks at the process of each provider only once.
struct SilenceLook {
  private let providers: SilentProviders
  private var seen: [String: ProviderSilence?] = [:]

  init(_ providers: SilentProviders) { self.providers = providers }

  /// Nil if the provider is not silent, or if its process has ended.
  mutating func silence(of provider: String) -> ProviderSilence? {
    if let known = seen[provider] { return known }
    let silence = providers[provider]
    seen.updateValue(silence, forKey: provider)
    return silence
  }
}
