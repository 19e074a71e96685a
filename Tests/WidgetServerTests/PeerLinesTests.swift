import Logging
import NIOCore
import Testing

@testable import WidgetServer

/// The log lines that peers cause.
@Suite struct PeerLinesTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

  private func line(
    _ uid: UInt32?, _ message: String = "m", about subject: String = "closing"
  ) -> PeerLines.Line {
    PeerLines.Line(uid: uid, subject: subject, level: .info, message: message)
  }

  @Test func `two thousand lines of a user in a second are two lines, with the number left out`() {
    var lines = PeerLines()
    var written = 0
    for number in 0..<2_000 {
      let now = start + .microseconds(Int64(number) * 500)
      if lines.note(line(7, "line \(number)"), at: now) { written += 1 }
    }
    #expect(written == 1)
    #expect(lines.nextDue == start + .seconds(1))
    let early = lines.takeDue(at: start + .milliseconds(999))
    #expect(early.isEmpty)
    let due = lines.takeDue(at: start + .seconds(1))
    #expect(due.map(\.message) == ["line 1999"])
    #expect(due.first?.metadata["unlogged"] == "1998")
    #expect(lines.nextDue == nil)
  }

  @Test func `a line after a quiet second is written at once, and nothing is left out`() {
    var lines = PeerLines()
    #expect(lines.note(line(7), at: start) == true)
    #expect(lines.note(line(7), at: start + .seconds(1)) == true)
    #expect(lines.nextDue == nil)
  }

  @Test func `a line that waited counts as written, so the next one waits, too`() {
    var lines = PeerLines()
    #expect(lines.note(line(7, "a"), at: start) == true)
    #expect(lines.note(line(7, "b"), at: start + .milliseconds(1)) == false)
    #expect(lines.takeDue(at: start + .seconds(1)).map(\.metadata) == [[:]])
    #expect(lines.note(line(7, "c"), at: start + .milliseconds(1_500)) == false)
    #expect(lines.takeDue(at: start + .seconds(2)).map(\.message) == ["c"])
  }

  @Test func `users and subjects do not hide each other`() {
    var lines = PeerLines()
    for uid in 0..<UInt32(PeerLines.subjectsMax / 2) {
      #expect(lines.note(line(uid), at: start) == true)
      #expect(lines.note(line(uid, about: "refusing"), at: start) == true)
      #expect(lines.note(line(uid), at: start) == false)
    }
  }

  @Test func `the number of lines in a second is bounded for any number of users`() {
    var lines = PeerLines()
    var written = 0
    for uid in 0..<1_000 { written += lines.note(line(UInt32(uid)), at: start) ? 1 : 0 }
    #expect(written == PeerLines.subjectsMax)
    let due = lines.takeDue(at: start + .seconds(1))
    #expect(due.map(\.metadata) == [["unlogged": "\(1_000 - PeerLines.subjectsMax)"]])
    // Lines whose second is over make room.
    #expect(lines.note(line(2_000), at: start + .seconds(1)) == true)
  }
}
