import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// The rules for the values that are lost with the widgets of a bundle, by the kinds of the widgets.
struct LossRules: Sendable {
  private var rules: [KindName: LostFields] = [:]
  /// The kinds of the daemon that no file has, so that their sources are unknown.
  private var others: [KindName: Kind] = [:]
  /// The names of the data fields, by kind, of the kinds that a file has and the daemon lacks. The
  /// daemon may have had the kinds with other fields.
  private var fields: [KindName: Set<String>] = [:]
  private var hasFile = false

  /// Only the values with a recorded owner count.
  init() {}

  /// - Parameters:
  ///   - registered: the kinds, as the daemon has them.
  ///   - files: of the bundle. The first one that has a kind decides which fields sources set. If
  ///     the kind is not registered, and `settable` lacks it, this file also has the fields.
  ///   - settable: the data that no source sets, as the host knows it, for kinds that no file has,
  ///     or that are not registered.
  init(
    _ registered: [Kind], in files: [Bundle], settable: SettableData = SettableData()
  ) {
    hasFile = !files.isEmpty
    for name in settable.names {
      rules[name] = settable[name].map { LostFields(name, settable: $0) }
    }
    for kind in registered {
      let known = files.flatMap(\.kinds).first { $0.kind.name == kind.name }
      if let known {
        rules[kind.name] = LostFields(kind, sources: known.sources)
      } else if rules[kind.name] == nil {
        others[kind.name] = kind
      }
    }
    for kind in files.flatMap(\.kinds) where rules[kind.kind.name] == nil {
      rules[kind.kind.name] = LostFields(kind)
      fields[kind.kind.name] = Set(kind.kind.data.map(\.name))
    }
  }

  /// The data that no source sets, of the kinds of some bundles, as the host knows it. Empty if the
  /// host is older.
  ///
  /// - Parameters:
  ///   - sets: of the bundles.
  ///   - shown: widgets, among them those with the states of the host's bundles.
  static func settable(of sets: Set<String>, _ shown: [Widget]) -> SettableData {
    var data = SettableData()
    for widget in shown where widget.showsBundle && sets.contains(widget.id.rawValue) {
      data.add(SettableData(widget.data["settable"]))
    }
    return data
  }

  /// Asks for the kinds.
  static func ask(
    _ kinds: Set<KindName>, in files: [Bundle], settable: SettableData, _ client: WidgetClient,
    _ options: CallOptions
  ) async throws -> LossRules {
    var registered: [Kind] = []
    for name in kinds {
      do throws(ClientError) {
        let answer = try await client.getKind(GetKindRequest(name: name), options: options)
        registered.append(answer.kind.kind)
      } catch {
        guard error.status?.code == .notFound else { throw error }
      }
    }
    return LossRules(registered, in: files, settable: settable)
  }

  /// The rules for some bundles, by bundle. None if the daemon does not answer.
  ///
  /// - Parameters:
  ///   - shown: widgets, among them those with the states of the host's bundles.
  ///   - places: the folders of bundles that somebody may have moved, by bundle.
  static func ask(
    of bundles: Set<String>, _ shown: [Widget], at places: [String: String] = [:],
    _ session: Session
  ) async -> [String: LossRules] {
    guard !bundles.isEmpty, let kinds = try? await session.kinds().kinds.map(\.kind) else {
      return [:]
    }
    return bundles.reduce(into: [:]) { rules, id in
      rules[id] = LossRules(
        kinds, in: [file(of: id, shown, movedTo: places[id])].compactMap(\.self),
        settable: settable(of: ["bundle/\(id)"], shown))
    }
  }

  /// The file from which the host runs a bundle; nil if this process cannot read it.
  ///
  /// - Parameter place: the folder with the file if the host's folder has none. Somebody may have
  ///   moved the folder.
  static func file(
    of bundle: String, _ shown: [Widget], movedTo place: String? = nil
  ) -> Bundle? {
    guard let widget = shown.first(where: { $0.id.rawValue == "bundle/\(bundle)" }),
      widget.showsBundle, case .string(let path)? = widget.data["path"]
    else { return nil }
    for folder in [path, place].compactMap(\.self) {
      guard let found = (try? BundleInstaller.anywhere.read(at: folder))?.bundle,
        found.id == bundle
      else { continue }
      return found
    }
    return nil
  }

  /// The files with the sources of a bundle's kinds, and of the bundle in whose place it is installed.
  /// The installed version comes first.
  static func files(
    of bundle: Bundle, replacing occupant: BundleStanding?, _ arrival: BundleOutlook.Arrival,
    _ shown: [Widget]
  ) -> [Bundle] {
    // The file at hand is the one that the host reads.
    let installed = arrival == .installation ? file(of: bundle.id, shown) : nil
    return [installed, occupant.flatMap { file(of: $0.id, shown) }, bundle].compactMap(\.self)
  }

  func values(of widget: Widget, _ owners: [FieldOwner]) -> [FieldOwner] {
    LostFields.values(of: widget, owners, by: rules[widget.kind])
  }

  /// The warning that the list of the lost values of a bundle's widgets is incomplete, because the
  /// sources of a kind are unknown. Nil if the list is complete.
  func gap(in widgets: [TaggedWidget], of bundle: String) -> String? {
    let found = widgets.filter { hidesValues(of: $0.widget, $0.owners) }
      .map { (id: $0.widget.id.rawValue, kind: $0.widget.kind) }
      .sorted { $0.id < $1.id }
    guard let first = found.first else { return nil }
    let kind = found.map { $0.kind }.first { others[$0] == nil } ?? first.kind
    let reason =
      if !hasFile {
        "the file of bundle \(bundle) cannot be read"
      } else if others[kind] == nil {
        "the daemon does not have the kind \"\(kind)\""
      } else {
        "no readable file of bundle \(bundle) has the kind \"\(kind)\""
      }
    let ids = BundleOutlook.shortened(found.map { $0.id })
    return "values that buttons, forms and events may have set on \(ids) cannot be named, because "
      + reason
  }

  /// Whether a widget has values that may be lost, and that nobody can name.
  func hidesValues(of widget: Widget, _ owners: [FieldOwner]) -> Bool {
    if let kind = others[widget.kind] {
      return LostFields.values(of: widget, owners, by: LostFields(kind, sources: [])).contains {
        $0.owner == FieldOwner.unrecorded
      }
    }
    return !unclear(in: widget, owners).isEmpty
  }

  /// The keys of a widget's data whose origin nobody knows, because neither the host nor a file has
  /// the kind with these fields. An event, an action or a source has set the value, or it is a
  /// former default.
  func unclear(in widget: Widget, _ owners: [FieldOwner]) -> [String] {
    let kind = widget.kind
    guard others[kind] == nil, rules[kind] == nil || fields[kind] != nil else { return [] }
    return widget.data.entries.compactMap { entry in
      guard entry.value != .null, entry.key != BundleScope.statusKey,
        fields[kind]?.contains(entry.key) != true
      else { return nil }
      let path = FieldOwner.Part.data.path(entry.key)
      let owner = owners.first { $0.path == path && !$0.isAside }?.owner
      return owner?.hasPrefix("provider ") != false ? entry.key : nil
    }
  }
}
