/// Random numbers that are the same for the same seed, on every machine and with every version of the
/// library: SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number from 0 to below `bound`. Not perfectly even, which does not matter in tests.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// True in this percentage of cases.
  package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  package mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }

  /// From 0 to `max` picks, with repetitions.
  package mutating func some<T>(_ choices: [T], max: Int) -> [T] {
    (0..<below(max + 1)).map { _ in pick(choices) }
  }
}
