import WidgetClient
import WidgetModel

/// All mistakes of declarations that the daemon refuses.
///
/// The daemon reports the first mistake. So each further question leaves out the part with the
/// reported mistake, until the daemon finds none.
struct DeclaredMistakes<Part> {
  /// The maximum number of reported mistakes, and of questions.
  static var most: Int { 20 }

  /// The name of the request's list: `widgets`, `kinds`.
  let list: String
  /// The declarations that remain, with their numbers in the file.
  private(set) var parts: [(number: Int, part: Part)]
  /// The mistakes so far. Their fields have the numbers of the file.
  private(set) var failures: [CommandFailure] = []
  private var reported: Set<String> = []
  /// The declaration without the field; nil if it makes no sense without it.
  private let reduced: (Part, _ field: String) -> Part?
  /// Whether a failure without a field is about the declaration.
  private let isMeant: (Part, CommandFailure) -> Bool

  init(
    _ list: String, _ parts: [Part], reduced: @escaping (Part, _ field: String) -> Part?,
    isMeant: @escaping (Part, CommandFailure) -> Bool
  ) {
    self.list = list
    self.parts = parts.enumerated().map { (number: $0.offset, part: $0.element) }
    self.reduced = reduced
    self.isMeant = isMeant
  }

  /// Asks until the daemon finds no further mistake.
  ///
  /// - Parameter ask: Validates these declarations without a change. Returns the refusal; nil if
  ///   there is none.
  mutating func collect(
    after first: CommandFailure, _ ask: ([Part]) async -> CommandFailure?
  ) async -> [CommandFailure] {
    var next: CommandFailure? = first
    while let failure = next, take(failure), !parts.isEmpty, failures.count < Self.most {
      next = await ask(parts.map(\.part))
    }
    // The other failures of a request are not about one of its parts.
    guard !failures.isEmpty else { return [first] }
    return failures
  }

  /// - Returns: whether another question can find another mistake.
  private mutating func take(_ failure: CommandFailure) -> Bool {
    guard ["INVALID_FIELD", "KIND_MISMATCH", "KIND_CLAIMED"].contains(failure.reason),
      let place = place(of: failure)
    else { return false }
    let number = parts[place].number
    guard let violation = failure.violations.first else {
      failures.append(failure)
      parts.remove(at: place)
      return true
    }
    let inside = violation.field.drop { $0 != "]" }.dropFirst()
    let field = "\(list)[\(number)]\(inside)"
    // Without the wrong value, the declaration has another mistake in the same place.
    guard reported.insert(field).inserted else {
      parts.remove(at: place)
      return true
    }
    var failure = failure.saying("\(field): \(violation.description)")
    failure.violations[0].field = field
    failures.append(failure)
    if let part = reduced(parts[place].part, String(inside.drop { $0 == "." })) {
      parts[place].part = part
    } else {
      parts.remove(at: place)
    }
    return true
  }

  private func place(of failure: CommandFailure) -> Int? {
    guard let violation = failure.violations.first else {
      return parts.firstIndex { isMeant($0.part, failure) }
    }
    guard failure.violations.count == 1, violation.field.hasPrefix("\(list)["),
      let place = Int(violation.field.dropFirst(list.count + 1).prefix { $0 != "]" }),
      parts.indices.contains(place)
    else { return nil }
    return place
  }
}

extension DeclaredMistakes<WidgetSpec> {
  init(_ widgets: [WidgetSpec]) {
    self.init("widgets", widgets, reduced: { $0.without($1) }) {
      $0.id?.rawValue == $1.metadata["widget_id"]
    }
  }
}

extension DeclaredMistakes<Kind> {
  init(_ kinds: [Kind]) {
    self.init("kinds", kinds, reduced: { _, _ in nil }) {
      $0.name.rawValue == $1.metadata["kind"]
    }
  }
}

extension WidgetSpec {
  /// The widget without a field: `data[n]`, `family`. Nil if the field is not optional.
  fileprivate func without(_ field: String) -> WidgetSpec? {
    var spec = self
    switch field.prefix(while: { $0 != "[" && $0 != "." }) {
    case "family": spec.family = nil
    case "timeline": spec.timeline = nil
    case let name:
      guard field.last == "]" else { return nil }
      let key = String(field.dropFirst(name.count + 1).dropLast())
      switch name {
      case "data": spec.data[key] = nil
      case "parameters": spec.parameters[key] = nil
      case "labels": spec.labels[key] = nil
      default: return nil
      }
    }
    return spec == self ? nil : spec
  }
}
