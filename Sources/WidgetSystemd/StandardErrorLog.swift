import Glibc

/// Lines on standard error, for a person or for the journal.
///
/// If standard error leads to the journal, each line begins with its priority (`<4>`, see
/// sd-daemon(3)), and the journal adds the program's name. Elsewhere each line begins with the name.
public struct StandardErrorLog: Sendable {
  /// The priorities of syslog(3) that programs here use.
  public enum Priority: Int, Sendable {
    /// A failure.
    case error = 3
    /// A possible or temporary failure.
    case warning = 4
    case notice = 5
    /// Normal messages.
    case info = 6
    case debug = 7
  }

  private let name: String
  private let descriptor: CInt
  private let isJournal: Bool

  /// - Parameters:
  ///   - name: the program's.
  ///   - descriptor: the descriptor for the lines. Default: standard error (2). Tests use others.
  public init(
    name: String, descriptor: CInt = 2, environment: ProcessEnvironment = .process
  ) {
    self.name = name
    self.descriptor = descriptor
    isJournal = JournalSocket.isJournal(descriptor, environment: environment)
  }

  /// Writes a message of one line or several, in one piece. Empty lines are left out.
  public func write(_ message: String, _ priority: Priority) {
    let prefix = isJournal ? "<\(priority.rawValue)>" : "\(name): "
    let text = message.split(whereSeparator: \.isNewline).map { "\(prefix)\($0)\n" }.joined()
    let bytes = Array(text.utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
  }
}
