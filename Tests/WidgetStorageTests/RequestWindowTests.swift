import Testing

@testable import WidgetStorage

@Suite struct RequestWindowTests {
  @Test func `numbers go on without gaps, and the floor follows the count`() {
    var window = RequestWindow(countMax: 3, bytesMax: 1_000, floor: 41)
    for number in 42...1_000 {
      #expect(window.next == Int64(number))
      window.append(bytes: 1)
      #expect(window.floor == max(41, Int64(number) - 3))
    }
  }

  @Test func `a window above its bytes drops the oldest requests`() {
    var window = RequestWindow(countMax: 100, bytesMax: 10)
    window.append(bytes: 6)
    window.append(bytes: 4)
    #expect(window.floor == 0)
    window.append(bytes: 1)
    #expect(window.floor == 1)
    window.append(bytes: 11)
    #expect(window.floor == 4)
    #expect(window.next == 5)
  }

  @Test func `a pass beyond the last number does not move the window further`() {
    var window = RequestWindow(countMax: 10, bytesMax: 10)
    window.append(bytes: 1)
    window.pass(through: 99)
    #expect(window.floor == 1)
    #expect(window.next == 2)
    window.pass(through: 0)
    #expect(window.floor == 1)
  }
}
