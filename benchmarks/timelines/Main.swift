import Glibc
import WidgetCore
import WidgetModel

/// What a change to the next entry costs the store, among few entries and among many, and what loading and
/// walking many entries costs. `run` reads the lines.
///
/// The dates are spread so that each second one widget goes to its next entry. The two sizes have the same number
/// of widgets, and differ in the entries of each widget. A third case has the entries of the small one in a single
/// widget, which stays in the processor's caches. All cases take turns, so that the load of the machine is the same
/// for all. The figures are CPU time of the thread. A flip is that of the fastest round, because other programs
/// compete for the caches.
@main
struct TimelineBenchmark {
  static let widgets = 1_000
  static let rounds = 15
  static let flipsPerRound = 5_000

  static func main() {
    let cases = [
      FlipCase(entries: 1_000, widgets: widgets), FlipCase(entries: 1_000_000, widgets: widgets),
      FlipCase(entries: 1_000, widgets: 1),
    ]
    var fastest = [Double](repeating: .infinity, count: cases.count)
    for item in cases { _ = item.sample(flipsPerRound) }
    for _ in 0..<rounds {
      for (index, item) in cases.enumerated() {
        let flip = Double(item.sample(flipsPerRound)) / Double(flipsPerRound)
        fastest[index] = min(fastest[index], flip)
      }
    }
    for (item, time) in zip(cases, fastest) {
      print("flip \(item.entries)/\(item.widgets) \(Int(time))")
    }
    walk(entries: 100_000, widgets: 100)
  }

  /// A store whose widgets go to their next entries one after another.
  final class FlipCase {
    let entries: Int
    let widgets: Int
    private var store: WidgetStore
    private var second: Int64 = 0

    init(entries: Int, widgets: Int) {
      self.entries = entries
      self.widgets = widgets
      store = TimelineBenchmark.store(entries: entries, widgets: widgets)
    }

    /// The nanoseconds of so many flips. When all entries were shown, the timelines are set again, which is
    /// not measured.
    func sample(_ count: Int) -> UInt64 {
      var total: UInt64 = 0
      var left = count
      while left > 0 {
        let flips = min(left, entries - Int(second))
        total += TimelineBenchmark.measure {
          for _ in 0..<flips {
            second += 1
            let result = store.advance(to: TimelineBenchmark.time(second))
            precondition(result.isChange && !result.hasMore)
          }
        }
        left -= flips
        guard second == Int64(entries) else { continue }
        second = 0
        store = TimelineBenchmark.store(entries: entries, widgets: widgets)
      }
      return total
    }
  }

  /// Opens a store with so many entries, and shows each of them once.
  static func walk(entries: Int, widgets: Int) {
    let image = image(of: store(entries: entries, widgets: widgets, isRevocable: true))
    var opened: WidgetStore?
    let load = measure {
      opened = WidgetStore(image: image, limits: limits, isRevocable: false)
      _ = opened?.advance(to: time(0))
    }
    guard var store = opened.take() else { preconditionFailure("no store") }
    var flips = 0
    let walk = measure {
      for second in 1...Int64(entries) where store.advance(to: time(second)).isChange { flips += 1 }
    }
    precondition(flips == entries)
    print("load \(entries) \(load)")
    print("walk \(entries) \(walk)")
  }

  // MARK: - Parts

  /// The thread's CPU time in a body, in nanoseconds.
  static func measure(_ body: () -> Void) -> UInt64 {
    let start = now()
    body()
    return now() - start
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  static func time(_ second: Int64) -> Timestamp {
    Timestamp(nanosecondsSinceEpoch: (1_000_000_000 + second) * 1_000_000_000)
  }

  static var limits: StoreLimits {
    var limits = StoreLimits()
    limits.widgetsMax = .max
    limits.widgetsPerUIDMax = .max
    limits.stateBytesPerUIDMax = .max
    limits.widgetBytesMax = .max
    limits.contentBytesPerUIDMax = .max
    limits.declaredWidgetsMax = .max
    return limits
  }

  /// Widgets with entries. In each second from 1 on, one of them goes to its next entry.
  static func store(entries: Int, widgets: Int, isRevocable: Bool = false) -> WidgetStore {
    var store = WidgetStore(
      image: StoreImage(epoch: 1), limits: limits, isRevocable: isRevocable)
    guard let name = KindName("clock") else { preconditionFailure("a bad kind") }
    let kind = Kind(
      name: name,
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label, properties: ["text": Binding("'entry ' + string(entry.n)")]))
      ], entry: [Field(name: "n", type: .int, defaultValue: .int(0))])
    let entriesPerWidget = entries / widgets
    do {
      _ = try store.apply(
        .applyKinds(KindDeclaration(provider: "benchmark", kinds: [kind])), by: Caller(),
        at: time(0))
      for number in 0..<widgets {
        let timeline = Timeline(
          entries: (0..<entriesPerWidget).map { place in
            TimelineEntry(
              date: time(Int64(1 + number + place * widgets)), values: ["n": .int(Int64(place))])
          }, policy: .never)
        _ = try store.apply(
          .create(WidgetSpec(id: WidgetID("w\(number)"), kind: name, timeline: timeline)),
          by: Caller(), at: time(0))
      }
    } catch {
      preconditionFailure("the benchmark's own command was refused: \(error)")
    }
    return store
  }

  /// What a log would have stored.
  private static func image(of store: consuming WidgetStore) -> StoreImage {
    let group = store.pendingGroup()
    return StoreImage(
      epoch: 1, revision: group.revision, records: group.upserts, kinds: group.kindUpserts)
  }
}
