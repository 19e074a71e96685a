import ArgumentParser
import WidgetBundle
import WidgetBundleStore
import WidgetModel

/// `bundle set`: the user's values for the settings of a bundle.
struct BundleSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Show or change the settings of an installed bundle.",
    discussion: """
      Without assignments it lists the settings with their values. A bundle declares its settings \
      under `defaults`. If widgetd-host runs the bundle, a change takes effect at once. New \
      versions of the bundle keep the values. \(Assignment.help)

      Examples:
        widgetctl bundle set weather
        widgetctl bundle set weather unit=F city=='New York'
        widgetctl bundle set weather --unset unit
      """)

  @Argument(help: "The bundle's id.")
  var id: String

  @Argument(
    help: ArgumentHelp("A setting's new value.", valueName: "key=value"),
    transform: parseAssignment)
  var assignments: [Assignment] = []

  @Option(
    help: ArgumentHelp("Go back to the bundle's default; may be repeated.", valueName: "key"))
  var unset: [String] = []

  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let store = try folder.store()
    if !assignments.isEmpty || !unset.isEmpty {
      let values = try assignments.values()
      var refusal: CommandFailure?
      do throws(CommandFailure) {
        try folder.inStore { () throws(BundleStoreError) in
          try store.changeSettings(of: id) { (bundle) throws(BundleStoreError) in
            do throws(CommandFailure) { return try changed(bundle.defaults, values) } catch {
              refusal = error
              throw .refused(error.message, hint: "")
            }
          }
        }
      } catch {
        throw refusal ?? error
      }
      let host = await BundleHost.ask(global)
      if host != .unknown, let problem = host.problem(of: store.path) { BundleText.warn(problem) }
    }
    let bundle = try configured(store)
    for problem in bundle.defaults.problems { BundleText.warn("bundle \(id): \(problem)") }
    show(bundle.defaults)
  }

  private func configured(_ store: BundleStore) throws(CommandFailure) -> Bundle {
    try folder.inStore { () throws(BundleStoreError) in try store.configured(id) }
  }

  /// The new text of the file of settings; nil if all values are defaults again.
  private func changed(
    _ defaults: BundleDefaults, _ values: ValueMap
  ) throws(CommandFailure) -> String? {
    var chosen = defaults.passedOver
    for entry in defaults.chosen.entries { chosen[entry.key] = entry.value }
    for entry in values.entries {
      do throws(BundleDefaults.UnfitSetting) {
        chosen[entry.key] = try defaults.fitted(entry.value, for: entry.key)
      } catch {
        throw CommandFailure(.invalidArgument, "bundle \(id): \(error.message)")
      }
    }
    for key in unset {
      guard chosen[key] != nil || defaults.fields.contains(where: { $0.name == key }) else {
        throw CommandFailure(
          .invalidArgument,
          "bundle \(id): there is no setting \"\(key)\"; "
            + "`\(folder.command("set \(id)"))` lists them")
      }
      chosen[key] = nil
    }
    return chosen.isEmpty ? nil : JSONWriter.compact(.map(chosen)) + "\n"
  }

  private func show(_ defaults: BundleDefaults) {
    let printer = global.session(socketPath: "").printer
    let settings = defaults.fields.map { field in
      Value.map([
        "name": .string(field.name), "value": defaults.values[field.name] ?? .null,
        "default": field.defaultValue ?? .null, "type": .string("\(field.type)"),
        "description": .string(field.summary),
      ])
    }
    printer.print(list: settings, around: { .map(["bundle": .string(id), "settings": $0]) }) {
      guard !settings.isEmpty else { return "bundle \(id) has no settings\n" }
      var table = Table("SETTING", "VALUE", "DEFAULT", "DESCRIPTION")
      for field in defaults.fields {
        table.add(
          .init(field.name), .init(BundleSetCommand.text(defaults.values[field.name])),
          .init(BundleSetCommand.text(field.defaultValue)), .init(field.summary))
      }
      return table.text(width: printer.width, printer.painter)
    }
  }

  private static func text(_ value: Value?) -> String {
    switch value {
    case nil, .null?: "-"
    case .string(let text)?: text
    case .duration(let duration)?: DurationSyntax.seconds(duration)
    case let value?: JSONWriter.compact(value)
    }
  }
}
