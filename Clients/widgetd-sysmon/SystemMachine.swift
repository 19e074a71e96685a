import Glibc
import WidgetModel

/// The machine on which the program runs.
struct SystemMachine: Machine {
  /// The file system to measure.
  var diskPath = "/"

  var cpus: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  var uptime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  func load() throws -> LoadAverage {
    try LoadAverage(SystemMachine.contents(of: LoadAverage.path))
  }

  func memory() throws -> MemoryInfo {
    try MemoryInfo(SystemMachine.contents(of: MemoryInfo.path))
  }

  func network() throws -> [String: NetworkCounters] {
    try NetworkCounters.read(SystemMachine.contents(of: NetworkCounters.path))
  }

  func disk() throws -> DiskUsage {
    var status = statvfs()
    guard statvfs(diskPath, &status) == 0 else {
      throw ProcTextError(path: diskPath, problem: SystemMachine.errorText())
    }
    let block = UInt64(status.f_frsize)
    let blocks = UInt64(status.f_blocks)
    return DiskUsage(
      totalBytes: blocks * block, availableBytes: UInt64(status.f_bavail) * block,
      usedBytes: (blocks - min(blocks, UInt64(status.f_bfree))) * block)
  }

  func local(_ time: Timestamp) -> LocalTime {
    var seconds = time_t(time.seconds)
    var parts = tm()
    localtime_r(&seconds, &parts)
    func text(_ format: String) -> String {
      var buffer = [CChar](repeating: 0, count: 64)
      let count = strftime(&buffer, buffer.count, format, &parts)
      return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    return LocalTime(date: text("%Y-%m-%d"), time: text("%H:%M:%S"), zone: text("%Z"))
  }

  private static func contents(of path: String) throws(ProcTextError) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw ProcTextError(path: path, problem: errorText()) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw ProcTextError(path: path, problem: errorText()) }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer.prefix(count)
    }
  }

  private static func errorText() -> String { String(cString: strerror(errno)) }
}
