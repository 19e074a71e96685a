public import WidgetClient
public import WidgetModel

// The daemon as the core sees it: the calls, their answers, and the news. All of them are values.

/// The number of a session that the host opens. Never used twice.
public struct SessionID: Hashable, Sendable {
  let number: UInt64
}

/// The number of a watch. Never used twice.
public struct WatchID: Hashable, Sendable {
  let number: UInt64
}

/// The number of a call. Never used twice, so an answer to a cancelled call is recognized.
public struct CallID: Hashable, Sendable {
  let number: UInt64
}

/// A session to open.
public struct SessionRequest: Sendable {
  public var provider: String
  public var kinds: [Kind]
  /// Whether to end another session of the provider.
  public var takesOver: Bool
  /// Whether to ask which widgets are watched.
  public var includesAudience: Bool
}

/// A call with one answer.
public enum DaemonCall: Sendable {
  /// Waits until the daemon has taken the session's kinds. Answered with `kinds`.
  case ready(SessionID)
  /// Declares the session's kinds again. Answered with `kinds`.
  case declareKinds(SessionID)
  /// Waits, for a short time, until pending acknowledgements are sent.
  case flush(SessionID)
  case close(SessionID)
  case answer(SessionID, WidgetID, WidgetPatch)
  /// Acknowledges that all events up to a number are lost.
  case acknowledgeMissed(SessionID, UInt64)
  /// Answered with `results`.
  case declare([WidgetSpec], set: String)
  /// Answered with `results`.
  case own([WidgetSpec], set: String)
  /// The same, but widgets that are not named stay. Answered with `results`.
  case keep([WidgetSpec], set: String)
  /// What `own` would do. Answered with `results`.
  case foresee([WidgetSpec], set: String)
  case remove([WidgetID])
  case removeKinds(of: String)
  /// Answered with `revision`. The daemon makes no change if the widget has another etag
  /// (`Failure.isETagMismatch`). If the etag is empty, there is no condition.
  case update(WidgetID, WidgetPatch, provider: String, etag: String = "")
  case presence([WidgetID], PresenceAction)
  /// Answered with `sequence`.
  case send(WidgetID, name: String, payload: ValueMap, force: Bool)
  /// Answered with `widget`.
  case widget(WidgetID)
  /// All widgets of these kinds; of any kind if there are none. Answered with `widgets`.
  case widgets([KindName])
  /// The same, but of each widget only what the errors of bundles depend on, and the etag. Answered
  /// with `listed`.
  case errors([KindName])
  /// The same of one widget.
  case error(of: WidgetID)
  /// The owners of the fields of all widgets of these kinds. Answered with `listed`.
  case owners(of: [KindName])
  /// Answered with `standing`.
  case standing(kinds: [KindName], widgets: [WidgetID])
  /// All registered kinds. Answered with `standing`.
  case registeredKinds
  /// Whether the folders of these bundles still hold a bundle. This is no call to the daemon, but
  /// it has an answer. Answered with `absences`.
  case folders([HostState.Remembered])
}

/// The answer to a call.
public enum DaemonAnswer: Sendable {
  case done
  case kinds([KindResult])
  case results([ApplyResult])
  case revision(Revision)
  case sequence(UInt64)
  case widget(Widget)
  case widgets([Widget])
  case listed([ListedWidget])
  case standing(Circumstances)
  /// The folders without a bundle, with the reason, and the identities of the marks that tell of
  /// removals.
  case absences([String: HostState.Absence], marks: Set<String> = [])
}

/// A widget with the condition of a change that depends on it.
public struct ListedWidget: Hashable, Sendable {
  public var widget: Widget
  /// Another one after each change of the widget.
  public var etag: String
  /// The owners of fields; empty unless the call asks for them.
  public var owners: [FieldOwner]

  public init(widget: Widget, etag: String, owners: [FieldOwner] = []) {
    self.widget = widget
    self.etag = etag
    self.owners = owners
  }
}

/// Work for the adapter of the daemon.
public enum DaemonEffect: Sendable {
  /// Opens a session, and opens it again when it is lost, until it is closed with a call.
  case open(SessionID, SessionRequest)
  /// Watches the widgets of these kinds until `endWatch`.
  case watch(WatchID, [KindName])
  case endWatch(WatchID)
  /// Answered with `DaemonInput.answered`, unless it is cancelled.
  case call(CallID, DaemonCall)
  /// Cancels a call. The daemon may have carried it out.
  case cancel(CallID)
  /// Acknowledges this event and all before it. Nobody waits for an answer.
  case acknowledge(SessionID, Event)
  /// Answers the snapshot question with this number. Nobody waits for an answer.
  case answerSnapshot(SessionID, UInt64, Result<ValueMap, Failure>)
  /// Carries out a call about bundles.
  case manage(SessionID, ProviderBundleRequest)
}

/// The reports of the daemon's adapter.
public enum DaemonInput: Sendable {
  case session(SessionID, SessionNews)
  /// The session is over. nil: it was closed.
  case sessionEnded(SessionID, Failure?)
  case watch(WatchID, DaemonNews)
  case watchEnded(WatchID, Failure)
  case answered(CallID, Result<DaemonAnswer, Failure>)
}

/// The owners of a bundle's kinds and widgets. They decide whether the daemon takes the bundle.
public struct Circumstances: Hashable, Sendable {
  public struct KindStanding: Hashable, Sendable {
    public var name: KindName
    public var provider: String
    public var revision: Revision
  }

  public struct WidgetStanding: Hashable, Sendable {
    public var id: WidgetID
    public var kind: KindName
    public var applySet: String
    /// The user who created it.
    public var ownerUID: UInt32 = 0
  }

  public var kinds: Set<KindStanding>
  public var widgets: Set<WidgetStanding>

  public init(kinds: Set<KindStanding> = [], widgets: Set<WidgetStanding> = []) {
    self.kinds = kinds
    self.widgets = widgets
  }
}

/// Changes to widgets.
public enum DaemonNews: Hashable, Sendable {
  /// All widgets that there are.
  case snapshot([Widget])
  case widget(Widget)
  case removed(WidgetID)
}

/// Requests and news of the daemon for a provider.
public enum SessionNews: Hashable, Sendable {
  /// The session is open, for the first time or again. The daemon may be a new one, without any
  /// state.
  case opened(epoch: UInt64, tellsAudience: Bool = false)
  /// The daemon cannot be reached; it is tried again.
  case lost(String)
  /// The daemon does not have the session now; it is tried again.
  case refused(String)
  case event(Event)
  /// The daemon has dropped events of the provider, from the first to the last. Other events can have
  /// numbers in between.
  case missed(first: UInt64, last: UInt64)
  case asked(WidgetID, isRefresh: Bool)
  case removed([WidgetID])
  /// The watched widgets: the first of a session has all of them, later ones are differences.
  case audience(attached: [WidgetID], detached: [WidgetID])
  /// Kinds of the provider were removed.
  case kindsRemoved([KindName])
  /// A client asks for a snapshot of a kind: the content of an instance now.
  case snapshot(SnapshotQuestion)
  /// A client makes a call about bundles. Only the host's session gets these calls.
  case bundles(ProviderBundleRequest)
}
