import NIOCore
import Testing

@testable import WidgetServer

@Suite struct RefusalLogs {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

  @Test func `a user who connects again and again is logged once a second, with the number`() {
    var log = RefusalLog()
    #expect(log.note(uid: 7, at: start) == 0)
    for number in 1...500 {
      #expect(log.note(uid: 7, at: start + .milliseconds(Int64(number))) == nil)
    }
    #expect(log.note(uid: 7, at: start + .seconds(1)) == 500)
    #expect(log.note(uid: 7, at: start + .seconds(3)) == 0)
  }

  @Test func `users do not hide each other`() {
    var log = RefusalLog()
    for uid in 0..<UInt32(2 * RefusalLog.usersMax) {
      #expect(log.note(uid: uid, at: start) == 0)
      #expect(log.note(uid: uid, at: start) == nil)
    }
    #expect(log.note(uid: 3, at: start + .seconds(1)) != nil)
  }
}
