import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Changes of the owners of many fields.
struct OwnershipChangesTests {
  /// A few changes are made one by one, and many in one pass.
  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func `changes that are made together have the effect of changes one by one`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // Some paths are equal to others for Swift's `==`, and some are prefixes of others.
    let paths =
      (0..<20).map { "data.k\($0)" } + ["data.k", "data.\u{E9}", "data.e\u{301}", "labels.k"]
    var before = Ownership()
    for path in random.some(paths, max: 20) {
      before[path] = FieldOwner(path: path, owner: "user 1")
    }
    for path in random.some(paths, max: 20) {
      before[aside: path] = FieldOwner(path: path, owner: "user 1", declared: .int(1))
    }
    var (changes, after) = (OwnershipChanges(), before)
    for (number, path) in random.some(paths, max: 20).enumerated() {
      let entry: FieldOwner? =
        number.isMultiple(of: 2) ? nil : FieldOwner(path: path, owner: "user \(number)")
      changes.set(path, to: entry)
      after[path] = entry
    }
    for (number, path) in random.some(paths, max: 20).enumerated() {
      let entry: FieldOwner? =
        number.isMultiple(of: 2)
        ? nil : FieldOwner(path: path, owner: "user 1", declared: .int(Int64(number)))
      changes.setAside(path, to: entry)
      after[aside: path] = entry
    }
    #expect(before.applying(changes) == after, "seed \(seed)")
    #expect(Ownership(after.all) == after, "seed \(seed)")
  }
}
