import Glibc

/// Environment variables from the service manager.
///
/// `ProcessEnvironment.process` has the real variables. Tests use others. A variable that is set
/// but empty counts as not set.
public struct ProcessEnvironment: Sendable {
  private let read: @Sendable (String) -> String?
  private let removal: @Sendable (String) -> Void

  /// Variables from another source.
  public init(
    read: @escaping @Sendable (String) -> String?, remove: @escaping @Sendable (String) -> Void
  ) {
    self.read = read
    self.removal = remove
  }

  /// This process's variables. A variable can be removed safely only while no other thread uses the
  /// environment, so remove it early in `main`.
  public static let process = ProcessEnvironment(
    read: { name in getenv(name).map { String(cString: $0) } },
    remove: { name in unsetenv(name) })

  /// The value, if there is one and it is not empty.
  func value(_ name: String) -> String? {
    guard let text = read(name), !text.isEmpty else { return nil }
    return text
  }

  func remove(_ name: String) { removal(name) }

  /// A variable that is a whole number within bounds; nil if it is not set.
  func number(
    _ name: String, in range: ClosedRange<UInt64>, expected: String
  ) throws(SystemdError) -> UInt64? {
    guard let text = value(name) else { return nil }
    guard let number = decimal(text), range.contains(number) else {
      throw .variable(name: name, value: text, expected: expected)
    }
    return number
  }

  /// Whether a variable names this process; nil if it is not set.
  func isProcess(_ name: String, _ processID: CInt) throws(SystemdError) -> Bool? {
    try number(name, in: 1...UInt64(CInt.max), expected: "the number of a process")
      .map { $0 == UInt64(clamping: processID) }
  }
}

/// A number of decimal digits alone, without a sign or spaces.
func decimal(_ text: some StringProtocol) -> UInt64? {
  guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return UInt64(text)
}
