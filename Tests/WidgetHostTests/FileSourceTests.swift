import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Files and folders as sources, as values in and values out.
struct FileSourceTests {
  @Test func `a file is read when its widget appears, is watched, and becomes data`() throws {
    var scene = try Scene(
      """
      data: {one: 0.0}
      sources: {load: {file: /etc/load, parse: words, set: {one: 'double(result[0][0])'}}}
      """, permissions: "{read: [/etc]}")
    let file = try need(scene.fileRequest())
    #expect(file.request.path == "/etc/load")
    #expect(scene.fileWatch()?.path == "/etc/load")
    try scene.print(file.id, "0.25 0.5 1/2 3\n")
    #expect(scene["one"] == .double(0.25))
    #expect(scene.status("load") == .string("success"))
  }

  @Test func `a removed file is a failure, and its data has the default again`() throws {
    var scene = try Scene(
      """
      data: {note: {type: string, default: --}}
      sources: {note: {file: "${bundle}/note", set: {note: result}}}
      """)
    let first = try need(scene.fileRequest())
    let watch = try need(scene.fileWatch())
    #expect(watch.path == "/bundles/b/note")
    try scene.print(first.id, "hello\n")
    #expect(scene["note"] == .string("hello"))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    scene.tell(
      .failed(try need(scene.fileRequest()).id, Failure("NOT_FOUND", "there is no file")))
    #expect(scene["note"] == .string("--"))
    #expect(scene.status("note") == .string("failure"))
    #expect(scene.status("note", "code") == .string("NOT_FOUND"))
    #expect(scene.status("note", "title") == .string("Note failed"))
  }

  @Test(arguments: ["", " \n"])
  func `an empty JSON file is a failure, and the data stays`(text: String) throws {
    var scene = try Scene(
      """
      data: {people: []}
      sources: {people: {file: "${bundle}/people.json", set: {people: result}}}
      """)
    try scene.print(scene.fileRequest()?.id, "[1, 2]")
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(try need(scene.fileWatch()).id))
    try scene.print(scene.fileRequest()?.id, text)
    #expect(scene["people"] == .list([.int(1), .int(2)]))
    #expect(scene.status("people") == .string("failure"))
    #expect(
      scene.status("people", "message")
        == .string("/bundles/b/people.json is empty"))
  }

  @Test(arguments: [
    ("file: '${bundle}/f'", "{path: 'a.b[1]'}", "/bundles/b/f has nothing at a.b[1]"),
    ("file: '${bundle}/f'", "{shape: list}", "/bundles/b/f is a map, not a list"),
    ("command: [df]", "{path: 'a.b[1]'}", "the output of df has nothing at a.b[1]"),
    ("command: [df]", "{shape: list}", "the output of df is a map, not a list"),
  ])
  func `a failure of the parsing names the file, or the output of the program`(
    input: String, parse: String, message: String
  ) throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {f: {\(input), parse: \(parse), set: {n: size(result)}}}
      """, permissions: "{commands: [df]}")
    let request = input.hasPrefix("file") ? scene.fileRequest()?.id : scene.program()?.id
    try scene.print(request, #"{"a": {}}"#)
    #expect(scene.status("f", "message") == .string(message))
  }

  @Test func `text in another encoding is a failure that names the file`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", set: {n: result}}}
      """)
    scene.tell(.bytes(try need(scene.fileRequest()).id, [0xFF]))
    #expect(
      scene.status("f", "message")
        == .string("/bundles/b/f is not UTF-8 text; make the source write UTF-8"))
  }

  @Test func `a folder is read, watched, and read again when something in it changes`() throws {
    var scene = try Scene(
      """
      data: {names: []}
      sources: {f: {folder: "${bundle}/x", set: {names: "result.map(e, e.name)"}}}
      """)
    var reading = try need(scene.folderRequest())
    #expect(reading.request.path == "/bundles/b/x" && reading.request.entriesMax == 1_000)
    let watch = try need(scene.fileWatch())
    func entries(_ names: String...) -> Value {
      .list(names.map { .map(["name": .string($0)]) })
    }
    scene.tell(.value(reading.id, entries("a")))
    #expect(scene["names"] == .list([.string("a")]))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    reading = try need(scene.folderRequest())
    scene.tell(.value(reading.id, entries("a", "b")))
    #expect(scene["names"] == .list([.string("a"), .string("b")]))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    let gone = Failure("NOT_FOUND", "there is no folder")
    scene.tell(.failed(try need(scene.folderRequest()).id, gone))
    #expect(scene["names"] == .list([]) && scene.status("f") == .string("failure"))
  }

  @Test func `a folder that permissions do not name is not read`() throws {
    var scene = try Scene(
      """
      data: {path: /etc, names: []}
      sources: {f: {folder: =data.path, set: {names: result}}}
      """, permissions: "{read: [/etcetera]}")
    #expect(scene.folderRequest() == nil)
    #expect(scene.status("f", "code") == .string("PERMISSION_DENIED"))
  }

  @Test func `a file that keeps changing is read at intervals, and after the last change`()
    throws
  {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    try scene.print(scene.fileRequest()?.id, "0")
    var reads = 0
    for round in 1...1_000 {
      scene.pass(.milliseconds(1))
      scene.tell(.fileChanged(watch.id))
      if let read = scene.fileRequest() {
        reads += 1
        try scene.print(read.id, "\(round)")
      }
    }
    scene.pass(.seconds(1))
    let last = try need(scene.fileRequest())
    try scene.print(last.id, "end")
    #expect((5...11).contains(reads))
    #expect(scene["n"] == .string("end"))
    #expect(scene.fileRequest() == nil)
  }

  private static let full = Failure(
    "RESOURCE_EXHAUSTED", "/bundles/b/f cannot be watched", isTransient: true)

  @Test func `a file that cannot be watched is a failure until it is watched`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    try scene.print(scene.fileRequest()?.id, "1")
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    scene.pass(.seconds(1))
    try scene.print(scene.fileRequest()?.id, "2")
    #expect(scene["n"] == .string("2"), "the reading itself works")
    #expect(scene.status("f") == .string("failure"))
    #expect(scene.status("f", "code") == .string("RESOURCE_EXHAUSTED"))
    #expect(scene.widget?.error?.reason == BundleInstance.sourceFailed)
    scene.pass(.seconds(31))
    #expect(scene.widget?.isStale == true)
    // A part of the way is watched, and somebody has changed it.
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    try scene.print(scene.fileRequest()?.id, "3")
    #expect(scene["n"] == .string("3") && scene.status("f") == .string("failure"))
    let reports = scene.taken().compactMap { if case .report(let text) = $0 { text } else { nil } }
    #expect(reports == ["bundle b: widget w: source f: /bundles/b/f cannot be watched"])
    scene.tell(.fileChanged(watch.id))
    scene.pass(.seconds(1))
    try scene.print(scene.fileRequest()?.id, "4")
    #expect(scene["n"] == .string("4") && scene.status("f") == .string("success"))
    #expect(scene.widget?.error == nil && scene.widget?.isStale == false)
    #expect(scene.fileWatch() == nil, "the watch goes on")
  }

  @Test func `a file with every that cannot be watched does not fail, and has one remark`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", every: 10s, set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    try scene.print(scene.fileRequest()?.id, "1")
    for round in 2...4 {
      scene.tell(.unwatched(watch.id, FileSourceTests.full))
      scene.pass(.seconds(10))
      try scene.print(scene.fileRequest()?.id, "\(round)")
      #expect(scene["n"] == .string("\(round)") && scene.status("f") == .string("success"))
    }
    let remark =
      "the host notices changes only at the times of `every`: /bundles/b/f cannot be watched"
    #expect(scene.instance.failures.isEmpty)
    #expect(scene.instance.lateRemarks == ["widget w: source f: \(remark)"])
    let before = scene.instance.summary
    scene.tell(.fileChanged(watch.id))
    #expect(scene.instance.lateRemarks.isEmpty && scene.instance.summary != before)
    let lines = scene.taken().compactMap { effect -> String? in
      switch effect {
      case .report(let text), .note(let text): text
      default: nil
      }
    }
    #expect(
      lines == [
        "bundle b: widget w: source f: \(remark)",
        "bundle b: widget w: source f notices changes at once again",
      ])
  }

  @Test func `a missing file that cannot be watched names both reasons, and is read again`()
    throws
  {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    let gone = Failure("NOT_FOUND", "there is no file")
    scene.tell(.failed(try need(scene.fileRequest()).id, gone))
    scene.pass(.seconds(100))
    #expect(scene.fileRequest() == nil, "the watch tells when it appears")
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    scene.tell(.failed(try need(scene.fileRequest()).id, gone))
    #expect(scene.status("f", "code") == .string("NOT_FOUND"))
    #expect(
      scene.status("f", "message")
        == .string("there is no file; /bundles/b/f cannot be watched"))
    // The file appears, and nobody tells the host.
    scene.pass(.seconds(2))
    try scene.print(scene.fileRequest()?.id, "1")
    #expect(scene["n"] == .string("1"))
    #expect(scene.status("f", "message") == .string("/bundles/b/f cannot be watched"))
    #expect(scene.status("f", "code") == .string("RESOURCE_EXHAUSTED"))
    scene.pass(.seconds(1_000))
    #expect(scene.fileRequest() == nil)
  }

  @Test func `a mistake in a file that cannot be watched ends when the file is mended`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {f: {file: "${bundle}/f", parse: json, set: {n: int(result)}}}
      """)
    let watch = try need(scene.fileWatch())
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    try scene.print(scene.fileRequest()?.id, "{")
    scene.pass(.seconds(2))
    try scene.print(scene.fileRequest()?.id, "{")
    #expect(scene.status("f", "code") == .string("INVALID_ARGUMENT"))
    guard case .string(let message)? = scene.status("f", "message") else {
      Issue.record("no message")
      return
    }
    #expect(message.hasSuffix("; /bundles/b/f cannot be watched"))
    scene.pass(.seconds(2))
    try scene.print(scene.fileRequest()?.id, "7")
    #expect(scene["n"] == .int(7) && scene.status("f", "code") == .string("RESOURCE_EXHAUSTED"))
  }

  @Test func `an optional file that cannot be watched is read again while it is missing`() throws {
    var scene = try Scene(
      """
      data: {n: x}
      sources: {f: {file: "${bundle}/f", optional: true, set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    let gone = Failure("NOT_FOUND", "there is no file")
    for _ in 0..<3 {
      scene.tell(.failed(try need(scene.fileRequest()).id, gone))
      scene.pass(.seconds(4))
    }
    try scene.print(scene.fileRequest()?.id, "1")
    #expect(scene["n"] == .string("1"))
    #expect(scene.status("f", "code") == .string("RESOURCE_EXHAUSTED"))
  }

  @Test func `an optional file that is missing and cannot be watched is a failure`() throws {
    var scene = try Scene(
      """
      data: {n: x}
      sources: {f: {file: "${bundle}/f", optional: true, set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    let gone = Failure("NOT_FOUND", "there is no file")
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    scene.tell(.failed(try need(scene.fileRequest()).id, gone))
    #expect(scene.status("f", "code") == .string("RESOURCE_EXHAUSTED"))
    #expect(scene.instance.failures.count == 1)
    scene.tell(.fileChanged(watch.id))
    scene.pass(.seconds(1))
    scene.tell(.failed(try need(scene.fileRequest()).id, gone))
    #expect(scene.status("f") == .string("missing") && scene.instance.failures.isEmpty)
  }

  @Test func `a source that is turned off has no failure of its watch`() throws {
    var scene = try Scene(
      """
      data: {n: "", live: true}
      sources: {f: {file: "${bundle}/f", when: data.live, set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    scene.tell(.unwatched(watch.id, FileSourceTests.full))
    try scene.print(scene.fileRequest()?.id, "1")
    #expect(scene.instance.failures.count == 1)
    try scene.change { $0.data["live"] = .bool(false) }
    #expect(scene.instance.failures.isEmpty && scene.cancelled() == watch.id)
    try scene.change { $0.data["live"] = .bool(true) }
    try scene.print(scene.fileRequest()?.id, "2")
    #expect(scene.status("f") == .string("success"), "the new watch works")
  }

  @Test func `the kernel's own files are read at intervals and not watched`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: /proc/loadavg, every: 2s, set: {n: result}}}
      """, permissions: "{read: [/proc/loadavg]}")
    #expect(scene.fileWatch() == nil)
    for _ in 0..<3 {
      try scene.print(scene.fileRequest()?.id, "1")
      scene.pass(.seconds(2))
    }
    // The first reading changed the data. Equal values make no change.
    #expect(scene.patches.count == 1)
  }

  @Test(arguments: ["/etc/shadow", "/etc/loads", "/etc/load/../shadow"])
  func `a file that permissions do not name is not read`(path: String) throws {
    var scene = try Scene(
      """
      parameters: {path: {type: string, default: ""}}
      data: {path: "\(path)", n: ""}
      sources: {f: {file: =data.path, set: {n: result}}}
      """, permissions: "{read: [/etc/load]}")
    #expect(scene.fileRequest() == nil)
    #expect(scene.status("f", "code") == .string("PERMISSION_DENIED"))
    guard case .string(let message)? = scene.status("f", "message") else {
      Issue.record("no message")
      return
    }
    #expect(message.contains("permissions.read") && message.contains("\"b\""))
  }
}
