/// The file that tells the host that a bundle was removed on purpose, so that the host removes its
/// widgets at once. Without the mark, the folder of a bundle may be away only for a moment.
///
/// `widgetctl bundle rm` makes the mark beside the bundle's folder. If that was a link, the mark has the
/// path of the link's target. The host deletes the mark.
public enum BundleRemovalMark {
  /// Whether a text can be the id of a bundle, so that it is safe in a path.
  public static func canHave(_ id: String) -> Bool { BundleReader.isID(id) }

  /// How long an installation waits until the host has carried out earlier removals, so that former
  /// values do not come back.
  public static let waitMax = Duration.seconds(3)

  public static func name(of id: String) -> String { ".removed-\(id)" }

  /// The problem of a bundle while the host removes its widgets and kinds.
  public static let problem = "the bundle is being removed"
}
