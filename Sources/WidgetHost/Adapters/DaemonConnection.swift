public import WidgetClient
public import WidgetModel

/// What the host needs of the daemon.
///
/// Every call is made once. A failure that is transient can be tried again: the daemon is away, or
/// busy.
public protocol DaemonConnection: Sendable {
  /// Registers kinds, and removes those of the provider that are not among them.
  func declare(kinds: [Kind], provider: String) async throws(Failure)
  /// Makes a set of widgets true, and removes those of the set that are not among them.
  func declare(widgets: [WidgetSpec], set: String) async throws(Failure)
  /// - Returns: the widget's revision after the change.
  func update(_ id: WidgetID, _ patch: WidgetPatch) async throws(Failure) -> Revision
  func setPresence(_ ids: [WidgetID], _ action: PresenceAction) async throws(Failure)
  func send(
    _ id: WidgetID, name: String, payload: ValueMap, force: Bool
  ) async throws(Failure)
  func widget(_ id: WidgetID) async throws(Failure) -> Widget
  /// All widgets of these kinds; of any kind if there are none.
  func widgets(kinds: [KindName]) async throws(Failure) -> [Widget]
  /// Tells what happens to the widgets of these kinds, in order, until the task is cancelled. The next
  /// is told when the one before has been dealt with. Lost connections are made again.
  ///
  /// - Throws: what trying again at once does not mend.
  func follow(
    kinds: [KindName], _ tell: @Sendable (DaemonNews) async -> Void
  ) async throws(Failure)
}

/// What happens to widgets.
public enum DaemonNews: Hashable, Sendable {
  /// The daemon is there again after it was away; it may be one that knows nothing.
  case returned
  /// The daemon cannot be reached; it is tried again.
  case lost(String)
  /// All widgets that there are.
  case snapshot([Widget])
  case widget(Widget)
  case removed(WidgetID)
  case event(Event)
  /// Events that nobody will tell of.
  case missedEvents
}

/// The daemon as an ordinary client of its sees it.
public struct ClientConnection: DaemonConnection {
  private let client: WidgetClient
  /// How long one call may take.
  private let options = CallOptions(timeout: .seconds(10))

  public init(_ client: WidgetClient) { self.client = client }

  public func declare(kinds: [Kind], provider: String) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.applyKinds(
        ApplyKindsRequest(provider: provider, kinds: kinds, prune: true), options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func declare(widgets: [WidgetSpec], set: String) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.applyWidgets(
        ApplyWidgetsRequest(applySet: set, widgets: widgets, prune: true), options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func update(_ id: WidgetID, _ patch: WidgetPatch) async throws(Failure) -> Revision {
    do throws(ClientError) {
      return try await client.updateWidget(
        UpdateWidgetRequest(id: id, patch: patch, omitWidget: true), options: options
      ).revision
    } catch {
      throw Failure(error)
    }
  }

  public func setPresence(_ ids: [WidgetID], _ action: PresenceAction) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.setPresence(
        SetPresenceRequest(target: .ids(ids), action: action), options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func send(
    _ id: WidgetID, name: String, payload: ValueMap, force: Bool
  ) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.sendEvent(
        SendEventRequest(
          widgetID: id, name: name, payload: payload, force: force, client: "widgetd-host"),
        options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func widget(_ id: WidgetID) async throws(Failure) -> Widget {
    do throws(ClientError) {
      return try await client.getWidget(GetWidgetRequest(id: id), options: options).widget
    } catch {
      throw Failure(error)
    }
  }

  public func widgets(kinds: [KindName]) async throws(Failure) -> [Widget] {
    var widgets: [Widget] = []
    var request = ListWidgetsRequest(selector: Selector(kinds: kinds))
    do throws(ClientError) {
      repeat {
        let page = try await client.listWidgets(request, options: options)
        widgets += page.widgets.map(\.widget)
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
    } catch {
      throw Failure(error)
    }
    return widgets
  }

  public func follow(
    kinds: [KindName], _ tell: @Sendable (DaemonNews) async -> Void
  ) async throws(Failure) {
    var mirror = WidgetMirror()
    let watch = client.watch(
      WatchOptions(selector: Selector(kinds: kinds), includeEvents: true))
    do throws(ClientError) {
      for try await frame in watch {
        switch frame {
        case .disconnected(let error): await tell(.lost("\(error)"))
        case .reconnected: await tell(.returned)
        case .events(let batch): for event in batch.events { await tell(.event(event)) }
        case .gap: await tell(.missedEvents)
        default: break
        }
        let isSnapshot = if case .synced = frame { true } else { false }
        let difference: WidgetMirror.Difference?
        do throws(WidgetMirror.Inconsistency) {
          difference = try mirror.apply(frame)
        } catch {
          throw ClientError.protocolViolation("the changes do not fit together: \(error)")
        }
        if isSnapshot {
          await tell(.snapshot(mirror.widgets))
        } else if let difference {
          for widget in difference.removed { await tell(.removed(widget.id)) }
          for id in difference.added + difference.updated {
            if let widget = mirror[id] { await tell(.widget(widget)) }
          }
        }
      }
    } catch {
      throw Failure(error)
    }
    throw Failure("UNAVAILABLE", "the daemon ended the watch", isTransient: true)
  }
}

extension Failure {
  /// What went wrong between here and the daemon.
  init(_ error: ClientError) {
    switch error {
    case .status(let status):
      let code = "\(status.code)"
      // A quota is no reason to try again, unless the daemon says that waiting helps.
      let isTransient =
        ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED"].contains(code) || status.retryDelay != nil
      self.init(code, "\(error)", isTransient: isTransient)
    case .unavailable, .socketNotFound, .connectionLost, .deadlineExceeded:
      self.init("UNAVAILABLE", "\(error)", isTransient: true)
    case .cancelled, .closed:
      self.init("CANCELLED", "\(error)")
    case .protocolViolation:
      self.init("INTERNAL", "\(error)", isTransient: true)
    case .wire, .requestTooLong:
      self.init("INVALID_ARGUMENT", "\(error)")
    }
  }
}
