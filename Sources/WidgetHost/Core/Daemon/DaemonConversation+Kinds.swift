import WidgetBundle
import WidgetModel

// The kinds of programs, for suggestions in notes about kinds that nobody has registered.
extension DaemonConversation {
  /// Asks for the registered kinds if a bundle has a widget of a kind that the bundle lacks. The
  /// answer mostly comes before the daemon tells the widget. If it comes later, the line of the log
  /// has no suggestion, and the note of the bundle's widget gets it with the answer.
  mutating func askForKinds(of bundle: Bundle) {
    guard !isStopped, bundle.remarks.contains(where: { $0.foreignKind != nil }),
      !exchange.awaits(.registeredKinds)
    else { return }
    call(.registeredKinds, for: .registeredKinds)
  }

  /// Without an answer, only the kinds of bundles are suggested. The host knows these better than
  /// the daemon, which still has the kinds of bundles that are being removed.
  mutating func kindsAnswered(_ result: Result<DaemonAnswer, Failure>) {
    guard case .success(.standing(let known)) = result else { return }
    let bundles = HostState.provider(of: "")
    put(.programKinds(Set(known.kinds.filter { !$0.provider.hasPrefix(bundles) }.map(\.name))))
  }
}
