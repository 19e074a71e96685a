import WidgetBundle
public import WidgetModel

// The errors that a removed bundle leaves on widgets that stay, and the kinds that are gone with it.
extension HostState {
  /// The errors of a bundle that is removed, or has another id. No instance of the bundle ends
  /// them.
  public struct LeftErrors: Hashable, Sendable {
    public var bundle: String
    /// The folder of the bundle. Each problem of the bundle's file names it.
    public var path: String
    /// The kinds of the bundle that no other bundle takes over. Nothing runs their sources and
    /// actions, so widgets of these kinds become stale. The daemon does not always see to that: it
    /// may have lost the bundle's session in a restart before. If somebody else has a kind, it does
    /// not count; only the daemon knows that (`Unmarks`).
    public var kinds: Set<KindName> = []
    /// The kinds of other bundles, which end errors on widgets of these kinds themselves.
    public var others: Set<KindName> = []
    /// Whether the bundle's own widgets count.
    public var includesOwn = false

    /// The change that ends the errors of the bundle on a widget; nil if the widget stays as it is.
    func patch(for widget: Widget) -> WidgetPatch? {
      let rest = rest(on: widget)
      let isLeft =
        kinds.contains(widget.kind) && !others.contains(widget.kind) && widget.activity == nil
        && widget.applySet != HostState.provider(of: bundle)
      guard rest != nil || isLeft && !widget.isStale else { return nil }
      var patch = WidgetPatch(error: rest.map { WidgetError(joining: $0) })
      if isLeft, !widget.isStale { patch.isStale = true }
      if !isLeft, becomesFresh(widget, with: rest ?? []) { patch.isStale = false }
      return patch
    }

    /// Whether a widget is stale only because the file of the bundle lacked it. Somebody has taken
    /// the widget before its removal.
    private func becomesFresh(_ widget: Widget, with rest: [WidgetError]) -> Bool {
      let errors = widget.error?.all ?? []
      return widget.isStale && errors.contains { Holds.Cause.has($0, of: bundle) }
        && !rest.contains { $0.reason == BundleInstance.invalid }
    }

    /// The other errors of a widget; nil if the widget has no error of the bundle.
    func rest(on widget: Widget) -> [WidgetError]? {
      let isOwn = widget.applySet == HostState.provider(of: bundle)
      guard let errors = widget.error?.all, !others.contains(widget.kind), includesOwn || !isOwn
      else { return nil }
      let rest = errors.filter { error in
        switch error.reason {
        case BundleInstance.invalid:
          // The bundle's own widgets still wait for their removal.
          !error.message.names(path) && (isOwn || !Holds.Cause.has(error, of: bundle))
        case BundleInstance.sourceFailed, BundleInstance.actionFailed:
          isOwn || !kinds.contains(widget.kind)
        default: true
        }
      }
      return rest.count < errors.count ? rest : nil
    }
  }

  /// Ends the errors of a removed bundle on widgets that stay.
  ///
  /// - Parameter heir: the bundle that takes over. If it runs, it ends the errors on its widgets
  ///   itself. But the daemon can refuse it for long. An error about a missing folder must not stay
  ///   so long.
  func unmark(_ ended: RunningBundle, heir: Bundle? = nil) -> Output {
    let isAbsent = ended.instance.absentSince != nil
    let bundle = ended.instance.bundle
    let taken = Set(heir?.kinds.map(\.kind.name) ?? [])
    let kinds = Set(bundle.kinds.map(\.kind.name))
    return .unmark(
      LeftErrors(
        bundle: bundle.id, path: ended.folder, kinds: kinds.subtracting(taken),
        others: running.provided.union(isAbsent ? [] : taken),
        includesOwn: isAbsent && heir != nil))
  }

  /// The same for a bundle that only an earlier host ran.
  func unmark(_ known: Remembered) -> Output {
    .unmark(
      LeftErrors(
        bundle: known.id, path: known.path, kinds: known.kinds, others: running.provided))
  }
}

extension String {
  /// Whether the text has this path, or a path below it: `/b/x/y: wrong` has `/b/x`, and
  /// `/b/xy: wrong` does not.
  func names(_ path: String) -> Bool {
    ranges(of: path).contains { range in
      let before = range.lowerBound == startIndex ? " " : self[index(before: range.lowerBound)]
      let after = range.upperBound == endIndex ? " " : self[range.upperBound]
      return " \"(".contains(before) && " /:;,\")".contains(after)
    }
  }
}
