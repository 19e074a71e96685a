import WidgetExpression
import WidgetModel

/// A named conversion of a value: an expression that reads `value`.
///
/// Bindings apply transforms by name. So the format of prices, for example, is declared once.
struct Transform {
  let source: String

  /// The transforms of every bundle.
  static let standard: [String: Transform] = [
    "string": Transform(source: "string(value)"), "int": Transform(source: "int(value)"),
    "double": Transform(source: "double(value)"),
    "number": Transform(source: "formatNumber(value)"),
    "percent": Transform(source: "formatPercent(value)"),
    "bytes": Transform(source: "formatBytes(value)"),
    "duration": Transform(source: "formatDuration(value)"),
  ]
}

extension BundleFileReader {
  static let transformsMax = 256

  /// The bundle's transforms beside the standard ones, which keep their names.
  func transforms(_ item: Item?) -> [String: Transform] {
    guard let item, let entries = reading.entries(item, of: "names and expressions") else {
      return Transform.standard
    }
    guard entries.count <= BundleFileReader.transformsMax else {
      reading.report(item, "there are more than \(BundleFileReader.transformsMax) transforms")
      return Transform.standard
    }
    var transforms = Transform.standard
    let variables = Variables([ExpressionVariable("value", .dyn)], timeZones: reading.timeZones)
    for entry in entries {
      guard entry.name.isFieldName else {
        reading.report(
          entry.nameItem, "\"\(entry.name.prefix(70))\" cannot be a transform's name",
          hint: entry.name.fieldNameHint)
        continue
      }
      guard Transform.standard[entry.name] == nil else {
        reading.report(
          entry.nameItem, "every bundle has a transform \"\(entry.name)\" already",
          hint: "choose another name")
        continue
      }
      // A mistake in a transform is reported here once, and not at each use.
      let compiled = reading.expression(entry.item, variables)?.compiled.source
      transforms[entry.name] = Transform(source: compiled ?? "value")
    }
    return transforms
  }
}

extension TemplateReader {
  /// The source with the transforms applied, in the order of the list. Reports each transform that
  /// does not exist, and the first one that cannot take the value, and then returns nil.
  ///
  /// - Parameter source: nil if it has mistakes. The transforms are then only looked up.
  func transformed(
    _ source: String?, by item: Item?, _ variables: Variables
  ) -> (source: String, type: ExpressionType)? {
    var current = source
    var type = ExpressionType.dyn
    for item in reading.oneOrMore(item) {
      guard let name = reading.text(item, "a transform's name") else {
        current = nil
        continue
      }
      guard let transform = kindReader.context.transforms[name] else {
        reading.report(
          item, "there is no transform \"\(name.prefix(64))\"",
          hint: reading.suggestion(name, among: kindReader.context.transforms.keys.sorted()))
        current = nil
        continue
      }
      guard let before = current else { continue }
      let source =
        "cel.bind(value, \(CELText.wrapped(before)), \(CELText.wrapped(transform.source)))"
      current = source
      do throws(ExpressionError) {
        type = try CompiledExpression(source, in: variables.environment).resultType
      } catch {
        reading.report(
          item, "the transform \"\(name)\" cannot take this: \(error.problems[0].message)",
          hint: "convert the value before it")
        current = nil
      }
    }
    return current.map { ($0, type) }
  }
}
