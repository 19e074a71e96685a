import Foundation
import Testing
import WidgetModel

@testable import WidgetExpression

/// Runs cases of CEL's conformance suite, given as a file of JSON lines by `WIDGETD_CEL_CASES`.
struct ConformanceTests {
  private static let path = ProcessInfo.processInfo.environment["WIDGETD_CEL_CASES"]

  @Test(.enabled(if: path != nil, "set WIDGETD_CEL_CASES to a file of CEL conformance cases"))
  func `conformance cases of the core language pass`() throws {
    let text = try String(contentsOfFile: try #require(Self.path), encoding: .utf8)
    var core = Tally(title: "core")
    var extensions = Tally(title: "extensions and declared types")
    var skipped: [String: Int] = [:]
    for line in text.split(separator: "\n") {
      let json = try JSONSerialization.jsonObject(with: Data(line.utf8))
      let test = try #require(ConformanceCase(json))
      if let need = test.needs.first(where: Self.unsupported.contains) {
        skipped[need, default: 0] += 1
        continue
      }
      let failure = test.run()
      if test.needs.isEmpty {
        core.count(test, failure)
      } else {
        extensions.count(test, failure)
      }
    }
    core.printSummary()
    extensions.printSummary()
    let left = skipped.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    print("not run, as they need what is not there: \(left.joined(separator: ", "))")
    #expect(core.total > 0)
    #expect(Double(core.passed) >= 0.95 * Double(core.total))
  }

  private static let unsupported: Set = [
    "proto", "enum", "optional", "unknown", "network_ext", "block_ext",
  ]

  private struct Tally {
    let title: String
    var sections: [String: (passed: Int, total: Int)] = [:]
    var failures: [String] = []

    init(title: String) { self.title = title }

    var passed: Int { sections.values.reduce(0) { $0 + $1.passed } }
    var total: Int { sections.values.reduce(0) { $0 + $1.total } }

    mutating func count(_ test: ConformanceCase, _ failure: String?) {
      let section = "\(test.file)/\(test.section)"
      sections[section, default: (0, 0)].total += 1
      if let failure {
        failures.append("  FAILED \(section)/\(test.name): \(test.expression)\n    \(failure)")
      } else {
        sections[section, default: (0, 0)].passed += 1
      }
    }

    func printSummary() {
      print("\(title):")
      for (name, count) in sections.sorted(by: { $0.key < $1.key }) {
        print("  \(name): \(count.passed) of \(count.total)")
      }
      for failure in failures { print(failure) }
      print("\(title) total: \(passed) of \(total) pass")
    }
  }
}

/// One case of the suite.
private struct ConformanceCase {
  let file, section, name, expression, container: String
  let isUnchecked, isCheckOnly: Bool
  let bindings: [String: Any]
  let expected: [String: Any]
  let needs: [String]

  init?(_ json: Any) {
    guard let json = json as? [String: Any], let file = json["file"] as? String,
      let section = json["section"] as? String, let name = json["name"] as? String,
      let expression = json["expr"] as? String, let expected = json["expect"] as? [String: Any]
    else { return nil }
    (self.file, self.section, self.name) = (file, section, name)
    (self.expression, self.expected) = (expression, expected)
    container = json["container"] as? String ?? ""
    isUnchecked = json["disable_check"] as? Bool ?? false
    isCheckOnly = json["check_only"] as? Bool ?? false
    bindings = json["bindings"] as? [String: Any] ?? [:]
    needs = json["needs"] as? [String] ?? []
  }

  /// Nil if it passes, else why not.
  func run() -> String? {
    var values: [String: ExpressionValue] = [:]
    for (name, json) in bindings {
      guard let value = Self.value(json) else { return "a binding cannot be read" }
      values[name] = value
    }
    let environment = ExpressionEnvironment(
      variables: values.keys.sorted().map { ExpressionVariable($0) },
      timeZones: ZoneFiles.rules, container: container, isChecked: !isUnchecked)
    let compiled: CompiledExpression
    do throws(ExpressionError) {
      compiled = try CompiledExpression(expression, in: environment)
    } catch {
      return expected["error"] == nil ? "not accepted: \(error)" : nil
    }
    if let type = expected["type"] as? String {
      let found = Self.name(compiled.resultType)
      guard found == type else { return "the type is \(found), expected \(type)" }
    }
    if isCheckOnly { return nil }
    let result: ExpressionValue
    do throws(EvaluationError) {
      result = try compiled.evaluate(values)
    } catch {
      return expected["error"] == nil ? "failed: \(error)" : nil
    }
    guard let json = expected["value"] else { return "gave \(result), expected an error" }
    guard let value = Self.value(json) else { return "the expected value cannot be read" }
    return value == result ? nil : "gave \(result), expected \(value)"
  }

  private static func name(_ type: ExpressionType) -> String {
    switch type {
    case .timestamp: ExpressionKind.timestamp.rawValue
    case .duration: ExpressionKind.duration.rawValue
    default: type.description
    }
  }

  private static func value(_ json: Any) -> ExpressionValue? {
    guard let json = json as? [String: Any], let (kind, content) = json.first else { return nil }
    let text = content as? String ?? ""
    switch kind {
    case "null": return .null
    case "bool": return (content as? Bool).map { .bool($0) }
    case "int": return Int64(text).map { .int($0) }
    case "uint": return UInt64(text).map { .uint($0) }
    case "double": return Double(text).map { .double($0) }
    case "string": return .string(text)
    case "bytes": return Data(base64Encoded: text).map { .bytes([UInt8]($0)) }
    case "type": return ExpressionKind(rawValue: text).map { .type($0) }
    case "timestamp": return (try? Times.timestamp(text)).map { .timestamp($0) }
    case "duration": return (try? Times.duration(text)).map { .duration($0) }
    case "list":
      let elements = (content as? [Any])?.map { value($0) } ?? []
      return elements.contains(nil) ? nil : .list(elements.compactMap { $0 })
    case "map":
      var pairs: [(key: ExpressionValue, value: ExpressionValue)] = []
      for case let pair as [Any] in content as? [Any] ?? [] {
        guard pair.count == 2, let key = value(pair[0]), let value = value(pair[1]) else {
          return nil
        }
        pairs.append((key, value))
      }
      return ExpressionMap(pairs).map { .map($0) }
    default: return nil
    }
  }
}
