import Glibc

/// A failure between this process and the service manager or the journal.
///
/// No such failure is a reason to end, because a service works without notifications. The errors
/// are for the log, and each says what to check.
public enum SystemdError: Error, Equatable, Sendable {
  /// An environment variable of the service manager has an invalid value.
  case variable(name: String, value: String, expected: String)
  /// A caller's argument cannot be sent.
  case argument(name: String, expected: String)
  /// The receiver's queue is full. Nothing was sent; the same call may succeed later.
  case busy(operation: String)
  /// A system call failed.
  case system(operation: String, errno: CInt)
  /// The manager did not answer in time.
  case timedOut(operation: String)
  /// There are more bytes than the receiver, or the caller, accepts.
  case tooLarge(what: String, bytes: Int, bytesMax: Int)
  /// Others could change the file while it is read.
  case notSealed
}

extension SystemdError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .variable(let name, let value, let expected):
      "$\(name) is \"\(SystemdError.printable(value))\", which is not \(expected); it is set by the"
        + " service manager, so see what else changes the environment."
    case .argument(let name, let expected):
      "\(name) must be \(expected)."
    case .busy(let operation):
      "\(operation): the receiver has too much to read already; try again later."
    case .system(let operation, let number):
      "\(operation): \(SystemdError.text(of: number)) (errno \(number))."
    case .timedOut(let operation):
      "\(operation): no answer in time."
    case .tooLarge(let what, let bytes, let bytesMax):
      "\(what) has \(bytes) bytes; the limit is \(bytesMax)."
    case .notSealed:
      "The memory file is not sealed, so others can change it while it is read."
    }
  }

  /// The beginning of a foreign text, as one line.
  private static func printable(_ text: String) -> String {
    let charactersMax = 64
    let start = text.prefix(charactersMax)
    return singleLine(String(start)) + (start.endIndex < text.endIndex ? "..." : "")
  }

  private static func text(of number: CInt) -> String {
    switch number {
    case EACCES, EPERM: "permission denied"
    case EBADF: "a descriptor is not open"
    case ECONNREFUSED: "no program listens on the socket"
    case ECONNRESET: "the receiver went away"
    case EMFILE, ENFILE: "too many open files"
    case ENOENT: "there is no such socket"
    case ENOMEM, ENOBUFS: "out of memory"
    case ETOOMANYREFS: "too many descriptors are on their way"
    default: String(cString: strerror(number))
    }
  }
}

/// The text with spaces in place of control characters and line breaks.
func singleLine(_ text: String) -> String {
  var scalars = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    scalars.append(isControl ? " " : scalar)
  }
  return String(scalars)
}

/// The longest beginning of a text with at most `bytesMax` bytes, without a cut inside a
/// character's encoding.
func prefix(of text: String, bytesMax: Int) -> String {
  guard text.utf8.count > bytesMax else { return text }
  // The end of a slice is rounded down to the start of an encoding.
  return String(text[..<text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax)])
}
