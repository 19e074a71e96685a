/// Which of the kept answers are the newest ones that fit into the limits.
///
/// Answers are numbered without gaps, so those that can go are always the ones up to a number, and
/// one statement removes them.
struct RequestWindow {
  private let countMax: Int
  private let bytesMax: Int
  /// The sizes of the answers after `floor`; those before `head` have been passed already.
  private var sizes: [Int] = []
  private var head = 0
  private var bytes = 0
  /// Answers up to this number can go.
  private(set) var floor: Int64

  init(countMax: Int, bytesMax: Int, floor: Int64 = 0) {
    self.countMax = countMax
    self.bytesMax = bytesMax
    self.floor = floor
  }

  /// The number the next answer gets.
  var next: Int64 { floor + Int64(sizes.count - head) + 1 }

  /// Takes in the answer number `next`, and passes the oldest ones that no longer fit.
  mutating func append(bytes size: Int) {
    sizes.append(size)
    bytes += size
    while sizes.count - head > countMax || bytes > bytesMax { pass() }
    if head > countMax {
      sizes.removeFirst(head)
      head = 0
    }
  }

  /// Passes answers up to a number.
  mutating func pass(through number: Int64) {
    while floor < number, head < sizes.count { pass() }
  }

  private mutating func pass() {
    bytes -= sizes[head]
    head += 1
    floor += 1
  }
}
