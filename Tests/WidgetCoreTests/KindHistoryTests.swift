import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Random histories of kinds and their widgets.
struct KindHistoryTests {
  /// Random kinds and widgets, with rollbacks and restarts: the store always equals a simple model.
  @Test(arguments: UInt64(1)...60)
  func `random commands leave widgets that fit their kinds`(seed: UInt64) throws {
    var random = KindWorkload(seed: seed)
    var image = StoreImage(epoch: 1)
    var store = Store(image: image)
    for _ in 0..<80 {
      let start = store
      for _ in 0..<(1 + random.rng.below(3)) {
        let command = random.command()
        let before = store.observation(cursors: [0])
        do throws(StoreError) {
          let commit = try store.run(command)
          #expect(commit.isChange == (store.revision != before.revision) || isEvent(command))
        } catch {
          #expect(store.observation(cursors: [0]) == before, "\(seed): \(command)")
        }
      }
      #expect(store.checkInvariants() == [], "\(seed)")
      switch random.rng.below(4) {
      case 0:
        store.rollbackGroup()
        #expect(store.observation(cursors: [0]) == start.observation(cursors: [0]), "\(seed)")
      default:
        image.apply(store.pendingGroup())
        store.commitGroup(at: .at(0))
      }
      if random.rng.below(10) == 0 {
        let restarted = Store(image: image)
        let (new, old) = (
          restarted.observation(cursors: [0]), store.observation(cursors: [0])
        )
        #expect(new.kinds == old.kinds, "\(seed)")
        #expect(new.widgets == old.widgets, "\(seed)")
        #expect(new.usage == old.usage, "\(seed)")
        #expect(new.revision == old.revision, "\(seed)")
        store = restarted
      }
      for widget in store.list(after: nil, limit: .max).widgets {
        guard let kind = store.kind(widget.kind)?.kind, widget.kind != .help else { continue }
        #expect(widget.misfit(kind) == nil, "\(seed): \(widget)")
      }
    }
  }

  private func isEvent(_ command: Command) -> Bool {
    if case .sendEvent = command { true } else { false }
  }
}

/// Random commands about few kinds and few widgets.
private struct KindWorkload {
  var rng: SeededGenerator
  private let names: [KindName] = ["k", "l"]
  private let ids: [WidgetID] = ["a", "b", "h", "i"]
  private let keys = ["x", "y"]
  private let values: [Value] = [.int(1), .double(2), .string("s"), .null, .list([.int(1)])]
  private let types: [FieldType] = [.any, .int, .double, .string, .list(.double)]

  init(seed: UInt64) { rng = SeededGenerator(seed: seed) }

  mutating func command() -> Command {
    switch rng.below(12) {
    case 0..<4:
      .applyKinds(
        KindDeclaration(
          provider: rng.pick(["p", "q"]),
          kinds: names.compactMap { rng.chance(60) ? kind($0) : nil },
          prunes: rng.chance(30), isDryRun: rng.chance(10)))
    case 4: .deleteKind(rng.pick(names), allowMissing: rng.chance(50))
    case 5, 6: .create(spec())
    case 7: .delete(rng.pick(ids))
    case 8:
      .apply(Declaration(widgets: [spec()], prunes: rng.chance(20)))
    case 9: .sendEvent(EventDraft(widgetID: rng.pick(ids), name: "e", payload: map()))
    default:
      .update(
        rng.pick(ids),
        .with {
          $0.setData = map()
          $0.unsetData = rng.some(keys, max: 2)
          $0.setParameters = rng.chance(30) ? map() : [:]
          $0.unsetParameters = rng.some(keys, max: 1)
          $0.replaceData = rng.chance(20)
        })
    }
  }

  private mutating func spec() -> WidgetSpec {
    let id = rng.pick(ids)
    return id == "h"
      ? WidgetSpec(id: id, kind: .help, parameters: ["kind": .string(rng.pick(names).rawValue)])
      : WidgetSpec(id: id, kind: rng.pick(names), parameters: map(), data: map())
  }

  private mutating func map() -> ValueMap {
    ValueMap(rng.some(keys, max: 2).map { .init(key: $0, value: rng.pick(values)) })
  }

  private mutating func kind(_ name: KindName) -> Kind {
    Kind(
      name: name, summary: rng.pick(["", "s"]), parameters: fields(mayBeRequired: true),
      data: fields(mayBeRequired: false), isOpen: rng.chance(20),
      events: rng.chance(20) ? [EventType(name: "e", payload: fields(mayBeRequired: true))] : [])
  }

  private mutating func fields(mayBeRequired: Bool) -> [Field] {
    keys.compactMap { key in
      guard rng.chance(70) else { return nil }
      let type = rng.pick(types)
      var field = Field(name: key, type: type)
      if rng.chance(50) { field.defaultValue = type.fitted(rng.pick(values)) }
      if mayBeRequired, field.defaultValue == nil { field.isRequired = rng.chance(20) }
      return field
    }
  }
}
