import WidgetModel

// Reading the fields of documents that people write: each error has the expected type and the
// place.

/// A problem in a field of a document.
struct FieldFailure: Error {
  let path: String
  let reason: String

  init(_ path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  func inside(_ outer: String) -> FieldFailure {
    FieldFailure(path.isEmpty ? outer : "\(outer).\(path)", reason)
  }
}

extension ValueMap {
  func text(_ name: String) throws(FieldFailure) -> String? {
    switch self[name] {
    case nil, .null?: return nil
    case .string(let text)?: return text
    default: throw FieldFailure(name, "must be text; put it in quotes")
    }
  }

  func bool(_ name: String) throws(FieldFailure) -> Bool? {
    switch self[name] {
    case nil, .null?: return nil
    case .bool(let bool)?: return bool
    default: throw FieldFailure(name, "must be true or false")
    }
  }

  func object(_ name: String) throws(FieldFailure) -> ValueMap {
    switch self[name] {
    case nil, .null?: return [:]
    case .map(let entries)?: return entries
    default: throw FieldFailure(name, "must be an object of keys and values")
    }
  }

  /// Throws if there is another key than these.
  func onlyHas(_ fields: [String], passingOver passed: Set<String> = []) throws(FieldFailure) {
    if let failure = unknownFields(fields, passingOver: passed).first { throw failure }
  }

  /// A failure for each key that is not a field.
  ///
  /// - Parameter hints: More keys that messages suggest.
  func unknownFields(
    _ fields: [String], passingOver passed: Set<String> = [], hints: [String] = []
  ) -> [FieldFailure] {
    let known = fields + hints
    return keys.filter { !known.contains($0) && !passed.contains($0) }.map { key in
      let hint =
        key.closest(among: known).map { "did you mean \($0)?" }
        ?? "use \(known.joined(separator: ", "))"
      return FieldFailure(key, "unknown field; \(hint)")
    }
  }

  /// A list whose elements are read one by one; empty if it is missing.
  func list<T>(
    _ name: String, _ read: (WidgetModel.Value) throws(FieldFailure) -> T
  ) throws(FieldFailure) -> [T] {
    switch self[name] {
    case nil, .null?: return []
    case .list(let elements)?:
      var result: [T] = []
      for (index, element) in elements.enumerated() {
        do throws(FieldFailure) { result.append(try read(element)) } catch {
          throw error.inside("\(name)[\(index)]")
        }
      }
      return result
    default: throw FieldFailure(name, "must be a list")
    }
  }
}
