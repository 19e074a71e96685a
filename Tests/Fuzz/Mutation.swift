import SeededRandom

/// An input with a few changes such as libFuzzer makes: bits, bytes, numbers, and pieces that are
/// removed, repeated, or taken from another input of the same corpus.
func mutated(_ input: [UInt8], with others: [[UInt8]], by random: inout SeededGenerator) -> [UInt8]
{
  var bytes = input
  for _ in 0...random.below(4) {
    mutate(&bytes, with: others, by: &random)
  }
  return Array(bytes.prefix(mutantBytesMax))
}

/// The longest input that scripts/fuzz lets libFuzzer make.
private let mutantBytesMax = 4096

/// Bytes at the limits of lengths, signs, varints and texts.
private let boundaries: [UInt8] = [
  0x00, 0x01, 0x7f, 0x80, 0xff, UInt8(ascii: "\n"), UInt8(ascii: "\""), UInt8(ascii: "$"),
  UInt8(ascii: "{"),
]

private func mutate(
  _ bytes: inout [UInt8], with others: [[UInt8]], by random: inout SeededGenerator
) {
  guard !bytes.isEmpty else {
    bytes = [random.pick(boundaries)]
    return
  }
  let start = random.below(bytes.count)
  let end = min(bytes.count, start + 1 + random.below(1 + random.below(64)))
  switch random.below(8) {
  case 0: bytes[start] ^= 1 << UInt8(random.below(8))
  case 1: bytes[start] = random.pick(boundaries)
  case 2: bytes[start] = UInt8(truncatingIfNeeded: random.next())
  case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: start)
  case 4: bytes.removeSubrange(start..<end)
  case 5: bytes.insert(contentsOf: bytes[start..<end], at: random.below(bytes.count + 1))
  case 6:
    for index in start..<end where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) {
      bytes[index] = UInt8(ascii: "9")
    }
  default:
    let other = random.pick(others)
    guard !other.isEmpty else { return }
    let from = random.below(other.count)
    bytes.replaceSubrange(start..<end, with: other[from..<min(other.count, from + 64)])
  }
}
