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
  /// The content of the user's file. Nil if there is none, or if it has a mistake.
  public var written: UserSettings?
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
          ?? (names.count == 1 ? "the only setting is " : "the settings are ")
          + names.joined(separator: ", ")
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

  /// A message with the reason for each value of a user that has no effect.
  ///
  /// - Parameter isWhole: whether the messages have the whole values. Otherwise, long values are
  ///   cut.
  public func problems(with settings: UserSettings, isWhole: Bool = false) -> [String] {
    var problems: [String] = []
    for entry in settings.values.entries {
      do throws(UnfitSetting) { _ = try fitted(entry.value, for: entry.key) } catch {
        problems.append(problem(with: entry.value, of: entry.key, error, isWhole: isWhole))
      }
    }
    for value in settings.unreadable {
      problems.append(problem(with: value, isWhole: isWhole))
    }
    return problems
  }

  /// The message about a value with a mistake. It names the value once, also if the mistake is in
  /// the value as a whole.
  private func problem(with value: UserSettings.Unreadable, isWhole: Bool) -> String {
    let mistake = value.mistake
    let parts = mistake.message.split(separator: "; ", maxSplits: 1).map(String.init)
    var advice = parts.count > 1 ? parts[1] : "correct it"
    if advice == JSONReader.outsideAdvice,
      fields.first(where: { $0.name == value.name })?.type == .int
    {
      // An int takes neither a fraction nor a text.
      advice = "write a smaller number"
    }
    var reason = parts.first ?? mistake.message
    let start = "\(JSONReader.shown(value.text)) is "
    if reason.hasPrefix(start) { reason = "it is \(reason.dropFirst(start.count))" }
    return "your value \(BundleDefaults.shown(value.text, isWhole: isWhole)) of the setting "
      + "\(value.name.prefix(64)) has no effect, because \(reason)"
      + "\(BundleDefaults.startOfPlace)\(mistake.line):\(mistake.column)); \(advice)"
      + BundleDefaults.endOfUnreadable
  }

  /// The problems with whole values, for an answer about values that will be deleted.
  public var wholeProblems: [String] {
    written.map { problems(with: $0, isWhole: true) } ?? problems
  }

  /// - Parameter reason: why the version does not take the value.
  private func problem(
    with value: Value, of name: String, _ reason: UnfitSetting, isWhole: Bool
  ) -> String {
    let text = if case .string(let text) = value { text } else { JSONWriter.compact(value) }
    let shown = BundleDefaults.shown(text, isWhole: isWhole)
    guard fields.contains(where: { $0.name == name }) else {
      return "this version has no setting \(name.prefix(64)), so your value \(shown) has no "
        + "effect\(BundleDefaults.endOfUndeclared)"
    }
    let start = "\"\(name)\" takes "
    let words =
      reason.message.hasPrefix(start)
      ? "the setting takes \(reason.message.dropFirst(start.count))" : reason.message
    return "your value \(shown) of the setting \(name) has no effect, because "
      + "\(words)\(BundleDefaults.endOfUnfit)"
  }

  private static func shown(_ text: String, isWhole: Bool) -> String {
    isWhole || text.utf8.count <= 80 ? text : "\(text.prefix(80))…"
  }

  private static let endOfUndeclared = "; the value stays in \(fileName) for a later version"
  private static let endOfUnfit =
    "; the default holds, and the value stays in \(fileName) for a later version"
  private static let endOfUnreadable = ", or set the value again with `widgetctl bundle set`"
  private static let startOfPlace = " (\(fileName):"

  /// The problem without the next step and without the words about the file's later use. Nil if the
  /// problem is not about one value.
  public static func unusedValue(in problem: String) -> String? {
    if problem.hasSuffix(endOfUnreadable), let advice = problem.ranges(of: "); ").last {
      return String(problem[..<advice.lowerBound]) + ")"
    }
    return [endOfUnfit, endOfUndeclared].first { problem.hasSuffix($0) }
      .map { String(problem.dropLast($0.count)) }
  }

  /// Such a problem after the deletion of its value: `step = 7 (it had no effect: …)`. Nil if the
  /// problem has other words.
  ///
  /// - Parameter problem: see `unusedValue`.
  public static func deletedValue(in problem: String) -> String? {
    let (undeclared, unfit, end) = ("this version has no setting ", "your value ", " has no effect")
    if problem.hasPrefix(undeclared), problem.hasSuffix(end),
      let middle = problem.firstRange(of: ", so \(unfit)")
    {
      let name = problem[..<middle.lowerBound].dropFirst(undeclared.count)
      let value = problem[middle.upperBound...].dropLast(end.count)
      return "\(name) = \(value) (it had no effect: the version had no such setting)"
    }
    guard problem.hasPrefix(unfit), let middle = problem.firstRange(of: " of the setting "),
      case let rest = problem[middle.upperBound...],
      let because = rest.firstRange(of: "\(end), because ")
    else { return nil }
    let value = problem[..<middle.lowerBound].dropFirst(unfit.count)
    var reason = rest[because.upperBound...]
    // The place is of no use for a deleted value.
    if let place = reason.ranges(of: startOfPlace).last { reason = reason[..<place.lowerBound] }
    if reason.hasPrefix("it is ") { reason = reason.dropFirst("it is ".count) }
    return "\(rest[..<because.lowerBound]) = \(value) (it had no effect: \(reason))"
  }

  /// Why a setting does not take a value.
  public struct UnfitSetting: Error, Hashable, Sendable {
    public let message: String
  }

  /// The message about a mistake for which the user's file is not used.
  ///
  /// - Parameters:
  ///   - bundle: the bundle's id.
  ///   - path: of the file.
  public static func words(
    about mistake: BundleProblem, of bundle: String, in path: String = BundleDefaults.fileName
  ) -> String {
    guard mistake.line > 0 else {
      return startOfUnreadable + mistake.message
        + (mistake.hint.isEmpty ? "" : "; \(mistake.hint)")
    }
    return "\(path):\(mistake.line):\(mistake.column): \(mistake.message)\(endOfMistake); "
      + (mistake.hint.isEmpty ? "correct the file" : mistake.hint)
      + ". If you delete \(fileName) instead, set each value again with "
      + "`widgetctl bundle set \(bundle)`"
  }

  private static let startOfUnreadable = "the defaults hold, because "
  private static let endOfMistake = ", so the defaults hold"

  /// Whether a message is about a mistake for which nobody can name the values of the user's file.
  public static func hidesValues(_ problem: String) -> Bool {
    guard !problem.contains(UserSettings.emptyMessage + endOfMistake) else { return false }
    return problem.hasPrefix(startOfUnreadable) || problem.contains(endOfMistake + "; ")
  }

  var type: ExpressionType { .record(RecordType(fields, isOpen: false)) }
}

extension BundleFileReader {
  /// The declared settings, with the user's values.
  ///
  /// - Parameters:
  ///   - bundle: the bundle's id, for messages.
  ///   - settings: the user's file; nil if there is none.
  func defaults(_ item: Item?, of bundle: String, settings: SettingsFile?) -> BundleDefaults {
    var defaults = BundleDefaults()
    defaults.fields = reading.fields(item, of: "settings", mayBeRequired: false)
    let written: UserSettings
    do throws(BundleProblem) {
      switch settings {
      case nil: return defaults
      case .text(let text)?: written = try UserSettings(text)
      case .unreadable(let reason)?: throw BundleProblem(line: 0, column: 0, message: reason)
      }
    } catch {
      defaults.mistake = error
      defaults.problems = [BundleDefaults.words(about: error, of: bundle)]
      return defaults
    }
    for entry in written.values.entries {
      do throws(BundleDefaults.UnfitSetting) {
        defaults.chosen[entry.key] = try defaults.fitted(entry.value, for: entry.key)
      } catch {
        defaults.passedOver[entry.key] = entry.value
      }
    }
    defaults.written = written
    defaults.problems = defaults.problems(with: written)
    return defaults
  }
}
