import CHostSystem
import Glibc

/// Both ends of a pipe.
struct PipeEnds {
  let reading: CInt
  let writing: CInt

  init() throws(Failure) {
    var ends: [CInt] = [-1, -1]
    guard host_pipe(&ends) == 0 else {
      throw Failure(
        "RESOURCE_EXHAUSTED", "no program can be run: \(errorText())", isTransient: true)
    }
    (reading, writing) = (ends[0], ends[1])
  }
}

/// A started program; -1 for a missing descriptor or process.
struct StartedProgram {
  var process: pid_t = -1
  var input: CInt = -1
  var output: CInt = -1
  var errors: CInt = -1
  /// A descriptor that becomes readable when the program has ended.
  var ending: CInt = -1

  func close() {
    for descriptor in [input, output, errors, ending] where descriptor >= 0 {
      Glibc.close(descriptor)
    }
  }
}

func spawn(
  _ program: String, _ arguments: [String], _ environment: [String], _ folder: String,
  _ input: CInt, _ output: CInt, _ errors: CInt, _ process: inout pid_t
) -> CInt {
  var argumentPointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
  var environmentPointers: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
  defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
  return host_spawn(
    program, &argumentPointers, &environmentPointers, folder, input, output, errors, &process)
}

/// The exchange between this process and a program, until the program has ended.
struct ProgramConversation {
  private let started: StartedProgram
  private let request: CommandRequest
  private let stop: CInt
  private let take: ([UInt8]) -> Void
  private var input: ArraySlice<UInt8>
  private var isInputOpen: Bool
  private var isOutputOpen = true
  private var areErrorsOpen = true
  private var output: [UInt8] = []
  private var errors: [UInt8] = []
  /// Whether output before `errors` was dropped, so that `errors` may begin within a line.
  private var areErrorsCut = false
  /// The beginning of standard error, because its first line matters most.
  private var firstErrors: [UInt8] = []
  private var cause: Cause?
  /// Whether the process is reaped. Another group can have its number then, so no signal is sent.
  private var isReaped = false
  private let clock = ContinuousClock()
  private var deadline: ContinuousClock.Instant?
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  /// The reason why the host has ended the program.
  private enum Cause { case time, output, cancelled }

  /// The maximum size of the reported first line, in bytes.
  private static let firstErrorBytesMax = 512

  init(
    _ started: StartedProgram, _ request: CommandRequest, stop: CInt,
    take: @escaping ([UInt8]) -> Void
  ) {
    self.started = started
    self.request = request
    self.stop = stop
    self.take = take
    input = request.input[...]
    isInputOpen = started.input >= 0
    deadline = request.timeout.map { clock.now + $0 }
  }

  /// Exchanges input and output until the program has ended.
  mutating func hold() {
    while true {
      var entries = [
        pollfd(fd: started.ending, events: Int16(POLLIN), revents: 0),
        pollfd(fd: cause == nil ? stop : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isOutputOpen ? started.output : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: areErrorsOpen ? started.errors : -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isInputOpen ? started.input : -1, events: Int16(POLLOUT), revents: 0),
      ]
      var wait: CInt = -1
      if let deadline {
        let left = (deadline - clock.now) / .milliseconds(1)
        wait = CInt(max(0, min(left.rounded(.up), 3_600_000)))
      }
      // The kernel does not have pidfd_open, so check for the end every 100 ms.
      if started.ending < 0 { wait = wait < 0 ? 100 : min(wait, 100) }
      let count = poll(&entries, nfds_t(entries.count), wait)
      if count < 0, errno != EINTR { return makeEnd(.cancelled) }
      if let deadline, clock.now >= deadline { timeIsUp() }
      guard count > 0 || started.ending < 0 else { continue }
      if entries[1].revents != 0 { makeEnd(.cancelled) }
      if entries[2].revents != 0 { readOutput() }
      if entries[3].revents != 0 { readErrors() }
      if entries[4].revents != 0 { writeInput() }
      if entries[0].revents != 0 || hasEnded() { return }
    }
  }

  private func hasEnded() -> Bool {
    guard started.ending < 0 else { return false }
    var info = siginfo_t()
    return waitid(P_PID, id_t(started.process), &info, WEXITED | WNOHANG | WNOWAIT) == 0
      && info.si_signo == SIGCHLD
  }

  /// Reads the output that was printed before the end. Call it after the process was reaped.
  mutating func drain() {
    isReaped = true
    if isOutputOpen { readOutput() }
    if areErrorsOpen { readErrors() }
    if request.isContinuous, cause == nil, !output.isEmpty {
      take(output)
      output = []
    }
  }

  private mutating func timeIsUp() {
    if cause == nil { makeEnd(.time) } else { signalGroup(SIGKILL) }
    deadline = clock.now + (cause == nil ? .zero : ProcessRunner.grace)
  }

  /// Asks the whole group to end, and kills the group if that takes too long.
  private mutating func makeEnd(_ cause: Cause) {
    guard self.cause == nil else { return }
    self.cause = cause
    signalGroup(SIGTERM)
    deadline = clock.now + ProcessRunner.grace
  }

  /// Sends a signal to the whole group.
  private func signalGroup(_ number: CInt) {
    guard !isReaped else { return }
    kill(-started.process, number)
  }

  private mutating func readOutput() {
    while isOutputOpen {
      let count = read(started.output, &buffer, buffer.count)
      guard count > 0 else {
        if count == 0 || (errno != EAGAIN && errno != EINTR) { isOutputOpen = false }
        return
      }
      // The result does not need this output. It is read, so that the program is not blocked and
      // can end.
      guard cause == nil else { continue }
      output += buffer[..<count]
      if request.isContinuous { takeLines() }
      guard output.count <= request.outputBytesMax else {
        output = []
        return makeEnd(.output)
      }
    }
  }

  private mutating func takeLines() {
    while let end = output.firstIndex(of: UInt8(ascii: "\n")) {
      take(Array(output[..<end]))
      output.removeSubrange(...end)
    }
  }

  private mutating func readErrors() {
    while areErrorsOpen {
      let count = read(started.errors, &buffer, buffer.count)
      guard count > 0 else {
        if count == 0 || (errno != EAGAIN && errno != EINTR) { areErrorsOpen = false }
        return
      }
      errors += buffer[..<count]
      let room = ProgramConversation.firstErrorBytesMax - firstErrors.count
      if room > 0 { firstErrors += buffer[..<min(count, room)] }
      if errors.count > request.stderrBytesMax {
        areErrorsCut = true
        errors.removeFirst(errors.count - request.stderrBytesMax)
      }
    }
  }

  private mutating func writeInput() {
    while !input.isEmpty {
      let count = input.withUnsafeBytes { write(started.input, $0.baseAddress, $0.count) }
      if count < 0, errno == EAGAIN { return }
      // The program does not read any more. If that is a failure, the program reports it.
      guard count > 0 else { break }
      input = input.dropFirst(count)
    }
    isInputOpen = false
    // The end of the input must be sent now, because the program may wait for it.
    _ = host_silence(started.input)
  }

  // MARK: The result

  func result(_ status: CInt, program: String) -> Result<[UInt8], Failure> {
    let name = Paths.lastComponent(program)
    switch cause {
    case .time?:
      let timeout = request.timeout ?? .zero
      return .failure(
        Failure(
          "DEADLINE_EXCEEDED", "\(name) was killed because it took more than \(timeout)\(said)"))
    case .output?:
      return .failure(
        Failure(
          "OUT_OF_RANGE",
          "\(name) was killed because it printed more than \(request.outputBytesMax) bytes"
            + (request.isContinuous ? " on one line" : "") + said))
    case .cancelled?: return .failure(Failure("CANCELLED", "\(name) was ended"))
    case nil: break
    }
    let signal = status & 0x7F
    if signal != 0 {
      return .failure(
        Failure("ABORTED", "\(name) was ended by signal \(signal)\(said)", isTransient: true))
    }
    let code = status >> 8 & 0xFF
    guard code == 0 else {
      return .failure(Failure("ABORTED", "\(name) failed with status \(code)\(said)"))
    }
    guard !request.isContinuous else {
      return .failure(Failure("ABORTED", "\(name) has ended; the host starts it again\(said)"))
    }
    return .success(output)
  }

  /// The program's message: the first line of standard error, and below it the end of the rest. If
  /// standard error is empty, the last line of the output.
  private var said: String {
    func lines(_ bytes: [UInt8]) -> [String] {
      String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
        .filter { !$0.allSatisfy(\.isWhitespace) }
    }
    guard let first = lines(firstErrors).first else {
      return lines(output).last.map {
        ": \($0.beginning(bytesMax: ProgramConversation.firstErrorBytesMax))"
      } ?? ""
    }
    let newline = areErrorsCut ? errors.firstIndex(of: UInt8(ascii: "\n")) : nil
    let last = lines(Array(errors[(newline ?? 0)...])).suffix(20)
    return ": "
      + ([first] + (last.first == first ? last.dropFirst() : last)).joined(separator: "\n")
  }
}
