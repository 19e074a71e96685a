import Glibc

/// A descriptor that the service manager handed to this process.
public struct InheritedDescriptor: Sendable, Equatable {
  /// The open descriptor, close-on-exec. It is the caller's to close.
  public let number: CInt
  /// The name from the socket unit (`FileDescriptorName=`) or `ServiceNotifier.store`. Not unique.
  public let name: String
  public let kind: DescriptorKind
}

/// The descriptors that the service manager opened for this process, or kept for it while it was
/// restarted (sd_listen_fds(3)).
///
/// The manager keeps no order among stored descriptors, and puts them behind the sockets of socket
/// units as it likes: ask for them by name. Names come from the unit's files as well as from this
/// program, so ask a descriptor's `kind` before using it.
public struct InheritedDescriptors: Sendable {
  /// All of them, by number.
  public let all: [InheritedDescriptor]

  /// The number of the first one.
  public static let firstNumber: CInt = 3
  /// The most that are believed. Linux opens no more files than this for a process by default.
  public static let countMax: UInt64 = 1 << 20
  /// The name of a descriptor that the manager does not name.
  public static let unnamed = "unknown"

  /// Takes what `$LISTEN_PID`, `$LISTEN_FDS` and `$LISTEN_FDNAMES` speak of, and removes the
  /// variables, so that no other process takes it to be its own. To be called once, at the start,
  /// before there are other threads.
  ///
  /// There is nothing to take if the variables are not set or are another process's. Throws if they
  /// contradict themselves or count descriptors that are not open; those that are get close-on-exec
  /// all the same.
  public static func take(
    from environment: ProcessEnvironment = .process
  ) throws(SystemdError) -> InheritedDescriptors {
    try take(from: environment, processID: getpid(), firstNumber: firstNumber)
  }

  static func take(
    from environment: ProcessEnvironment, processID: CInt, firstNumber: CInt
  ) throws(SystemdError) -> InheritedDescriptors {
    // LISTEN_PIDFDID says the same as LISTEN_PID, in newer versions.
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

  /// Those of a name, in the order of their numbers, which means nothing.
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

  /// Whether there is such a descriptor. If so, it is not handed on to programs this one starts.
  private static func closeOnExec(_ number: CInt) -> Bool {
    let flags = fcntl(number, F_GETFD)
    return flags >= 0 && fcntl(number, F_SETFD, flags | FD_CLOEXEC) >= 0
  }
}
