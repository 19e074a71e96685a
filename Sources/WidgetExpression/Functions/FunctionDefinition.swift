/// The context that a function gets beside its arguments.
struct FunctionContext {
  var meter: CostMeter
  let timeZones: (@Sendable (String) -> TimeZoneRules?)?
  let valueDepthMax: Int
}

/// A function of one name, style and number of arguments, with its overloads.
///
/// A body chooses the overload by the kinds of its arguments at run time, because the checker may
/// see `dyn`. It returns nil if no overload fits. This is a class, so that the evaluator gets a
/// definition for each call without a copy.
final class FunctionDefinition: Sendable {
  struct Signature: Sendable {
    let parameters: [ExpressionType]
    let result: ExpressionType
    /// Whether it has type parameters.
    let isGeneric: Bool

    init(parameters: [ExpressionType], result: ExpressionType) {
      self.parameters = parameters
      self.result = result
      isGeneric = result.isGeneric || parameters.contains(where: \.isGeneric)
    }
  }

  enum Body: Sendable {
    case one(
      @Sendable (ExpressionValue, inout FunctionContext) throws(ExpressionFailure)
        -> ExpressionValue?)
    case two(
      @Sendable (ExpressionValue, ExpressionValue, inout FunctionContext) throws(ExpressionFailure)
        -> ExpressionValue?)
    case many(
      @Sendable ([ExpressionValue], inout FunctionContext) throws(ExpressionFailure)
        -> ExpressionValue?)
  }

  let name: String
  /// Called as a method of its first argument.
  let isMember: Bool
  let signatures: [Signature]
  let body: Body

  init(name: String, isMember: Bool, signatures: [Signature], body: Body) {
    self.name = name
    self.isMember = isMember
    self.signatures = signatures
    self.body = body
  }

  var arity: Int { signatures[0].parameters.count }

  /// `size(string), size(bytes)`, for messages.
  var usage: String {
    signatures.map { signature in
      let parameters = signature.parameters.map(\.description)
      return isMember
        ? "\(parameters[0]).\(name)(\(parameters.dropFirst().joined(separator: ", ")))"
        : "\(name)(\(parameters.joined(separator: ", ")))"
    }.joined(separator: ", ")
  }
}

/// A function that a host adds to an environment. It must be pure: the same arguments give the same
/// result, and it has no side effects.
public struct ExpressionFunction: Sendable {
  let definition: FunctionDefinition

  /// - Parameters:
  ///   - name: possibly qualified: `pad`, `units.celsius`.
  ///   - isMember: called as a method of its first argument, `x.pad(3)`.
  ///   - parameters: the types of the arguments, the target's first; at least one for a method.
  ///   - result: the type of the result.
  ///   - body: gets arguments of these types, as many as there are parameters.
  public init(
    _ name: String, isMember: Bool = false, _ parameters: [ExpressionType],
    returns result: ExpressionType,
    body: @escaping @Sendable ([ExpressionValue]) throws(ExpressionFailure) -> ExpressionValue
  ) {
    definition = FunctionDefinition(
      name: name, isMember: isMember && !parameters.isEmpty,
      signatures: [.init(parameters: parameters, result: result)],
      body: .many { arguments, _ throws(ExpressionFailure) in
        for (argument, type) in zip(arguments, parameters) where !type.admits(argument.kind) {
          return nil
        }
        return try body(arguments)
      })
  }
}

extension ExpressionType {
  /// Whether it has type parameters.
  var isGeneric: Bool {
    switch self {
    case .parameter: true
    case .list(let element): element.isGeneric
    case .map(let key, let value): key.isGeneric || value.isGeneric
    default: false
    }
  }

  /// Whether a value of this kind can be of this type, elements aside.
  func admits(_ kind: ExpressionKind) -> Bool {
    switch self {
    case .dyn, .parameter: true
    case .null: kind == .null
    case .bool: kind == .bool
    case .int: kind == .int
    case .uint: kind == .uint
    case .double: kind == .double
    case .string: kind == .string
    case .bytes: kind == .bytes
    case .timestamp: kind == .timestamp
    case .duration: kind == .duration
    case .type: kind == .type
    case .list: kind == .list
    case .map, .record: kind == .map
    }
  }
}
