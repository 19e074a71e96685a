import ArgumentParser
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// `bundle set`: the user's values for the settings of a bundle.
struct BundleSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Show or change the settings of an installed bundle.",
    discussion: """
      Without assignments, the command lists the settings with their values. A bundle declares its \
      settings under `defaults`. If widgetd-host runs the bundle, a change takes effect at once. \
      New versions of the bundle keep the values. \(Assignment.help)

      Examples:
        widgetctl bundle set weather
        widgetctl bundle set weather unit=F city=='New York'
        widgetctl bundle set weather --unset unit
        widgetctl bundle set weather unit=F --remote
      """)

  @Argument(help: "The bundle's id.", completion: bundleCompletion)
  var id: String

  @Argument(
    help: ArgumentHelp("A setting's new value.", valueName: "key=value"),
    transform: parseAssignment)
  var assignments: [Assignment] = []

  @Option(
    help: ArgumentHelp(
      "Reset a setting to the bundle's default; may be repeated.", valueName: "key"))
  var unset: [String] = []

  @OptionGroup var remote: BundleRemoteOptions
  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try remote.validate(folder)
    try refuseContradiction(assignments.keys, unset: unset, "--unset")
  }

  func run() async throws {
    let values = try assignments.values()
    if remote.remote {
      let request = SetBundleDefaultsRequest(id: id, values: values, unset: unset)
      show(try await BundleRemote.set(request, global).settings)
      return
    }
    let installer = try folder.installer()
    if !assignments.isEmpty || !unset.isEmpty {
      try await folder.carryOut(installer, having: id, global) { () throws(BundleInstallerError) in
        try installer.changeSettings(of: id, to: values, unset: unset)
      }
      let host = await BundleHost.ask(global)
      let place = await BundleStanding.folder(of: id, global)
      let rival = BundleStanding.warning(setting: id, in: installer.path, running: place, host)
      if host != .unknown {
        for words in host.warnings(changing: installer.path, rival) { BundleText.warn(words) }
      }
    }
    let defaults = try await folder.carryOut(installer, having: id, global) {
      () throws(BundleInstallerError) in
      try installer.configured(id).defaults
    }
    let path = "\(installer.path)/\(id)/\(BundleDefaults.fileName)"
    let mistake = defaults.mistake.map { BundleDefaults.words(about: $0, of: id, in: path) }
    let problems = mistake.map { [$0] } ?? defaults.problems
    for problem in problems { BundleText.warn("bundle \(id): \(problem)") }
    show(
      defaults.fields.map { field in
        BundleSetting(
          name: field.name, type: "\(field.type)", value: defaults.values[field.name],
          defaultValue: field.defaultValue, summary: field.summary)
      })
  }

  private func show(_ settings: [BundleSetting]) {
    let printer = global.session(socketPath: "").printer
    let documents = settings.map { setting in
      Value.map([
        "name": .string(setting.name), "value": setting.value ?? .null,
        "default": setting.defaultValue ?? .null,
        "type": .string(setting.type), "description": .string(setting.summary),
      ])
    }
    printer.print(list: documents, around: { .map(["bundle": .string(id), "settings": $0]) }) {
      guard !settings.isEmpty else { return "bundle \(id) has no settings\n" }
      var table = Table(
        "SETTING", "VALUE", "DEFAULT", "DESCRIPTION", dispensable: ["DEFAULT", "DESCRIPTION"])
      for setting in settings {
        table.add(
          .init(setting.name), .init(BundleSetCommand.text(setting.value)),
          .init(BundleSetCommand.text(setting.defaultValue)), .init(setting.summary))
      }
      return table.text(width: printer.width, printer.painter)
    }
  }

  static func text(_ value: Value?) -> String {
    switch value {
    case nil, .null?: "-"
    case .string(let text)?: text
    case .duration(let duration)?: DurationSyntax.seconds(duration)
    case let value?: JSONWriter.compact(value)
    }
  }
}
