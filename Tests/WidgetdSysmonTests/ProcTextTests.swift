import Testing
import WidgetModel

@testable import widgetd_sysmon

struct ProcTextTests {
  @Test func `a load average is read with its tasks`() throws {
    let load = try LoadAverage("0.20 1.18 12.12 3/80 11206\n")
    #expect([load.one, load.five, load.fifteen] == [0.20, 1.18, 12.12])
    #expect(load.runnable == 3)
    #expect(load.total == 80)
  }

  @Test(arguments: [
    "", "0.1 0.2", "0.1 0.2 0.3", "x 0.2 0.3 1/2 3", "nan 0.2 0.3 1/2 3", "0.1 -1 0.3 1/2 3",
    "0.1 0.2 0.3 12 3", "0.1 0.2 0.3 1/ 3", "0.1 0.2 0.3 /2 3", "0.1 0.2 0.3 1/2/3 4",
  ])
  func `a text without a load average is refused`(text: String) {
    #expect(throws: ProcTextError.self) { try LoadAverage(text) }
  }

  @Test func `memory is read from among other lines, in any order`() throws {
    let memory = try MemoryInfo(
      "MemAvailable:     250 kB\nHugePages_Total:       0\nMemTotal:   1000 kB\nSwapTotal: 7 kB")
    #expect(memory.totalKiB == 1000)
    #expect(memory.availableKiB == 250)
    #expect(memory.usedKiB == 750)
  }

  @Test(arguments: [
    ("MemTotal: 1000 kB", "there is no MemAvailable"),
    ("MemAvailable: 1 kB", "there is no MemTotal"),
    ("MemTotal: 1000 MB\nMemAvailable: 1 kB", "\"MemTotal: 1000 MB\" is not an amount in kB"),
    (
      "MemTotal: 9999999999999999999 kB",
      "\"MemTotal: 9999999999999999999 kB\" is not an amount in kB"
    ),
  ])
  func `memory that cannot be read is refused with the line`(text: String, problem: String) {
    #expect(throws: ProcTextError(path: "/proc/meminfo", problem: problem)) {
      try MemoryInfo(text)
    }
  }

  @Test func `interfaces are read with and without space after the colon`() throws {
    let text = """
      Inter-|   Receive                                                |  Transmit
       face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
          lo:  100       1    0    0    0     0          0         0      200       2
        eth0:18446744073709551615 9 0 0 0 0 0 0 7 1 0 0 0 0 0 0
      eth0:1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0

      """
    #expect(
      try NetworkCounters.read(text) == [
        "lo": NetworkCounters(receivedBytes: 100, sentBytes: 200),
        "eth0": NetworkCounters(receivedBytes: .max, sentBytes: 7),
        "eth0:1": NetworkCounters(receivedBytes: 5, sentBytes: 6),
      ])
  }

  @Test(arguments: ["eth0 1 2 3", "eth0: 1 2 3", "eth0: a 0 0 0 0 0 0 0 7", ": 1 0 0 0 0 0 0 0 7"])
  func `an interface without byte counts is refused`(line: String) {
    #expect(throws: ProcTextError.self) { try NetworkCounters.read("a\nb\n\(line)\n") }
  }

  @Test func `the machine that runs this can be read`() throws {
    let machine = SystemMachine()
    #expect(try machine.memory().totalKiB > 0)
    #expect(try machine.disk().totalBytes > 0)
    #expect(try machine.load().total > 0)
    #expect(try !machine.network().isEmpty)
    #expect(machine.cpus > 0)
    #expect(machine.local(.epoch).time.utf8.count == 8)
  }
}
