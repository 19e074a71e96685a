import Foundation
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// The frames of a watch for its selection.
@Suite struct `A watcher` {
  @Test func `a watcher of an empty store gets the widgets that are created later`() async throws {
    try await withServer { server in
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(selector: Selector(ids: [.make("later")]))
      ).sync()
      #expect(watcher.mirror.widgets.isEmpty)
      #expect(watcher.mirror.revision == 0)
      let client = try server.connect()
      try client.create("other")
      try client.create("later", data: ["n": .int(1)])
      guard case .added(let widget, _)? = try watcher.nextChanges().first else {
        throw TestFault("not added")
      }
      #expect(widget.id.rawValue == "later")
      #expect(widget == (try client.get("later")))
    }
  }

  @Test func `widgets that enter or leave a selector are added or removed`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", labels: ["room": "hall"], data: ["n": .int(1)])
      let selector = Selector(
        labels: [LabelRequirement(key: "room", operator: .isIn, values: ["kitchen"])])
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(selector: selector)).sync()
      #expect(watcher.mirror.widgets.isEmpty)
      try client.patch("a", WidgetPatch(setLabels: ["room": "kitchen"]))
      guard case .added(let widget, _)? = try watcher.nextChanges().first else {
        throw TestFault("not added")
      }
      #expect(widget.data == ["n": .int(1)])
      try client.patch("a", WidgetPatch(unsetLabels: ["room"]))
      guard case .removed(let id, _)? = try watcher.nextChanges().first else {
        throw TestFault("not removed")
      }
      #expect(id == widget.id)
      #expect(watcher.mirror.widgets.isEmpty)
    }
  }

  @Test func `changes outside the read mask send no frame`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", labels: ["x": "y"], data: ["n": .int(1), "m": .int(1)])
      let watcher = try Watcher(
        server.connect(),
        WatchWidgetsRequest(readMask: ReadMask(paths: ["data.n", "presence"]))
      ).sync()
      let id = try WidgetID.make("a")
      #expect(watcher.mirror.widgets[id]?.data == ["n": .int(1)])
      #expect(watcher.mirror.widgets[id]?.labels.isEmpty == true)
      try client.set("a", ["m": .int(2)])
      try client.patch("a", WidgetPatch(setLabels: ["x": "z"]))
      try watcher.catchUp(to: client.stats().revision)
      #expect(watcher.mirror.changeFrames == 0)
      try client.set("a", ["m": .int(3), "n": .int(3)])
      guard case .updated(let update)? = try watcher.nextChanges().first else {
        throw TestFault("not updated")
      }
      #expect(update.setData == ["n": .int(3)])
      #expect(update.labels == nil)
      try client.presence(.hide)
      guard case .updated(let hidden)? = try watcher.nextChanges().first else {
        throw TestFault("not updated")
      }
      #expect(hidden.presence?.isVisible == false)
    }
  }

  @Test func `a mask with an unknown field is refused with the field's name`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let mask = Proto.bytes(2, Proto.bytes(1, Array("nonsense".utf8)))
      for (method, flags) in [("WatchWidgets", .remoteClosed), ("GetWidget", [])]
        as [(String, FrameFlags)]
      {
        let id = method == "GetWidget" ? Proto.bytes(1, Array("a".utf8)) : []
        let status = try client.refusal(method, payload: id + mask, flags: flags)
        #expect(status.code == .invalidArgument)
        #expect(status.fieldViolations.first?.field.hasPrefix("read_mask") == true)
      }
    }
  }

  @Test func `a watcher gets the transition hint of each change`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let watcher = try Watcher(server.connect()).sync()
      let hint = Transition(
        curve: .spring, duration: .milliseconds(250), springResponse: 0.5, springDamping: 0.8)
      try client.create("a", transition: hint)
      guard case .added(_, hint)? = try watcher.nextChanges().first else {
        throw TestFault("no hint for added")
      }
      try client.set("a", ["n": .int(1)], transition: hint)
      guard case .updated(let update)? = try watcher.nextChanges().first else {
        throw TestFault("not updated")
      }
      #expect(update.transition == hint)
      try client.set("a", ["n": .int(2)])
      guard case .updated(let plain)? = try watcher.nextChanges().first else {
        throw TestFault("not updated")
      }
      #expect(plain.transition == nil)
      try client.delete("a", transition: hint)
      guard case .removed(_, hint)? = try watcher.nextChanges().first else {
        throw TestFault("no hint for removed")
      }
    }
  }

  @Test func `a least interval bounds the frames, and loses no change`()
    async throws
  {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let client = try server.connect()
      try client.create("a")
      let interval = Duration.milliseconds(100)
      let clock = ContinuousClock()
      let start = clock.now
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(minInterval: interval)
      ).sync()
      for n in 0..<200 { try client.set("a", ["n": .int(Int64(n))]) }
      while watcher.mirror.revision < 201 { try watcher.step() }
      // On a machine of any speed, at most one frame begins in each interval that has passed.
      let passed = (clock.now - start) / interval
      #expect(Double(watcher.mirror.changeFrames) <= passed + 1)
      #expect(watcher.mirror.widgets.values.first?.data == ["n": .int(199)])
    }
  }

  @Test(arguments: [SliceClock.makeStill, SliceClock.makeOver])
  func `changes within the batch delay come in one frame`(
    makeClock: @escaping @Sendable () -> () -> NIODeadline
  ) async throws {
    try await withServer { server in
      try server.onLoop { $0.context.work.clock = makeClock() }
      let client = try server.connect()
      try client.create("a")
      let delay = Duration.seconds(1)
      let clock = ContinuousClock()
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(batchDelay: delay)).sync()
      let other = try Watcher(server.connect()).sync()
      let start = clock.now
      for n in 0..<3 { try client.set("a", ["n": .int(Int64(n))]) }
      _ = try other.nextChanges()
      _ = try watcher.nextChanges()
      #expect(clock.now - start >= delay)
      // On a machine that takes a second for three changes, a second frame has the rest.
      if watcher.mirror.revision == 4 { #expect(watcher.mirror.changeFrames == 1) }
      #expect(watcher.mirror.changeFrames <= 2)
    }
  }

  @Test(arguments: [false, true])
  func `the effects of an event do not wait for the batch delay`(isPending: Bool) async throws {
    try await withServer { server in
      try server.onLoop { service in
        service.streams.batchDelayMax = .seconds(3_600)
        service.streams.rounds.eventEffectsMax = .hours(1)
      }
      let client = try server.connect()
      try client.create("a")
      let request = WatchWidgetsRequest(batchDelay: .seconds(3_600))
      let watcher = try Watcher(server.connect(), request).sync()
      if isPending {
        // The round that begins the delay is over when another reader has the change.
        let other = try Watcher(server.connect()).sync()
        try client.set("a", ["n": .int(0)])
        _ = try other.nextChanges()
      }
      _ = try client.event("a", force: true)
      try client.set("a", ["n": .int(1)])
      let last: Revision = isPending ? 3 : 2
      while watcher.mirror.revision < last { _ = try watcher.nextChanges() }
      #expect(watcher.mirror.widgets.values.first?.data == ["n": .int(1)])
    }
  }

  @Test func `the longest intervals and deadlines do not overflow`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let ages = Duration.seconds(300_000_000_000)
      try server.onLoop { $0.streams.minIntervalMax = ages }
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(minInterval: ages, progressInterval: ages)
      ).sync()
      #expect(watcher.mirror.widgets.count == 1)
      let stream = try client.watch(timeout: .max)
      guard case .opened? = try stream.next() else { throw TestFault("not opened") }
      #expect(try client.health() == .serving)
      try server.expectHealthy()
    }
  }

  @Test func `an interval that is negative, too short or too long is refused`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let short = try #require(
        try client.watch(WatchWidgetsRequest(progressInterval: .milliseconds(99))).end())
      #expect(short.code == .invalidArgument)
      #expect(short.fieldViolations.map(\.field) == ["progress_interval"])
      for interval in [Duration.milliseconds(-1), .milliseconds(60_001)] {
        let refused = try #require(
          try client.watch(WatchWidgetsRequest(minInterval: interval)).end())
        #expect(refused.fieldViolations.map(\.field) == ["min_interval"])
      }
      for delay in [Duration.milliseconds(-1), .milliseconds(10_001)] {
        let refused = try #require(
          try client.watch(WatchWidgetsRequest(batchDelay: delay)).end())
        #expect(refused.fieldViolations.map(\.field) == ["batch_delay"])
      }
      #expect(try client.stats().subscriptions == 0)
    }
  }

  @Test func `a snapshot larger than a frame comes in frames of bounded size`() async throws {
    let limits = ServerLimits.with { $0.frameBytesTarget = 4_096 }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 500))) { server in
      let client = try server.connect()
      let stream = try client.watch()
      var mirror = Mirror()
      while !mirror.isSynced {
        let frame = try client.nextFrame(on: stream.id)
        #expect(frame.data.readableBytes <= 4_096)
        try mirror.apply(
          client.codec.decode(
            WatchWidgetsResponse.self, from: Array(frame.data.readableBytesView)))
      }
      #expect(mirror.snapshotFrames > 5)
      #expect(try mirror.widgets == client.list().widgets)
    }
  }
}
