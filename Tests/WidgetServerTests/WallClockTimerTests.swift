import Glibc
import NIOCore
import NIOPosix
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer
@testable import WidgetTimers

/// The timer on the wall clock, and steps of the clock. The kernel reports a step as an error of the
/// timer's read. Tests give the channel this error, because they do not set the machine's clock.
@Suite struct WallClockTimerTests {
  @Test func `a date in the past rings at once`() async throws {
    let alarm = Alarm()
    #expect(try await alarm.set(.earliest))
    await alarm.ring()
  }

  @Test func `a step of the clock rings before the date, and then the timer can be set again`()
    async throws
  {
    let alarm = Alarm()
    let tomorrow = Timestamp.wallClock().advanced(by: .seconds(86_400))
    for _ in 0..<3 {
      #expect(try await alarm.set(tomorrow))
      try await alarm.stepClock()
      await alarm.ring()
    }
    #expect(try await alarm.set(.wallClock()))
    await alarm.ring()
  }

  @Test func `a date that is set directly after a step rings`() async throws {
    let alarm = Alarm()
    #expect(try await alarm.set(.wallClock().advanced(by: .seconds(86_400))))
    let isSet = try await alarm.stepClock(thenSetting: .earliest)
    #expect(isSet)
    await alarm.ring()
    if isSet { await alarm.ring() }
  }

  @Test func `a channel that ends without a step of the clock is not opened again at once`()
    async throws
  {
    let alarm = Alarm()
    let tomorrow = Timestamp.wallClock().advanced(by: .seconds(86_400))
    #expect(try await alarm.set(tomorrow))
    try await alarm.endChannel()
    await alarm.ring()
    for _ in 0..<2 {
      #expect(try await alarm.set(tomorrow) == false, "the system's timer pauses")
    }
    // A plain timer takes its place, once for each date.
    #expect(try await alarm.set(.earliest) == false)
    await alarm.ring()
    #expect(try await alarm.set(nil))
  }

  @Test func `the daemon shows the entries of the new time, in both directions`() async throws {
    let clock = Kind(
      name: try .make("clock-face"),
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label, properties: ["text": Binding("string(entry.date)")]))
      ],
      schedule: EntrySchedule(every: .seconds(60)))
    try await withServer { server in
      let client = try server.connect()
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "test", kinds: [clock]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("c", kind: "clock-face")
      // The daemon wakes only for readers.
      let watcher = try Watcher(server.connect()).sync()
      // Nobody steps beyond the date at which the system's timer rings.
      for hours in [9, 4, 6, 2] {
        let time = Timestamp.wallClock().advanced(by: .seconds(3_600 * hours))
        try server.eventually { $0.time.timer?.channel != nil }
        try server.onLoop { service in
          service.turn.clock = { time }
          service.time.timer?.channel?.pipeline.fireErrorCaught(steppedClock)
        }
        let revision = try server.revision { shown in
          shown <= time && time.duration(since: shown) < .seconds(60)
        }
        try watcher.catchUp(to: revision)
        let shown = try #require(watcher.mirror.widgets[.make("c")]?.timeline?.current?.date)
        #expect(shown <= time && time.duration(since: shown) < .seconds(60))
      }
    }
  }
}

/// The error of a timer's read after the clock was set.
private let steppedClock = IOError(errnoCode: ECANCELED, reason: "read(descriptor:pointer:size:)")

extension TestServer {
  /// Waits until the entry that the widget shows fits; returns the revision then. No call is made,
  /// which would open a turn.
  fileprivate func revision(_ fits: @escaping @Sendable (Timestamp) -> Bool) throws -> Revision {
    let id = try WidgetID.make("c")
    try eventually { service in
      service.context.store.widget(id)?.timeline?.current.map { fits($0.date) } ?? false
    }
    return try onLoop { $0.context.store.revision }
  }
}

/// A timer on an event loop, and its rings.
private final class Alarm: Sendable {
  private let loop = MultiThreadedEventLoopGroup.singleton.next()
  private let timer: NIOLoopBoundBox<WallClockTimer?>
  private let rings: AsyncStream<Void>
  private let bell: AsyncStream<Void>.Continuation

  init() {
    timer = .makeEmptyBox(valueType: WallClockTimer.self, eventLoop: loop)
    (rings, bell) = AsyncStream.makeStream()
  }

  deinit {
    let timer = timer
    loop.execute { timer.value?.close() }
  }

  func set(_ date: Timestamp?) async throws -> Bool {
    let (timer, bell, loop) = (timer, bell, loop)
    return try await loop.submit {
      let made = timer.value ?? WallClockTimer(eventLoop: loop) { bell.yield() }
      timer.value = made
      return made.set(date)
    }.get()
  }

  /// Waits for a ring.
  func ring() async {
    for await _ in rings { return }
  }

  /// What happens when the channel of the timer ends without a step of the clock.
  func endChannel() async throws {
    let timer = timer
    while true {
      let isEnded = try await loop.submit {
        guard let channel = timer.value?.channel else { return false }
        channel.close(promise: nil)
        return true
      }.get()
      if isEnded { return }
    }
  }

  /// What happens when the machine's clock is set. Sets a date before anything else happens.
  @discardableResult
  func stepClock(thenSetting date: Timestamp? = nil) async throws -> Bool {
    let timer = timer
    while true {
      let isSet: Bool? = try await loop.submit {
        // The channel is there soon after the timer.
        guard let made = timer.value, let channel = made.channel else { return nil }
        channel.pipeline.fireErrorCaught(steppedClock)
        return date == nil || made.set(date)
      }.get()
      if let isSet { return isSet }
    }
  }
}
