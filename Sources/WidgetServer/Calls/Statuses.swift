import WidgetCore
import WidgetModel
public import WidgetProto
import WidgetStorage

/// The errors that callers see. Only this file decides their codes, reasons and words.
extension RPCStatus {
  /// The `domain` of every reason.
  static let domain = "widgetd"

  init(
    _ code: StatusCode, _ reason: String, _ message: String, metadata: [String: String] = [:],
    violations: [FieldViolation] = [], retryDelay: Duration? = nil
  ) {
    self.init(
      code: code, message: message,
      errorInfo: ErrorInfo(reason: reason, domain: RPCStatus.domain, metadata: metadata),
      fieldViolations: violations, retryDelay: retryDelay)
  }

  /// A refusal by the store. Exhaustive: a new refusal does not compile until its code is decided.
  init(_ error: StoreError) {
    switch error {
    case .widgetNotFound(let id):
      self.init(
        .notFound, error.reason, "There is no widget \"\(id)\". `widgetctl ls` lists all widgets.",
        metadata: ["widget_id": id.rawValue])
    case .widgetExists(let id):
      self.init(
        .alreadyExists, error.reason,
        "A widget \"\(id)\" already exists. Choose another id, or update or delete that one.",
        metadata: ["widget_id": id.rawValue])
    case .etagMismatch(let id, let current):
      self.init(
        .aborted, error.reason,
        "Widget \"\(id)\" has changed since its etag was read. Read it again and retry.",
        metadata: ["widget_id": id.rawValue, "revision": "\(current)"])
    case .widgetHidden(let id):
      self.init(
        .failedPrecondition, error.reason,
        "Widget \"\(id)\" is hidden and takes no events. Show it first, or force the event.",
        metadata: ["widget_id": id.rawValue])
    case .widgetDisabled(let id):
      self.init(
        .failedPrecondition, error.reason,
        "Widget \"\(id)\" is disabled and takes no events. Enable it first, or force the event.",
        metadata: ["widget_id": id.rawValue])
    case .notAnActivity(let id):
      self.init(
        .failedPrecondition, error.reason,
        "Widget \"\(id)\" is not an activity. Change or remove it like other widgets (`widgetctl set "
          + "\(id)`, `widgetctl rm \(id)`).",
        metadata: ["widget_id": id.rawValue])
    case .activityEnded(let id):
      self.init(
        .failedPrecondition, error.reason,
        "Activity \"\(id)\" has ended, and takes no more changes. Start another one, or delete it.",
        metadata: ["widget_id": id.rawValue])
    case .nodeNotFound(let id, let node):
      self.init(
        .notFound, error.reason,
        "Widget \"\(id)\" has no node \"\(node)\" now. `widgetctl view \(id) --nodes` lists "
          + "its nodes.",
        metadata: ["widget_id": id.rawValue, "node_id": node])
    case .nodeHidden(let id, let node):
      self.init(
        .failedPrecondition, error.reason,
        "Node \"\(node)\" of widget \"\(id)\" is hidden and takes no events.",
        metadata: ["widget_id": id.rawValue, "node_id": node])
    case .nodeDisabled(let id, let node):
      self.init(
        .failedPrecondition, error.reason,
        "Node \"\(node)\" of widget \"\(id)\" is disabled and takes no events.",
        metadata: ["widget_id": id.rawValue, "node_id": node])
    case .kindMismatch(let id, let kind, let declared, let set):
      let (owner, advice) =
        if let bundle = OwnerName.bundle(set) {
          (" belongs to bundle \(bundle) and", "remove the widget from the file of that bundle")
        } else if set.isEmpty {
          ("", "delete that widget")
        } else {
          (" belongs to the set \"\(set)\" and", "delete that widget")
        }
      self.init(
        .failedPrecondition, error.reason,
        "Widget \"\(id)\"\(owner) is a \"\(kind)\", not a \"\(declared)\". The kind of a widget "
          + "cannot change. Choose another id, or \(advice).",
        metadata: ["widget_id": id.rawValue, "kind": kind.rawValue, "apply_set": set])
    case .kindNotFound(let name):
      self.init(
        .notFound, error.reason,
        "There is no kind \"\(name)\". `widgetctl kinds` lists all kinds.",
        metadata: ["kind": name.rawValue])
    case .kindClaimed(let name, let provider):
      let (owner, advice) =
        if let bundle = OwnerName.bundle(provider) {
          (
            "bundle \(bundle)",
            "Choose another name, or delete the kind and its widgets from the file of bundle "
              + "\(bundle)."
          )
        } else if provider == "widgetd" {
          // Nobody can remove the kinds of the daemon.
          ("\"widgetd\"", "Choose another name.")
        } else {
          (
            "\"\(provider)\"",
            "Choose another name, or remove the kind (`widgetctl rm-kind \(name)`)."
          )
        }
      self.init(
        .alreadyExists, error.reason, "Kind \"\(name)\" belongs to \(owner). \(advice)",
        metadata: ["kind": name.rawValue, "provider": provider])
    case .themeChanged(let current):
      self.init(
        .aborted, error.reason,
        "The theme has changed since its etag was read. Read it again (`widgetctl theme get`) and "
          + "retry.",
        metadata: ["revision": "\(current)"])
    case .reducerFailed(let id, let event, let failure):
      self.init(
        .failedPrecondition, error.reason,
        "Widget \"\(id)\" cannot handle \"\(event)\": \(failure.words): \(failure.message). "
          + "Its data is unchanged; correct the sent values, the kind, or the widget's data.",
        metadata: ["widget_id": id.rawValue, "event": event, "place": failure.place])
    case .invalid(let field, let description):
      self.init(
        .invalidArgument, error.reason, "\(field): \(description)",
        violations: [FieldViolation(field: field, description: description)])
    case .invalidForm(let problems):
      let violations = problems.map {
        FieldViolation(field: "payload[values][\($0.name)]", description: $0.words)
      }
      self.init(
        .invalidArgument, error.reason,
        violations.map { "\($0.field): \($0.description)" }.joined(separator: "\n"),
        violations: violations)
    case .quotaExceeded(let limit, let maximum):
      // Selectors alone exceed this limit, and every request has its selector in a field of this
      // name.
      self = .quotaExceeded(limit, maximum, field: limit == "scan_cost_max" ? "selector" : nil)
    case .revisionCompacted(let compactRevision):
      self.init(
        .outOfRange, error.reason,
        "Changes before revision \(compactRevision) are no longer kept. Watch again without a "
          + "resume token.",
        metadata: ["compact_revision": "\(compactRevision)"])
    case .revisionUnknown(let current):
      self.init(
        .outOfRange, error.reason,
        "That revision is in the future; the current one is \(current). Watch again without a "
          + "resume token.",
        metadata: ["revision": "\(current)"])
    case .notProvided(let id, let kind, let provider):
      self.init(
        .failedPrecondition, error.reason,
        "Widget \"\(id)\" is a \"\(kind)\", but provider \"\(provider)\" does not have that kind. Declare "
          + "the kind in this session, or change the widget with UpdateWidget.",
        metadata: ["widget_id": id.rawValue, "kind": kind.rawValue, "provider": provider])
    case .inUpdate(let index, let id, let inner):
      self.init(inner)
      errorInfo?.metadata["widget_id"] = id.rawValue
      message = "updates[\(index)]\(fieldViolations.isEmpty ? ": " : ".")\(message)"
      for place in fieldViolations.indices {
        fieldViolations[place].field = "updates[\(index)].\(fieldViolations[place].field)"
      }
    case .inWidget(_, let id, let inner):
      self.init(inner)
      errorInfo?.metadata["widget_id"] = id.rawValue
    case .requestIDReused(let requestID):
      self.init(
        .invalidArgument, error.reason,
        "request_id: \"\(requestID)\" was used for another request within the last ten minutes. "
          + "Use a new one for each request.",
        violations: [
          FieldViolation(field: "request_id", description: "It was used for another request.")
        ])
    }
  }

  /// A request with invalid bytes.
  init(_ error: WireError) {
    switch error {
    case .budgetExceeded, .tooDeep:
      let place = error.path.isEmpty ? "" : " The memory ran out in \(error.path)."
      self.init(
        .resourceExhausted, "MESSAGE_TOO_LARGE", "The request \(error.reason).\(place)",
        violations: RPCStatus.violations(of: error))
    default:
      self.init(
        .invalidArgument, "INVALID_REQUEST", "\(error)", violations: RPCStatus.violations(of: error)
      )
    }
  }

  private static func violations(of error: WireError) -> [FieldViolation] {
    error.path.isEmpty ? [] : [FieldViolation(field: error.path, description: error.reason)]
  }

  /// An answer that has no encoding.
  static func unencodable(_ error: WireError) -> RPCStatus {
    if case .budgetExceeded = error {
      return RPCStatus(
        .resourceExhausted, "RESPONSE_TOO_LARGE",
        "The answer \(error.reason). Ask for fewer objects at a time.")
    }
    return RPCStatus(.internalError, "INTERNAL", "The answer cannot be encoded: \(error).")
  }

  static func storageFailed(_ error: StorageError) -> RPCStatus {
    RPCStatus(
      .unavailable, "STORAGE_FAILED",
      "The daemon cannot store the change, so nothing has changed: \(error). Try again when the "
        + "cause is fixed.",
      metadata: ["cause": error.reason], retryDelay: .seconds(1))
  }

  /// - Parameters:
  ///   - field: the request's field that exceeds the limit; nil if there is none.
  ///   - hasMost: whether the field has most bytes of its widget.
  static func quotaExceeded(
    _ limit: String, _ maximum: Int, field: String? = nil, hasMost: Bool = true
  ) -> RPCStatus {
    let remedy =
      switch limit {
      case "content_cost_per_command_max":
        "The content of the changed widgets costs too much. Change fewer at once, or simplify the "
          + "expressions of their kind"
      case "bundle_calls_max", "bundle_calls_of_clients_max":
        "Try again when an earlier call has ended"
      case "incomplete_bytes_max", "incomplete_bytes_per_uid_max":
        "Send fewer requests at a time, and each without a pause"
      case "incomplete_bytes_unauthorized_max":
        "You may only ask for health: send smaller requests, and fewer at a time"
      case "selector_terms_max": "Name fewer ids, kinds and labels in one request"
      case "scan_cost_max": "List the widgets (`widgetctl ls`), and name their ids"
      case "blob_bytes_total_max", "blobs_max":
        "Try again when other users have deleted their uploaded files"
      case "widget_bytes_max" where field != nil:
        hasMost ? "Make the value smaller" : "Make the values of the widget smaller"
      case "blob_bytes_max": "Upload a smaller file"
      case "blob_bytes_per_uid_max", "blobs_per_uid_max": "Delete uploaded files"
      case "bundle_archive_bytes_max": "Make the bundle smaller"
      case "declared_widgets_max": "Declare fewer widgets in one request"
      case "event_payload_bytes_max": "Make the payload smaller"
      case "kind_bytes_max", "kind_memory_bytes_max", "reducers_per_kind_max":
        "Make the kind smaller"
      case "kinds_max", "kind_memory_bytes_per_uid_max": "Remove kinds"
      case "provider_updates_max": "Send fewer updates in one frame"
      case "providers_per_uid_max": "Stop one of your providers"
      case "selector_expression_bytes_max": "Shorten the expression"
      case "selector_memory_bytes_max":
        "Shorten the expression, or use smaller counts in the repetitions of its patterns"
      case "selector_memory_bytes_per_uid_max", "subscriptions_per_uid_max",
        "subscriptions_unauthorized_per_uid_max":
        "Close one of your streams"
      case "subscriptions_max", "selector_memory_bytes_total_max":
        "Close one of your streams, or try again when other users have closed theirs"
      case "subscriptions_unauthorized_max":
        "You may only ask for health, with few streams and calls at a time: try again later"
      case "theme_overrides_max": "Remove values from the theme"
      case _ where limit.hasPrefix("connections_"): "Close one of the connections"
      default: "Remove widgets or values"
      }
    return RPCStatus(
      .resourceExhausted, "QUOTA_EXCEEDED",
      (field.map { "\($0): " } ?? "")
        + "The limit \(limit) = \(maximum) is reached. \(remedy), or raise the limit in the daemon's "
        + "configuration.",
      metadata: ["limit": limit, "maximum": "\(maximum)"],
      violations: field.map {
        [FieldViolation(field: $0, description: bound(limit, maximum, hasMost))]
      } ?? [])
  }

  /// The description of a limit, for the field that exceeds it.
  private static func bound(_ limit: String, _ maximum: Int, _ hasMost: Bool) -> String {
    guard limit == "widget_bytes_max" else { return "At most \(maximum) are allowed (\(limit))." }
    let state = "The state of a widget may have \(maximum) bytes (\(limit))"
    return hasMost
      ? "\(state), and most of them are here; make the value smaller."
      : "\(state). The widget is too large with this request; this is the largest field of the "
        + "request. Make the values of the widget smaller."
  }

  static func invalidField(_ field: String, _ description: String) -> RPCStatus {
    RPCStatus(.invalid(field: field, description: description))
  }

  static func epochChanged(_ epoch: UInt64) -> RPCStatus {
    RPCStatus(
      .failedPrecondition, "EPOCH_CHANGED",
      "The resume token belongs to another store's history. Watch again without a resume token.",
      metadata: ["epoch": "\(epoch)"])
  }

  static let resumeTokenMismatch = RPCStatus(
    .invalidArgument, "RESUME_TOKEN_MISMATCH",
    "The resume token belongs to another selector, read mask, content family, number of upcoming "
      + "entries or redaction (--redacted). Resume with the same ones, or watch without a token.",
    violations: [
      FieldViolation(
        field: "resume_token",
        description:
          "It belongs to another selector, read_mask, content_family, upcoming_entries or redacted."
      )
    ])

  static let shuttingDown = RPCStatus(
    .unavailable, "SHUTTING_DOWN", "The daemon is shutting down. Connect again.",
    retryDelay: .milliseconds(200))

  static func permissionDenied(_ method: Method, _ uid: UInt32) -> RPCStatus {
    let name = method.fullName
    let others =
      method.requiredLevel == .owner
      ? "Only the daemon's own user and root may call it; members of the client group may read, "
        + "watch and send events."
      : "Only the daemon's own user, root and members of the client group (`--client-group`) may "
        + "call it."
    return RPCStatus(
      .permissionDenied, "PERMISSION_DENIED", "User \(uid) may not call \(name). \(others)",
      metadata: ["method": name, "uid": "\(uid)"])
  }

  static func forceDenied(_ uid: UInt32) -> RPCStatus {
    RPCStatus(
      .permissionDenied, "PERMISSION_DENIED",
      "User \(uid) may not force events, or trace bundles. Only the daemon's own user and root may "
        + "do this.",
      metadata: ["uid": "\(uid)"])
  }

  static func unknownMethod(_ service: String, _ method: String) -> RPCStatus {
    RPCStatus(
      .unimplemented, "METHOD_UNKNOWN", "There is no method \(service)/\(method).",
      metadata: ["method": "\(service)/\(method)"])
  }

  static func wrongShape(_ method: Method) -> RPCStatus {
    let name = method.fullName
    let words =
      switch method.shape {
      case .unary: "\(name) is a unary call; open it without flags."
      case .stream: "\(name) answers with a stream; open it with the remote-closed flag."
      case .conversation: "\(name) is a bidirectional stream; open it with the remote-open flag."
      }
    return RPCStatus(.invalidArgument, "WRONG_CALL_TYPE", words, metadata: ["method": name])
  }

  static let noBundleHost = RPCStatus(
    .unavailable, "BUNDLE_HOST_MISSING",
    "No widgetd-host is connected; it installs and runs bundles. Start it: `widgetd-host`, or its unit "
      + "if systemd has one.")

  /// The process of the host runs, and its session is over, because it sent nothing.
  static func bundleHostSilent(_ silence: ProviderSilence) -> RPCStatus {
    let since = RFC3339.text(
      Timestamp(seconds: silence.since.seconds, nanoseconds: 0) ?? silence.since)
    return RPCStatus(
      .unavailable, "BUNDLE_HOST_SILENT",
      "widgetd-host (process \(silence.pid)) has not answered since \(since): it hangs, or a "
        + "signal has stopped it. Continue it with `kill -CONT \(silence.pid)`, or restart it.",
      metadata: ["pid": "\(silence.pid)", "since": since])
  }

  static let bundleHostGone = RPCStatus(
    .unavailable, "BUNDLE_HOST_GONE",
    "widgetd-host ended before it answered. Start it, and try again. `widgetctl bundle ls` shows what "
      + "it has done.")

  static func bundleHostSlow(seconds: Int) -> RPCStatus {
    RPCStatus(
      .deadlineExceeded, "DEADLINE_EXCEEDED",
      "widgetd-host has not answered within bundle_call_seconds = \(seconds), and may still carry "
        + "out the call. `widgetctl bundle ls` shows the result; if that fails, restart widgetd-host."
    )
  }

  static func providerActive(
    _ provider: String, uid: UInt32, pid: UInt32, canTakeOver: Bool
  ) -> RPCStatus {
    RPCStatus(
      .alreadyExists, "PROVIDER_ACTIVE",
      "Provider \"\(provider)\" has a session already (\(Peer.words(forProcess: pid)), "
        + "user \(uid)). Stop it, "
        + (canTakeOver ? "set take_over to replace it, " : "") + "or choose another name.",
      metadata: ["provider": provider, "uid": "\(uid)", "pid": "\(pid)"])
  }

  static func providerReplaced(_ provider: String) -> RPCStatus {
    RPCStatus(
      .aborted, "PROVIDER_REPLACED",
      "Another session of provider \"\(provider)\" has replaced this one.",
      metadata: ["provider": provider])
  }

  static func leaseExpired(_ lease: Duration) -> RPCStatus {
    RPCStatus(
      .deadlineExceeded, "LEASE_EXPIRED",
      "The provider sent nothing for \(lease). Open another session, and send keep_alive in time.")
  }

  static func noDataRequest(_ id: UInt64) -> RPCStatus {
    RPCStatus(
      .notFound, "DATA_REQUEST_NOT_FOUND",
      "There is no open data request \(id): it was answered, another one replaced it, or its "
        + "widget was removed.",
      metadata: ["data_request_id": "\(id)"])
  }

  static func noSubscription(_ id: UInt64) -> RPCStatus {
    RPCStatus(
      .notFound, "SUBSCRIPTION_NOT_FOUND",
      "There is no open stream \(id) of this user. Its id is in the stream's first frame.",
      metadata: ["subscription_id": "\(id)"])
  }

  static func invalidConfiguration(_ description: String) -> RPCStatus {
    RPCStatus(
      .failedPrecondition, "CONFIGURATION_INVALID",
      "The old settings stay in force, because the new ones are invalid: \(description)")
  }

  static func requestTooLarge(_ byteCount: Int, _ maximum: Int) -> RPCStatus {
    RPCStatus(
      .resourceExhausted, "MESSAGE_TOO_LARGE",
      "The request has \(byteCount) bytes, and this call takes at most \(maximum). Send less at a "
        + "time.")
  }

  static func responseTooLarge(_ byteCount: Int, _ maximum: Int) -> RPCStatus {
    RPCStatus(
      .resourceExhausted, "RESPONSE_TOO_LARGE",
      "The answer has \(byteCount) bytes; the maximum is \(maximum). Ask for fewer objects at a "
        + "time.")
  }

  static let frameTooLarge = RPCStatus(
    .resourceExhausted, "RESPONSE_TOO_LARGE",
    "A widget is too large for a frame. Watch less of it with a read mask, or make it smaller.")

  static let cancelled = RPCStatus(.cancelled, "CANCELLED", "The call was cancelled.")

  /// A request that did not arrive completely in time.
  public static func requestLate(_ milliseconds: Int) -> RPCStatus {
    RPCStatus(
      .deadlineExceeded, "DEADLINE_EXCEEDED",
      "The request did not arrive within request_milliseconds = \(milliseconds). Send it without "
        + "a pause.")
  }

  public static let deadlineExceeded = RPCStatus(
    .deadlineExceeded, "DEADLINE_EXCEEDED", "The call's deadline has passed.")

  static let unsubscribed: RPCStatus? = nil
}

extension RPCStatus {
  static let clockIsReal = RPCStatus(
    .failedPrecondition, "CLOCK_IS_REAL",
    "The daemon uses the system's clock, which cannot be moved. Start a daemon with `widgetd --clock "
      + "fake --store memory`.")

  static func refreshBudgetExhausted(_ budget: RefreshBudget, at now: Timestamp) -> RPCStatus {
    let next = budget.nextTime.map { max(.milliseconds(1), $0.duration(since: now)) }
    return RPCStatus(
      .resourceExhausted, "REFRESH_BUDGET_EXHAUSTED",
      "Kind \"\(budget.kind)\" has no refreshes left; it has \(budget.capacity) an hour. Retry later; "
        + "`widgetctl describe \(budget.kind)` shows when.",
      metadata: ["kind": "\(budget.kind)", "capacity": "\(budget.capacity)"], retryDelay: next)
  }
}
