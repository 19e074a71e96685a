/// The owner of a field of a managed widget: the writer of a data key, a parameter or a label.
///
/// A *manager* is a declared set that owns its fields; see `Declaration.ownsFields`.
///
/// A field has at most one owner and at most one value that is set aside. If it has both, two
/// values of this type have its path.
public struct FieldOwner: Hashable, Sendable {
  /// `data.KEY`, `parameters.KEY`, `labels.KEY`, `position`, `visible` or `enabled`.
  public var path: String
  /// The last writer of the field: the name of a declared set, or one of the names below. The name
  /// of a set has no space; the names below have one.
  public var owner: String
  /// The declared set that declares the field while somebody else owns it; empty for none.
  public var manager: String
  /// The value that `manager` declares, which differs from the field's value. Without a manager: a
  /// user's value that is set aside, because it does not fit the widget's kind.
  public var declared: Value?

  public init(path: String, owner: String, manager: String = "", declared: Value? = nil) {
    self.path = path
    self.owner = owner
    self.manager = manager
    self.declared = declared
  }

  /// The owner for people: `user alice (1000)` for `user 1000`, `bundle load` for `bundle/load`.
  ///
  /// - Parameter names: the name of a user; nil if nobody has the number.
  public func ownerName(_ names: (UInt32) -> String?) -> String {
    if owner == FieldOwner.earlier { return "an earlier change" }
    if owner == FieldOwner.unrecorded { return "an event or an action" }
    if let bundle = OwnerName.bundle(owner) { return "bundle \(bundle)" }
    let prefix = "user "
    guard owner.hasPrefix(prefix), let uid = UInt32(owner.dropFirst(prefix.count)),
      let name = names(uid)
    else { return owner }
    return "user \(name) (\(uid))"
  }

  /// Whether the value is set aside until it fits the kind: the kind does not declare the field, or
  /// declares it with another type, or without this choice.
  public var isAside: Bool { manager.isEmpty && declared != nil }

  /// Whether the value is lost with the widget, if its set removes the widget: somebody else has
  /// set the value, and no provider sets it again.
  ///
  /// - Parameter set: The declared set of the widget.
  public func isLost(with set: String) -> Bool {
    owner != set && !owner.hasPrefix("provider ")
  }

  /// The widget's value of the field now.
  public func value(in widget: Widget) -> Value? {
    if path == FieldOwner.visible { return .bool(widget.presence.isVisible) }
    if path == FieldOwner.enabled { return .bool(widget.presence.isEnabled) }
    guard let (part, key) = FieldOwner.parse(path) else { return nil }
    return switch part {
    case .data: widget.data[key]
    case .parameters: widget.parameters[key]
    case .labels: widget.labels[key].map { .string($0) }
    }
  }

  /// Whether the owner is a user.
  public var isUsers: Bool { owner.hasPrefix("user ") }

  /// Whether the owner is a declared set.
  public var isManaged: Bool { !owner.utf8.contains(UInt8(ascii: " ")) }

  /// The path that stands for the widget's position. It has an owner only after a user has moved
  /// the widget.
  public static let position = "position"
  /// The paths that stand for the widget's presence. They have an owner only while the presence
  /// differs from the state before the first change by a user.
  public static let visible = "visible"
  public static let enabled = "enabled"
  public static let presence = [visible, enabled]

  /// The owner of fields that a user set.
  public static func user(_ uid: UInt32) -> String { "user \(uid)" }
  /// The owner of fields that the events of a kind set.
  public static func events(of kind: KindName) -> String { "events of kind \(kind)" }
  /// The owner of fields that a provider set.
  public static func provider(_ name: String) -> String { "provider \(name)" }
  /// The owner of values that are older than the record of owners.
  public static let earlier = "earlier change"
  /// The owner of values that events and actions set in fields without a record of the owner. The
  /// daemon does not use this name.
  public static let unrecorded = "event or action"

  /// A path's part and key; nil if the path has another form.
  public static func parse(_ path: String) -> (part: Part, key: String)? {
    for part in Part.allCases {
      if let key = path.key(behind: part.rawValue + ".") { return (part, key) }
    }
    return nil
  }

  /// The maps of a widget whose fields have owners.
  public enum Part: String, Hashable, Sendable, CaseIterable {
    case data
    case labels
    case parameters

    public func path(_ key: String) -> String { "\(rawValue).\(key)" }
  }
}
