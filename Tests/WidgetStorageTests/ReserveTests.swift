import Testing
import WidgetCore

@testable import WidgetStorage

/// The reserve on file systems with some free room.
@Suite struct `The reserve` {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func reserve(_ bytes: Int) -> Reserve {
    Reserve(path: folder.path + "/" + Reserve.fileName, bytes: bytes)
  }

  @Test func `takes at most half of the free room`() {
    var reserve = reserve(4 << 20)
    reserve.freeBytes = { _ in 3 << 20 }
    reserve.hold()
    #expect(reserve.heldBytes == 1 << 20)
    #expect(folder.size(of: Reserve.fileName) == 1 << 20)
  }

  @Test func `takes back all that it has released, even if no other room is free`() {
    var reserve = reserve(1 << 20)
    reserve.hold()
    #expect(reserve.heldBytes == 1 << 20)
    reserve.release()
    #expect(reserve.heldBytes == 0)
    reserve.freeBytes = { _ in 1 << 20 }
    reserve.takeBack(1 << 20)
    #expect(reserve.heldBytes == 1 << 20)
  }

  @Test func `takes back no more than it has released`() {
    var reserve = reserve(4 << 20)
    reserve.freeBytes = { _ in 3 << 20 }
    reserve.hold()
    let held = reserve.heldBytes
    reserve.release()
    reserve.freeBytes = { _ in 1 << 30 }
    reserve.takeBack(held)
    #expect(reserve.heldBytes == 1 << 20)
    reserve.release()
    reserve.takeBack(0)
    #expect(reserve.heldBytes == 0 && folder.size(of: Reserve.fileName) == 0)
  }

  @Test func `is not released again at once for a group as large as one that did not fit`() throws {
    var reserve = reserve(1 << 20)
    let large = group(1, deletions: [try id("a"), try id("b")])
    let small = group(1, deletions: [try id("a")])
    let now = ContinuousClock.now
    #expect(!reserve.mayFit(small, at: now), "nothing is held")
    reserve.hold()
    #expect(reserve.mayFit(large, at: now))
    reserve.noteTooLarge(large, at: now)
    #expect(!reserve.mayFit(large, at: now))
    #expect(reserve.mayFit(small, at: now))
    #expect(reserve.mayFit(large, at: now + Reserve.pause))
  }
}
