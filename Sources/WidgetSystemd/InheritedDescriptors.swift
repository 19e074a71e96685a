import Glibc

/// A descriptor that the service manager handed to this process.
public struct InheritedDescriptor: Sendable, Equatable {
  /// The open descriptor, close-on-exec. The caller must close it.
  public let number: CInt
  /// The name from the socket unit (`FileDescriptorName=`) or `ServiceNotifier.store`. Not unique.
  public let name: String
  public let kind: DescriptorKind
}

/// The descriptors that the service manager opened for this process, or kept for it while it was
/// restarted (sd_listen_fds(3)).
///
/// Stored descriptors have no order, and come after the sockets of socket units. So ask for them by
/// name. Names come from the unit's files and from this program, so check a descriptor's `kind`
/// before use.
public struct InheritedDescriptors: Sendable {
  /// All descriptors, by number.
  public let all: [InheritedDescriptor]

  /// The number of the first descriptor.
  public static let firstNumber: CInt = 3
  /// The maximum number that is accepted: Linux's default maximum of open files for a process.
  public static let countMax: UInt64 = 1 << 20
  /// The name of a descriptor that the manager does not name.
  public static let unnamed = "unknown"

  /// Takes the descriptors of `$LISTEN_PID`, `$LISTEN_FDS` and `$LISTEN_FDNAMES`. Removes the
  /// variables, so that no other process uses them. Call it once, at the start, before there are
  /// other threads.
  ///
  /// Returns no descriptors if the variables are not set, or are for another process. Throws if the
  /// variables contradict each other, or count descriptors that are not open. The open ones get
  /// close-on-exec all the same.
  public static func take(
    from environment: ProcessEnvironment = .process
  ) throws(SystemdError) -> InheritedDescriptors {
    try take(from: environment, processID: getpid(), firstNumber: firstNumber)
  }

  static func take(
    from environment: ProcessEnvironment, processID: CInt, firstNumber: CInt
  ) throws(SystemdError) -> InheritedDescriptors {
    // In newer versions, LISTEN_PIDFDID also identifies the process, like LISTEN_PID.
    defer {
      for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"] {
        environment.remove(name)
      }
    }
    guard try environment.isProcess("LISTEN_PID", processID) == true else { return .init(all: []) }
    let variable = "LISTEN_FDS"
    guard
      let count = try environment.number(
        variable, in: 0...countMax, expected: "a number of descriptors up to \(countMax)"),
      count > 0
    else { return .init(all: []) }
    let numbers = firstNumber..<firstNumber + CInt(clamping: count)

    var missing: CInt?
    for number in numbers where !closeOnExec(number) { missing = missing ?? number }
    if let missing {
      throw .variable(
        name: variable, value: "\(count)",
        expected: "the number of open descriptors from \(firstNumber) on (\(missing) is not open)")
    }
    let names = try names(environment, count: numbers.count)
    return .init(
      all: zip(numbers, names).map { number, name in
        InheritedDescriptor(number: number, name: name, kind: DescriptorKind(of: number))
      })
  }

  /// The descriptors of a name, by number. Their order has no meaning.
  public func named(_ name: String) -> [InheritedDescriptor] {
    all.filter { $0.name == name }
  }

  private static func names(
    _ environment: ProcessEnvironment, count: Int
  ) throws(SystemdError) -> [String] {
    let variable = "LISTEN_FDNAMES"
    guard let text = environment.value(variable) else {
      return Array(repeating: unnamed, count: count)
    }
    let names = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard names.count == count else {
      throw .variable(name: variable, value: text, expected: "\(count) names with colons between")
    }
    return names
  }

  /// Whether the descriptor is open. If so, sets close-on-exec, so that started programs do not get
  /// it.
  private static func closeOnExec(_ number: CInt) -> Bool {
    let flags = fcntl(number, F_GETFD)
    return flags >= 0 && fcntl(number, F_SETFD, flags | FD_CLOEXEC) >= 0
  }
}
