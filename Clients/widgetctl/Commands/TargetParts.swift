import WidgetClient
import WidgetModel
import WidgetProto

/// The requests of a command for widgets that may be more than one request can name.
///
/// The command first makes one request, so that all widgets change, or none. If the daemon refuses
/// it because of the number of widgets, the command names the widgets in several requests.
struct TargetParts<Answer: Sendable>: Sendable {
  /// The answers of the parts that the daemon has carried out, in order.
  private(set) var answers: [Answer] = []
  /// The number of widgets in these parts.
  private(set) var done = 0
  /// The widgets that are left, because a part has failed.
  private(set) var left: [WidgetID] = []
  private(set) var failure: ClientError?

  /// The number of ids in a part, until the daemon names another limit.
  static var idsMax: Int { 1_024 }

  /// - Parameters:
  ///   - list: The ids of the widgets of a target without ids.
  ///   - call: Makes a request. The number of the part is from 1; nil for a single request.
  /// - Throws: The failure of a single request.
  init(
    _ target: PresenceTarget,
    list: () async throws(ClientError) -> [WidgetID],
    call: (PresenceTarget, _ part: Int?) async throws(ClientError) -> Answer
  ) async throws(ClientError) {
    var size = Self.idsMax
    var isNamed = false
    if case .ids(let ids) = target {
      isNamed = true
      left = ids
    }
    if left.count <= WireLimits.namesMax {
      do throws(ClientError) {
        answers.append(try await call(target, nil))
        left = []
        return
      } catch {
        guard let limit = error.limitOfTarget else { throw error }
        if isNamed { size = min(size, limit) }
      }
    }
    if !isNamed { left = try await list() }
    // A widget in two parts would be toggled twice.
    var seen: Set<WidgetID> = []
    left = left.filter { seen.insert($0).inserted }
    try await carryOut(size, isNamed: isNamed, call)
  }

  private mutating func carryOut(
    _ first: Int, isNamed: Bool,
    _ call: (PresenceTarget, _ part: Int?) async throws(ClientError) -> Answer
  ) async throws(ClientError) {
    var size = first
    while !left.isEmpty {
      let part = Array(left.prefix(size))
      do throws(ClientError) {
        answers.append(try await call(.ids(part), answers.count + 1))
        done += part.count
        left.removeFirst(part.count)
      } catch {
        if let limit = error.limitOfTarget, limit < part.count {
          size = limit
          continue
        }
        // Another program has removed a widget since the list.
        if !isNamed, let id = error.missingWidget, let index = left.firstIndex(of: id) {
          left.remove(at: index)
          continue
        }
        guard !answers.isEmpty else { throw error }
        failure = error
        return
      }
    }
  }

  /// The failure of a part, with the number of the widgets that are done, and what is left. Nil if no
  /// part has failed.
  ///
  /// - Parameters:
  ///   - verb: The name of the command.
  ///   - isRepeatable: Whether the command can be run again for widgets that are done.
  func failure(of verb: String, isRepeatable: Bool, socket: String?) -> CommandFailure? {
    guard let failure, let next = left.first else { return nil }
    var told = CommandFailure(failure, socket: socket)
    told.metadata["done"] = "\(done)"
    told.metadata["left"] = "\(left.count)"
    let widgets = left.count == 1 ? "1 widget is" : "\(left.count) widgets are"
    return told.adding(
      "\(done) widgets are done, and \(widgets) left, from \"\(next)\" on; "
        + (isRepeatable
          ? "run the command again"
          : "the output names the widgets that are done: do not `\(verb)` these again"))
  }

  /// The id of the request of a part; empty without `--request-id`.
  static func requestID(_ id: String?, _ part: Int?) -> String {
    id.map { id in part.map { "\(id)-\($0)" } ?? id } ?? ""
  }
}

extension ClientError {
  /// The number of widgets that the daemon takes in one request, if the request had more. `.max` if the
  /// request did not name them.
  fileprivate var limitOfTarget: Int? {
    guard reason == "QUOTA_EXCEEDED", let metadata = status?.errorInfo?.metadata else { return nil }
    switch metadata["limit"] {
    case "selector_terms_max": return metadata["maximum"].flatMap { Int($0) }.map { max(1, $0) }
    case "scan_cost_max": return .max
    default: return nil
    }
  }

  fileprivate var missingWidget: WidgetID? {
    guard reason == "WIDGET_NOT_FOUND" else { return nil }
    return status?.errorInfo?.metadata["widget_id"].flatMap { WidgetID($0) }
  }
}
