import WidgetBundle
import WidgetModel

// Kinds and widgets that several installed bundles have, or that differ between versions.
extension BundleInstaller {
  /// Warnings about names that other bundles use, too.
  static func clashes(of bundle: Bundle, with others: [Installed]) -> [String] {
    var warnings: [String] = []
    for installed in others {
      guard case .success(let other) = installed.bundle else { continue }
      for kind in bundle.kinds where other.kinds.contains(where: { $0.kind.name == kind.kind.name })
      {
        warnings.append(
          clash(about: "kind \"\(kind.kind.name)\"", with: other.id)
            + "; rename the kind in one of them")
      }
      for widget in bundle.widgets {
        if let id = widget.id, let same = other.widgets.first(where: { $0.id == id }) {
          let hasSameKind = same.kind == widget.kind
          warnings.append(
            clash(about: "widget \"\(id)\"", with: other.id)
              + "; give this bundle's widget another id, or delete the widget from the file of that "
              + "bundle"
              + (hasSameKind
                ? ". This bundle then takes the widget over, with the values of users" : ""))
        }
      }
    }
    return warnings
  }

  private static func clash(about part: String, with bundle: String) -> String {
    "bundle \"\(bundle)\" has a \(part), too, so the daemon refuses one of the two bundles"
  }

  /// Whether a warning of an installation is about a part that another bundle has, too.
  ///
  /// - Parameters:
  ///   - part: `kind "NAME"` or `widget "ID"`.
  ///   - bundle: the id of the other bundle.
  public static func isClash(
    _ warning: String, about part: String, with bundle: String
  ) -> Bool {
    warning.contains(clash(about: part, with: bundle))
  }

  /// A warning for each widget that has another kind in the next version.
  static func kindChanges(from former: Bundle, to next: Bundle) -> [String] {
    next.widgets.compactMap { widget in
      guard let id = widget.id, let before = former.widgets.first(where: { $0.id == id })?.kind,
        before != widget.kind
      else { return nil }
      return "\(kindChange(of: id.rawValue))\(before)\" to \"\(widget.kind)\": a new widget "
        + "replaces it"
    }
  }

  private static func kindChange(of widget: String) -> String {
    "widget \"\(widget)\" changes its kind from \""
  }

  /// Whether a warning of a rollback says that a widget gets another kind.
  public static func isKindChange(_ warning: String, of widget: String) -> Bool {
    warning.hasPrefix(kindChange(of: widget))
  }
}
