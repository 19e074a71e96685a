import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The look-up of the fields that a patch unsets.
struct UnsetFieldsTests {
  @Test(arguments: 1...50 as ClosedRange<UInt64>)
  func `a field counts as unset if its part names it, byte by byte`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // Some keys are equal to others for Swift's `==`, and some are prefixes of others.
    let keys = (0..<12).map { "k\($0)" } + ["k", "\u{E9}", "e\u{301}", "e"]
    var patch = WidgetPatch()
    patch.unsetData = random.some(keys, max: 20)
    patch.unsetParameters = random.some(keys, max: 20)
    patch.unsetLabels = random.some(keys, max: 20)
    let unset = UnsetFields(of: patch)
    for key in keys {
      for (part, named) in [
        (FieldOwner.Part.data, patch.unsetData), (.parameters, patch.unsetParameters),
        (.labels, patch.unsetLabels),
      ] {
        let isNamed = named.contains { Array($0.utf8) == Array(key.utf8) }
        #expect(unset.contains(part, key) == isNamed, "seed \(seed): \(part) \(key)")
      }
    }
  }
}
