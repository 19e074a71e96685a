import WidgetModel

/// A condition of `watch --until`.
///
/// | written | holds when the widget |
/// | --- | --- |
/// | `ID:exists`, `ID:removed` | is there, is not there (or not selected) |
/// | `ID:visible`, `ID:hidden`, `ID:disabled` | is in this state |
/// | `ID:stale`, `ID:fresh` | is marked stale, is not |
/// | `ID:error`, `ID:ok` | has failed (`Widget.failures`), has not |
/// | `ID.data.KEY OP VALUE` | has a data value for which this is true; also a part of one, see `ValuePath` |
/// | `ID.parameters.KEY OP VALUE` | the same of a parameter |
/// | `ID.labels.KEY OP VALUE` | the same of a label |
/// | `ID.revision OP NUMBER` | has such a revision |
///
/// OP is `==` (or `=`), `!=`, `<`, `<=`, `>`, `>=`. VALUE is JSON if it is JSON, else text; put
/// JSON quotes around text that looks like JSON. Numbers compare by value, whether int or double;
/// text compares by bytes; different types are unequal and in no order. A missing value is unequal
/// to everything. For a missing widget only `removed` is true.
struct Condition: Hashable {
  enum Test: Hashable {
    case exists
    case removed
    case state(Presence.State)
    case stale(Bool)
    case error(Bool)
    case compare(Property, Comparison, Value)
  }

  enum Property: Hashable {
    case data(ValuePath)
    case parameter(ValuePath)
    case label(String)
    case revision
  }

  enum Comparison: String, Hashable, CaseIterable {
    // Longer operators come first, so that the first match is the right one.
    case equal = "=="
    case notEqual = "!="
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case less = "<"
    case greater = ">"
    case equalShort = "="
  }

  static let help = """
    ID:exists, ID:removed, ID:visible, ID:hidden, ID:disabled, ID:stale, ID:fresh, ID:error, ID:ok, \
    or ID.data.KEY==VALUE (also .parameters.KEY, .labels.KEY, .revision; also != < <= > >=). A KEY \
    can have the path of a part of its value: data.status.save.state, data.load[0].
    """

  let id: WidgetID
  let test: Test

  /// Throws the problem, in words.
  init(_ text: String) throws(SyntaxFailure) {
    let operators = text.indices.lazy.compactMap { index in
      Comparison.allCases.first { text[index...].hasPrefix($0.rawValue) }.map { (index, $0) }
    }
    guard let (index, comparison) = operators.first else {
      (id, test) = try Condition.state(text)
      return
    }
    let value = text[index...].dropFirst(comparison.rawValue.count).trimmed
    let (id, property) = try Condition.property(text[..<index].trimmed)
    self.id = id
    test = .compare(
      property, comparison == .equalShort ? .equal : comparison, try Assignment.inferred(value))
  }

  private static func widgetID(_ text: Substring) throws(SyntaxFailure) -> WidgetID {
    guard let id = WidgetID(String(text)) else {
      throw SyntaxFailure("\"\(text)\" is not a widget id")
    }
    return id
  }

  /// `ID:WORD`. An id may hold colons, so the last one counts.
  private static func state(_ text: String) throws(SyntaxFailure) -> (WidgetID, Test) {
    guard let colon = text.lastIndex(of: ":") else {
      throw SyntaxFailure("\"\(text)\" is not a condition; write \(help)")
    }
    let test: Test
    switch text[text.index(after: colon)...] {
    case "exists": test = .exists
    case "removed": test = .removed
    case "visible": test = .state(.visible)
    case "hidden": test = .state(.hidden)
    case "disabled": test = .state(.disabled)
    case "stale": test = .stale(true)
    case "fresh": test = .stale(false)
    case "error": test = .error(true)
    case "ok": test = .error(false)
    default: throw SyntaxFailure("\"\(text)\" is not a condition; write \(help)")
    }
    return (try widgetID(text[..<colon]), test)
  }

  /// `ID.data.KEY`. Ids and keys may hold dots: the first `.data.` (or its like) counts.
  private static func property(_ text: Substring) throws(SyntaxFailure) -> (WidgetID, Property) {
    for index in text.indices where text[index] == "." {
      let rest = text[index...]
      let id = text[..<index]
      if let key = rest.droppingPrefix(".data."), !key.isEmpty {
        return (try widgetID(id), .data(ValuePath(String(key))))
      }
      if let key = rest.droppingPrefix(".parameters."), !key.isEmpty {
        return (try widgetID(id), .parameter(ValuePath(String(key))))
      }
      if let key = rest.droppingPrefix(".labels."), !key.isEmpty {
        return (try widgetID(id), .label(String(key)))
      }
      if rest == ".revision" { return (try widgetID(id), .revision) }
    }
    throw SyntaxFailure(
      "\"\(text)\" is not ID.data.KEY, ID.parameters.KEY, ID.labels.KEY or ID.revision")
  }

  /// The read mask paths that the condition needs.
  var maskPaths: [String] {
    switch test {
    case .exists, .removed, .compare(.revision, _, _): []
    case .state: ["presence"]
    case .stale: ["stale"]
    case .error: Widget.failurePaths
    case .compare(.data(let path), _, _): path.keys.map { "data.\($0)" }
    case .compare(.parameter(let path), _, _): path.keys.map { "parameters.\($0)" }
    case .compare(.label, _, _): ["labels"]
    }
  }

  /// Whether the condition holds for this widget; nil for a missing widget.
  func holds(for widget: Widget?) -> Bool {
    guard let widget else { return test == .removed }
    switch test {
    case .exists: return true
    case .removed: return false
    case .state(let state): return widget.presence.state == state
    case .stale(let isStale): return widget.isStale == isStale
    case .error(let hasFailed): return widget.hasFailed == hasFailed
    case .compare(let property, let comparison, let value):
      let actual: Value? =
        switch property {
        case .data(let path): path.value(in: widget.data)
        case .parameter(let path): path.value(in: widget.parameters)
        case .label(let key): widget.labels[key].map { .string($0) }
        case .revision: Int64(exactly: widget.revision).map { .int($0) }
        }
      // A label is always text, so `labels.n==1` means the text "1".
      if case .label = property, case .string = value {
      } else if case .label = property {
        return comparison.holds(actual, .string(JSONWriter.compact(value)))
      }
      return comparison.holds(actual, value)
    }
  }
}

extension Condition.Comparison {
  fileprivate func holds(_ actual: Value?, _ wanted: Value) -> Bool {
    guard let actual else { return self == .notEqual }
    let order = actual.order(to: wanted)
    return switch self {
    case .equal, .equalShort: order.map { $0 == 0 } ?? (actual == wanted)
    case .notEqual: order.map { $0 != 0 } ?? (actual != wanted)
    case .less: order.map { $0 < 0 } ?? false
    case .lessOrEqual: order.map { $0 <= 0 } ?? false
    case .greater: order.map { $0 > 0 } ?? false
    case .greaterOrEqual: order.map { $0 >= 0 } ?? false
    }
  }
}

extension Value {
  /// Negative, 0 or positive; nil if the two values have no order.
  fileprivate func order(to other: Value) -> Int? {
    func sign<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }
    switch (self, other) {
    case (.int(let a), .int(let b)): return sign(a, b)
    case (.double(let a), .double(let b)): return a.isNaN || b.isNaN ? nil : sign(a, b)
    case (.int(let a), .double(let b)): return b.isNaN ? nil : sign(Double(a), b)
    case (.double(let a), .int(let b)): return a.isNaN ? nil : sign(a, Double(b))
    case (.string(let a), .string(let b)):
      return a.hasSameBytes(as: b) ? 0 : a.precedesByBytes(b) ? -1 : 1
    case (.timestamp(let a), .timestamp(let b)): return sign(a, b)
    case (.duration(let a), .duration(let b)): return sign(a, b)
    default: return nil
    }
  }
}
