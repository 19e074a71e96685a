import WidgetBundle
import WidgetModel

/// The times that the host promises: until then, a folder can be put back, or a change can be undone.
///
/// They count only while the host runs. So if no host runs, no time is a time of a removal. If this
/// is unknown, a time in the past is none. Readers get the reason instead.
enum Promise {
  /// No host runs, and the text has no time.
  static let notRunning = "the host is not running"
  /// No host runs. The next one does not know the former time.
  static let stopped =
    "\(notRunning); after its next start, the host waits again before the removal"
  /// The process of the host runs and does not answer.
  static let silent = "the host does not answer, and removes nothing until it does"
  /// Nobody has asked for the host.
  static let unasked = "the host removes widgets only while it runs"

  /// The words before the time, as the host writes them.
  private static let prefix = " by "

  /// A text with a reason in the place of each promised time that does not count.
  ///
  /// - Parameter now: the time before which promises have passed; nil if none counts.
  static func text(_ text: String, _ reason: String, at now: Timestamp?) -> String {
    var result = ""
    var rest = text[...]
    while let range = rest.firstRange(of: prefix) {
      let time = rest[range.upperBound...].prefix { $0 != "," && $0 != " " }
      if let end = RFC3339.timestamp(String(time)), now.map({ end < $0 }) ?? true {
        result += String(rest[..<range.lowerBound]) + " (\(reason))"
        rest = rest[time.endIndex...]
      } else {
        result += String(rest[..<range.upperBound])
        rest = rest[range.upperBound...]
      }
    }
    return result + String(rest)
  }

  /// The first time that a text promises; nil if there is none.
  static func time(in text: String) -> Timestamp? {
    for range in text.ranges(of: prefix) {
      let time = text[range.upperBound...].prefix { $0 != "," && $0 != " " }
      if let end = RFC3339.timestamp(String(time)) { return end }
    }
    return nil
  }

  /// The reason for a bundle.
  ///
  /// - Parameter isStale: whether the widget of the bundle is stale.
  static func reason(_ session: HostSession, isStale: Bool) -> String {
    switch session {
    case .silent: silent
    case .away: stopped
    case .connected: isStale ? stopped : unasked
    }
  }

  /// The reason for a widget.
  ///
  /// - Parameter staleness: of the widget; nil if it is fresh, or if the daemon was not asked.
  static func reason(_ staleness: Staleness?) -> String {
    switch staleness?.cause {
    case .hostEnded?, .noHost?: return stopped
    case .silent(let name, _)? where name == BundleHost.widget: return silent
    default:
      let isMissing = staleness?.host.map { BundleHost($0).isMissing } ?? false
      return isMissing ? stopped : unasked
    }
  }
}

extension Widget {
  /// The kind of the widgets that show the state of bundles.
  private static let standingKind = KindName("bundle")

  /// The widget, with a reason in the place of each promised time that does not count: in its errors,
  /// and in the words of a widget that shows a bundle.
  ///
  /// - Parameter staleness: see `Promise.reason`.
  func keepingPromises(at now: Timestamp, _ staleness: Staleness? = nil) -> Widget {
    let isStanding = kind == Widget.standingKind
    let hasError = error?.all.contains { $0.reason == WidgetOffer.reason } == true
    guard isStanding || hasError else { return self }
    let reason = Promise.reason(staleness)
    let end = reason == Promise.stopped ? nil : now
    func kept(_ value: Value) -> Value {
      switch value {
      case .string(let text): .string(Promise.text(text, reason, at: end))
      case .list(let values): .list(values.map(kept))
      default: value
      }
    }
    var widget = self
    if hasError, let error {
      widget.error = WidgetError(
        joining: error.all.map { error in
          guard error.reason == WidgetOffer.reason else { return error }
          var error = error
          error.message = Promise.text(error.message, reason, at: end)
          return error
        })
    }
    guard isStanding else { return widget }
    for key in ["problem", "remarks"] {
      if let value = data[key] { widget.data[key] = kept(value) }
    }
    if var content = widget.content {
      for index in content.nodes.indices {
        guard let value = content.nodes[index].properties["text"] else { continue }
        content.nodes[index].properties["text"] = kept(value)
      }
      widget.content = content
    }
    return widget
  }

  /// Whether a reader would see a promised time.
  var hasPromise: Bool { keepingPromises(at: .latest) != self }

  /// The same as `keepingPromises(at:_:)`. Asks the daemon for the host, if there is a time.
  func keepingPromises(at now: Timestamp, _ session: Session) async -> Widget {
    guard hasPromise else { return self }
    var providers = ProviderFacts()
    await providers.look(for: [self], session)
    return keepingPromises(at: now, providers.staleness(of: self))
  }
}
