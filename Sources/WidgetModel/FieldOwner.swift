/// Who set a data key, a parameter or a label of a widget that a manager declares.
///
/// A *manager* is a declared set that owns its fields; see `Declaration.ownsFields`.
public struct FieldOwner: Hashable, Sendable {
  /// `data.KEY`, `parameters.KEY` or `labels.KEY`.
  public var path: String
  /// Who set it last: the name of a declared set, or one of the names below. A set's name has no space
  /// in it, the others have one.
  public var owner: String
  /// The declared set that declares the field while somebody else owns it; empty for none.
  public var manager: String
  /// What `manager` declares; it is not in force.
  public var declared: Value?

  public init(path: String, owner: String, manager: String = "", declared: Value? = nil) {
    self.path = path
    self.owner = owner
    self.manager = manager
    self.declared = declared
  }

  /// Whether the owner is a declared set.
  public var isManaged: Bool { !owner.utf8.contains(UInt8(ascii: " ")) }

  /// The owner of what a user set.
  public static func user(_ uid: UInt32) -> String { "user \(uid)" }
  /// The owner of what events did.
  public static func events(of kind: KindName) -> String { "events of kind \(kind)" }
  /// The owner of what a provider set.
  public static func provider(_ name: String) -> String { "provider \(name)" }
  /// The owner of what was there when owners were first recorded.
  public static let earlier = "earlier change"

  /// A path in its two parts; nil if it names no such field.
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
