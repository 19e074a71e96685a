import NIOCore
import WidgetCore
import WidgetModel

/// The search for readers that lack a new theme, over several turns.
///
/// It visits the groups that exist when it begins, and the members that a group has when it gets
/// there. Later readers got the theme when their streams were opened.
struct ThemeSearch {
  private var groups: ArraySlice<WatchGroup>
  private var members: ArraySlice<Subscription> = []
  /// Whether the theme has changed since the search began. The readers that it has visited may lack
  /// the theme again, so another search follows.
  var isOutdated = false

  init(_ groups: [WatchGroup]) { self.groups = groups[...] }

  mutating func next() -> Subscription? {
    while members.isEmpty {
      guard let group = groups.popFirst() else { return nil }
      members = group.members.all[...]
    }
    return members.popFirst()
  }
}

/// A new theme for readers that are behind.
extension WatchRounds {
  /// Begins the search for readers that lack a new theme. A search under way goes on. If it began
  /// again at each change, changes in quick succession would keep it from the last readers.
  func beginThemeSearch() {
    if themeSearch == nil {
      themeSearch = ThemeSearch(roster.all)
    } else {
      themeSearch?.isOutdated = true
    }
  }

  /// Lets readers that wait for the end of a delay get a new theme, as long as there is time. The
  /// search goes on in the next turn. Readers that are served for another reason get the theme first.
  func searchForTheme() {
    guard themeSearch != nil else { return }
    let slice = context.work.slice(of: WatchRounds.themeSearchMax)
    var visited = 0
    while let subscription = themeSearch?.next() {
      if lacksTheme(subscription) { markReady(subscription) }
      visited += 1
      if visited % WatchRounds.membersPerThemeLook == 0, slice.isOver { return }
    }
    let isOutdated = themeSearch?.isOutdated ?? false
    themeSearch = isOutdated ? ThemeSearch(roster.all) : nil
  }

  func lacksTheme(_ subscription: Subscription) -> Bool {
    subscription.lacksTheme(of: context.store.theme.revision)
  }

  /// Sends the current theme. A reader that was behind gets only the last of several changes.
  func sendTheme(to subscription: Subscription) {
    let revision = context.store.theme.revision
    guard let message = frames.themeMessage() else {
      return onFailure(subscription, .frameTooLarge)
    }
    subscription.sentTheme(of: revision, at: .now())
    context.counters.countFrames()
    subscription.sink.send(message)
  }
}
