import Glibc
import Testing

@testable import WidgetSystemd

@Suite struct WatchdogTests {
  private func watchdog(_ values: [String: String]) throws(SystemdError) -> Watchdog? {
    try Watchdog(environment: .fake(values), processID: 77)
  }

  @Test(
    arguments: [
      ("30000000", .seconds(30), .seconds(15)),
      ("1", .microseconds(1), .milliseconds(1)),
      ("2000", .milliseconds(2), .milliseconds(1)),
      ("2001", .microseconds(2_001), .nanoseconds(1_000_500)),
      ("7200000000", .seconds(7_200), .seconds(3_600)),
      ("18446744073709551614", .microseconds(UInt64.max - 1), .seconds(3_600)),
    ] as [(String, Duration, Duration)])
  func `a sign of life is due after half of the time`(
    microseconds: String, timeout: Duration, interval: Duration
  ) throws {
    for process in [[:], ["WATCHDOG_PID": "77"]] {
      let watchdog = try #require(
        try watchdog(["WATCHDOG_USEC": microseconds].merging(process) { $1 }))
      #expect(watchdog.timeout == timeout)
      #expect(watchdog.interval == interval)
    }
  }

  @Test(
    arguments: [
      [:], ["WATCHDOG_USEC": ""], ["WATCHDOG_PID": "77"],
      ["WATCHDOG_USEC": "1000", "WATCHDOG_PID": "78"],
      ["WATCHDOG_USEC": "nonsense", "WATCHDOG_PID": "78"],
    ])
  func `variables of another process set no watchdog`(
    values: [String: String]
  ) throws {
    #expect(try watchdog(values) == nil)
  }

  @Test(
    arguments: [
      ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-1"], ["WATCHDOG_USEC": "1.5"],
      ["WATCHDOG_USEC": "1s"], ["WATCHDOG_USEC": " 1"], ["WATCHDOG_USEC": "+1"],
      ["WATCHDOG_USEC": "18446744073709551615"], ["WATCHDOG_USEC": "18446744073709551616"],
      ["WATCHDOG_USEC": String(repeating: "9", count: 100_000)],
      ["WATCHDOG_PID": "0"], ["WATCHDOG_PID": "-77"], ["WATCHDOG_PID": "self"],
      ["WATCHDOG_PID": "2147483648"], ["WATCHDOG_PID": "99999999999999999999"],
    ])
  func `an invalid number is refused with the name of its variable`(wrong: [String: String]) throws
  {
    let expected = try #require(wrong.keys.first)
    #expect {
      try watchdog(["WATCHDOG_USEC": "1000"].merging(wrong) { $1 })
    } throws: { error in
      guard case SystemdError.variable(expected, _, _)? = error as? SystemdError else {
        return false
      }
      return "\(error)".utf8.count < 400
    }
  }

  @Test func `the default process is this process`() throws {
    let values = ["WATCHDOG_USEC": "1000", "WATCHDOG_PID": "\(getpid())"]
    #expect(try Watchdog(environment: .fake(values)) != nil)
  }
}
