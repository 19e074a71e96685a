import WidgetCore
import WidgetModel

/// What one change costs a reader, among few widgets and among many: `changes(since:)` must cost what
/// changed, not what there is.
///
/// Prints one line for each size: the time of one update with the read that follows it, in
/// nanoseconds, and its ratio to the smallest size, measured round-robin in one run so that the
/// machine's mood meets all sizes alike. The ratio grows with what a look-up in a larger table misses
/// in the processor's caches, and with nothing else.
@main
struct CoreBenchmark {
  static func main() {
    print("1 changed widget among N")
    report(
      [10, 10_000, 1_000_000].map { size in Case(size: size, sample: oneWidget(among: size)) })
    print("1 changed key of a widget with N keys")
    report([10, 10_000].map { size in Case(size: size, sample: oneKey(among: size)) })
    print("a reader that asks for one widget by its id, while another of N changed")
    report([10, 10_000, 1_000_000].map { size in Case(size: size, sample: byID(among: size)) })
    print("an event that a reducer counts, on a widget with N keys")
    report([10, 10_000].map { size in Case(size: size, sample: reduced(among: size)) })
    print(
      "1 changed key of a widget that shows N keys, one binding each, with all that the daemon does"
    )
    report([10, 10_000].map { size in Case(size: size, sample: bound(among: size)) })
    print("the same with 100 keys, watched in its own family and in N others")
    report([0, 1, 3].map { size in Case(size: size, sample: bound(among: 100, families: size)) })
    print("an event of the highest cost at the default limits")
    CostliestEvents.report()
  }

  struct Case {
    let size: Int
    /// Does the work that many times and returns how long it took.
    let sample: (Int) -> Duration
  }

  static let rounds = 15
  static let repetitions = 5_000

  static func report(_ cases: [Case]) {
    var times = [[Double]](repeating: [], count: cases.count)
    for item in cases { _ = item.sample(repetitions) }
    for _ in 0..<rounds {
      for (index, item) in cases.enumerated() {
        let duration = item.sample(repetitions)
        let (seconds, attoseconds) = duration.components
        times[index].append(
          (Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(repetitions))
      }
    }
    let medians = times.map { $0.sorted()[rounds / 2] }
    for (item, median) in zip(cases, medians) {
      let ratio = median / (medians.first ?? median)
      let size = String("\(item.size)".reversed()).padded(to: 9)
      print("  N = \(String(size.reversed()))  \(Int(median)) ns  \(ratio.hundredths)x")
    }
  }

  // MARK: - Cases

  static func oneWidget(among size: Int) -> (Int) -> Duration {
    let stores = Holder(makeStore(widgets: size))
    var value: Int64 = 0
    return { count in
      ContinuousClock().measure {
        for _ in 0..<count {
          value += 1
          let cursor = stores.store.revision
          stores.apply(.update(id(size / 2), WidgetPatch(setData: ["value": .int(value)])))
          stores.expect(changes: 1, since: cursor)
        }
      }
    }
  }

  static func oneKey(among size: Int) -> (Int) -> Duration {
    let stores = Holder(makeStore(widgets: 1))
    let keys = (0..<size).map { ValueMap.Entry(key: "key-\($0)", value: .int(0)) }
    stores.apply(.update(id(0), WidgetPatch(setData: ValueMap(keys))))
    var value: Int64 = 0
    return { count in
      ContinuousClock().measure {
        for _ in 0..<count {
          value += 1
          let cursor = stores.store.revision
          stores.apply(.update(id(0), WidgetPatch(setData: ["key-5": .int(value)])))
          stores.expect(changes: 1, since: cursor)
        }
      }
    }
  }

  static func byID(among size: Int) -> (Int) -> Duration {
    let stores = Holder(makeStore(widgets: size))
    let selector = Selector(ids: [id(0)])
    var value: Int64 = 0
    return { count in
      ContinuousClock().measure {
        for _ in 0..<count {
          value += 1
          let cursor = stores.store.revision
          stores.apply(.update(id(size / 2), WidgetPatch(setData: ["value": .int(value)])))
          stores.expect(changes: 0, since: cursor, selecting: selector)
        }
      }
    }
  }

  static func reduced(among size: Int) -> (Int) -> Duration {
    let stores = Holder(makeStore(widgets: 0))
    guard let name = KindName("counter") else { preconditionFailure("a bad kind") }
    let fields = (0..<size).map {
      Field(name: "key\($0)", type: .int, defaultValue: .int(0))
    }
    let kind = Kind(
      name: name, data: fields,
      reducers: [Reducer(event: "click", assignments: ["key5": "data.key5 + 1"])])
    stores.apply(.applyKinds(KindDeclaration(provider: "benchmark", kinds: [kind])))
    stores.apply(.create(WidgetSpec(id: id(0), kind: name)))
    return { count in
      ContinuousClock().measure {
        for _ in 0..<count {
          let cursor = stores.store.revision
          stores.apply(.sendEvent(EventDraft(widgetID: id(0), name: "click")))
          stores.expect(changes: 1, since: cursor)
        }
      }
    }
  }

  static func bound(among size: Int, families: Int = 0) -> (Int) -> Duration {
    let stores = Holder(makeStore(widgets: 0, isRevocable: true))
    guard let name = KindName("panel") else { preconditionFailure("a bad kind") }
    let fields = (0..<size).map { Field(name: "key\($0)", type: .int, defaultValue: .int(0)) }
    let labels = (0..<size).map {
      NodeTemplate(
        id: "label\($0)", type: .label,
        properties: ["text": Binding("'value ' + string(data.key\($0))")])
    }
    let others = Array([Family.small, .large, .inline].prefix(families))
    // One template for each, as for families that show something else.
    let content = [[]] + others.map { [$0] }
    let kind = Kind(
      name: name, data: fields,
      content: content.map { families in
        ContentTemplate(
          families: families, root: NodeTemplate(id: "top", type: .stack, children: labels))
      })
    stores.apply(.applyKinds(KindDeclaration(provider: "benchmark", kinds: [kind])))
    stores.apply(.create(WidgetSpec(id: id(0), kind: name)))
    stores.store.commitGroup(at: .zero)
    for family in others {
      stores.store.keepContent(of: family)
      _ = stores.store.widget(id(0), taking: .family(family))
    }
    var value: Int64 = 0
    return { count in
      ContinuousClock().measure {
        for _ in 0..<count {
          value += 1
          let cursor = stores.store.revision
          stores.apply(.update(id(0), WidgetPatch(setData: ["key5": .int(value)])))
          stores.store.commitGroup(at: .zero)
          stores.expect(nodes: 1, since: cursor)
          for family in others { stores.expect(nodes: 1, since: cursor, taking: .family(family)) }
        }
      }
    }
  }

  // MARK: - Parts

  /// Owns a store, which cannot be captured by a closure.
  final class Holder {
    var store: WidgetStore
    init(_ store: consuming WidgetStore) { self.store = store }

    func apply(_ command: Command) {
      do {
        _ = try store.apply(command, by: Caller(), at: .epoch)
      } catch {
        preconditionFailure("the benchmark's own command was refused: \(error)")
      }
    }

    /// Reads, and makes sure that what is measured is what is meant.
    func expect(
      changes count: Int, since cursor: Revision, selecting selector: Selector = Selector()
    ) {
      let delta = try? store.changes(since: cursor, selecting: selector)
      precondition(delta?.changes.count == count, "expected \(count) changes")
    }

    /// Reads, and makes sure that so many nodes of one widget changed.
    func expect(
      nodes count: Int, since cursor: Revision, taking content: ContentChoice = .own
    ) {
      guard let delta = try? store.changes(since: cursor, taking: content),
        case .updated(let update)? = delta.changes.first,
        update.content?.setNodes.count == count
      else { preconditionFailure("expected \(count) changed nodes") }
    }
  }

  static func id(_ number: Int) -> WidgetID {
    guard let id = WidgetID("widget-\(number)") else { preconditionFailure("a bad id") }
    return id
  }

  static func makeStore(widgets: Int, isRevocable: Bool = false) -> WidgetStore {
    var limits = StoreLimits()
    limits.widgetsMax = .max
    limits.widgetsPerUIDMax = .max
    limits.stateBytesPerUIDMax = .max
    limits.widgetBytesMax = .max
    limits.keysPerWidgetMax = .max
    limits.kindBytesMax = .max
    limits.contentNodesMax = .max
    limits.contentBytesMax = 1 << 40
    limits.contentBytesPerUIDMax = .max
    limits.contentCostMax = .max
    limits.contentCostPerCommandMax = .max
    var store = WidgetStore(image: StoreImage(epoch: 1), limits: limits, isRevocable: isRevocable)
    guard let kind = KindName("gauge") else { preconditionFailure("a bad kind") }
    for number in 0..<widgets {
      _ = try? store.apply(
        .create(WidgetSpec(id: id(number), kind: kind, data: ["value": .int(0)])), by: Caller(),
        at: .epoch)
    }
    precondition(store.count == widgets)
    return store
  }
}

extension Double {
  /// With two decimals.
  var hundredths: String {
    let value = Int(self * 100 + 0.5)
    return "\(value / 100).\(value % 100 < 10 ? "0" : "")\(value % 100)"
  }
}

extension String {
  fileprivate func padded(to length: Int) -> String {
    self + String(repeating: " ", count: max(0, length - count))
  }
}
