import Foundation
import Testing

/// Thousands of random histories against the naive model.
///
/// A failure names its seed. `WIDGETD_SIM_SEED=<seed>` runs that history alone, and
/// `WIDGETD_SIM_HISTORIES=<number>` says how many to run otherwise.
struct SimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let batchCount = 8
  private static let stepCount = 40

  private static var historyCount: Int {
    environment["WIDGETD_SIM_HISTORIES"].flatMap(Int.init) ?? 1_200
  }

  private static var seeds: [UInt64] {
    environment["WIDGETD_SIM_SEED"].flatMap(UInt64.init).map { [$0] }
      ?? (0..<UInt64(historyCount)).map { $0 &+ 1 }
  }

  @Test(arguments: 0..<batchCount)
  func `after random commands the store equals the naive model`(batch: Int) throws {
    var counts = Simulation.Counts()
    let seeds = SimulationTests.seeds.enumerated().filter {
      $0.offset % SimulationTests.batchCount == batch
    }
    for (_, seed) in seeds {
      var simulation = try Simulation(seed: seed)
      let violations = simulation.run(steps: SimulationTests.stepCount)
      counts += simulation.counts
      guard violations.isEmpty else {
        Issue.record("WIDGETD_SIM_SEED=\(seed) \(violations.joined(separator: "\n"))")
        return
      }
    }
    guard seeds.count > 100 else { return }
    // The simulation must have done these things. Otherwise it proves nothing about them.
    #expect(counts.commits * 3 > counts.commands)
    for count in [counts.refused, counts.rollbacks, counts.restarts, counts.compactions] {
      #expect(count > seeds.count / 4)
    }
    #expect(counts.reads > seeds.count * 10)
    #expect(counts.themes > seeds.count / 4 && counts.refusedThemes > seeds.count / 10)
    #expect(counts.activities > seeds.count && counts.stale > seeds.count / 4)
    #expect(counts.expired > seeds.count / 10 && counts.dismissed > seeds.count / 10)
    #expect(counts.owned > seeds.count * 5 && counts.kept > seeds.count)
  }
}
