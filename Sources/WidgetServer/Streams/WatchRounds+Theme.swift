import NIOCore
import WidgetCore
import WidgetModel

/// A new theme for readers that are behind.
extension WatchRounds {
  /// Begins the search for readers that lack a new theme. A search under way goes on. If it began
  /// again at each change, changes in quick succession would keep it from the last readers.
  func beginThemeSearch() {
    if themeSearch == nil {
      themeSearch = MemberSearch(roster.all)
    } else {
      themeSearch?.isOutdated = true
    }
  }

  /// Lets readers that wait for the end of a delay get a new theme, as long as there is time. The
  /// search goes on in the next turn. Readers that are served for another reason get the theme first.
  func searchForTheme() {
    guard let search = themeSearch else { return }
    themeSearch = continueSearch(search, for: lacksTheme)
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
