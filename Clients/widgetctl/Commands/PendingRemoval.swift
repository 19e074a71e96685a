import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// An earlier removal of a bundle that the host has not carried out before an installation.
enum PendingRemoval {
  /// Whether the widgets of a removed bundle are still there, or may be there. If the host runs the
  /// folder, waits for a while until it has removed them.
  ///
  /// - Parameter folder: of bundles.
  static func leavesWidgets(
    of id: String, in folder: String, _ global: GlobalOptions
  ) async -> Bool {
    guard BundleStanding.wasRemoved(id, from: folder) else { return false }
    let host = await BundleHost.ask(global)
    if host.runs(folder) == true,
      await isCarriedOut(id, in: folder, within: BundleRemovalMark.waitMax)
    {
      return false
    }
    // A removal from a folder that no host ran changes nothing in the daemon.
    guard host.runs(folder) != false || host.ran(folder) else { return false }
    guard let session = try? global.session(),
      let mask = try? ReadMask(paths: ["id", "apply_set"]),
      let widgets = try? await session.list(Selector(), mask: mask).widgets
    else { return true }
    return widgets.contains { OwnerName.bundle($0.widget.applySet) == id }
  }

  /// Waits until the host has deleted the mark of a removal.
  ///
  /// - Returns: false if the mark is still there after this time.
  static func isCarriedOut(
    _ id: String, in folder: String, within limit: Duration
  ) async -> Bool {
    let deadline = ContinuousClock.now + limit
    while BundleStanding.wasRemoved(id, from: folder) {
      guard ContinuousClock.now < deadline,
        (try? await Task.sleep(for: .milliseconds(20))) != nil
      else { return false }
    }
    return true
  }
}
