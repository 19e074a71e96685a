import Glibc
import NIOCore
import Testing

@testable import WidgetServer

/// The time limit of the daemon's end.
@Suite struct DrainTimerTests {
  @Test func `the time of a drain does not count while the loop is late`() async throws {
    try await withServer { server in
      let wasOver = try server.onLoop { service -> EventLoopFuture<Bool> in
        let promise = service.context.eventLoop.makePromise(of: Bool.self)
        var isOver = false
        let timer = DrainTimer(.milliseconds(200), service.context) { isOver = true }
        // This is due at the end of the time, and after the timer if that is due, too.
        service.context.schedule(in: .milliseconds(200)) {
          timer.cancel()
          promise.succeed(isOver)
        }
        // The loop is late.
        usleep(400_000)
        return promise.futureResult
      }
      #expect(try !wasOver.wait())
    }
  }

  @Test func `a drain ends`() async throws {
    try await withServer { server in
      let isOver = Box(false)
      let timer = try server.onLoop { service in
        NIOLoopBound(
          DrainTimer(.milliseconds(4), service.context) { isOver.set(true) },
          eventLoop: service.context.eventLoop)
      }
      try server.eventually { _ in isOver.get() }
      withExtendedLifetime(timer) {}
    }
  }
}
