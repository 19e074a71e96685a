import Testing

@testable import widgetd_sysmon

struct FormattingTests {
  @Test(arguments: [
    (0.0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (102_400, "100 KiB"),
    (1_048_576, "1.0 MiB"), (8_589_934_592, "8.0 GiB"), (1.2e18, "1066 PiB"), (-5, "0 B"),
  ])
  func `bytes are written with a binary unit`(bytes: Double, text: String) {
    #expect(bytesText(bytes) == text)
  }

  @Test(arguments: [
    (0.0, "0 bit/s"), (999, "999 bit/s"), (1000, "1.0 kbit/s"), (12_500_000, "12.5 Mbit/s"),
    (1e9, "1.0 Gbit/s"),
  ])
  func `a rate has the decimal unit of its size`(rate: Double, text: String) {
    #expect(bitRateText(rate) == text)
  }

  @Test(arguments: [
    (1.0, 2, "1.00"), (1.005, 1, "1.0"), (0.06, 1, "0.1"), (-2.5, 1, "-2.5"), (-0.25, 2, "-0.25"),
    (12.345, 0, "12"), (.infinity, 2, "0"), (.nan, 2, "0"), (1e300, 1, "0"),
  ])
  func `a number has exactly the requested decimals`(number: Double, decimals: Int, text: String) {
    #expect(fixed(number, decimals) == text)
  }

  @Test func `a share of zero is 0 percent`() {
    #expect(percent(5, of: 0) == 0)
    #expect(percent(1, of: 3) == 33.3)
  }
}
