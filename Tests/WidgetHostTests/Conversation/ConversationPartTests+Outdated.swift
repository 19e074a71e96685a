import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Errors of bundles on widgets that somebody has changed since they were listed.
extension ConversationPartTests {
  private func messages(_ id: WidgetID, _ daemon: NaiveDaemon) -> [String] {
    daemon.widgets[id]?.error?.all.map(\.message) ?? []
  }

  @Test func `a mark does not replace an error that is newer than the listing`() throws {
    let failure = WidgetError(reason: BundleInstance.sourceFailed, message: "no answer")
    let (v, w) = try (widget("v"), widget("w"))
    var daemon = NaiveDaemon()
    for widget in [v, w] { daemon.put(widget.id, widget.kind, set: widget.applySet) }
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    /// Makes the next call. Returns whether there is one.
    func step(at uptime: Duration = .zero) -> Bool {
      guard let made = marks.nextCall(served: [], beside: []) else { return false }
      marks.called(with: call(1))
      let result = daemon.answer(made)
      let line = marks.answered(result, served: [], beside: [], at: uptime, limits)
      return line == nil
    }
    var steps = [step()]
    _ = daemon.answer(.update(v.id, WidgetPatch(error: .some(failure)), provider: "bundle/a"))
    // The changes of both widgets, and a wait.
    steps += [step(), step(), step()]
    #expect(steps == [true, true, true, false])
    #expect(messages(v.id, daemon) == ["no answer"])
    #expect(messages(w.id, daemon) == ["/b/x is missing"])
    let deadline = limits.daemonWait(1)
    #expect(marks.nextDeadline == deadline)
    marks.tick(at: deadline)
    // The listing, and the change of the first widget.
    let further = [step(at: deadline), step(at: deadline), step(at: deadline)]
    #expect(further == [true, true, false])
    #expect(messages(v.id, daemon) == ["/b/x is missing", "no answer"])
    #expect(marks.nextDeadline == deadline + limits.clearedLookInterval)
  }

  @Test func `a widget that changes before each mark is tried again less and less often`() throws {
    let known = try widget("w")
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    var (now, waits) = (Duration.zero, [Duration]())
    for _ in 0..<6 {
      _ = next(&marks)
      _ = marks.answered(
        .success(.listing([known])), served: [], beside: [], at: now, limits)
      _ = next(&marks)
      _ = marks.answered(
        .failure(NaiveDaemon.outdated), served: [], beside: [], at: now, limits)
      let name = next(&marks).name
      let deadline = try #require(marks.nextDeadline)
      #expect(name == "")
      waits.append(deadline - now)
      now = deadline
      marks.tick(at: now)
    }
    var expected = [1, 2, 3, 4].map { limits.daemonWait($0) }
    expected += [limits.clearedLookInterval, limits.clearedLookInterval]
    #expect(waits == expected)
  }

  /// Somebody has cleared the error of the widget, which an instance serves now.
  @Test func `a widget that has changed before it becomes fresh is listed again`() throws {
    var known = try widget("w")
    let served: Set<KindName> = [known.kind]
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    _ = next(&marks)
    answer(.success(.revision(1)), &marks)
    _ = next(&marks)
    known.isStale = true
    _ = marks.set([:])
    _ = marks.follow(served: served, watched: served, beside: [])
    var names: [String] = []
    let results: [Result<DaemonAnswer, Failure>] = [
      .failure(NaiveDaemon.outdated), .success(.revision(2)),
    ]
    for result in results {
      names.append(next(&marks, served: served).name)
      _ = marks.answered(
        .success(.listing([known])), served: served, beside: [], at: .zero, limits)
      names.append(next(&marks, served: served).name)
      _ = marks.answered(result, served: served, beside: [], at: .zero, limits)
      names.append(next(&marks, served: served).name)
      marks.tick(at: limits.daemonWait(1))
    }
    #expect(names == ["widgets", "w", "", "widgets", "w", ""])
  }

  @Test func `the end of a bundle's errors does not clear an error that is newer than the listing`()
    throws
  {
    let missing = WidgetError(reason: BundleInstance.invalid, message: "/b/x is missing")
    let hot = WidgetError(reason: "FAN_FAILED", message: "too hot")
    let guest = try widget("g", set: "mine")
    var daemon = NaiveDaemon()
    daemon.put(guest.id, guest.kind, set: guest.applySet)
    func change(_ errors: [WidgetError]) {
      let error = WidgetError(joining: errors)
      _ = daemon.answer(.update(guest.id, WidgetPatch(error: .some(error)), provider: ""))
    }
    change([missing])
    var unmarks = Unmarks()
    _ = unmarks.begin(HostState.LeftErrors(bundle: "a", path: "/b/x"))
    /// Makes the next call. Returns whether there is one.
    func step() -> Bool {
      guard let (id, made) = unmarks.nextCall(beside: []) else { return false }
      unmarks.called(id, with: call(1))
      let result = daemon.answer(made)
      return unmarks.answered(result, id, at: .zero, limits) == nil
    }
    var steps = [step()]
    change([missing, hot])
    steps += [step(), step()]
    #expect(steps == [true, true, false] && unmarks.nextDeadline == limits.daemonWait(1))
    #expect(messages(guest.id, daemon) == ["/b/x is missing", "too hot"])
    unmarks.tick(at: limits.daemonWait(1))
    let further = [step(), step(), step()]
    #expect(further == [true, true, false] && unmarks.isEmpty)
    #expect(messages(guest.id, daemon) == ["too hot"])
  }

  @Test func `errors of other bundles end while those of one bundle wait for a listing`() throws {
    var guest = try widget("g", set: "mine")
    guest.error = WidgetError(reason: BundleInstance.invalid, message: "/b/a is missing")
    var unmarks = Unmarks()
    for id in ["a", "c"] {
      _ = unmarks.begin(HostState.LeftErrors(bundle: id, path: "/b/\(id)"))
    }
    /// Answers the next call. Returns its bundle.
    func answer(_ result: Result<DaemonAnswer, Failure>) -> String {
      guard let (id, _) = unmarks.nextCall(beside: []) else { return "" }
      unmarks.called(id, with: call(1))
      _ = unmarks.answered(result, id, at: .zero, limits)
      return id
    }
    var ids = [answer(.success(.listing([guest]))), answer(.failure(NaiveDaemon.outdated))]
    let wasIdle = unmarks.isIdle
    ids += [answer(.success(.listing([]))), answer(.success(.listing([])))]
    #expect(ids == ["a", "a", "c", ""])
    // The marks go on, too.
    #expect(!wasIdle && unmarks.isIdle && !unmarks.isEmpty)
    unmarks.tick(at: limits.daemonWait(1))
    let last = [answer(.success(.listing([]))), answer(.success(.listing([])))]
    #expect(last == ["a", ""] && unmarks.isEmpty)
  }
}
