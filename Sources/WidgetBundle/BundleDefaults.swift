import WidgetExpression
public import WidgetModel

/// The settings of a bundle: each has a default in the bundle's file, and the user may choose another
/// value. Expressions read them as `defaults.NAME`.
///
/// The user's values are in a file in the bundle's folder, which each new version gets. If a value
/// does not fit a new version, the default holds, so an update never breaks a bundle.
public struct BundleDefaults: Sendable {
  /// The file with the user's values, a JSON object.
  public static let fileName = ".settings.json"

  /// The declared settings, in the order of the file.
  public var fields: [Field] = []
  /// The user's values.
  public var chosen: ValueMap = [:]

  /// The user's values that do not fit this version. Another version may take them.
  public var passedOver: ValueMap = [:]
  /// The reasons, as messages.
  public var problems: [String] = []
  /// Whether the user's file exists but is not a JSON object.
  public var isUnreadable = false

  /// The values in use: the user's value, or else the default.
  public var values: ValueMap {
    ValueMap(
      fields.map { .init(key: $0.name, value: chosen[$0.name] ?? $0.defaultValue ?? .null) })
  }

  /// The value, converted to the type of the setting.
  ///
  /// - Throws: why the setting does not take the value.
  public func fitted(_ value: Value, for name: String) throws(UnfitSetting) -> Value {
    guard let field = fields.first(where: { $0.name == name }) else {
      let names = fields.map(\.name)
      let hint =
        names.isEmpty
        ? "the bundle has no settings"
        : name.closest(among: names).map { "did you mean \"\($0)\"?" }
          ?? "there \(names.count == 1 ? "is" : "are") \(names.joined(separator: ", "))"
      throw UnfitSetting(message: "there is no setting \"\(name.prefix(64))\"; \(hint)")
    }
    var read: Value?
    if case .string(let text) = value, field.type != .string {
      read = Reading.value(of: text, as: field.type)
    }
    guard let fitted = read ?? field.type.fitted(value) else {
      throw UnfitSetting(
        message: "\"\(name)\" takes a value of type \(field.type), not \(value.typeName)")
    }
    guard field.takes(fitted) else {
      throw UnfitSetting(message: "\"\(name)\" takes one of: \(field.choiceWords)")
    }
    return fitted
  }

  /// For each value of a user that this version does not take, a message with the reason.
  public func problems(with settings: ValueMap) -> [String] {
    settings.entries.compactMap { entry -> String? in
      do throws(UnfitSetting) {
        _ = try fitted(entry.value, for: entry.key)
        return nil
      } catch {
        return problem(with: entry.value, of: entry.key, error)
      }
    }
  }

  /// - Parameter reason: why the version does not take the value.
  func problem(with value: Value, of name: String, _ reason: UnfitSetting) -> String {
    let shown = if case .string(let text) = value { text } else { JSONWriter.compact(value) }
    let short = shown.count > 80 ? "\(shown.prefix(80))…" : shown
    let staying = "it stays in \(BundleDefaults.fileName) for a later version"
    guard fields.contains(where: { $0.name == name }) else {
      return "this version has no setting \(name.prefix(64)), so your value \(short) has no "
        + "effect; \(staying)"
    }
    return "your value \(short) of the setting \(name) has no effect, because \(reason.message); "
      + "the default holds, and \(staying)"
  }

  /// Why a setting does not take a value.
  public struct UnfitSetting: Error, Hashable, Sendable {
    public let message: String
  }

  /// The user's values in the text of `fileName`, also those that no version takes. Nil if the text is
  /// not a JSON object.
  public static func values(in settings: String) -> ValueMap? {
    guard let root = try? SourceReader.read(settings), case .map(let entries) = root.content else {
      return nil
    }
    let quiet = Reading(SourceLines(settings), timeZones: nil)
    var values: ValueMap = [:]
    for entry in entries {
      values[entry.key] = quiet.constant(Item(node: entry.value, path: entry.key)) ?? .null
    }
    return values
  }

  var type: ExpressionType { .record(RecordType(fields, isOpen: false)) }
}

extension BundleFileReader {
  /// The declared settings, with the user's values.
  ///
  /// - Parameter settings: the text of the user's file; nil if there is none.
  func defaults(_ item: Item?, settings: String?) -> BundleDefaults {
    var defaults = BundleDefaults()
    defaults.fields = reading.fields(item, of: "settings", mayBeRequired: false)
    guard let settings else { return defaults }
    guard let values = BundleDefaults.values(in: settings) else {
      defaults.isUnreadable = true
      defaults.problems = [
        "\(BundleDefaults.fileName) is not a JSON object, so the defaults hold; correct it, or "
          + "remove it and set each value again with `widgetctl bundle set`"
      ]
      return defaults
    }
    for entry in values.entries {
      do throws(BundleDefaults.UnfitSetting) {
        defaults.chosen[entry.key] = try defaults.fitted(entry.value, for: entry.key)
      } catch {
        defaults.passedOver[entry.key] = entry.value
        defaults.problems.append(defaults.problem(with: entry.value, of: entry.key, error))
      }
    }
    return defaults
  }
}
