import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// The values that the checks read from calls and bundles.
extension HostState.Found {
  var bundleID: String? {
    switch self {
    case .bundle(let bundle, _), .installed(let bundle, _): bundle.id
    case .broken: nil
    }
  }
}

extension DaemonCall {
  /// The session that the call goes through; nil for the connection of all other calls.
  var session: SessionID? {
    switch self {
    case .ready(let id), .declareKinds(let id), .flush(let id), .close(let id),
      .answer(let id, _, _), .acknowledgeMissed(let id, _):
      id
    default: nil
    }
  }

  /// The set whose kinds or widgets the call changes.
  var changedSet: String? {
    switch self {
    case .declare(_, let set), .own(_, let set), .keep(_, let set), .removeKinds(let set): set
    default: nil
    }
  }

  /// The set of a removed bundle whose widgets or kinds the call removes.
  var withdrawnSet: String? {
    switch self {
    case .declare([], let set) where set != HostState.provider: set
    case .removeKinds(let set): set
    default: nil
    }
  }

  /// Whether a host that serves nothing must not make this call.
  var changesWidgets: Bool {
    switch self {
    case .update, .send, .presence, .remove: true
    default: changedSet != nil
    }
  }

  /// Whether the answer has widgets.
  var asksForWidgets: Bool {
    switch self {
    case .widgets, .errors, .error: true
    default: false
    }
  }

  /// The answer with these widgets.
  func answer(with widgets: [Widget]) -> DaemonAnswer {
    switch self {
    case .errors: .listing(widgets)
    case .error(let id): .listing(widgets.filter { $0.id == id })
    default: .widgets(widgets)
    }
  }

  var signature: String {
    switch self {
    case .ready(let id): "ready \(id.number)"
    case .declareKinds(let id): "declareKinds \(id.number)"
    case .flush(let id): "flush \(id.number)"
    case .close(let id): "close \(id.number)"
    case .answer(let id, let widget, _): "answer \(id.number) \(widget)"
    case .acknowledgeMissed(let id, _): "missed \(id.number)"
    case .declare(let specs, let set): "declare \(set) \(specs.count)"
    case .own(let specs, let set): "own \(set) \(specs.count)"
    case .keep(let specs, let set): "keep \(set) \(specs.count)"
    case .foresee(let specs, let set): "foresee \(set) \(specs.count)"
    case .remove(let ids): "remove \(ids)"
    case .removeKinds(let set): "removeKinds \(set)"
    case .update(let id, _, let provider, _): "update \(id) \(provider)"
    case .presence(let ids, _): "presence \(ids)"
    case .send(let id, let name, _, _): "send \(id) \(name)"
    case .widget(let id): "widget \(id)"
    case .widgets(let kinds): "widgets \(kinds.map(\.rawValue))"
    case .errors(let kinds): "errors \(kinds.map(\.rawValue))"
    case .error(let id): "error \(id)"
    case .owners(let kinds): "owners \(kinds.map(\.rawValue))"
    case .standing(let kinds, let ids): "standing \(kinds.map(\.rawValue)) \(ids.map(\.rawValue))"
    case .registeredKinds: "registeredKinds"
    case .folders(let bundles): "folders \(bundles.map(\.path))"
    }
  }
}

extension DaemonAnswer {
  /// The widgets, each with its revision as the etag.
  static func listing(_ widgets: [Widget]) -> DaemonAnswer {
    .listed(widgets.map { ListedWidget(widget: $0, etag: "\($0.revision)") })
  }
}
