/// Finds the newest kept answers that fit into the limits.
///
/// Answers are numbered without gaps, so the answers to remove are always those up to a number, and
/// one statement removes them.
struct RequestWindow {
  private let countMax: Int
  private let bytesMax: Int
  /// The sizes of the answers after `floor`; those before `head` are passed already.
  private var sizes: [Int] = []
  private var head = 0
  private var bytes = 0
  /// Answers up to this number can be removed.
  private(set) var floor: Int64

  init(countMax: Int, bytesMax: Int, floor: Int64 = 0) {
    self.countMax = countMax
    self.bytesMax = bytesMax
    self.floor = floor
  }

  /// The number of the next answer.
  var next: Int64 { floor + Int64(sizes.count - head) + 1 }

  /// Adds the answer with the number `next`, and passes the oldest answers that no longer fit.
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
