import WidgetBundle
import WidgetModel

/// The problems of bundles that widgets show while they wait for their removal: of the bundle that has
/// the widget, of the bundle with its kind, and of bundles that are to take it over.
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
  /// The sets of the bundles that have a kind.
  private var havingKind: [KindName: Set<String>] = [:]
  /// The sets of the bundles that declare a widget with its kind.
  private var wanting: [WidgetID: Set<String>] = [:]
  private var known: [Question: [WidgetError]] = [:]

  /// Notes a bundle that runs, or is about to run.
  ///
  /// - Parameters:
  ///   - sets: the bundle's set, and those that it takes over.
  ///   - hasKinds: whether the daemon has the bundle's kinds. A refused bundle with the kind of
  ///     another one does not count.
  mutating func add(_ bundle: Bundle, sets: Set<String>, hasKinds: Bool, _ holds: Holds) {
    let own = HostState.provider(of: bundle.id)
    for set in sets { owners[set] = own }
    if hasKinds { for kind in bundle.kinds { havingKind[kind.kind.name, default: []].insert(own) } }
    addWidgets(of: bundle, holds)
  }

  /// Notes the widgets of a version that runs, or that the daemon refuses. A retry of the version does
  /// not end its problem, so it counts meanwhile, too.
  mutating func addWidgets(of bundle: Bundle, _ holds: Holds) {
    for spec in bundle.widgets {
      guard let id = spec.id, holds.kind(of: id) == spec.kind else { continue }
      wanting[id, default: []].insert(HostState.provider(of: bundle.id))
    }
  }

  /// The errors of a widget that waits.
  mutating func errors(on id: WidgetID, _ holds: Holds, _ marks: Marks) -> [WidgetError] {
    guard let set = holds.set(of: id), let kind = holds.kind(of: id) else { return [] }
    let place = Place(set: owners[set] ?? set, kind: kind)
    let others = (havingKind[kind] ?? []).union(wanting[id] ?? [])
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
      problems.add(
        link.bundle, sets: claims(of: link.bundle).sets,
        hasKinds: link.watch != nil || link.hasDeclared, holds)
    }
    for bundle in rests.bundles { problems.addWidgets(of: bundle, holds) }
    return problems
  }
}
