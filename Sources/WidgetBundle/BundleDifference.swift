import WidgetModel

/// The differences between two versions of a bundle's file, by path and not by line.
public struct BundleDifference: Hashable, Sendable, CustomStringConvertible {
  /// `kinds.todo.sources.load.every`; elements of lists by their `id` or `name`, if they have one.
  public let path: String
  /// The written value, on one line; nil if the part is missing.
  public let before: String?
  public let after: String?

  public init(path: String, before: String?, after: String?) {
    self.path = path
    self.before = before
    self.after = after
  }

  /// `+ path: after`, `- path: before`, or `~ path: before → after`.
  public var description: String {
    let change =
      switch (before, after) {
      case (let before?, let after?): "~ \(path): \(before) → \(after)"
      case (nil, let after?): "+ \(path): \(after)"
      case (let before?, nil): "- \(path): \(before)"
      case (nil, nil): path
      }
    return change + (isOfNewWidgets ? " (for new widgets)" : "")
  }

  /// Whether the difference has no effect on existing widgets, because users show, hide and disable
  /// these.
  private var isOfNewWidgets: Bool {
    path.hasPrefix("widgets") && (path.hasSuffix(".visible") || path.hasSuffix(".enabled"))
  }

  /// The empty file, for a bundle without a former version. Each permission then differs
  /// separately.
  public static let nothing =
    "permissions: {read: [], hosts: [], commands: [], environment: [], sockets: [], dbus: []}\n"

  /// Whether it is a permission.
  public var isPermission: Bool { path.hasPrefix("permissions") }

  /// The differences, in the order of the new text, then the removed parts. Unreadable texts count
  /// as empty.
  public static func between(_ before: String, _ after: String) -> [BundleDifference] {
    var differences: [BundleDifference] = []
    let old = (try? SourceReader.read(before)) ?? nil
    let new = (try? SourceReader.read(after)) ?? nil
    compare(old, new, path: "", &differences)
    return differences
  }

  private static func compare(
    _ old: SourceNode?, _ new: SourceNode?, path: String, _ differences: inout [BundleDifference]
  ) {
    if let old, let new {
      if old.isSame(as: new) { return }
      if let before = old.parts, let after = new.parts, old.isMap == new.isMap {
        for (name, part) in after {
          let former = before.first { $0.name == name }?.node
          compare(former, part, path: join(path, name), &differences)
        }
        for (name, part) in before where !after.contains(where: { $0.name == name }) {
          compare(part, nil, path: join(path, name), &differences)
        }
        return
      }
    }
    differences.append(
      BundleDifference(path: path, before: old?.oneLine, after: new?.oneLine))
  }

  private static func join(_ path: String, _ name: String) -> String {
    path.isEmpty || name.hasPrefix("[") ? path + name : "\(path).\(name)"
  }
}

extension SourceNode {
  fileprivate var isMap: Bool {
    if case .map = content { true } else { false }
  }

  /// The parts of an object or a list, by name; nil for text.
  fileprivate var parts: [(name: String, node: SourceNode)]? {
    switch content {
    case .scalar: return nil
    case .map(let entries): return entries.map { ($0.key, $0.value) }
    case .list(let elements):
      let names = elements.map(\.ownName)
      let named = names.compactMap(\.self)
      // Elements have names only if all names differ. Otherwise their places count.
      guard named.count == elements.count, Set(named).count == named.count else {
        return elements.enumerated().map { ("[\($0)]", $1) }
      }
      return zip(named, elements).map { ("[\($0)]", $1) }
    }
  }

  private var ownName: String? {
    guard case .map(let entries) = content else { return nil }
    for key in ["id", "name"] {
      if let entry = entries.first(where: { $0.key == key }),
        case .scalar(let text, _) = entry.value.content
      {
        return text
      }
    }
    return nil
  }

  /// The value on one line, cut after 120 characters.
  fileprivate var oneLine: String {
    var text = ""
    write(to: &text)
    return text.count > 120 ? "\(text.prefix(119))…" : text
  }

  private func write(to text: inout String) {
    guard text.utf8.count < 1000 else { return }
    switch content {
    case .scalar(let scalar, _):
      text += scalar.replacing("\n", with: " ")
    case .list(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += ", " }
        element.write(to: &text)
      }
      text += "]"
    case .map(let entries):
      text += "{"
      for (index, entry) in entries.enumerated() {
        if index > 0 { text += ", " }
        text += "\(entry.key): "
        entry.value.write(to: &text)
      }
      text += "}"
    }
  }
}
