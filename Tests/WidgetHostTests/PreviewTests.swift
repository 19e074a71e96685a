import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Snapshots of a bundle's kinds: the present content of an instance.
struct PreviewTests {
  /// The previews of a host with one bundle.
  private struct Desk {
    var bundle: BundleInstance
    var previews: Previews
    var now = Duration.zero
    var generation: UInt64 = 100
    var effects: [Effect] = []
    var answers: [UInt64: Result<ValueMap, Failure>] = [:]
    private let kind: KindName

    init(_ body: String, permissions: String = "{}", limits: HostLimits = HostLimits()) throws {
      let scene = try Scene(body, permissions: permissions, limits: limits)
      bundle = scene.instance
      previews = Previews(limits)
      kind = try #require(bundle.bundle.kinds.first?.kind.name)
    }

    private var time: HostTime {
      HostTime(wall: .epoch.advanced(by: now), uptime: now)
    }

    private mutating func take(_ outputs: [Previews.Output]) {
      for output in outputs {
        switch output {
        case .effect(let effect): effects.append(effect)
        case .answer(let question, _, _, let result): answers[question.number] = result
        }
      }
    }

    mutating func ask(
      _ number: UInt64 = 1, _ parameters: ValueMap = [:], uid: UInt32 = 1, isOwner: Bool = true
    ) {
      generation += 1
      let question = SnapshotQuestion(
        number: number, kind: kind, family: .small, parameters: parameters, uid: uid,
        isOwner: isOwner)
      let instance = bundle.preview(generation: generation, seed: 1)
      take(previews.begin(question, in: SessionID(number: 1), of: bundle, instance, at: time))
    }

    mutating func tell(_ input: BundleInput, _ request: RequestID) {
      take(previews.handle(input, generation: request.generation, at: time))
    }

    /// Lets time pass, and fires each timer that was requested meanwhile.
    mutating func pass(_ duration: Duration) {
      let end = now + duration
      while let deadline = previews.nextDeadline, deadline <= end {
        now = max(now, deadline)
        take(previews.tick(at: time))
      }
      now = end
    }

    mutating func stop() { take(previews.stop()) }

    /// The requests for programs, with their arguments, in order.
    var programs: [(id: RequestID, arguments: [String])] {
      effects.compactMap {
        if case .run(let id, let request) = $0 { (id, request.arguments) } else { nil }
      }
    }

    func data(_ number: UInt64 = 1) -> ValueMap? { try? answers[number]?.get() }

    func failure(_ number: UInt64 = 1) -> Failure? {
      if case .failure(let failure)? = answers[number] { failure } else { nil }
    }
  }

  private static let commands = "{commands: [x]}"

  @Test func `a kind without sources is answered at once, with its defaults`() throws {
    var desk = try Desk("{data: {n: 4}, on: {load: {set: {n: 5}}}}")
    desk.ask()
    // Triggers do not fire in a preview.
    #expect(desk.data()?["n"] == .int(4))
    #expect(desk.effects.isEmpty)
    #expect(desk.previews.nextDeadline == nil)
  }

  @Test func `the sources are read with the parameters of the question`() throws {
    var desk = try Desk(
      """
      parameters: {city: Oslo}
      data: {text: "", more: ""}
      sources:
        a: {command: [x, =parameters.city], set: {text: result.trim()}}
        b: {value: '=data.text + "!"', set: {more: result}}
      actions: {act: {do: [{command: [x, act]}]}}
      on: {load: act, a.success: act}
      """, permissions: Self.commands)
    desk.ask(1, ["city": .string("Bergen")])
    desk.ask(2, ["city": .string("Rome")])
    #expect(desk.programs.map(\.arguments) == [["Bergen"], ["Rome"]])
    let requests = desk.programs.map(\.id)
    desk.tell(.bytes(requests[1], Array("hot\n".utf8)), requests[1])
    // The second source follows a moment later, because it reads what the first one sets.
    desk.pass(HostLimits().fileSpacing)
    #expect(desk.data(2)?["text"] == .string("hot"))
    #expect(desk.data(2)?["more"] == .string("hot!"))
    #expect(desk.answers[1] == nil)
    desk.tell(.bytes(requests[0], Array("cold\n".utf8)), requests[0])
    desk.pass(HostLimits().fileSpacing)
    #expect(desk.data(1)?["more"] == .string("cold!"))
    // Only sources are read: no step has run.
    #expect(desk.programs.count == 2)
    #expect(desk.previews.nextDeadline == nil)
  }

  @Test func `a source that fails gives the sample and the reason`() throws {
    var desk = try Desk(
      "{data: {n: 0}, sources: {a: {command: [x], set: {n: result}}}}", permissions: Self.commands)
    desk.ask()
    let request = try #require(desk.programs.first?.id)
    desk.tell(.failed(request, Failure("UNAVAILABLE", "no network")), request)
    #expect(desk.failure()?.code == "UNAVAILABLE")
    #expect(desk.failure()?.message.contains("no network") == true)
  }

  @Test func `the first source that fails ends the snapshot, with its reason`() throws {
    var desk = try Desk(
      """
      data: {n: 0, m: 0}
      sources: {a: {command: [x], set: {n: result}}, b: {command: [x, again], set: {m: result}}}
      """, permissions: Self.commands)
    desk.ask()
    let requests = desk.programs.map(\.id)
    try #require(requests.count == 2)
    desk.tell(.failed(requests[0], Failure("UNAVAILABLE", "no network")), requests[0])
    #expect(desk.failure()?.message.contains("no network") == true)
    #expect(desk.effects.contains(.cancel(requests[1])))
  }

  @Test func `content that shows the failure of a source shows it in the snapshot`() throws {
    var desk = try Desk(
      """
      data: {n: 0, m: ""}
      content: {label: '=status.a.failed ? status.a.message : data.m'}
      sources: {a: {command: [x], set: {n: result}}, b: {command: [x, again], set: {m: result}}}
      """, permissions: Self.commands)
    desk.ask()
    let requests = desk.programs.map(\.id)
    try #require(requests.count == 2)
    desk.tell(.failed(requests[0], Failure("UNAVAILABLE", "no network")), requests[0])
    #expect(desk.answers.isEmpty)
    desk.tell(.bytes(requests[1], Array("2\n".utf8)), requests[1])
    guard case .map(let status)? = desk.data()?["status"], case .map(let source)? = status["a"]
    else {
      Issue.record("the snapshot has no status: \(desk.answers)")
      return
    }
    #expect(source["message"]?.scalarText.contains("no network") == true)
  }

  @Test func `a source without a result in time is ended`() throws {
    var desk = try Desk(
      "{data: {n: 0}, sources: {a: {command: [x], set: {n: result}}}}", permissions: Self.commands)
    desk.ask()
    let request = try #require(desk.programs.first?.id)
    desk.pass(HostLimits().snapshotTimeout)
    #expect(desk.failure()?.code == "DEADLINE_EXCEEDED")
    #expect(desk.effects.contains(.cancel(request)))
    // The late result changes nothing.
    desk.tell(.bytes(request, Array("1".utf8)), request)
    #expect(desk.data() == nil)
  }

  @Test func `a continuous program has given its result after its first line`() throws {
    var desk = try Desk(
      "{data: {n: 0}, sources: {a: {command: [x], lines: true, parse: {format: json}, set: {n: result}}}}",
      permissions: Self.commands)
    desk.ask()
    let request = try #require(desk.programs.first?.id)
    #expect(desk.answers.isEmpty)
    desk.tell(.line(request, Array("7".utf8)), request)
    #expect(desk.data()?["n"] == .int(7))
    #expect(desk.effects.contains(.cancel(request)))
  }

  @Test func `only owners choose the parameters that programs get`() throws {
    var desk = try Desk(
      """
      parameters: {city: Oslo}
      recommendations: {home: {parameters: {city: Bergen}}}
      data: {text: ""}
      sources: {a: {command: [x, =parameters.city], set: {text: result}}}
      """, permissions: Self.commands)
    desk.ask(1, ["city": .string("--output=/tmp/x")], isOwner: false)
    #expect(desk.failure()?.code == "PERMISSION_DENIED")
    #expect(desk.programs.isEmpty)
    // The defaults, a recommendation, and the parameters of a widget.
    desk.ask(2, ["city": .string("Oslo")], isOwner: false)
    desk.ask(3, ["city": .string("Bergen")], isOwner: false)
    desk.ask(4, [:], isOwner: false)
    #expect(desk.programs.map(\.arguments).prefix(2) == [["Oslo"], ["Bergen"]])
    #expect(desk.failure(4)?.code != "PERMISSION_DENIED")
  }

  @Test func `snapshots have limits for all callers, and lower ones for non-owners`() throws {
    var limits = HostLimits()
    (limits.snapshotsMax, limits.snapshotsBurst) = (2, 3)
    var desk = try Desk(
      "{data: {n: 0}, sources: {a: {command: [x], set: {n: result}}}}", permissions: Self.commands,
      limits: limits)
    for number in 1...3 { desk.ask(UInt64(number)) }
    #expect(desk.failure(3)?.code == "RESOURCE_EXHAUSTED")
    desk.stop()
    #expect(desk.failure(1)?.code == "ABORTED")
    // One of the two places is reserved for owners.
    for number in 21...22 { desk.ask(UInt64(number), isOwner: false) }
    #expect(desk.answers[21] == nil && desk.failure(22)?.code == "RESOURCE_EXHAUSTED")
    desk.ask(23)
    #expect(desk.answers[23] == nil)
    desk.stop()
    desk.pass(.seconds(3))
    for number in 4...7 {
      desk.ask(UInt64(number), isOwner: false)
      desk.stop()
    }
    #expect(desk.failure(6)?.code == "ABORTED")
    #expect(desk.failure(7)?.code == "RESOURCE_EXHAUSTED")
    desk.pass(.seconds(1))
    desk.ask(8, isOwner: false)
    #expect(desk.answers[8] == nil)
  }

  @Test func `a user who asks for many snapshots leaves other users their quota and their places`()
    throws
  {
    var limits = HostLimits()
    (limits.snapshotsMax, limits.snapshotsBurst) = (8, 3)
    var desk = try Desk(
      "{data: {n: 0}, sources: {a: {command: [x], set: {n: result}}}}", permissions: Self.commands,
      limits: limits)
    // One user has two of the four places.
    for number in 1...3 { desk.ask(UInt64(number), uid: 1, isOwner: false) }
    desk.ask(4, uid: 2, isOwner: false)
    #expect(desk.answers[2] == nil && desk.failure(3)?.code == "RESOURCE_EXHAUSTED")
    #expect(desk.answers[4] == nil)
    desk.stop()
    for number in 11...12 {
      desk.ask(UInt64(number), uid: 1, isOwner: false)
      desk.stop()
    }
    #expect(desk.failure(11)?.code == "ABORTED")
    #expect(desk.failure(12)?.message == "too many snapshots were made; try again later")
    desk.ask(13, uid: 2, isOwner: false)
    #expect(desk.answers[13] == nil)
  }

  @Test func `many users together have a quota for snapshots`() throws {
    var limits = HostLimits()
    (limits.snapshotsBurst, limits.snapshotsUsersMax) = (1, 2)
    var desk = try Desk(
      "{data: {n: 0}, sources: {a: {command: [x], set: {n: result}}}}", permissions: Self.commands,
      limits: limits)
    for user in 1...100 {
      desk.ask(UInt64(user), uid: UInt32(user), isOwner: false)
      desk.stop()
    }
    let made = desk.answers.keys.filter { desk.failure($0)?.code == "ABORTED" }
    #expect(made.count == FairAllowance<UInt32>.sharersMax + 1)
  }
}
