import SeededRandom
import Testing

@testable import WidgetCore

/// Arrays whose copies never change, compared with Swift's arrays.
struct RevertibleArrayTests {
  @Test(arguments: 0..<20)
  func `every copy equals the copy of a Swift array`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var copies = [(RevertibleArray<String>(), [String]())]
    for number in 0..<1_500 {
      let place = random.below(copies.count)
      switch random.below(10) {
      case 0 where copies.count < 6: copies.append(copies[place])
      case 1 where copies.count > 1: copies.remove(at: place)
      case 2..<5:
        copies[place].0.append("\(number)")
        copies[place].1.append("\(number)")
      case 5 where !copies[place].1.isEmpty:
        copies[place].0.removeLast()
        copies[place].1.removeLast()
      case 6...9 where !copies[place].1.isEmpty:
        let index = random.below(copies[place].1.count)
        copies[place].0[index] += "+"
        copies[place].1[index] += "+"
      default: break
      }
      if random.chance(20) {
        let (array, model) = copies[random.below(copies.count)]
        #expect(Array(array) == model)
        #expect(array.count == model.count)
      }
    }
    for (array, model) in copies { #expect(Array(array) == model) }
  }

  @Test func `many states are released without deep recursion`() {
    var array = RevertibleArray<Int>()
    for number in 0..<1_000_000 { array.append(number) }
    let first = array
    // There are too few changes to copy all elements.
    for number in 0..<120_000 { array[number] = -1 }
    #expect(first[0] == 0)
    #expect(array[119_999] == -1)
    #expect(first[119_999] == 119_999)
  }

  @Test func `changes before a copy are not part of the next change`() {
    var array = RevertibleArray<[Int]>()
    for number in 0..<100 { array.append([number]) }
    let before = array
    array[7].append(1)
    array.removeLast()
    array.append([200])
    #expect(before[7] == [7])
    #expect(before[99] == [99])
    #expect(array[7] == [7, 1])
    #expect(array[99] == [200])
  }
}
