extension NodeSlots {
  /// The violated invariants, in words; for tests.
  func checkInvariants() -> [String] {
    var violations: [String] = []
    let isFree = Set(free)
    var live = 0
    var sum = 0
    for slot in 0..<Int32(entries.count) where !isFree.contains(slot) {
      let entry = entries[Int(slot)]
      if index[entry.id] != slot { violations.append("\(entry.id) is not where the index says") }
      if entry.isDead {
        if !log.has(slot, at: entry.revision) {
          violations.append("nothing will forget \(entry.id)")
        }
        continue
      }
      live += 1
      sum += entry.costBytes
      if failing.contains(slot) != (entry.origin == nil && !entry.failures.isEmpty) {
        violations.append("\(entry.id) fails, and is not among those that do, or the other way")
      }
      for child in entry.children {
        if entries[Int(child)].isDead { violations.append("\(entry.id) has a dead child") }
        if entries[Int(child)].parent != slot { violations.append("a child has another parent") }
      }
      if entry.revision > log.start, entry.revision != log.lastRevision(of: slot) {
        violations.append("the log does not know of \(entry.id)")
      }
    }
    if live != liveCount { violations.append("liveCount is \(liveCount) of \(live)") }
    if sum != bytes { violations.append("bytes is \(bytes) of \(sum)") }
    if index.count != entries.count - free.count { violations.append("the index has others") }
    if !log.isInOrder { violations.append("the log is out of order") }
    return violations
  }
}
