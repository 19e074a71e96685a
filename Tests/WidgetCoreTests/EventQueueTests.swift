import DequeModule
import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The queues of unacknowledged events, with many kinds, against a naive model.
struct EventQueueTests {
  /// The kind of each kept event, by number.
  private struct Model: Equatable {
    var kept: [UInt64: KindName] = [:]
    var lost: [KindName: ClosedRange<UInt64>] = [:]

    var sequences: [UInt64] { kept.keys.sorted() }

    mutating func remove(of kind: KindName, through sequence: UInt64) {
      kept = kept.filter { $0.key > sequence || $0.value != kind }
      guard let range = lost[kind], range.lowerBound <= sequence else { return }
      lost[kind] = range.upperBound > sequence ? (sequence + 1)...range.upperBound : nil
    }

    mutating func trim(countMax: Int) -> Set<KindName> {
      var kinds: Set<KindName> = []
      for sequence in sequences.prefix(max(0, kept.count - countMax)) {
        guard let kind = kept.removeValue(forKey: sequence) else { continue }
        lost[kind] = (lost[kind]?.lowerBound ?? sequence)...sequence
        kinds.insert(kind)
      }
      return kinds
    }
  }

  private enum Inverse {
    case append(KindName)
    case remove(KindName, UnacknowledgedEvents.Removed)
  }

  private func state(of events: UnacknowledgedEvents) -> Model {
    var model = Model()
    for (kind, queue) in events.queues {
      for entry in queue.entries { model.kept[entry.event.sequence] = kind }
      model.lost[kind] = queue.lost
    }
    return model
  }

  @Test(arguments: 1...200 as ClosedRange<UInt64>)
  func `the oldest events of all kinds go first, after any removals and rollbacks`(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    let kinds = (0..<(2 + random.below(20))).compactMap { KindName("k\($0)") }
    let countMax = random.below(12)
    let isBoundByBytes = random.chance(50)
    let widget: WidgetID = "w"
    var events = UnacknowledgedEvents()
    var (model, committed) = (Model(), Model())
    var inverses: [Inverse] = []
    var last: UInt64 = 0
    for step in 0..<300 {
      let kind = random.pick(kinds)
      switch random.below(12) {
      case 0...6:
        last += 1
        // An event without a payload costs 64 bytes.
        events.append(Event(sequence: last, widgetID: widget, name: "click"), of: kind)
        model.kept[last] = kind
        inverses.append(.append(kind))
      case 7, 8:
        let sequence = last - min(last, UInt64(random.below(8)))
        if let removed = events.remove(of: kind, through: sequence) {
          inverses.append(.remove(kind, removed))
        }
        model.remove(of: kind, through: sequence)
      case 9:
        for inverse in inverses.reversed() {
          switch inverse {
          case .append(let kind):
            events.undoAppend(of: kind)
            last -= 1
          case .remove(let kind, let removed): events.undoRemove(of: kind, removed)
          }
        }
        inverses = []
        model = committed
      default:
        events.groupEnded()
        let lossy = events.trim(
          countMax: isBoundByBytes ? .max : countMax,
          bytesMax: isBoundByBytes ? countMax * 64 : .max)
        #expect(lossy == model.trim(countMax: countMax), "seed \(seed), step \(step)")
        // The places of removed events do not pile up.
        #expect(events.order.count <= 2 * events.count, "seed \(seed), step \(step)")
        inverses = []
        committed = model
      }
      #expect(state(of: events) == model, "seed \(seed), step \(step)")
      #expect(events.checkInvariants() == [], "seed \(seed), step \(step)")
    }
  }
}
