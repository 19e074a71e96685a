import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// The errors of problems of bundles on widgets that no instance serves (`Marks`, `Unmarks`).
extension ConversationPartTests {
  func trouble(
    _ path: String = "/b/x", words: String = "/b/x is missing", kinds: Set<KindName> = []
  ) -> BundleTrouble {
    BundleTrouble(
      path: path, words: words, wordsForOthers: "\(words), too", isAbsent: true,
      isRunning: false, kinds: kinds)
  }

  /// Makes the next call of the marks: `owners`, `widgets`, the id of a widget to change, or
  /// nothing.
  func next(
    _ marks: inout Marks, served: Set<KindName> = [], beside held: Set<WidgetID> = []
  ) -> (name: String, patch: WidgetPatch) {
    guard let made = marks.nextCall(served: served, beside: held) else {
      return ("", WidgetPatch())
    }
    marks.called(with: call(1))
    switch made {
    case .update(let id, let patch, "", _): return (id.rawValue, patch)
    case .standing(_, []): return ("owners", WidgetPatch())
    case .errors(let kinds):
      let words = ["widgets"] + kinds.map(\.rawValue)
      return (words.joined(separator: " "), WidgetPatch())
    default: return ("other", WidgetPatch())
    }
  }

  func answer(_ result: Result<DaemonAnswer, Failure>, _ marks: inout Marks) {
    let line = marks.answered(result, served: [], beside: [], at: .zero, limits)
    #expect(line == nil)
  }

  @Test func `a widget that is removed meanwhile does not end the marks of the others`() throws {
    var marks = Marks()
    let cancelled = marks.set(["bundle/a": trouble()])
    var names = [next(&marks).name]
    // The call has no answer.
    names.append(next(&marks).name)
    let known = try [widget("v"), widget("w"), widget("x", set: "bundle/b")]
    answer(.success(.listing(known)), &marks)
    names.append(next(&marks).name)
    answer(.failure(Failure("NOT_FOUND", "there is no widget v")), &marks)
    let (name, patch) = next(&marks)
    answer(.success(.revision(1)), &marks)
    names += [name, next(&marks).name]
    #expect(names == ["widgets", "", "v", "w", ""])
    #expect(cancelled == nil && patch.isStale == true)
    #expect(marks.nextDeadline == limits.clearedLookInterval)
    // Nothing more is to be followed when no bundle has a problem.
    _ = marks.set([:])
    #expect(marks.nextDeadline == nil)
  }

  /// The program of the widget has made it fresh meanwhile.
  @Test func `an error that somebody has cleared is set again, and nothing else changes`() throws {
    var known = try widget("w")
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    let patch = next(&marks).patch
    answer(.success(.revision(1)), &marks)
    var names = [next(&marks).name]
    for isCleared in [false, true] {
      known.error = patch.error ?? nil
      if isCleared { known.error = nil }
      marks.tick(at: try #require(marks.nextDeadline))
      names.append(next(&marks).name)
      answer(.success(.listing([known])), &marks)
      names.append(next(&marks).name)
    }
    #expect(names == ["", "widgets k", "", "widgets k", "w"])
  }

  @Test func `a change that the daemon refuses is not repeated, and others are`() throws {
    var known = try [widget("v"), widget("w")]
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing(known)), &marks)
    var names = [next(&marks).name]
    let line = marks.answered(
      .failure(Failure("PERMISSION_DENIED", "no")), served: [], beside: [], at: .zero, limits)
    let patch = next(&marks).patch
    answer(.success(.revision(1)), &marks)
    names.append(next(&marks).name)
    // Somebody clears the error of `w`, and later changes `v`.
    known[1].isStale = true
    for isChanged in [false, true] {
      if isChanged { known[0].isStale = true }
      marks.tick(at: try #require(marks.nextDeadline))
      names.append(next(&marks).name)
      answer(.success(.listing(known)), &marks)
      for _ in 0..<(isChanged ? 3 : 2) {
        names.append(next(&marks).name)
        answer(.success(.revision(1)), &marks)
      }
    }
    #expect(line == "no" && patch.error != nil)
    #expect(names == ["v", "", "widgets k", "w", "", "widgets k", "v", "w", ""])
  }

  @Test func `a mark shows the widget's own bundle first, and keeps other errors`() throws {
    let kind = try #require(KindName("k"))
    let hot = WidgetError(reason: "FAN_FAILED", message: "too hot")
    let own = trouble("/b/y", words: "/b/y is missing")
    let former = WidgetError(reason: BundleInstance.invalid, message: "/b/x is missing since then")
    var known = try widget("w", set: "bundle/b")
    known.error = WidgetError(joining: [former, hot])
    var marks = Marks()
    /// Returns the messages and the state of the widget.
    func follow() -> [String] {
      if next(&marks).name == "owners" {
        answer(.success(.standing(Circumstances())), &marks)
        _ = next(&marks)
      }
      answer(.success(.listing([known])), &marks)
      let (name, patch) = next(&marks)
      guard name == "w" else { return ["nothing"] }
      if let error = patch.error { known.error = error }
      if let isStale = patch.isStale { known.isStale = isStale }
      answer(.success(.revision(1)), &marks)
      return (known.error?.all.map(\.message) ?? []) + [known.isStale ? "stale" : "fresh"]
    }
    _ = marks.set(["bundle/a": trouble(kinds: [kind]), "bundle/b": own])
    let both = follow()
    #expect(both == ["/b/y is missing", "/b/x is missing, too", "too hot", "stale"])
    _ = marks.lookAgain()
    let again = follow()
    #expect(again == ["nothing"], "the widget has the errors")
    // The bundle of the kind is back, and later the widget's own one.
    _ = marks.set(["bundle/b": own])
    let one = follow()
    #expect(one == ["/b/y is missing", "too hot", "stale"])
    _ = marks.set([:])
    let none = follow()
    #expect(none == ["too hot", "fresh"])
  }

  @Test(arguments: ["bundle/a", "stranger", nil] as [String?])
  func `the problem of a missing bundle is shown on widgets of its kind, unless others have it`(
    owner: String?
  ) throws {
    let kind = try #require(KindName("k"))
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble(kinds: [kind])])
    let question = next(&marks).name
    let kinds = owner.map { [Circumstances.KindStanding(name: kind, provider: $0, revision: 1)] }
    answer(.success(.standing(Circumstances(kinds: Set(kinds ?? [])))), &marks)
    _ = next(&marks)
    var guest = try widget("g", set: "mine")
    // An earlier host has set it.
    guest.error = WidgetError(reason: BundleInstance.invalid, message: "/b/x is missing, too")
    answer(.success(.listing([guest])), &marks)
    let (name, patch) = next(&marks)
    let change = owner == "stranger" ? WidgetPatch(error: .some(nil)) : WidgetPatch(isStale: true)
    #expect(question == "owners" && name == "g" && patch == change)
  }

  @Test func `the kinds that others have stay when a bundle is removed`() throws {
    let (k, j) = (try #require(KindName("k")), try #require(KindName("j")))
    let failure = WidgetError(reason: BundleInstance.sourceFailed, message: "no answer")
    var unmarks = Unmarks()
    _ = unmarks.begin(HostState.LeftErrors(bundle: "a", path: "/b/x", kinds: [j, k]))
    guard case .standing([j, k], [])? = unmarks.nextCall(beside: [])?.call else {
      Issue.record("no question")
      return
    }
    let found = Circumstances(kinds: [.init(name: k, provider: "stranger", revision: 1)])
    _ = unmarks.answered(.success(.standing(found)), "a", at: .zero, limits)
    #expect(unmarks.kinds(of: "a") == [j])
    guard case .errors([])? = unmarks.nextCall(beside: [])?.call else {
      Issue.record("no second question")
      return
    }
    let guests = [("g", j), ("h", k)].compactMap { name, kind in
      WidgetID(name).map { Widget(id: $0, kind: kind, error: failure, applySet: "mine") }
    }
    _ = unmarks.answered(.success(.listing(guests)), "a", at: .zero, limits)
    guard case .update(let id, let patch, _, _)? = unmarks.nextCall(beside: [])?.call else {
      Issue.record("no change")
      return
    }
    #expect(id == guests.first?.id && patch == WidgetPatch(isStale: true, error: .some(nil)))
    let isLast = unmarks.nextCall(beside: []) == nil
    #expect(isLast && unmarks.isEmpty)
  }

  /// The problem ends after the daemon has refused the first change, or has not answered.
  @Test(arguments: [true, false])
  func `a widget that the host has not made stale does not become fresh`(isRefused: Bool) throws {
    var known = try widget("w")
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    _ = next(&marks)
    if isRefused {
      let line = marks.answered(
        .failure(Failure("PERMISSION_DENIED", "no")), served: [], beside: [], at: .zero, limits)
      #expect(line == "no")
    }
    _ = marks.set([:])
    _ = next(&marks)
    // Its program has ended. Without an answer, the problem may be a reason, too.
    known.isStale = true
    answer(.success(.listing([known])), &marks)
    let (name, patch) = next(&marks)
    #expect(name == (isRefused ? "" : "w") && patch.isStale == (isRefused ? nil : false))
  }

  @Test func `a mark leaves room for it among the errors that the daemon takes`() throws {
    var known = try widget("w")
    known.error = WidgetError(
      joining: (1...33).map { WidgetError(reason: "FAN_FAILED", message: "fan \($0)") })
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    let errors = next(&marks).patch.error.flatMap(\.self)?.all
    #expect(errors?.first?.message == "/b/x is missing" && errors?.count == 33)
  }

  /// An instance has made the widget fresh. Later its program ends.
  @Test func `a widget that was fresh meanwhile is not stale because of the problem`() throws {
    var known = try widget("w")
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    _ = next(&marks)
    answer(.success(.revision(1)), &marks)
    _ = marks.lookAgain()
    _ = next(&marks, served: [known.kind])
    let line = marks.answered(
      .success(.listing([known])), served: [known.kind], beside: [], at: .zero, limits)
    _ = marks.set([:])
    _ = next(&marks)
    known.isStale = true
    answer(.success(.listing([known])), &marks)
    let name = next(&marks).name
    #expect(line == nil && name == "")
  }

  @Test func `a widget that an instance serves, or that waits for its removal, gets no mark`()
    throws
  {
    let known = try widget("w")
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    var other = marks
    let served = next(&marks, served: [known.kind]).name
    let held = next(&other, beside: [known.id]).name
    #expect(served == "" && held == "")
    #expect(!marks.isWaiting && !other.isWaiting)
  }

  /// An instance has served the kind of the widget, or the widget has waited for its removal.
  @Test(arguments: [true, false])
  func `a widget that nobody sees to any more gets its mark`(wasServed: Bool) throws {
    let known = try widget("w")
    let (served, held): (Set<KindName>, Set<WidgetID>) =
      wasServed ? ([known.kind], []) : ([], [known.id])
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = marks.follow(served: served, watched: served, beside: held)
    _ = next(&marks, served: served, beside: held)
    let line = marks.answered(
      .success(.listing([known])), served: served, beside: held, at: .zero, limits)
    let before = next(&marks, served: served, beside: held).name
    _ = marks.follow(served: served, watched: served, beside: held)
    #expect(line == nil && before == "" && !marks.isWaiting)
    _ = marks.follow(served: [], watched: [], beside: [])
    let question = next(&marks).name
    answer(.success(.listing([known])), &marks)
    let after = next(&marks).name
    #expect(question == "widgets" && after == "w")
  }

  /// An instance serves the widget when the problem ends. It ends the error by itself.
  @Test(arguments: [true, false])
  func `a widget whose error somebody has cleared is fresh after the problem`(isCleared: Bool)
    throws
  {
    var known = try widget("w")
    let served: Set<KindName> = [known.kind]
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    let patch = next(&marks).patch
    answer(.success(.revision(1)), &marks)
    _ = next(&marks)
    known.isStale = true
    if !isCleared { known.error = patch.error ?? nil }
    _ = marks.set([:])
    _ = marks.follow(served: served, watched: served, beside: [])
    _ = next(&marks, served: served)
    let line = marks.answered(
      .success(.listing([known])), served: served, beside: [], at: .zero, limits)
    let (name, change) = next(&marks, served: served)
    #expect(line == nil && patch.isStale == true && name == (isCleared ? "w" : ""))
    #expect(change == (isCleared ? WidgetPatch(isStale: false) : WidgetPatch()))
  }

  /// The instance makes the widget fresh. Later a user makes it stale.
  @Test func `the marks leave a widget alone that an instance has made fresh`() throws {
    var known = try widget("w")
    let served: Set<KindName> = [known.kind]
    var marks = Marks()
    /// Lists the widgets. Returns the next change.
    func list(_ marks: inout Marks) -> [String] {
      let question = next(&marks, served: served).name
      let line = marks.answered(
        .success(.listing([known])), served: served, beside: [], at: .zero, limits)
      return [question, line ?? next(&marks, served: served).name]
    }
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    let error = next(&marks).patch.error
    answer(.success(.revision(1)), &marks)
    _ = next(&marks)
    (known.isStale, known.error) = (true, error ?? nil)
    // The bundle is about to serve the widget when the problem ends.
    _ = marks.set([:])
    _ = marks.follow(served: served, watched: [], beside: [])
    let early = list(&marks)
    _ = marks.follow(served: served, watched: served, beside: [])
    let watched = list(&marks)
    known.error = nil
    _ = marks.set(["bundle/b": trouble("/b/y", words: "/b/y is missing")])
    _ = marks.follow(served: served, watched: served, beside: [])
    let late = list(&marks)
    #expect(early == ["widgets", ""] && watched == ["widgets", ""] && late == ["widgets", ""])
  }

  /// The bundle of the kind is about to serve the widget, whose error somebody has cleared.
  @Test func `a widget becomes fresh only when an instance watches it`() throws {
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
    var names: [String] = []
    for watched: Set<KindName> in [[], served] {
      _ = marks.follow(served: served, watched: watched, beside: [])
      names.append(next(&marks, served: served).name)
      _ = marks.answered(
        .success(.listing([known])), served: served, beside: [], at: .zero, limits)
      names.append(next(&marks, served: served).name)
    }
    #expect(names == ["widgets", "", "widgets", "w"])
  }

  /// An instance serves a widget that the marks have made stale.
  @Test func `the marks do not repeat a question that the daemon refuses`() throws {
    let known = try widget("w")
    let served: Set<KindName> = [known.kind]
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    _ = next(&marks)
    answer(.success(.revision(1)), &marks)
    _ = next(&marks)
    _ = marks.set([:])
    _ = marks.follow(served: served, watched: served, beside: [])
    let question = next(&marks, served: served).name
    let line = marks.answered(
      .failure(Failure("RESOURCE_EXHAUSTED", "too many")), served: served, beside: [], at: .zero,
      limits)
    _ = marks.follow(served: served, watched: served, beside: [])
    let isWaiting = marks.isWaiting
    #expect(question == "widgets" && line == "too many" && !isWaiting)
  }

  /// The bundle of the kind is about to serve the widget when the problem ends. Then the daemon
  /// refuses the bundle.
  @Test func `the error of a problem that is over ends although the next instance never began`()
    throws
  {
    var known = try widget("w", set: "mine")
    known.error = WidgetError(reason: BundleInstance.invalid, message: "/b/x is missing")
    let served: Set<KindName> = [known.kind]
    var marks = Marks()
    _ = marks.set(["bundle/a": trouble()])
    _ = next(&marks)
    answer(.success(.listing([])), &marks)
    _ = next(&marks)
    _ = marks.set([:])
    _ = marks.follow(served: served, watched: [], beside: [])
    _ = next(&marks, served: served)
    let line = marks.answered(
      .success(.listing([known])), served: served, beside: [], at: .zero, limits)
    let before = next(&marks, served: served).name
    _ = marks.follow(served: [], watched: [], beside: [])
    _ = next(&marks)
    answer(.success(.listing([known])), &marks)
    let (after, patch) = next(&marks)
    answer(.success(.revision(1)), &marks)
    _ = next(&marks)
    #expect(line == nil && before == "" && after == "w")
    #expect(patch == WidgetPatch(error: .some(nil)) && marks.isIdle)
  }

  @Test func `the errors of a removed bundle end on all widgets, also after a failure`() throws {
    func shown(_ id: String) throws -> Widget {
      var shown = try widget(id, set: "mine")
      shown.error = WidgetError(reason: BundleInstance.invalid, message: "/b/x is missing")
      return shown
    }
    var unmarks = Unmarks()
    var number: UInt64 = 1
    #expect(unmarks.begin(HostState.LeftErrors(bundle: "a", path: "/b/x")) == nil)
    func next(beside held: Set<WidgetID> = []) -> DaemonCall? {
      defer { number += 1 }
      guard let (id, made) = unmarks.nextCall(beside: held) else { return nil }
      unmarks.called(id, with: call(number))
      return made
    }
    func updated(_ made: DaemonCall?) -> String? {
      guard case .update(let id, let patch, "", _)? = made else { return nil }
      return patch == WidgetPatch(error: .some(nil)) ? id.rawValue : nil
    }
    let known = try [shown("t"), shown("u"), shown("v"), shown("w"), widget("x")]
    guard case .errors([])? = next() else {
      Issue.record("no question")
      return
    }
    let isUnanswered = next() == nil
    #expect(isUnanswered, "the call has no answer")
    let lost = Failure("UNAVAILABLE", "the daemon is away", isTransient: true)
    _ = unmarks.answered(.failure(lost), "a", at: .zero, limits)
    let isWaiting = next() == nil
    #expect(isWaiting && unmarks.nextDeadline == limits.daemonWait(1))
    unmarks.tick(at: limits.daemonWait(1))
    guard case .errors([])? = next() else {
      Issue.record("no further question")
      return
    }
    _ = unmarks.answered(.success(.listing(known)), "a", at: .zero, limits)
    let first = updated(next())
    _ = unmarks.answered(.failure(Failure("NOT_FOUND", "no t")), "a", at: .zero, limits)
    // The error of a widget that waits for its removal says so.
    let second = updated(next(beside: [known[1].id]))
    _ = unmarks.answered(.success(.revision(1)), "a", at: .zero, limits)
    #expect(first == "t" && second == "v")
    // A bundle with the kind ends the rest by itself.
    unmarks.serve([known[3].kind])
    let isOver = next() == nil
    #expect(isOver && unmarks.nextDeadline == nil)
  }

  @Test func `the errors of two removed bundles on a widget end one after the other`() throws {
    var shown = try widget("w", set: "mine")
    shown.error = WidgetError(
      joining: ["/b/x is missing", "/b/y is missing", "too hot"].map {
        WidgetError(reason: BundleInstance.invalid, message: $0)
      })
    var unmarks = Unmarks()
    _ = unmarks.begin(HostState.LeftErrors(bundle: "b", path: "/b/y"))
    var rounds = 0
    while let (id, made) = unmarks.nextCall(beside: []), rounds < 10 {
      rounds += 1
      unmarks.called(id, with: call(UInt64(rounds)))
      // Another bundle is removed after the first question.
      if rounds == 1 { _ = unmarks.begin(HostState.LeftErrors(bundle: "a", path: "/b/x")) }
      let isUnanswered = unmarks.nextCall(beside: []) == nil
      #expect(isUnanswered, "the call has no answer")
      var answer = DaemonAnswer.listing([shown])
      if case .update(_, let patch, _, _) = made {
        if let error = patch.error { shown.error = error }
        answer = .revision(1)
      }
      _ = unmarks.answered(.success(answer), id, at: .zero, limits)
    }
    #expect(shown.error?.all.map(\.message) == ["too hot"] && unmarks.isEmpty && rounds == 4)
  }
}
