import Glibc
import Testing
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

/// The user's file of settings.
extension BundleInstallerTests {
  private static let file = "bundles/desk/.settings.json"

  private func installSettable(_ defaults: String = "{unit: C}") throws {
    var tar = Tar()
    tar.add("bundle.yaml", Texts.bundle("desk") + "defaults: \(defaults)\n")
    _ = try installer.install(bytes: tar.archive, name: "a.tar")
  }

  /// Somebody has moved the folder of the bundle away.
  @Test(arguments: [false, true])
  func `a rollback in the place of a missing folder says where the settings are`(
    hasFormer: Bool
  ) throws {
    try installSettable()
    if hasFormer { try installer.changeSettings(of: "desk", to: ["unit": .string("K")]) }
    try installSettable("{unit: F}")
    try installer.changeSettings(of: "desk", to: ["unit": .string("R")])
    let live = "\(installer.path)/desk"
    try #require(rename(live, "\(scratch.path)/gone") == 0)
    let loss =
      hasFormer
      ? "the new folder has the values of `widgetctl bundle set` that were kept with this version, "
        + "not the latest ones"
      : "the values of `widgetctl bundle set` are not in the new folder"
    #expect(
      try installer.rollback("desk").warnings == [
        "the folder \(live) was missing, so \(loss); if you moved the old folder, copy its "
          + ".settings.json into the new one"
      ])
    let unit: Value = .string(hasFormer ? "K" : "C")
    #expect(try installer.configured("desk").defaults.values["unit"] == unit)
  }

  @Test(arguments: [
    (#"{"unit": "F", "unit": "K"}"#, ".settings.json:1:15: the key \"unit\" appears twice"),
    ("{\n  unit: F\n}", ".settings.json:2:3: "),
    (#"{"unit": "F",}"#, ".settings.json:1:14: "),
    ("{\"unit\": \"F\"}\nmore", ".settings.json:2:1: there is more text after the value"),
    ("{\"unit\": \"F\"} # mine", ".settings.json:1:15: "),
    ("[1]", ".settings.json:1:1: this is not a JSON object"),
    (#"[{"$duration": "soon"}]"#, ".settings.json:1:1: this is not a JSON object"),
    ("", ".settings.json:1:1: the file is empty"),
  ])
  func `a mistake in the file of settings is named with its place, and nothing overwrites it`(
    text: String, words: String
  ) throws {
    try installSettable()
    scratch.write(Self.file, text)
    let defaults = try installer.configured("desk").defaults
    #expect(defaults.values["unit"] == .string("C"))
    #expect(defaults.problems.count == 1)
    #expect(defaults.problems.first?.contains(words) == true, "\(defaults.problems)")
    let bundle = try installer.configured("desk")
    let dropped = installer.droppedSettings(by: bundle)
    #expect(dropped.first?.contains("\(installer.path)/desk/\(words)") == true, "\(dropped)")
    let message = refusal { () throws(BundleInstallerError) in
      try installer.changeSettings(of: "desk", to: ["unit": .string("F")])
    }
    #expect(message.contains(words), "\(message)")
    #expect(scratch.read(Self.file) == text)
  }

  @Test func `a file of settings that is not UTF-8 is refused, and nothing overwrites it`() throws {
    try installSettable()
    var bytes = Array(#"{"unit": "?"}"#.utf8)
    bytes[10] = 0xFF
    scratch.write(Self.file, bytes)
    let message = refusal { () throws(BundleInstallerError) in
      try installer.changeSettings(of: "desk", to: ["unit": .string("F")])
    }
    #expect(message.hasSuffix(".settings.json is not well-formed UTF-8"), "\(message)")
    #expect(scratch.bytes(Self.file) == bytes)
  }

  @Test(
    arguments: [
      (Array("{\"unit\": \"".utf8) + [0xFF], "is not well-formed UTF-8; save it as UTF-8"),
      (Array(repeating: 0x20, count: 70_000), "has more than 65536 bytes; make the file smaller"),
    ] as [([UInt8], String)])
  func `a file of settings that cannot be read is reported, and a removal needs --force`(
    bytes: [UInt8], words: String
  ) throws {
    try installSettable()
    scratch.write(Self.file, bytes)
    let found = try installer.read(bytes: Array(Texts.bundle("desk").utf8), name: "desk.yaml")
    let dropped = installer.droppedSettings(by: found.bundle)
    #expect(dropped.count == 1)
    #expect(dropped.first?.contains("\(scratch.path)/\(Self.file) \(words)") == true, "\(dropped)")
    #expect(installer.hidesSettings(of: "desk"))
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    #expect(message.hasSuffix(", so its values cannot be named"), "\(message)")
    #expect(BundleInstaller.isAboutWrittenFiles(message))
    try installer.remove("desk", force: true)
    #expect(try installer.list().isEmpty)
  }

  @Test(arguments: [
    ("99999999999999999999", "it is outside 64 bits (.settings.json:1:23); write it with a"),
    ("[1e999]", "1e999 is larger than a double can be (.settings.json:1:24); correct it, or set"),
    (#"{"$duration": "soon"}"#, "$duration needs a duration such as 1.5s"),
    (#"{"$note": 1}"#, "$note needs another name"),
  ])
  func `a value with a mistake leaves the other values in force`(
    value: String, words: String
  ) throws {
    try installSettable("{step: C, unit: C}")
    scratch.write(Self.file, #"{"unit": "Ü", "step": \#(value)}"#)
    let defaults = try installer.configured("desk").defaults
    #expect(defaults.values == ["step": .string("C"), "unit": .string("Ü")])
    #expect(defaults.mistake == nil)
    let problem = try #require(defaults.problems.first)
    #expect(defaults.problems.count == 1)
    #expect(
      problem.hasPrefix(
        "your value \(value) of the setting step has no effect, because \(words)"), "\(problem)")
    #expect(problem.hasSuffix(", or set the value again with `widgetctl bundle set`"))
    #expect(problem.ranges(of: ".settings.json").count == 1, "\(problem)")
    #expect(!installer.hidesSettings(of: "desk"))
    #expect(
      installer.chosenSettings(of: "desk") == ["step": .string(value), "unit": .string("Ü")])
    // A change of another value keeps the text.
    try installer.changeSettings(of: "desk", to: ["unit": .string("K")])
    #expect(scratch.read(Self.file) == "{\"unit\":\"K\",\"step\":\(value)}\n")
    try installer.changeSettings(of: "desk", to: ["step": .string("D")])
    #expect(try installer.configured("desk").defaults.problems.isEmpty)
    scratch.write(Self.file, #"{"step": \#(value)}"#)
    try installer.changeSettings(of: "desk", to: [:], unset: ["step"])
    #expect(scratch.read(Self.file) == nil)
  }

  @Test(arguments: [
    ("1", "write a smaller number"), ("1.5", "write it with a fraction, or in quotes"),
  ])
  func `the advice for a number outside 64 bits fits the type of the setting`(
    standard: String, advice: String
  ) throws {
    try installSettable("{step: \(standard)}")
    scratch.write(Self.file, #"{"step": 999999999999999999999}"#)
    let problem = try #require(try installer.configured("desk").defaults.problems.first)
    #expect(
      problem
        == "your value 999999999999999999999 of the setting step has no effect, because it is "
        + "outside 64 bits (.settings.json:1:10); \(advice), or set the value again with "
        + "`widgetctl bundle set`")
  }

  @Test func `settings that nobody could read again are not written`() throws {
    try installSettable()
    func set(_ levels: Int) throws(BundleInstallerError) {
      let value =
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
      try installer.changeSettings(of: "desk") { (_) throws(BundleInstallerError) in
        "{\"unit\":\(value)}"
      }
    }
    try set(63)
    let before = scratch.read(Self.file)
    let message = refusal { () throws(BundleInstallerError) in try set(65) }
    #expect(message.contains("nests deeper than 64 levels"), "\(message)")
    #expect(before != nil)
    #expect(scratch.read(Self.file) == before)
  }

  @Test func `a long value that a version does not take is whole in the answer about its loss`()
    throws
  {
    try installSettable()
    let long = String(repeating: "x", count: 200)
    scratch.write(Self.file, #"{"gone": "\#(long)"}"#)
    let defaults = try installer.configured("desk").defaults
    #expect(defaults.problems.allSatisfy { $0.contains("xx…") })
    let words = "this version has no setting gone, so your value \(long) has no effect"
    #expect(defaults.wholeProblems.compactMap(BundleDefaults.unusedValue(in:)) == [words])
  }

  @Test(arguments: ["=a", "==a", "=", "#f00", "1e3"])
  func `a text stays as it is, also if it would be an expression in a bundle`(text: String) throws {
    try installSettable("{unit: C, step: 1}")
    try installer.changeSettings(of: "desk", to: ["unit": .string(text)])
    // The next change reads and writes the text.
    try installer.changeSettings(of: "desk", to: ["step": .int(2)])
    #expect(
      try installer.configured("desk").defaults.chosen
        == ["unit": .string(text), "step": .int(2)])
  }

  @Test func `a byte order mark is no mistake in the file of settings`() throws {
    try installSettable()
    scratch.write(Self.file, "\u{FEFF}{\"unit\": \"F\"}")
    #expect(try installer.configured("desk").defaults.values["unit"] == .string("F"))
  }

  @Test func `a removal needs --force if nobody can name the settings`() throws {
    try installSettable()
    scratch.write(Self.file, "{\"unit\": \"F\" \"step\": 2}")
    let message = refusal { () throws(BundleInstallerError) in try installer.remove("desk") }
    let words = "desk/.settings.json:1:14: expected , or } in an object, so its values cannot be"
    #expect(message == words + " named")
    #expect(BundleInstaller.isAboutWrittenFiles(message))
    #expect(scratch.read(Self.file) != nil)
    try installer.remove("desk", force: true)
    try installSettable()
    scratch.write(Self.file, "{\"unit\": \"F\"}")
    try installer.remove("desk")
    try installSettable()
    scratch.write(Self.file, "\n")
    try installer.remove("desk")
  }
}
