import Foundation
import Testing

@testable import WidgetHost

/// Random histories of the host's conversation with a naive daemon.
///
/// A failure names its seed. `WIDGETD_HOST_SIM_SEED=<seed>` runs that history alone, and
/// `WIDGETD_HOST_SIM_HISTORIES=<number>` says how many to run otherwise.
struct ConversationSimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let batchCount = 8
  private static let stepCount = 16

  private static var historyCount: Int {
    environment["WIDGETD_HOST_SIM_HISTORIES"].flatMap(Int.init) ?? 4_000
  }

  private static var seeds: [UInt64] {
    environment["WIDGETD_HOST_SIM_SEED"].flatMap(UInt64.init).map { [$0] }
      ?? (0..<UInt64(historyCount)).map { $0 &+ 1 }
  }

  @Test(arguments: 0..<batchCount)
  func `after random changes and failures the daemon has the bundles of the folders`(batch: Int)
    throws
  {
    var counts = ConversationSimulation.Counts()
    let choices = try ConversationSimulation.choices()
    let seeds = ConversationSimulationTests.seeds.enumerated().filter {
      $0.offset % ConversationSimulationTests.batchCount == batch
    }
    for (_, seed) in seeds {
      var simulation = ConversationSimulation(seed: seed, choices: choices)
      let violations = simulation.run(steps: ConversationSimulationTests.stepCount)
      counts += simulation.counts
      guard violations.isEmpty else {
        var again = ConversationSimulation(seed: seed, choices: choices, isLogged: true)
        let told = again.run(steps: ConversationSimulationTests.stepCount)
        Issue.record("WIDGETD_HOST_SIM_SEED=\(seed) \(told.joined(separator: "\n"))")
        return
      }
    }
    guard seeds.count > 100 else { return }
    // The simulation must have done these things. Otherwise it proves nothing about them.
    for count in [
      counts.losses, counts.kills, counts.stops, counts.hostRefusals, counts.bundleRefusals,
      counts.reloads, counts.takeOvers, counts.restorations, counts.withdrawals, counts.absences,
    ] {
      #expect(count > seeds.count / 50, "\(counts)")
    }
    // Users set values in every second history, and every second batch has these histories.
    guard batch % 2 == 1 else { return }
    for count in [counts.takings, counts.holds] {
      #expect(count > seeds.count / 50, "\(counts)")
    }
  }
}
