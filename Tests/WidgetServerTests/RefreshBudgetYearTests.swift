import SeededRandom
import Testing
import WidgetCore
import WidgetModel

@testable import WidgetServer

/// A year of RefreshWidgets: bursts of calls for many kinds, crashes, orderly ends and failed
/// writes, in running time. A naive model counts in exact parts of a call. A failure names its seed.
@Suite struct `A year of refresh budgets` {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `the refresh budgets of a year equal the naive model`(seed: UInt64) throws {
    var year = try BudgetYear(seed: seed)
    let violations = year.run()
    #expect(violations.isEmpty, "seed \(seed): \(violations.joined(separator: "\n"))")
    let counts = year.counts
    #expect(counts.taken > 1_000 && counts.refused > 1_000, "\(counts)")
    #expect(counts.crashes > 10 && counts.ends > 10 && counts.failures > 10, "\(counts)")
  }
}

private struct BudgetYear {
  struct Counts {
    var taken = 0
    var refused = 0
    var crashes = 0
    var ends = 0
    var failures = 0
  }

  /// The remaining calls of a kind. A part is 1/3,600 of a call, so `capacity` parts come back each
  /// second.
  private struct Naive {
    let capacity: Int
    var parts: Int
    var time: Int64 = 0
    /// The taken calls of the year.
    var total = 0

    static let call = 3_600
    /// A stored budget has thousandths of a call and whole seconds.
    var slack: Int { capacity + 8 }

    mutating func advance(to now: Int64) {
      parts = min(capacity * Naive.call, parts + Int(now - time) * capacity)
      time = now
    }
  }

  private(set) var counts = Counts()
  private var random: SeededGenerator
  private var budgets = RefreshBudgets()
  private var naive: [KindName: Naive] = [:]
  private let kinds: [KindName]
  private var images: [KindName: RefreshBudgetImage] = [:]
  private var isFailing = false
  /// Running time in seconds, and all time in which a daemon has run.
  private var now: Int64 = 0
  private var elapsed: Int64 = 0
  /// The time of the last write.
  private var storedAt: Int64 = 0

  private static let year: Int64 = 365 * 86_400

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    kinds = try (0..<24).map { try .make("k\($0)") }
    for kind in kinds {
      let capacity = random.pick([1, 2, 7, 16, 60, 600])
      naive[kind] = Naive(capacity: capacity, parts: capacity * Naive.call)
    }
  }

  mutating func run() -> [String] {
    var violations: [String] = []
    while elapsed < Self.year, violations.isEmpty {
      let step = Int64(random.pick([0, 1, 5, 59, 600, 3_599, 3_600, 40_000]))
      (now, elapsed) = (now + step, elapsed + step)
      for kind in kinds { naive[kind]?.advance(to: now) }
      violations += burst()
      store()
      switch random.below(40) {
      case 0: violations += crash()
      case 1: violations += end()
      case 2: isFailing.toggle()
      default: break
      }
    }
    for (kind, model) in naive {
      let most = model.capacity * Naive.call + Int(elapsed) * model.capacity
      if model.total * Naive.call > most {
        violations.append("\(kind) of \(model.capacity): \(model.total) calls in \(elapsed) s")
      }
    }
    return violations
  }

  private var time: RunningTime { RunningTime(elapsed: .seconds(now)) }

  /// Some calls for a kind.
  private mutating func burst() -> [String] {
    let kind = random.pick(kinds)
    guard let before = naive[kind] else { return [] }
    for _ in 0..<random.pick([1, 2, 10, before.capacity + 1]) {
      let parts = naive[kind]?.parts ?? 0
      let isTaken = budgets.take(kind, capacity: before.capacity, at: time)
      // Rounding may decide when exactly a call is back.
      guard isTaken == (parts >= Naive.call) || abs(parts - Naive.call) <= before.slack else {
        return ["at \(now): a call of \(kind) was \(isTaken ? "" : "not ")taken; \(before)"]
      }
      guard isTaken else {
        counts.refused += 1
        continue
      }
      counts.taken += 1
      naive[kind]?.parts = max(0, parts - Naive.call)
      naive[kind]?.total += 1
    }
    return []
  }

  /// Stores the budgets that need it, as the daemon does at the end of a turn.
  private mutating func store() {
    guard budgets.needsStoring else { return }
    let taken = budgets.takeChanges(at: time)
    if isFailing {
      counts.failures += 1
      budgets.storingFailed(taken)
    } else {
      keep(taken)
    }
  }

  private mutating func keep(_ changes: RefreshBudgets.Changes) {
    for kind in changes.deletions { images[kind] = nil }
    for image in changes.upserts { images[image.kind] = image }
    storedAt = now
  }

  /// The process is killed.
  private mutating func crash() -> [String] {
    // Unstored levels are lost, so the model then promises nothing.
    guard !isFailing, !budgets.needsStoring else { return [] }
    counts.crashes += 1
    // The running time of the next process begins at the last write.
    let next = min(now, storedAt + Int64(random.below(Int(now - storedAt) + 1)))
    return reopen(at: next) { $0.capacity / 16 + 2 }
  }

  /// The process ends in an orderly way.
  private mutating func end() -> [String] {
    isFailing = false
    counts.ends += 1
    keep(budgets.takeLastChanges(at: time))
    return reopen(at: now) { _ in 0 }
  }

  /// - Parameter lossMax: The maximum number of calls that a kind may lose.
  private mutating func reopen(at next: Int64, lossMax: (Naive) -> Int) -> [String] {
    var violations: [String] = []
    let lost = Int(now - next)
    budgets = RefreshBudgets(Array(images.values))
    now = next
    for kind in kinds {
      guard var model = naive[kind] else { continue }
      let budget = budgets.budget(
        of: kind, capacity: model.capacity, at: time, clock: .fakeStart)
      // Calls of the lost time do not come back.
      let most = model.parts + model.slack
      let least = model.parts - lossMax(model) * Naive.call - lost * model.capacity - model.slack
      let parts = budget.parts
      if parts > most || parts < least {
        violations.append("at \(now): \(kind) has \(parts) parts, not \(least)...\(most)")
      }
      (model.parts, model.time) = (parts, now)
      naive[kind] = model
    }
    return violations
  }
}

extension RefreshBudget {
  /// The remaining calls, in parts of 1/3,600.
  fileprivate var parts: Int {
    guard let nextTime else { return capacity * 3_600 }
    let missing = nextTime.duration(since: .fakeStart) / .seconds(1) * Double(capacity)
    return (remaining + 1) * 3_600 - Int(missing.rounded())
  }
}
