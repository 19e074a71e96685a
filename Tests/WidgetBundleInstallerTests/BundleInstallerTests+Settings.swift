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

  @Test(arguments: [
    (#"{"unit": "F", "unit": "K"}"#, ".settings.json:1:21: the key \"unit\" appears twice"),
    ("{\n  unit: F\n}", ".settings.json:2:3: "),
    (#"{"unit": "F",}"#, ".settings.json:1:14: "),
    ("{\"unit\": \"F\"}\nmore", ".settings.json:2:1: there is more text after the value"),
    ("{\"unit\": \"F\"} # mine", ".settings.json:1:15: "),
    ("[1]", ".settings.json:1:1: this is not a JSON object"),
    (#"{"unit": {"$duration": "soon"}}"#, ".settings.json:1:1: the value of unit: $duration needs"),
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
    #expect(installer.droppedSettings(by: bundle).first?.contains(words) == true)
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
    #expect(message.hasSuffix(": desk/.settings.json"), "\(message)")
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
