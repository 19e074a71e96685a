import Glibc

/// A failure between this process and the service manager or the journal.
///
/// None of these is a reason to end: a service works without its manager being told. They are there
/// to be logged, and each says what to look at.
public enum SystemdError: Error, Equatable, Sendable {
  /// An environment variable that the service manager sets cannot be used as it is.
  case variable(name: String, value: String, expected: String)
  /// A caller's argument cannot be sent.
  case argument(name: String, expected: String)
  /// The receiver's queue is full. Nothing was sent; the same call may succeed later.
  case busy(operation: String)
  /// A system call failed.
  case system(operation: String, errno: CInt)
  /// The manager did not answer in time.
  case timedOut(operation: String)
  /// More bytes than the receiver, or the caller, accepts.
  case tooLarge(what: String, bytes: Int, bytesMax: Int)
  /// A file that others could change while it is read.
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
      "\(what) has \(bytes) bytes; the most is \(bytesMax)."
    case .notSealed:
      "The memory file is not sealed, so others can change it while it is read."
    }
  }

  /// The beginning of a text from outside, fit to stand in one line.
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

/// The text with every control character, line breaks among them, as a space.
func singleLine(_ text: String) -> String {
  var scalars = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    scalars.append(isControl ? " " : scalar)
  }
  return String(scalars)
}

/// The longest beginning of a text that has at most `bytesMax` bytes and cuts no character's
/// encoding in two.
func prefix(of text: String, bytesMax: Int) -> String {
  guard text.utf8.count > bytesMax else { return text }
  // Slicing a string rounds down to where an encoding begins.
  return String(text[..<text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax)])
}
