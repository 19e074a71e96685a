package import WidgetModel

/// Widgets that the file of their bundle no longer has, and that wait for their removal. Meanwhile
/// another bundle that declares such a widget with the same kind takes it over.
///
/// The host writes the offer into the errors of these widgets, and `widgetctl` recognises it there.
package enum WidgetOffer {
  /// The reason in the error of such a widget.
  package static let reason = "BUNDLE_INVALID"
  /// The part of the error that offers the widget to other bundles.
  package static let advice = "declare the widget with the same kind in another bundle"

  /// Whether the error of a widget says that other bundles can take the widget over.
  package static func isMade(of widget: Widget) -> Bool {
    guard widget.isStale, let errors = widget.error?.all else { return false }
    return errors.contains { $0.reason == reason && $0.message.contains(advice) }
  }
}
