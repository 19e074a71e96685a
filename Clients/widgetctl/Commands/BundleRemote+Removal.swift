import WidgetBundle
import WidgetClient
import WidgetModel

// `bundle rm --remote`.
extension BundleRemote {
  static func remove(_ ids: [String], force: Bool, _ global: GlobalOptions) async throws {
    let session = try global.session()
    let standings = await BundleStanding.all(global)
    let host = await BundleHost.ask(global)
    // A name that is no id is that of a folder.
    let bundles: [String: String] = Set(ids).reduce(into: [:]) {
      $0[$1] = bundle(named: $1, among: standings, host)
    }
    let going = ids.compactMap { bundles[$0] }.filter {
      !host.runsLater(BundleStanding.folder(of: $0, among: standings))
    }
    let survey = await LostValues.survey(of: going, session)
    let (known, gaps) = (survey?.values, survey?.gaps ?? [:])
    let successors = host.firstFolder.map {
      BundleStanding.successors(
        of: going, removedFrom: BundleHost.resolved($0), among: standings, in: host.order)
    }
    var losses = BundleLosses(
      values: known ?? [],
      staying: known == nil ? [] : await StayingWidgets.ask(of: going, session)
    ).takenOver(by: successors ?? [:])
    // Nothing is lost if the removal is refused.
    var answers: [String: LostSettings.Answer] = [:]
    for id in ids {
      let answer = await noting(global) { () async -> LostSettings.Answer in
        await LostSettings.ask(of: id, force: force, session)
      }
      if case .named(let settings) = answer { losses.settings += settings }
      answers[id] = answer
    }
    var removed: [String] = []
    var failure: (any Error)?
    for id in ids where failure == nil {
      do {
        let answer = try await advising(global, having: id) { () async throws(ClientError) in
          try await session.client.deleteBundle(
            DeleteBundleRequest(id: id, force: force), options: session.options)
        }
        removed.append(id)
        for words in answer.warnings { BundleText.warn(words) }
        if let words = LostSettings.warning(removing: id, answers[id]) { BundleText.warn(words) }
      } catch let error as CommandFailure {
        failure = losses.of([id, bundles[id] ?? id]).named(in: error)
      } catch {
        failure = error
      }
    }
    if !removed.isEmpty {
      if known == nil { BundleText.warn(LostValues.unknown(removed)) }
      let lost = losses.of(removed + removed.compactMap { bundles[$0] })
      for bundle in removed.compactMap({ bundles[$0] }) where lost.successors[bundle] == nil {
        if let gap = gaps[bundle] { BundleText.warn(gap) }
      }
      session.printer.print(LostValues.document(removed: removed, lost)) {
        lost.text(removed: removed, .done)
      }
    }
    if let failure { throw failure }
  }

  /// The id of the bundle that a removal names: an id, or the name of a folder that is no id.
  private static func bundle(
    named name: String, among standings: [String: BundleStanding], _ host: BundleHost
  ) -> String {
    guard !BundleReader.isID(name), let folder = host.firstFolder else { return name }
    return standings["\(BundleHost.resolved(folder))/\(name)"]?.id ?? name
  }
}
