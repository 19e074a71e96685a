/// Why bytes are no message, or a message cannot become bytes.
///
/// A `path` names a field as the .proto files do, from the outermost message inwards:
/// `patch.set_data.value`, `widgets[3].id`. It is empty for the message itself.
public enum WireError: Error, Hashable, Sendable {
  /// The bytes break the encoding's own rules.
  case malformed(Malformation, path: String)
  /// Messages are nested deeper than the limit, or values deeper than some frames can carry.
  case tooDeep(limit: Int)
  /// Text is not well-formed UTF-8.
  case invalidUTF8(path: String)
  /// Text holds a NUL character.
  case nulInString(path: String)
  /// The message would take more memory than one message may. The path is that of the field in
  /// which the memory ran out.
  case budgetExceeded(limitBytes: Int, path: String = "")
  /// A sub-message that is not repeated appears twice.
  case repeatedSingularMessage(path: String)
  /// The encoding is fine but the content is not: a bad id, an unknown enum number in a request, a
  /// time out of range. The description has the valid content.
  case invalidField(path: String, description: String)
  /// The value to encode has no encoding: text with a NUL character.
  case unrepresentable(path: String, description: String)

  /// The broken rule of the encoding.
  public enum Malformation: String, Hashable, Sendable {
    case truncated = "the message ends in the middle of a field"
    case varint = "a variable-length number is too long"
    case fieldNumber = "a field has a number that no field can have"
    case wireType = "the field has another type than the schema says"
    case group = "groups are not supported"
    case packed = "a packed list does not consist of whole elements"
    case surplus =
      "the message has too many unknown fields, repetitions of singular fields, or empty lists"
    case other = "the message cannot be read"
  }

  /// The error as seen from the message that has the failing message in this field.
  func inside(_ field: String) -> WireError {
    func joined(_ path: String) -> String { path.isEmpty ? field : "\(field).\(path)" }
    return switch self {
    case .malformed(let reason, let path): .malformed(reason, path: joined(path))
    case .tooDeep: self
    case .budgetExceeded(let limit, let path):
      .budgetExceeded(limitBytes: limit, path: joined(path))
    case .invalidUTF8(let path): .invalidUTF8(path: joined(path))
    case .nulInString(let path): .nulInString(path: joined(path))
    case .repeatedSingularMessage(let path): .repeatedSingularMessage(path: joined(path))
    case .invalidField(let path, let description):
      .invalidField(path: joined(path), description: description)
    case .unrepresentable(let path, let description):
      .unrepresentable(path: joined(path), description: description)
    }
  }
}

extension WireError {
  /// The field of the error; empty for the message as a whole.
  public var path: String {
    switch self {
    case .tooDeep: ""
    case .malformed(_, let path), .budgetExceeded(_, let path), .invalidUTF8(let path),
      .nulInString(let path),
      .repeatedSingularMessage(let path), .invalidField(let path, _), .unrepresentable(let path, _):
      path
    }
  }

  /// The problem in words, without the path.
  public var reason: String {
    switch self {
    case .malformed(let reason, _): reason.rawValue
    case .tooDeep(let limit): "nests deeper than \(limit) levels"
    case .invalidUTF8: "is not well-formed UTF-8"
    case .nulInString: "holds a NUL character"
    case .budgetExceeded(let limit, _):
      "needs more than \(limit) bytes of memory; send less at a time"
    case .repeatedSingularMessage: "appears twice"
    case .invalidField(_, let description), .unrepresentable(_, let description): description
    }
  }
}

extension WireError: CustomStringConvertible {
  public var description: String { path.isEmpty ? "message: \(reason)" : "\(path): \(reason)" }
}
