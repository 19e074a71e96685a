// The kernel's files in /proc, as values. Everything here is pure: text in, value
// or error out. The formats are those of proc(5).

/// A text of the kernel that is not as expected.
struct ProcTextError: Error, Hashable, CustomStringConvertible {
  /// The file the text is from.
  let path: String
  /// The missing or wrong part.
  let problem: String

  var description: String { "\(path): \(problem)" }
}

/// The contents of `/proc/loadavg`.
struct LoadAverage: Hashable {
  static let path = "/proc/loadavg"

  /// The average number of running and waiting tasks, over 1, 5 and 15 minutes.
  var one: Double
  var five: Double
  var fifteen: Double
  /// The number of tasks that run or can run now, and of all tasks.
  var runnable: Int64
  var total: Int64

  /// Reads `0.20 0.18 0.12 1/80 11206`.
  init(_ text: String) throws(ProcTextError) {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count >= 4 else {
      throw ProcTextError(path: LoadAverage.path, problem: "expected at least four words")
    }
    var averages: [Double] = []
    for word in words.prefix(3) {
      guard let value = Double(word), value.isFinite, value >= 0 else {
        throw ProcTextError(path: LoadAverage.path, problem: "\"\(word)\" is not a load average")
      }
      averages.append(value)
    }
    let tasks = words[3].split(separator: "/", omittingEmptySubsequences: false)
    guard tasks.count == 2, let runnable = Int64(tasks[0]), let total = Int64(tasks[1]),
      runnable >= 0, total >= 0
    else {
      throw ProcTextError(path: LoadAverage.path, problem: "\"\(words[3])\" is not RUNNING/TOTAL")
    }
    (one, five, fifteen) = (averages[0], averages[1], averages[2])
    (self.runnable, self.total) = (runnable, total)
  }
}

/// The main memory in `/proc/meminfo`, in KiB.
struct MemoryInfo: Hashable {
  static let path = "/proc/meminfo"

  var totalKiB: Int64
  /// The kernel's estimate of the memory that programs can get without swapping.
  var availableKiB: Int64

  var usedKiB: Int64 { max(0, totalKiB - availableKiB) }

  /// Reads the lines `MemTotal:` and `MemAvailable:`; the others may be anything.
  init(_ text: String) throws(ProcTextError) {
    func kibibytes(_ name: String) throws(ProcTextError) -> Int64 {
      for line in text.split(separator: "\n") {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.first == "\(name):" else { continue }
        guard words.count == 3, words[2] == "kB", let value = Int64(words[1]), value >= 0 else {
          throw ProcTextError(path: MemoryInfo.path, problem: "\"\(line)\" is not an amount in kB")
        }
        return value
      }
      throw ProcTextError(path: MemoryInfo.path, problem: "there is no \(name)")
    }
    totalKiB = try kibibytes("MemTotal")
    availableKiB = try kibibytes("MemAvailable")
  }
}

/// The traffic of a network interface since it came up.
struct NetworkCounters: Hashable {
  static let path = "/proc/net/dev"

  var receivedBytes: UInt64
  var sentBytes: UInt64

  /// Reads `/proc/net/dev`: two lines of headings, then one line an interface. By name.
  static func read(_ text: String) throws(ProcTextError) -> [String: NetworkCounters] {
    var result: [String: NetworkCounters] = [:]
    for line in text.split(separator: "\n").dropFirst(2) {
      // A name may have colons (`eth0:1`), but only numbers follow the last colon.
      guard let colon = line.lastIndex(of: ":") else {
        throw ProcTextError(path: path, problem: "\"\(line)\" names no interface")
      }
      let name = String(line[..<colon].drop(while: \.isWhitespace))
      let numbers = line[line.index(after: colon)...].split(whereSeparator: \.isWhitespace)
      guard !name.isEmpty, numbers.count >= 9, let received = UInt64(numbers[0]),
        let sent = UInt64(numbers[8])
      else { throw ProcTextError(path: path, problem: "\"\(line)\" has no byte counts") }
      result[name] = NetworkCounters(receivedBytes: received, sentBytes: sent)
    }
    return result
  }
}
