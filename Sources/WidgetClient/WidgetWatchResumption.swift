import WidgetModel
import WidgetProto

/// The state of a watch of widgets: the last resume token and the last event.
///
/// The token belongs to the last whole frame. So pieces of a change set and an unfinished snapshot
/// are sent again after a break, and nothing is sent twice or skipped.
struct WidgetWatchResumption: Resumption, Equatable {
  static let method = RPCMethod.watchWidgets
  static var disconnected: (ClientError) -> WatchFrame { { .disconnected($0) } }
  static var reconnected: WatchFrame { .reconnected }

  private(set) var request: WatchWidgetsRequest
  private(set) var isOpen = false

  init(_ options: WatchOptions) {
    request = WatchWidgetsRequest(
      selector: options.selector, readMask: options.readMask, resumeToken: options.resumeToken,
      minInterval: options.minInterval, progressInterval: options.progressInterval,
      includeEvents: options.includeEvents,
      afterSequence: options.includeEvents ? options.afterSequence : nil,
      contentFamily: options.contentFamily, includeTheme: options.includeTheme,
      isPassive: options.isPassive, upcomingEntries: options.upcomingEntries,
      isRedacted: options.isRedacted, batchDelay: options.batchDelay)
  }

  mutating func willOpen() { isOpen = false }

  mutating func receive(_ message: WatchWidgetsResponse) throws(ClientError) -> WatchFrame? {
    if case .opened(let opened) = message {
      guard !isOpen else { throw .protocolViolation("a stream was opened twice") }
      isOpen = true
      // The frame has the event after which the events begin, even if the store is another one.
      if request.includeEvents { request.afterSequence = opened.lastSequence }
      return .opened(opened)
    }
    guard isOpen else { throw .protocolViolation("a stream does not begin with `opened`") }
    switch message {
    case .opened(let opened):
      return .opened(opened)
    case .snapshot(let chunk):
      return .snapshot(chunk)
    case .synced(let synced):
      request.resumeToken = synced.resumeToken
      return .synced(synced)
    case .changes(let set):
      if !set.more { request.resumeToken = set.resumeToken }
      return .changes(set)
    case .progress(let progress):
      if !progress.resumeToken.isEmpty { request.resumeToken = progress.resumeToken }
      saw(sequence: progress.lastSequence)
      return .progress(progress)
    case .events(let batch):
      if let last = batch.events.last { saw(sequence: last.sequence) }
      return .events(batch)
    case .gap(let gap):
      saw(sequence: gap.lastSequence)
      return .gap(gap)
    case .theme(let theme):
      return .theme(theme)
    case .upcoming(let upcoming):
      return .upcoming(upcoming)
    case .store(let store):
      return .store(store)
    case .unknown:
      return nil
    }
  }

  private mutating func saw(sequence: UInt64) {
    guard request.includeEvents else { return }
    request.afterSequence = max(request.afterSequence ?? 0, sequence)
  }

  mutating func recover(from error: ClientError) -> Recovery<WatchFrame> {
    switch error.reason {
    case "REVISION_COMPACTED" where isOpen || !request.resumeToken.isEmpty:
      request.resumeToken = []
      return .restart(.reset(.compacted))
    case "EPOCH_CHANGED" where isOpen || !request.resumeToken.isEmpty:
      request.resumeToken = []
      // All events of another store are new.
      if request.afterSequence != nil { request.afterSequence = 0 }
      return .restart(.reset(.epochChanged))
    default:
      return Recovery(for: error)
    }
  }
}

/// The state of a watch of events: the last event.
struct EventWatchResumption: Resumption, Equatable {
  static let method = RPCMethod.watchEvents
  static var disconnected: (ClientError) -> EventFrame { { .disconnected($0) } }
  static var reconnected: EventFrame { .reconnected }

  private(set) var request: WatchEventsRequest
  private(set) var isOpen = false

  init(_ options: WatchEventsOptions) {
    request = WatchEventsRequest(
      selector: options.selector, names: options.names, afterSequence: options.afterSequence)
  }

  mutating func willOpen() { isOpen = false }

  mutating func receive(_ message: WatchEventsResponse) throws(ClientError) -> EventFrame? {
    switch message {
    case .opened(let opened):
      guard !isOpen else { throw .protocolViolation("a stream was opened twice") }
      isOpen = true
      request.afterSequence = opened.afterSequence
      return .opened(opened)
    case .events(let batch):
      guard isOpen else { throw .protocolViolation("a stream does not begin with `opened`") }
      if let last = batch.events.last { request.afterSequence = last.sequence }
      return .events(batch)
    case .gap(let gap):
      guard isOpen else { throw .protocolViolation("a stream does not begin with `opened`") }
      request.afterSequence = gap.lastSequence
      return .gap(gap)
    case .unknown:
      return nil
    }
  }

  mutating func recover(from error: ClientError) -> Recovery<EventFrame> { Recovery(for: error) }
}
