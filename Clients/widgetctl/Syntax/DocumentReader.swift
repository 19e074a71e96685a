import WidgetBundle
import WidgetModel
import Yams

/// Reads files of declared widgets: JSON or YAML, either with any number of documents.
///
/// Text that starts with `{` or `[` is tried as JSON first, so that JSON's own rules and error
/// positions hold for it. YAML's plain scalars are typed as YAML 1.2's core schema says (`yes` and
/// `no` are text); a whole number is an int and `1.0` a double, as in JSON.
enum DocumentReader {
  /// How many nodes a document may unfold to; aliases can multiply them.
  static let nodesMax = 100_000
  static let depthMax = 64

  /// The documents of the text. Failures start with `name`, the file's.
  static func documents(_ text: String, name: String) throws(CommandFailure) -> [Value] {
    let first = text.utf8.first { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
    let looksLikeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    if looksLikeJSON || name.hasSuffix(".json") {
      do throws(JSONReader.Failure) { return try JSONReader.values(of: text) } catch {
        // YAML's flow style starts the same way; only then is its reader worth a try.
        guard !name.hasSuffix(".json"), let documents = try? yaml(text, name: name) else {
          throw CommandFailure(.invalidArgument, "\(name):\(error)")
        }
        return documents
      }
    }
    return try yaml(text, name: name)
  }

  private static func yaml(_ text: String, name: String) throws(CommandFailure) -> [Value] {
    var nodes: [Yams.Node] = []
    do {
      let parser = try Parser(yaml: text)
      while let root = try parser.nextRoot() { nodes.append(root) }
    } catch let error as YamlError {
      throw CommandFailure(.invalidArgument, "\(name):\(words(for: error))")
    } catch {
      throw CommandFailure(.invalidArgument, "\(name): \(error)")
    }
    var documents: [Value] = []
    var count = 0
    for node in nodes {
      do throws(Failure) {
        let value = try value(of: node, count: &count, depth: 0)
        if value != .null { documents.append(value) }
      } catch {
        let place = error.mark.map { "\($0.line):\($0.column)" } ?? ""
        throw CommandFailure(.invalidArgument, "\(name):\(place): \(error.reason)")
      }
    }
    return documents
  }

  private struct Failure: Error {
    let mark: Mark?
    let reason: String
  }

  private static func words(for error: YamlError) -> String {
    switch error {
    case .scanner(_, let problem, let mark, let yaml)
    where problem.contains("cannot start any token") && isTab(at: mark, in: yaml):
      "\(mark.line):\(mark.column): a tab cannot indent YAML; indent with spaces"
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      "\(mark.line):\(mark.column): \(problem)"
    case .duplicatedKeysInMapping(let duplicates, let context):
      "\(context.mark.line):\(context.mark.column): keys are there twice: "
        + duplicates.map { "\($0)" }.joined(separator: ", ")
    default: " \(error)"
    }
  }

  private static func isTab(at mark: Mark, in yaml: String) -> Bool {
    let lines = yaml.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.indices.contains(mark.line - 1) else { return false }
    return lines[mark.line - 1].unicodeScalars.dropFirst(mark.column - 1).first == "\t"
  }

  private static func value(
    of node: Yams.Node, count: inout Int, depth: Int
  ) throws(Failure) -> Value {
    count += 1
    guard count <= nodesMax else {
      throw Failure(mark: node.mark, reason: "more than \(nodesMax) values; use fewer aliases")
    }
    guard depth <= depthMax else {
      throw Failure(mark: node.mark, reason: "nests deeper than \(depthMax) levels")
    }
    switch node {
    case .scalar(let scalar):
      return try value(of: scalar)
    case .sequence(let sequence):
      var values: [Value] = []
      for element in sequence {
        values.append(try value(of: element, count: &count, depth: depth + 1))
      }
      return .list(values)
    case .mapping(let mapping):
      var entries: [ValueMap.Entry] = []
      for (key, element) in mapping {
        guard case .scalar(let scalar) = key else {
          throw Failure(mark: key.mark, reason: "a key must be plain text")
        }
        entries.append(
          .init(
            key: scalar.string, value: try value(of: element, count: &count, depth: depth + 1)))
      }
      return .map(ValueMap(entries))
    case .alias(let alias):
      throw Failure(mark: alias.mark, reason: "an alias names no anchor")
    }
  }

  private static func value(of scalar: Yams.Node.Scalar) throws(Failure) -> Value {
    let text = scalar.string
    guard scalar.style == .plain || scalar.style == .any else { return .string(text) }
    guard let value = PlainScalar.value(text) else {
      throw Failure(mark: scalar.mark, reason: "\(text) is outside 64 bits; put it in quotes")
    }
    return value
  }
}
