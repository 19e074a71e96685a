import WidgetExpression
public import WidgetModel
import WidgetYAML

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
  /// The mistake for which the user's file is not used; nil if there is none.
  public var mistake: BundleProblem?

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
    guard fields.contains(where: { $0.name == name }) else {
      return "this version has no setting \(name.prefix(64)), so your value \(short) has no "
        + "effect\(BundleDefaults.endOfUndeclared)"
    }
    return "your value \(short) of the setting \(name) has no effect, because "
      + "\(reason.message)\(BundleDefaults.endOfUnfit)"
  }

  private static let endOfUndeclared = "; it stays in \(fileName) for a later version"
  private static let endOfUnfit =
    "; the default holds, and it stays in \(fileName) for a later version"

  /// The part of a problem that names a value which a version does not take: all but the words about
  /// the file. Nil for other problems.
  public static func unusedValue(in problem: String) -> String? {
    [endOfUnfit, endOfUndeclared].first { problem.hasSuffix($0) }
      .map { String(problem.dropLast($0.count)) }
  }

  /// Why a setting does not take a value.
  public struct UnfitSetting: Error, Hashable, Sendable {
    public let message: String
  }

  /// The user's values in the text of `fileName`, also those that no version takes.
  ///
  /// - Throws: the first mistake of the text.
  public static func values(in settings: String) throws(BundleProblem) -> ValueMap {
    guard settings.contains(where: { !$0.isWhitespace }) else {
      throw BundleProblem(line: 1, column: 1, message: "the file is empty, or cannot be read")
    }
    let root: Value
    do throws(JSONReader.Failure) {
      root = try JSONReader.value(of: settings, from: .person)
    } catch {
      let mistake = JSONMistake(error, in: settings)
      // The host reads only a file of this name, so YAML is no way out.
      let comments = "JSON has no comments"
      throw BundleProblem(
        line: mistake.place.line, column: mistake.place.column, message: mistake.message,
        hint: mistake.hint.hasPrefix(comments) ? comments : mistake.hint)
    }
    guard case .map(let map) = root else {
      throw BundleProblem(line: 1, column: 1, message: "this is not a JSON object")
    }
    var values: ValueMap = [:]
    for entry in map.entries {
      do throws(DataDocument.Failure) {
        values[entry.key] = try DataDocument.untagged(entry.value)
      } catch {
        throw BundleProblem(
          line: 1, column: 1, path: entry.key, message: "the value of \(entry.key): \(error)")
      }
    }
    return values
  }

  /// The message about a mistake in the user's file.
  public static func words(about mistake: BundleProblem) -> String {
    "the defaults hold, because the file of settings has a mistake: \(fileName):\(mistake); correct "
      + "it, or remove it and set each value again with `widgetctl bundle set`"
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
    let values: ValueMap
    do throws(BundleProblem) { values = try BundleDefaults.values(in: settings) } catch {
      defaults.mistake = error
      defaults.problems = [BundleDefaults.words(about: error)]
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
