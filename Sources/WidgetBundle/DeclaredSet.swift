public import WidgetExpression
public import WidgetModel

/// The form in which a document declares kinds and widgets.
public enum DeclaredForm: Sendable {
  /// The form of bundles, for people. The reader checks expressions and names.
  case short
  /// The form of the protocol, which `describe -o yaml` prints. The reader checks the structure, and
  /// the daemon checks expressions and names.
  case long
}

/// Kinds and widgets that are declared for a daemon without a host.
///
/// In the short form, handlers become reducers. The reader reports what only a host can do: sources,
/// actions, and steps that do more than change data.
public struct DeclaredSet: Sendable {
  /// The set's name; nil if the document has none.
  public var name: String?
  /// nil if the document declares no kinds.
  public var kinds: [DeclaredKind]?
  /// nil if the document declares no widgets.
  public var widgets: [DeclaredWidget]?
  /// Warnings about possible mistakes, in the order of the file.
  public var remarks: [BundleProblem] = []

  /// Reads a document of the short form in a file of JSON or YAML.
  ///
  /// - Parameters:
  ///   - document: the document's number in the file, from 0. Empty documents do not count.
  ///   - timeZones: the rules of time zones, for expressions.
  /// - Throws: all mistakes in the document.
  public static func read(
    _ text: String, document: Int = 0,
    timeZones: (@Sendable (String) -> TimeZoneRules?)? = nil
  ) throws(InvalidBundle) -> DeclaredSet {
    let lines = SourceLines(text)
    let root: SourceNode?
    do throws(BundleProblem) { root = try SourceReader.read(text, document: document) } catch {
      throw InvalidBundle([error], lines)
    }
    guard let root else {
      throw InvalidBundle(
        [
          BundleProblem(
            line: 1, column: 1, message: "there is nothing in it",
            hint: "declare kinds: or widgets:")
        ], lines)
    }
    let reading = Reading(lines, timeZones: timeZones)
    let set = BundleFileReader(reading, hasHost: false).readSet(Item(node: root, path: ""))
    guard reading.problems.isEmpty, var set else {
      throw InvalidBundle(reading.problems, lines)
    }
    reading.remarkLostQuotes(root)
    set.remarks = reading.remarks.inOrder.map { $0.shown(in: lines) }
    return set
  }
}

/// A kind of a document.
public struct DeclaredKind: Sendable {
  public var kind: Kind
  /// The place in the document: `kinds.counter`, `kinds[1]`.
  public var path: String
  /// The provider that a printed kind names. Empty if there is none, and always in the short form.
  public var provider = ""
}

/// A widget of a document.
public struct DeclaredWidget: Sendable {
  public var spec: WidgetSpec
  /// The place in the document: `widgets.clock`, `widgets[1]`.
  public var path: String
  /// The set that a printed widget names. Empty if there is none, and always in the short form.
  public var set = ""
}

extension BundleFileReader {
  func readSet(_ item: Item) -> DeclaredSet? {
    guard case .map(let entries) = item.node.content else {
      _ = reading.object(item, .set)
      return nil
    }
    // A key of a bundle is not a misspelt key: the file needs a host.
    let isOfHost = { (key: String) in
      ObjectShape.bundle.keys.contains(key) && !ObjectShape.set.keys.contains(key)
    }
    var own = item
    own.node.content = .map(entries.filter { !isOfHost($0.key) })
    for entry in entries where isOfHost(entry.key) {
      let key = SourceNode(
        line: entry.line, column: entry.column, content: .scalar(entry.key, isPlain: true))
      reading.reportNeedsHost(Item(node: key, path: entry.key), "\"\(entry.key)\"")
    }
    guard let object = reading.object(own, .set) else { return nil }
    var set = DeclaredSet()
    set.name = reading.text(object["set"])
    reading.declareLets(
      object["let"],
      Variables(
        BundleScope.Slot.allCases.map {
          ExpressionVariable("\($0)", .dyn, isListed: !$0.needsHost)
        },
        timeZones: reading.timeZones))
    let named = kinds(object["kinds"])
    let context = BundleContext(
      permissions: Permissions(), services: [:], widgetIDs: [],
      transforms: transforms(object["transforms"]), hasHost: false)
    let kinds = read(named, context)
    if object["kinds"] != nil {
      set.kinds = kinds.map { kind in
        let item = named.first { $0.name == kind.kind.name.rawValue }?.item
        return DeclaredKind(kind: kind.kind, path: item?.path ?? "")
      }
    }
    if let item = object["widgets"] {
      let items = widgets(item)
      let names = named.map(\.name)
      set.widgets = items.compactMap { named in
        widget(named, kinds: names, kinds).map { DeclaredWidget(spec: $0, path: named.item.path) }
      }
      reportDoubles(items)
    }
    return set
  }
}

extension Reading {
  /// Reports what only a host can do. The first report says how to make the file a bundle.
  func reportNeedsHost(_ item: Item, _ what: String) {
    let advice =
      "make the file a bundle: begin with bundle: ID, format: 1 and version: 1.0.0, leave out set, "
      + "and run `widgetctl bundle install FILE`"
    report(item, "\(what) needs widgetd-host", hint: hasAdvisedBundle ? "" : advice)
    hasAdvisedBundle = true
  }
}
