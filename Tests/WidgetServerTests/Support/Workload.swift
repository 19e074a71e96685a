import Foundation
import SeededRandom
import WidgetModel
import WidgetProto

/// The seeds that random tests run with. `WIDGETD_TEST_SEED` replaces them, to replay one.
enum Seeds {
  static var all: [UInt64] {
    if let text = ProcessInfo.processInfo.environment["WIDGETD_TEST_SEED"], let seed = UInt64(text)
    {
      return [seed]
    }
    return [1, UInt64.random(in: 1_000..<1_000_000)]
  }
}

/// Everything that can happen to widgets, at random.
enum Workload {
  static func selectors() throws -> [Selector] {
    [
      Selector(),
      Selector(labels: [LabelRequirement(key: "room", operator: .isIn, values: ["a", "b"])]),
      Selector(
        kinds: [try .make("gauge"), try .make("clock")], families: [.medium, .small],
        labels: [LabelRequirement(key: "room", operator: .notIn, values: ["c"])]),
    ]
  }

  /// One call. A refusal because of the state (not found, exists) is part of it.
  static func step(_ client: RawClient, _ random: inout SeededGenerator) throws {
    func id() -> String { "w\(Int.random(in: 0..<320, using: &random))" }
    func rooms() -> String { ["a", "b", "c"].randomElement(using: &random) ?? "a" }
    func value() -> Value {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: .int(.random(in: 0..<9, using: &random))
      case 1: .string(String(repeating: "é", count: .random(in: 0..<60, using: &random)))
      case 2: .list([.bool(true), .null])
      default: .double(.nan)
      }
    }
    do {
      switch Int.random(in: 0..<20, using: &random) {
      case 0, 1:
        try client.create(
          id(), kind: Bool.random(using: &random) ? "gauge" : "other", labels: ["room": rooms()],
          data: ["k1": value()])
      case 2: try client.delete(id())
      case 3:
        try client.presence(
          .toggle, .ids(Array(Set([try WidgetID.make(id()), try .make(id())]))))
      case 4: try client.presence(.hide, .selector(try selectors()[1]))
      case 5:
        let destination: MoveDestination =
          Bool.random(using: &random) ? .first : .after(try .make(id()))
        _ = try client.call(
          "MoveWidget", MoveWidgetRequest(id: .make(id()), destination: destination),
          as: MoveWidgetResponse.self)
      case 6, 7: try client.patch(id(), WidgetPatch(setLabels: ["room": rooms()]))
      case 8: try client.patch(id(), WidgetPatch(unsetData: ["k1", "k2"], unsetLabels: ["room"]))
      case 9:
        try client.patch(
          id(),
          WidgetPatch(
            setData: ["k3": value()], replaceData: true,
            isStale: .some(Bool.random(using: &random))))
      case 10:
        try client.patch(id(), WidgetPatch(error: .some(WidgetError(reason: "BAD", message: "no"))))
      case 11:
        var specs: [WidgetSpec] = []
        for n in 0..<Int.random(in: 1...12, using: &random) {
          specs.append(
            WidgetSpec(
              id: try .make("s\(n)"), kind: try .make("clock"), family: .small,
              labels: ["room": rooms()], data: ["k1": value()]))
        }
        try client.apply(specs, prune: true)
      default:
        try client.set(id(), ["k\(Int.random(in: 0..<4, using: &random))": value()])
      }
    } catch let status as RPCStatus
      where [.notFound, .alreadyExists, .failedPrecondition, .invalidArgument].contains(status.code)
    {}
  }
}
