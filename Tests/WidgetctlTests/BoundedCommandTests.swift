import Glibc
import Testing

@testable import widgetctl

struct BoundedCommandTests {
  @Test func `a program starts without blocked signals, even if the thread blocks some`() {
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let words = ["grep", "SigBlk", "/proc/self/status"]
    let zeros = String(repeating: "0", count: 16)
    #expect(
      BoundedCommand.run(words, within: .seconds(900))
        == .ended(status: 0, output: "SigBlk:\t\(zeros)\n"))
  }

  @Test func `a command gives its output and its exit status`() {
    #expect(
      BoundedCommand.run(["sh", "-c", "echo hi; exit 3"], within: .seconds(900))
        == .ended(status: 3, output: "hi\n"))
  }

  @Test func `a command that does not end is killed at its deadline`() {
    #expect(BoundedCommand.run(["sleep", "600"], within: .milliseconds(50)) == .timedOut)
  }

  @Test func `a command that closes its output and still runs is killed at its deadline`() {
    #expect(
      BoundedCommand.run(["sh", "-c", "exec >&-; exec sleep 600"], within: .milliseconds(50))
        == .timedOut)
  }

  @Test func `a bounded command keeps only a part of a long output`() {
    guard
      case .ended(0?, let output) = BoundedCommand.run(
        ["head", "-c", "1000000", "/dev/zero"], within: .seconds(900))
    else {
      Issue.record("it did not end")
      return
    }
    #expect(output.utf8.count == BoundedCommand.outputBytesMax)
  }

  @Test func `a bounded command reports a missing program`() {
    #expect(BoundedCommand.run(["widgetd-no-such"], within: .seconds(900)) == .notFound)
    #expect(BoundedCommand.run([], within: .seconds(900)) == .notFound)
  }
}
