import Testing
import WidgetModel

@testable import WidgetCore

/// Every limit, exactly at its edge and one beyond it. The tests of events, answers and removals
/// have the limits of these.
struct LimitTests {
  /// The cost of a widget without fields.
  private let base = RecordState.baseCostBytes

  private func quota(_ limit: String, _ maximum: Int) -> StoreError {
    .quotaExceeded(limit: limit, maximum: maximum)
  }

  private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private func isInvalid(_ error: StoreError?, _ field: String) -> Bool {
    if case .invalid(let actual, _) = error { return actual == field }
    return false
  }

  @Test func `the number of all widgets is limited`() throws {
    var store = Store(limits: .with { $0.widgetsMax = 2 })
    try store.create("a", uid: 1)
    try store.create("b", uid: 2)
    let third = Command.create(WidgetSpec(id: "c", kind: "k"))
    #expect(store.refusal(of: third, uid: 3) == quota("widgets_max", 2))
    try store.delete("a")
    try store.run(third)
  }

  @Test func `the number of a user's widgets is limited, and a removal frees room`() throws {
    var store = Store(limits: .with { $0.widgetsPerUIDMax = 2 })
    try store.create("a", uid: 1)
    try store.create("b", uid: 1)
    let third = Command.create(WidgetSpec(id: "c", kind: "k"))
    #expect(store.refusal(of: third, uid: 1) == quota("widgets_per_uid_max", 2))
    #expect(
      store.refusal(
        of: .apply(Declaration(widgets: [WidgetSpec(id: "c", kind: "k")])), uid: 1)
        == quota("widgets_per_uid_max", 2))
    try store.create("other", uid: 2)
    // A deletion frees the owner's quota, whoever the caller is.
    try store.run(.delete("a"), uid: 2)
    try store.run(third, uid: 1)
  }

  @Test func `the bytes of a user are limited, and removed widgets and keys free room`() throws {
    let maximum = 2 * base + 100
    var store = Store(limits: .with { $0.stateBytesPerUIDMax = maximum })
    try store.create("a", uid: 1)
    try store.create("b", uid: 1)
    // A key of 1 byte and text of 83 bytes in a value of 16: 100.
    let exact = WidgetPatch.set(["k": .string(text(83))])
    let over = WidgetPatch.set(["k": .string(text(84))])
    let refused = quota("state_bytes_per_uid_max", maximum)
    #expect(store.refusal(of: .update("a", over), uid: 2) == refused)
    try store.run(.update("a", exact), uid: 2)
    #expect(store.stateBytes == maximum)
    #expect(store.refusal(of: .update("b", .set(["k": .null])), uid: 1) == refused)
    #expect(store.refusal(of: .create(WidgetSpec(id: "c", kind: "k")), uid: 1) == refused)
    try store.create("other", uid: 2)
    try store.run(.update("a", .set([:], unset: ["k"])))
    try store.run(.update("b", exact))
    try store.run(.delete("a"))
    try store.create("c", uid: 1)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the bytes of a widget are limited over data, parameters, labels and error`() throws {
    let maximum = base + 100
    let limits = StoreLimits.with { $0.widgetBytesMax = maximum }
    let refused = quota("widget_bytes_max", maximum)
    let cases: [(WidgetPatch, WidgetPatch)] = [
      (.set(["k": .string(text(83))]), .set(["k": .string(text(84))])),
      (.set(["k": .bytes(.init(repeating: 0, count: 83))]), .set(["kk": .string(text(83))])),
      (
        .with { $0.setParameters = ["k": .string(text(83))] },
        .with { $0.setParameters = ["k": .string(text(84))] }
      ),
      (.with { $0.setLabels = ["k": text(83)] }, .with { $0.setLabels = ["k": text(84)] }),
      (
        .with { $0.error = .some(WidgetError(reason: "R", message: text(99))) },
        .with { $0.error = .some(WidgetError(reason: "R", message: text(100))) }
      ),
    ]
    for (exact, over) in cases {
      var store = try Store(widgets: ["a"], limits: limits)
      #expect(store.refusal(of: .update("a", over)) == refused)
      try store.update("a", exact)
      #expect(store.stateBytes == maximum)
      // A change that does not grow is accepted even at the limit.
      try store.update("a", .with { $0.isStale = true })
      #expect(store.checkInvariants() == [])
    }
    var store = Store(limits: limits)
    let spec = { (count: Int) in
      WidgetSpec(id: "a", kind: "k", data: ["k": .string(text(count))])
    }
    #expect(store.refusal(of: .create(spec(84))) == refused)
    try store.run(.create(spec(83)))
  }

  @Test func `the name of an apply set counts, for new and for adopted widgets`() throws {
    let maximum = base + 10
    let limits = StoreLimits.with { $0.widgetBytesMax = maximum }
    let spec = WidgetSpec(id: "a", kind: "k")
    let declare = { (name: String) in
      Command.apply(Declaration(applySet: name, widgets: [spec]))
    }
    var fresh = Store(limits: limits)
    let refused = StoreError.inWidget(0, of: "a", quota("widget_bytes_max", maximum))
    #expect(fresh.refusal(of: declare(text(11))) == refused)
    try fresh.run(declare(text(10)))
    var adopting = try Store(widgets: ["a"], limits: limits)
    #expect(adopting.refusal(of: declare(text(11))) == refused)
    try adopting.run(declare(text(10)))
    #expect(adopting.stateBytes == maximum)
    #expect(adopting.checkInvariants() == [])
  }

  @Test func `replaced data frees its bytes before the new data is counted`() throws {
    var store = Store(limits: .with { $0.widgetBytesMax = base + 100 })
    try store.create("a", data: ["old": .string(text(81))])
    let patch = WidgetPatch.with {
      $0.setData = ["new": .string(text(81))]
      $0.replaceData = true
    }
    try store.update("a", patch)
    #expect(store.stateBytes == base + 100)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the keys of a widget are limited, separately for data and parameters`() throws {
    var store = Store(limits: .with { $0.keysPerWidgetMax = 2 })
    let two: ValueMap = ["a": .null, "b": .null]
    let three: ValueMap = ["a": .null, "b": .null, "c": .null]
    let refused = quota("keys_per_widget_max", 2)
    #expect(store.refusal(of: .create(WidgetSpec(id: "w", kind: "k", data: three))) == refused)
    #expect(
      store.refusal(of: .create(WidgetSpec(id: "w", kind: "k", parameters: three))) == refused)
    try store.run(.create(WidgetSpec(id: "w", kind: "k", parameters: two, data: two)))
    #expect(store.refusal(of: .update("w", .set(["c": .null]))) == refused)
    #expect(store.refusal(of: .update("w", .with { $0.setParameters = ["c": .null] })) == refused)
    try store.update("w", .set(["c": .null], unset: ["a"]))
    #expect(store.widget("w")?.data.keys == ["b", "c"])
    #expect(store.refusal(of: .update("w", .set(["a": .null]))) == refused)
    try store.unset("w", ["b"])
    try store.set("w", ["a": .null])
  }

  @Test func `the length of keys, parameters, labels and label values is limited`() throws {
    var store = try Store(widgets: ["w"], limits: .with { $0.keyBytesMax = 4 })
    let patches: [(String, (String) -> WidgetPatch)] = [
      ("patch.set_data", { key in .set(ValueMap([.init(key: key, value: .null)])) }),
      (
        "patch.set_parameters",
        { key in .with { $0.setParameters = ValueMap([.init(key: key, value: .null)]) } }
      ),
      ("patch.set_labels", { key in .with { $0.setLabels = Labels([(key, "v")]) } }),
    ]
    for (field, patch) in patches {
      for key in ["", "xxxxx", "xxx\u{E9}"] {
        #expect(isInvalid(store.refusal(of: .update("w", patch(key))), field), "\(field) \(key)")
      }
      try store.update("w", patch("xxxx"))
      try store.update("w", patch("xx\u{E9}"))
    }
    let label = { (value: String) in WidgetPatch.with { $0.setLabels = ["l": value] } }
    #expect(
      isInvalid(store.refusal(of: .update("w", label("xxxxx"))), "patch.set_labels[l]"))
    try store.update("w", label("xxxx"))
    try store.update("w", label(""))
    let spec = WidgetSpec(id: "v", kind: "k", data: ["xxxxx": .null])
    #expect(isInvalid(store.refusal(of: .create(spec)), "widget.data"))
  }

  @Test func `the number of a widget's labels is limited`() throws {
    var store = Store(limits: .with { $0.labelsPerWidgetMax = 2 })
    let three = WidgetSpec(id: "w", kind: "k", labels: ["a": "", "b": "", "c": ""])
    let refused = quota("labels_per_widget_max", 2)
    #expect(store.refusal(of: .create(three)) == refused)
    try store.create("w", labels: ["a": "", "b": ""])
    #expect(store.refusal(of: .update("w", .with { $0.setLabels = ["c": ""] })) == refused)
    #expect(store.refusal(of: .apply(Declaration(widgets: [three]))) == refused)
    try store.update(
      "w",
      .with {
        $0.setLabels = ["c": ""]
        $0.unsetLabels = ["a"]
      })
  }

  @Test func `the depth of lists and maps is limited in data, parameters and payloads`() throws {
    var store = try Store(widgets: ["w"], limits: .with { $0.valueDepthMax = 2 })
    let exact: [Value] = [.list([.list([.int(1)])]), .map(["a": .list([])]), .list([.map([:])])]
    let over: [Value] = [.list([.list([.list([])])]), .map(["a": .list([.map([:])])])]
    for value in over {
      #expect(isInvalid(store.refusal(of: .update("w", .set(["k": value]))), "patch.set_data[k]"))
      let parameter = WidgetPatch.with { $0.setParameters = ["k": value] }
      #expect(isInvalid(store.refusal(of: .update("w", parameter)), "patch.set_parameters[k]"))
      let draft = EventDraft(widgetID: "w", name: "e", payload: ["k": value])
      #expect(isInvalid(store.refusal(of: .sendEvent(draft)), "payload[k]"))
      let spec = WidgetSpec(id: "v", kind: "k", data: ["k": value])
      #expect(isInvalid(store.refusal(of: .create(spec)), "widget.data[k]"))
    }
    for value in exact {
      try store.set("w", ["k": value])
      try store.send("e", to: "w", payload: ["k": value])
    }
  }

  @Test func `the size of an event's payload is limited`() throws {
    var store = try Store(widgets: ["w"], limits: .with { $0.eventPayloadBytesMax = 40 })
    let draft = EventDraft(widgetID: "w", name: "e", payload: ["k": .string(text(24))])
    #expect(store.refusal(of: .sendEvent(draft)) == quota("event_payload_bytes_max", 40))
    try store.send("e", to: "w", payload: ["k": .string(text(23))])
  }

  @Test func `the length of a request id is limited`() throws {
    let store = Store(limits: .with { $0.requestIDBytesMax = 4 })
    #expect(try store.recall(requestID: "xxxx", of: 1, fingerprint: 1, at: .at(0)) == nil)
    do throws(StoreError) {
      _ = try store.recall(requestID: "xxxxx", of: 1, fingerprint: 1, at: .at(0))
      Issue.record("not refused")
    } catch {
      #expect(isInvalid(error, "request_id"))
    }
  }

  @Test func `the number of widgets in a declared set is limited`() throws {
    var store = Store(limits: .with { $0.declaredWidgetsMax = 2 })
    let specs = (["a", "b", "c"] as [WidgetID]).map { WidgetSpec(id: $0, kind: "k") }
    #expect(
      store.refusal(of: .apply(Declaration(widgets: specs)))
        == quota("declared_widgets_max", 2))
    try store.declare(Array(specs.prefix(2)))
  }

  @Test func `a lowered limit removes nothing and refuses new objects`() throws {
    var store = try Store(widgets: ["a", "b", "c"])
    try store.set("a", ["x": .null, "y": .null])
    store.limits.widgetsMax = 1
    store.limits.keysPerWidgetMax = 1
    store.limits.widgetBytesMax = 0
    #expect(store.count == 3)
    #expect(
      store.refusal(of: .create(WidgetSpec(id: "d", kind: "k"))) == quota("widgets_max", 1))
    #expect(store.refusal(of: .update("a", .set(["x": .string("longer")]))) != nil)
    try store.delete("b")
    try store.unset("a", ["x"])
    #expect(store.widget("a")?.data.keys == ["y"])
    #expect(store.checkInvariants() == [])
  }
}
