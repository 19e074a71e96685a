import Glibc
import Synchronization
import WidgetProto

/// Standard output. Each line is written at once, as a whole.
enum Output {
  private static let lock = Mutex(())

  static func say(_ line: String) { lock.withLock { _ in write(line, to: STDOUT_FILENO) } }

  static func say(_ ending: Ending, of id: Int, after word: String) {
    switch ending {
    case .error(let code, let status): say("\(word) \(id) error \(code.name) \(Hex.text(status))")
    case .unsupported(let why): say("unsupported \(id) \(why)")
    }
  }

  static func complain(_ line: String) { write("widgetd-conformance: \(line)", to: STDERR_FILENO) }

  private static func write(_ line: String, to descriptor: CInt) {
    var line = line + "\n"
    line.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let written = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if written < 0, errno == EINTR { continue }
        // Nobody reads the output any more.
        guard written > 0 else { exit(1) }
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
    }
  }
}
