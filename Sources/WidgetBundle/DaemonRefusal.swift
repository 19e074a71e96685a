/// The problem of a bundle that the daemon refuses. The host shows it, and `widgetctl` recognises it.
package enum DaemonRefusal {
  /// The words before the daemon's reason.
  package static func words(about folder: String) -> String {
    "\(folder): the daemon refuses the bundle: "
  }
}
