import MessageTypes
import SeededRandom
import Testing
import WidgetModel
import WidgetProto

/// Valid messages with random damage. Nothing may crash, and messages that still decode must have a
/// stable meaning: when such a message is encoded and decoded again, it has the same bytes.
struct FuzzTests {
  @Test(arguments: [UInt64](1...4))
  func `damaged messages are refused or keep a stable meaning`(seed: UInt64) throws {
    let codec = WireCodec(limits: WireLimits(arenaBytesMax: 1 << 20))
    var random = SeededGenerator(seed: seed)
    var decoded = 0
    for sample in RandomMessages.everyType(seed: seed) {
      let type = try #require(MessageType.byName[sample.name])
      let bytes = try sample.encode(codec)
      for round in 0..<150 {
        let damaged = damage(bytes, &random)
        do throws(WireError) {
          let once = try type.recode(codec, damaged)
          let twice = try type.recode(codec, once)
          #expect(once == twice, "\(sample.name), seed \(seed), round \(round): \(damaged)")
          decoded += 1
        } catch {
          #expect(!error.reason.isEmpty)
        }
      }
    }
    #expect(decoded > 100, "the damage leaves too little to learn from")
  }
}

/// Flips, inserts, removes, repeats and moves bytes, one to four times.
func damage(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
  var bytes = bytes
  for _ in 0..<Int.random(in: 1...4, using: &random) {
    let at = Int.random(in: 0...bytes.count, using: &random)
    let size = min(Int.random(in: 1...8, using: &random), bytes.count - at)
    let noise = UInt8.random(in: 0...255, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0 where size > 0: bytes[at] ^= 1 << (noise & 7)
    case 1 where size > 0: bytes[at] = noise
    case 2: bytes.insert(noise, at: at)
    case 3: bytes.removeSubrange(at..<(at + size))
    case 4: bytes.insert(contentsOf: bytes[at..<(at + size)], at: at)
    default: bytes.insert(contentsOf: [0x0a, 0x80, 0xff, 0x7f].prefix(size), at: at)
    }
  }
  return bytes
}
