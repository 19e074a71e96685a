import WidgetBundle
import WidgetModel

/// The problems of bundles that widgets show while they wait for their removal: of the bundle that
/// has the widget, of the bundle with its kind, and of bundles that are to take it over.
///
/// Valid for one round. It reads the bundles once, and keeps the errors of each combination of
/// bundles, because thousands of widgets can wait.
struct HeldProblems: Sendable {
  private struct Place: Hashable {
    let set: String
    let kind: KindName
  }

  private struct Question: Hashable {
    let place: Place
    let others: Set<String>
  }

  /// The sets of the bundles that have the widgets of a set, or take them over, by set.
  private var owners: [String: String] = [:]
  /// The sets of the bundles that have a kind, and a problem.
  private var havingKind: [KindName: Set<String>] = [:]
  /// The sets of the bundles that declare a widget with a kind, and have a problem.
  private var wanting: [WidgetID: [KindName: Set<String>]] = [:]
  private var known: [Question: [WidgetError]] = [:]

  /// Notes the sets that a bundle has, or takes over.
  mutating func add(_ sets: Set<String>, of own: String) { for set in sets { owners[set] = own } }

  /// Notes the kinds of a bundle that the daemon has. A refused bundle with the kind of another one
  /// does not count.
  mutating func addKinds(of bundle: Bundle) {
    let own = HostState.provider(of: bundle.id)
    for kind in bundle.kinds { havingKind[kind.kind.name, default: []].insert(own) }
  }

  /// Notes the widgets of a version that runs, or that the daemon refuses. A retry of the version
  /// does not end its problem, so it counts meanwhile, too.
  mutating func addWidgets(of bundle: Bundle) {
    let own = HostState.provider(of: bundle.id)
    for (id, kind) in bundle.kindsOfWidgets {
      wanting[id, default: [:]][kind, default: []].insert(own)
    }
  }

  /// The errors of a widget that waits.
  mutating func errors(on id: WidgetID, _ holds: Holds, _ marks: Marks) -> [WidgetError] {
    guard let set = holds.set(of: id), let kind = holds.kind(of: id) else { return [] }
    let place = Place(set: owners[set] ?? set, kind: kind)
    let others = (havingKind[kind] ?? []).union(wanting[id]?[kind] ?? [])
    let question = Question(place: place, others: others)
    if let errors = known[question] { return errors }
    let errors = marks.errors(of: place.set, beside: others, on: kind)
    known[question] = errors
    return errors
  }
}

extension DaemonConversation {
  var heldProblems: HeldProblems {
    var problems = HeldProblems()
    guard marks.hasTroubles else { return problems }
    for link in links.all {
      let (bundle, own) = (link.bundle, HostState.provider(of: link.bundle.id))
      problems.add(claims(of: bundle).sets, of: own)
      guard marks.hasTrouble(of: own) else { continue }
      if link.watch != nil || link.hasDeclared { problems.addKinds(of: bundle) }
      problems.addWidgets(of: bundle)
    }
    for bundle in rests.bundles where marks.hasTrouble(of: HostState.provider(of: bundle.id)) {
      problems.addWidgets(of: bundle)
    }
    return problems
  }
}
