import WidgetExpression
public import WidgetModel

/// The settings of a bundle: each has a default in the bundle's file, and the user may choose another
/// value. Expressions read them as `defaults.NAME`.
///
/// What the user chose is in a file in the bundle's folder, which moves along to new versions. A value
/// that a new version does not take is passed over, so that an update never breaks a bundle.
public struct BundleDefaults: Sendable {
  /// The file with the user's values, a JSON object.
  public static let fileName = ".settings.json"

  /// In the order of the file.
  public var fields: [Field] = []
  /// The user's values.
  public var chosen: ValueMap = [:]

  /// What of the user's file this version does not take; another version may.
  public var passedOver: ValueMap = [:]
  /// Why.
  public var problems: [String] = []
  /// The user's file is there and is no JSON object.
  public var isUnreadable = false

  /// What holds: the user's value, else the default.
  public var values: ValueMap {
    ValueMap(
      fields.map { .init(key: $0.name, value: chosen[$0.name] ?? $0.defaultValue ?? .null) })
  }

  /// The value as the setting takes it.
  ///
  /// - Throws: what is wrong with it.
  public func fitted(_ value: Value, for name: String) throws(UnfitSetting) -> Value {
    guard let field = fields.first(where: { $0.name == name }) else {
      let names = fields.map(\.name)
      let hint =
        names.isEmpty
        ? "the bundle has no settings"
        : name.closest(among: names).map { "did you mean \"\($0)\"?" }
          ?? "there are \(names.joined(separator: ", "))"
      throw UnfitSetting(message: "there is no setting \"\(name.prefix(64))\"; \(hint)")
    }
    if case .string(let text) = value, field.type != .string,
      let read = Reading.value(of: text, as: field.type)
    {
      return read
    }
    guard let fitted = field.type.fitted(value) else {
      throw UnfitSetting(
        message: "\"\(name)\" takes a value of type \(field.type), not \(value.typeName)")
    }
    return fitted
  }

  /// Why a setting does not take a value.
  public struct UnfitSetting: Error, Hashable, Sendable {
    public let message: String
  }

  var type: ExpressionType { .record(RecordType(fields, isOpen: false)) }
}

extension DocumentReader {
  /// What the bundle declares, with the values that the user chose.
  ///
  /// - Parameter settings: the text of the user's file; nil if there is none.
  func defaults(_ item: Item?, settings: String?) -> BundleDefaults {
    var defaults = BundleDefaults()
    defaults.fields = reading.fields(item, of: "settings", mayBeRequired: false)
    guard let settings else { return defaults }
    guard let root = try? SourceReader.read(settings), case .map(let entries) = root.content else {
      defaults.isUnreadable = true
      defaults.problems = [
        "\(BundleDefaults.fileName) is no JSON object, so the defaults hold; mend it, or remove it and set each "
          + "value again with `widgetctl bundle set`"
      ]
      return defaults
    }
    let quiet = Reading(SourceLines(settings), timeZones: nil)
    for entry in entries {
      let value = quiet.constant(Item(node: entry.value, path: entry.key)) ?? .null
      do throws(BundleDefaults.UnfitSetting) {
        defaults.chosen[entry.key] = try defaults.fitted(value, for: entry.key)
      } catch {
        defaults.passedOver[entry.key] = value
        defaults.problems.append(
          "\(BundleDefaults.fileName): \(error.message); the default holds")
      }
    }
    return defaults
  }
}
