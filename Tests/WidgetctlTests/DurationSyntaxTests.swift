import Testing
import WidgetModel

@testable import widgetctl

struct DurationSyntaxTests {
  @Test(
    arguments: [
      ("0", .zero), ("5s", .seconds(5)), ("250ms", .milliseconds(250)),
      ("1.5s", .milliseconds(1500)),
      ("1h30m", .seconds(5400)), ("2d", .seconds(172_800)), ("10us", .microseconds(10)),
      ("1ns", .nanoseconds(1)), ("-1.5s", .milliseconds(-1500)), ("0.1s", .milliseconds(100)),
      ("0.25m", .seconds(15)),
    ] as [(String, Duration)])
  func `numbers with units are read`(_ text: String, wanted: Duration) {
    #expect(DurationSyntax.parse(text) == wanted)
  }

  @Test(arguments: [
    "", "5", "s", "5 s", "1.s", ".5s", "1..5s", "5x", "1h30", "99999999999d", "--1s", "٣s",
  ])
  func `a text that is not a duration is refused`(_ text: String) {
    #expect(DurationSyntax.parse(text) == nil)
  }

  @Test(
    arguments: [
      (.zero, "0s"), (.milliseconds(1500), "1.5s"), (.nanoseconds(-1), "-0.000000001s"),
      (.seconds(-2), "-2s"), (.milliseconds(-1500), "-1.5s"),
    ] as [(Duration, String)])
  func `documents have seconds, and they read as they were`(_ duration: Duration, text: String) {
    #expect(DurationSyntax.seconds(duration) == text)
    #expect(DurationSyntax.parse(text) == duration)
  }

  @Test(arguments: [
    (0, "0s"), (119, "119s"), (120, "2m"), (200, "3m20s"), (600, "10m"), (7200, "2h"),
    (172_799, "47h"), (172_800, "2d"), (-5, "0s"),
  ])
  func `ages get coarser as they grow`(_ seconds: Int, text: String) {
    #expect(DurationSyntax.age(.seconds(seconds)) == text)
  }
}

struct TransitionSyntaxTests {
  @Test func `a curve may have a duration and a spring's numbers`() throws {
    #expect(try TransitionSyntax.parse("spring") == Transition(curve: .spring))
    #expect(
      try TransitionSyntax.parse("ease-in-out:300ms")
        == Transition(curve: .easeInOut, duration: .milliseconds(300)))
    #expect(
      try TransitionSyntax.parse("spring:1s,response=0.5,damping=0.8")
        == Transition(
          curve: .spring, duration: .seconds(1), springResponse: 0.5, springDamping: 0.8))
  }

  @Test(arguments: ["", "bounce", "spring:", "spring:fast", "spring:-1s", "spring:damping=0"])
  func `a text that is not a transition is refused`(_ text: String) {
    #expect(throws: SyntaxFailure.self) { try TransitionSyntax.parse(text) }
  }
}

struct RFC3339Tests {
  @Test(
    arguments: [
      (0, 0, "1970-01-01T00:00:00Z"), (951_782_400, 0, "2000-02-29T00:00:00Z"),
      (-1, 500_000_000, "1969-12-31T23:59:59.500Z"),
      (1_767_323_045, 1000, "2026-01-02T03:04:05.000001Z"),
      (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
      (253_402_300_799, 999_999_999, "9999-12-31T23:59:59.999999999Z"),
    ] as [(Int64, Int32, String)])
  func `a time is written and read`(_ seconds: Int64, nanoseconds: Int32, text: String) throws {
    let time = try #require(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    #expect(RFC3339.text(time) == text)
    #expect(RFC3339.timestamp(text) == time)
  }

  @Test func `a time with an offset is read as the same instant in UTC`() {
    #expect(
      RFC3339.timestamp("2026-01-02T03:04:05+01:30") == RFC3339.timestamp("2026-01-02T01:34:05Z"))
    #expect(
      RFC3339.timestamp("2026-01-01T23:00:00-02:00") == RFC3339.timestamp("2026-01-02T01:00:00Z"))
  }

  @Test(arguments: [
    "", "2026-01-02", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-02T24:00:00Z",
    "2026-01-02T00:00:00", "2026-01-02T00:00:00.Z", "2026-01-02T00:00:00Zx", "0000-01-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
  ])
  func `a text that is not a time is refused`(_ text: String) {
    #expect(RFC3339.timestamp(text) == nil)
  }
}

struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of RFC 4648 hold both ways`(_ bytes: String, text: String) {
    #expect(PaddedBase64.encode(Array(bytes.utf8)) == text)
    #expect(PaddedBase64.decode(text) == Array(bytes.utf8))
  }

  @Test(arguments: ["Z", "Zg=", "Zg", "Zh==", "Z===", "Zm9v====", "Zg==Zg==", "Z!==", "===="])
  func `a text that is not base64 is refused`(_ text: String) {
    #expect(PaddedBase64.decode(text) == nil)
  }
}
