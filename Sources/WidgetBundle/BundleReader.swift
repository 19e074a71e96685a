public import WidgetExpression
package import WidgetModel

/// Reads and checks the file of a bundle.
///
/// It never crashes, and takes a time that is about proportional to the text. The length of the
/// text, its depth and the number of reported problems are limited.
public enum BundleReader {
  /// The only format there is.
  public static let format = 1
  /// The kinds that every daemon has.
  package static let builtInKinds = [KindName.help, .activity, .smartStack]
  /// The maximum size of the text, in bytes.
  public static let bytesMax = SourceReader.bytesMax

  /// The bundle that a JSON or YAML text describes.
  ///
  /// - Parameters:
  ///   - isJSON: whether the text must be JSON, as in a file `*.json`.
  ///   - settings: the file with the user's values for the bundle's settings; nil if there is none.
  ///   - environment: the host's variables, for `environment.NAME` in expressions.
  ///   - timeZones: the rules of time zones, for expressions.
  /// - Throws: all mistakes in the text.
  public static func read(
    _ text: String, isJSON: Bool = false, settings: SettingsFile? = nil,
    environment: [String: String] = [:],
    timeZones: (@Sendable (String) -> TimeZoneRules?)? = nil
  ) throws(InvalidBundle) -> Bundle {
    let lines = SourceLines(text)
    let root: SourceNode?
    do throws(BundleProblem) { root = try SourceReader.read(text, isJSON: isJSON) } catch {
      throw InvalidBundle([error], lines)
    }
    guard let root, !root.isNull else {
      throw InvalidBundle(
        [
          BundleProblem(
            line: 1, column: 1, message: "there is nothing in it",
            hint: "a bundle begins with " + (isJSON ? "{\"bundle\": \"ID\"" : "bundle: ID"))
        ], lines)
    }
    let reading = Reading(lines, timeZones: timeZones)
    reading.environment = environment
    let bundle = BundleFileReader(reading).read(Item(node: root, path: ""), settings: settings)
    guard reading.problems.isEmpty, var bundle else {
      throw InvalidBundle(reading.problems, lines)
    }
    reading.remarkLostQuotes(root)
    bundle.remarks = reading.remarks.inOrder.map { $0.shown(in: lines) }
    return bundle
  }

  /// Whether this can be a bundle's id: 1 to 64 lowercase letters, digits and `-`, a letter or digit
  /// first.
  public static func isID(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: "-")
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}

/// Reads the document itself: the bundle's name, its permissions and its widgets.
struct BundleFileReader {
  static let kindsMax = 64
  static let widgetsMax = 1000
  static let servicesMax = 64

  let reading: Reading
  /// Whether a host runs the kinds. Otherwise only the daemon does.
  let hasHost: Bool

  init(_ reading: Reading, hasHost: Bool = true) {
    self.reading = reading
    self.hasHost = hasHost
  }

  /// Keys that only a bundle has.
  private static let bundleKeys: Set<String> = [
    "bundle", "format", "version", "description", "permissions", "defaults", "services", "let",
    "transforms",
  ]

  /// Whether it is a file for `widgetctl apply`: it has kinds or widgets, and nothing that only a
  /// bundle has.
  private static func isForApply(_ item: Item) -> Bool {
    switch item.node.content {
    case .list(let elements):
      guard case .map(let entries)? = elements.first?.content else { return false }
      return entries.contains { $0.key == "kind" }
    case .map(let entries):
      let keys = Set(entries.map(\.key))
      guard !keys.contains("bundle") else { return false }
      let kinds = entries.first { $0.key == "kinds" }
      if case .list? = kinds?.value.content { return true }
      return keys.contains("set")
        || bundleKeys.isDisjoint(with: keys)
          && !keys.isDisjoint(with: ["kinds", "widgets", "kind"])
    default: return false
    }
  }

  func read(_ item: Item, settings: SettingsFile?) -> Bundle? {
    if BundleFileReader.isForApply(item) {
      reading.report(
        item, "this is not a bundle, but a set of widgets and kinds",
        hint: "apply it with `widgetctl apply -f FILE`; a bundle begins with bundle: ID")
      return nil
    }
    guard let object = reading.object(item, .bundle) else { return nil }
    var bundle = Bundle(id: "", version: "")
    if let item = object["bundle"] {
      let text = reading.text(item)
      bundle.id = text ?? ""
      if text != nil, !BundleReader.isID(bundle.id) {
        reading.report(
          item, "\"\(bundle.id.prefix(40))\" cannot be a bundle's id",
          hint: "use 1 to 64 of a-z, 0-9 and -")
      }
    } else {
      reading.reportMissing(
        "bundle", of: object, "the bundle's id is missing", hint: "begin with bundle: ID")
    }
    if let item = object["format"] {
      if let text = reading.text(item), text != "\(BundleReader.format)" {
        reading.report(
          item, "format \(text.prefix(20)) is not known",
          hint: "this version reads format: \(BundleReader.format)")
      }
    } else {
      reading.reportMissing(
        "format", of: object, "the format is missing", hint: "add format: \(BundleReader.format)")
    }
    if let item = object["version"] {
      let text = reading.text(item)
      bundle.version = text ?? ""
      let parts = bundle.version.split(separator: ".", omittingEmptySubsequences: false)
      let areNumbers = parts.allSatisfy { part in
        (1...9).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
      }
      if text != nil, parts.count != 3 || !areNumbers {
        reading.report(
          item, "\"\(bundle.version.prefix(40))\" is not a version",
          hint: "write three numbers: 1.0.0"
        )
      }
    } else {
      reading.reportMissing(
        "version", of: object, "the version is missing", hint: "add version: 1.0.0")
    }
    bundle.name = reading.text(object["name"]) ?? ""
    bundle.summary = reading.text(object["description"]) ?? ""
    if let item = object["permissions"] { bundle.permissions = permissions(item) }
    reading.permissions = bundle.permissions
    bundle.defaults = defaults(object["defaults"], of: bundle.id, settings: settings)
    reading.defaults = bundle.defaults
    let kinds = self.kinds(object["kinds"])
    let widgetItems = self.widgets(object["widgets"])
    reading.declareLets(
      object["let"],
      Variables(
        BundleScope.Slot.allCases.map { ExpressionVariable("\($0)", .dyn) },
        timeZones: reading.timeZones))
    let services = services(object["services"], bundle.permissions)
    let context = BundleContext(
      permissions: bundle.permissions, services: services, widgetIDs: Set(widgetItems.map(\.name)),
      transforms: transforms(object["transforms"]), hasHost: true)
    bundle.kinds = read(kinds, context)
    bundle.widgets = widgetItems.compactMap { widget($0, kinds: kinds.map(\.name), bundle.kinds) }
    reportDoubles(widgetItems)
    return bundle
  }

  func read(_ named: [Named], _ context: BundleContext) -> [BundleKind] {
    read(named) { KindReader(reading, $0, context).read($1) }
  }

  /// Reads the kinds. Each name can be used only once.
  func read<K>(_ named: [Named], _ readKind: (KindName, Item) -> K?) -> [K] {
    var names: Set<KindName> = []
    var kinds: [K] = []
    for kind in named {
      guard let name = KindName(kind.name) else {
        reading.report(
          kind.nameItem, "\"\(kind.name.prefix(70))\" cannot be a kind's name",
          hint: "use 1 to 64 of a-z, A-Z, 0-9 and . _ - / :, a letter or digit first")
        continue
      }
      guard !BundleReader.builtInKinds.contains(name) else {
        reading.report(
          kind.nameItem, "every daemon has a kind \"\(name)\" already", hint: "choose another name")
        continue
      }
      guard names.insert(name).inserted else {
        reading.report(kind.nameItem, "kind \"\(name)\" appears twice", hint: "rename one of them")
        continue
      }
      if let kind = readKind(name, kind.item) { kinds.append(kind) }
    }
    return kinds
  }

  func reportDoubles(_ widgets: [Named]) {
    var ids: Set<String> = []
    for widget in widgets where !ids.insert(widget.name).inserted {
      reading.report(
        widget.nameItem, "widget \"\(widget.name.prefix(70))\" appears twice",
        hint: "give one of them another id")
    }
  }

  // MARK: - Permissions

  private func permissions(_ item: Item) -> Permissions {
    guard let object = reading.object(item, .permissions) else { return Permissions() }
    var permissions = Permissions()
    for (text, item) in reading.texts(object["read"], of: "paths") {
      if let problem = PathText.problem(with: text) {
        reading.report(item, problem.message, hint: problem.hint)
      }
      reading.remarkPattern(item, text, hint: "name the folder")
      permissions.read.append(text)
    }
    for (text, item) in reading.texts(object["hosts"], of: "hosts") {
      if HostPermission(text) == nil {
        let isURL = text.contains { "/?#@".contains($0) }  // It can have secrets.
        let subject = isURL ? ShownURL.subject(text) : "\"\(text.prefix(80))\""
        reading.report(
          item, "\(subject) is not a host",
          hint: "write api.example.org, 127.0.0.1:8080, [::1]:80 or *.example.org, without http://")
      }
      permissions.hosts.append(text)
    }
    for (text, item) in reading.texts(object["commands"], of: "programs") {
      if text.utf8.contains(UInt8(ascii: "/")) {
        if let problem = PathText.problem(with: text) {
          reading.report(item, problem.message, hint: problem.hint)
        }
      } else if text.isEmpty || text.utf8.contains(0x20) {
        reading.report(
          item, "\"\(text.prefix(80))\" is not a program",
          hint: "write only the program, without arguments")
      }
      reading.remarkPattern(item, text, hint: "name each program")
      permissions.commands.append(text)
    }
    for (text, item) in reading.texts(object["environment"], of: "variables") {
      if let permission = EnvironmentPermission(text) {
        if let danger = permission.danger {
          reading.report(
            item, "no bundle may have \(danger), because it selects the code that programs run",
            hint: permission.isPattern
              ? "write the full names of the variables" : "leave \(text.prefix(80)) out")
        }
      } else {
        reading.report(
          item, "\"\(text.prefix(80))\" is not a variable's name",
          hint: "use A-Z, a-z, 0-9 and _; end a prefix of several names with *: XDG_*")
      }
      permissions.environment.append(text)
    }
    for (text, item) in reading.texts(object["sockets"], of: "paths") {
      let marks = text.parts(between: "${environment.").dropFirst().filter { !$0.isEmpty }
      for name in marks.map({ String($0.prefix { $0 != "}" }) })
      where !permissions.allowsVariable(name) {
        reading.report(
          item, "the bundle may not read the variable \(name.prefix(80))",
          hint: "add \(name.prefix(80)) to permissions.environment")
      }
      // A path with an unknown variable permits no socket.
      guard let path = reading.replacingVariables(text) else { continue }
      if let problem = PathText.problem(with: path) {
        reading.report(item, problem.message, hint: problem.hint)
      }
      reading.remarkPattern(item, text, hint: "name each socket")
      permissions.sockets.append(path)
    }
    for (text, item) in reading.texts(object["dbus"], of: "names of services") {
      if !BusName.isService(text), !BusName.isPattern(text) {
        reading.report(
          item, "\"\(text.prefix(80))\" is not the name of a service",
          hint: "write org.example.Name, or org.example.* for all names with this prefix")
      }
      permissions.dbus.append(text)
    }
    return permissions
  }

  // MARK: - Services

  /// The services by name; nil for a service with a mistake, so that requests to it report no
  /// further mistake.
  private func services(_ item: Item?, _ permissions: Permissions) -> [String: HTTPRequest?] {
    guard let item, let entries = reading.entries(item, of: "services") else { return [:] }
    guard let name = KindName("service"), entries.count <= BundleFileReader.servicesMax else {
      reading.report(item, "there are more than \(BundleFileReader.servicesMax) services")
      return [:]
    }
    let context = BundleContext(
      permissions: permissions, services: [:], widgetIDs: [], transforms: [:], hasHost: hasHost)
    let reader = KindReader(reading, name, context)
    var services: [String: HTTPRequest?] = [:]
    for entry in entries {
      if !entry.name.isFieldName {
        reading.report(
          entry.nameItem, "\"\(entry.name.prefix(64))\" is not a name",
          hint: "use a-z, A-Z, 0-9 and _, a letter first")
      }
      services[entry.name] = .some(reader.service(entry.item))
    }
    return services
  }

  // MARK: - Kinds and widgets

  /// By name, or a list of objects that have one.
  func kinds(_ item: Item?) -> [Named] {
    let kinds = named(item, key: "name", .kind, of: "kinds")
    guard reading.form == .short else { return kinds }
    if kinds.count > BundleFileReader.kindsMax, let item {
      reading.report(item, "there are more than \(BundleFileReader.kindsMax) kinds")
    }
    return Array(kinds.prefix(BundleFileReader.kindsMax))
  }

  func widgets(_ item: Item?) -> [Named] {
    let widgets = named(item, key: "id", .widget, of: "widgets")
    guard reading.form == .short else { return widgets }
    if widgets.count > BundleFileReader.widgetsMax, let item {
      reading.report(item, "there are more than \(BundleFileReader.widgetsMax) widgets")
    }
    return Array(widgets.prefix(BundleFileReader.widgetsMax))
  }

  func named(
    _ item: Item?, key: String, _ shape: ObjectShape, of what: String
  ) -> [Named] {
    guard let item else { return [] }
    guard case .list(let elements) = item.node.content else {
      return reading.entries(item, of: what) ?? []
    }
    return elements.enumerated().compactMap { index, element in
      let item = item.element(index, element)
      guard let object = reading.object(item, shape) else { return nil }
      guard let nameItem = object[key] else {
        reading.reportMissing(
          key, of: object, "the \(key) is missing", hint: "add \(key): \(key.uppercased())")
        return nil
      }
      return reading.text(nameItem).map { Named(name: $0, nameItem: nameItem, item: item) }
    }
  }

  func widget(
    _ named: Named, kinds names: [String], _ kinds: [BundleKind]
  ) -> WidgetSpec? {
    guard let object = reading.object(named.item, .widget) else { return nil }
    guard let id = WidgetID(named.name) else {
      reading.report(
        named.nameItem, "\"\(named.name.prefix(70))\" cannot be a widget's id",
        hint: "use 1 to 128 of a-z, A-Z, 0-9 and . _ - / :, a letter or digit first")
      return nil
    }
    if let item = object["id"], let text = reading.text(item), text != named.name {
      reading.report(item, "the widget is called \"\(named.name)\" already", hint: "leave out id")
    }
    guard let kindItem = object["kind"] else {
      reading.report(named.item, "widget \"\(id)\" has no kind", hint: "add kind: NAME")
      return nil
    }
    guard let name = reading.text(kindItem) else { return nil }
    guard let kindName = KindName(name) else {
      reading.report(
        kindItem, "\"\(name.prefix(70))\" cannot be a kind's name",
        hint: reading.suggestion(name, among: names + BundleReader.builtInKinds.map(\.rawValue)))
      return nil
    }
    // Without a host, the daemon reports missing kinds, because it knows the kinds of others.
    if hasHost, !names.contains(name), !BundleReader.builtInKinds.contains(kindName) {
      reading.remark(
        kindItem,
        "the bundle has no kind \"\(name)\"; if no other program provides it, the widget shows its "
          + "data as a table",
        hint: MissingKind.hint(
          for: kindName, among: names + BundleReader.builtInKinds.map(\.rawValue)),
        foreignKind: kindName)
    }
    var spec = WidgetSpec(id: id, kind: kindName)
    let kind = kinds.first { $0.kind.name == kindName }?.kind
    if let item = object["family"], let text = reading.text(item) {
      spec.family = reading.families([(text, item)]).first
      if let family = spec.family, let kind, !kind.families.isEmpty,
        !kind.families.contains(family)
      {
        reading.report(
          item, "kind \"\(kindName)\" does not support \(family.name)",
          hint: "use one of: " + kind.families.map(\.name).joined(separator: ", "))
      }
    }
    if let item = object["labels"] {
      spec.labels = labels(item)
    }
    spec.isVisible = reading.bool(object["visible"])
    spec.isEnabled = reading.bool(object["enabled"])
    spec.parameters = values(
      object["parameters"], of: "parameters", kind?.parameters, isOpen: kind?.isOpen ?? true)
    spec.data = values(object["data"], of: "data", kind?.data, isOpen: kind?.isOpen ?? true)
    if let item = object["timeline"] {
      spec.timeline = timeline(item, of: kind)
      if kind?.schedule != nil {
        reading.remark(
          item, "the widget has a timeline, so the schedule of kind \"\(kindName)\" is ignored",
          hint: "leave out the timeline, or the schedule")
      }
    }
    for field in kind?.parameters ?? [] where field.isRequired {
      let value = spec.parameters[field.name]
      // A value with a mistake has its own message.
      guard value ?? .null == .null,
        value != nil || object["parameters"]?.hasKey(field.name) != true
      else { continue }
      reading.report(
        object["parameters"] ?? named.item,
        "kind \"\(kindName)\" needs the parameter \"\(field.name)\", of type \(field.type)",
        hint: field.summary)
    }
    return spec
  }

  private func labels(_ item: Item) -> Labels {
    var labels = Labels()
    for entry in reading.entries(item, of: "labels") ?? [] {
      if hasHost { checkKey(entry) }
      guard let value = reading.text(entry.item) else { continue }
      if hasHost, value.utf8.count > Labels.textBytesMax {
        reading.report(
          entry.item,
          "the label \"\(entry.name.prefix(64))\" has a value of \(value.utf8.count) bytes",
          hint: "use at most \(Labels.textBytesMax) bytes")
      }
      labels[entry.name] = value
    }
    if hasHost, labels.count > Labels.countMax {
      reading.report(
        item, "the widget has \(labels.count) labels", hint: "use at most \(Labels.countMax)")
    }
    return labels
  }

  /// Reports the name of a label or value that the daemon refuses.
  private func checkKey(_ entry: Named) {
    guard !(1...Labels.textBytesMax).contains(entry.name.utf8.count) else { return }
    reading.report(
      entry.nameItem, "a name has \(entry.name.utf8.count) bytes",
      hint: "use 1 to \(Labels.textBytesMax) bytes")
  }

  func values(
    _ item: Item?, of what: String, _ fields: [Field]?, isOpen: Bool
  ) -> ValueMap {
    guard let item, let entries = reading.entries(item, of: what) else { return [:] }
    var values: [ValueMap.Entry] = []
    for entry in entries {
      if hasHost { checkKey(entry) }
      guard let value = reading.constant(entry.item) else { continue }
      let field = fields?.first { $0.name == entry.name }
      if let fields, field == nil, !isOpen {
        reading.report(
          entry.nameItem, "the kind has no \(what) \"\(entry.name.prefix(64))\"",
          hint: reading.suggestion(entry.name, among: fields.map(\.name)))
        continue
      }
      guard let fitted = field.map({ reading.fitted(value, $0, entry.item) }) ?? value else {
        continue
      }
      values.append(.init(key: entry.name, value: fitted))
    }
    let map = ValueMap(values)
    if map.count < values.count { reading.report(item, "keys appear twice") }
    return map
  }
}

/// The facts about the whole bundle that the readers of its parts need.
struct BundleContext {
  let permissions: Permissions
  /// The services by name; nil for a service with a mistake.
  let services: [String: HTTPRequest?]
  /// The ids of the widgets that the bundle declares.
  let widgetIDs: Set<String>
  /// The transforms by name.
  let transforms: [String: Transform]
  /// Whether a host runs the kinds. Otherwise the daemon alone does, by reducers.
  let hasHost: Bool
}
