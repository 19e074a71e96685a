import WidgetBundle
public import WidgetModel

extension HostState {
  /// A bundle that the daemon has, perhaps from an earlier host.
  public struct Remembered: Hashable, Sendable {
    public var id: String
    public var path: String
    /// The load time of the version that ran last.
    public var loaded: Timestamp?
    /// Nil if the host has looked into the folder by itself.
    public var absence: Absence?
    /// The data of the widget `bundle/ID`, as the last host has left it. So the state looks the same
    /// while the bundle does not run.
    public var shown: ValueMap

    public init(
      id: String, path: String, loaded: Timestamp? = nil, absence: Absence? = nil,
      shown: ValueMap = [:]
    ) {
      self.id = id
      self.path = path
      self.loaded = loaded
      self.absence = absence
      self.shown = shown
    }

    // MARK: The last version

    var name: String { text("name") }
    var version: String { text("version") }
    var widgetCount: Int { count("widgets") }
    var otherCount: Int { count("others") }

    var others: [String] { texts("othersFirst") }
    var remarks: [String] { texts("remarks") }
    /// The identities of the marks of removals that were there when a host last saw the bundle's file,
    /// and earlier ones. Nil if only an older host ran the bundle.
    var seenMarks: Set<String>? {
      if case .list? = shown[HostState.marksKey] { Set(texts(HostState.marksKey)) } else { nil }
    }

    /// The host carries out the removals with these marks.
    mutating func note(_ marks: Set<String>) {
      shown[HostState.marksKey] = HostState.value(of: marks.union(seenMarks ?? []))
    }

    /// The events that the kinds react to, by kind.
    var handled: [KindName: [String]] {
      guard case .map(let kinds)? = shown["handled"] else { return [:] }
      var handled: [KindName: [String]] = [:]
      for entry in kinds.entries {
        guard let kind = KindName(entry.key), case .list(let names) = entry.value else { continue }
        handled[kind] = names.compactMap { if case .string(let name) = $0 { name } else { nil } }
      }
      return handled
    }

    /// The data of its kinds that no source sets.
    var settable: SettableData { SettableData(shown[HostState.settableKey]) }

    /// The data of kinds that its former versions had.
    var dropped: SettableData { SettableData(shown[HostState.droppedKey]) }

    /// The values that were gone with removed widgets.
    var losses: FormerLosses? { FormerLosses(shown[HostState.lossesKey]) }

    /// The kinds in its file. If the daemon refused the bundle, they may be the kinds of others.
    var kinds: Set<KindName> { Set(handled.keys) }

    /// The times in its problem and its remarks at which the last host was to remove the bundle, or
    /// widgets that its file lacked.
    var promises: [Timestamp] {
      ([text("problem")] + texts("remarks")).flatMap { line in
        line.ranges(of: HostState.endPrefix).compactMap { range in
          let time = line[range.upperBound...].prefix { $0 != "," && $0 != " " }
          return RFC3339.timestamp(String(time))
        }
      }
    }

    /// The lines about widgets that the file lacked, without their times. These stand still, or the
    /// widgets go with the bundle.
    var heldRemarks: [String] {
      texts("remarks").filter(HostState.isHeldRemark).map { line in
        guard let start = line.firstRange(of: HostState.endPrefix),
          let end = line[start.upperBound...].firstIndex(of: ",")
        else { return line }
        return "\(line[..<start.lowerBound])\(line[end...])"
      }
    }

    /// Whether the last host has shown a problem like the present one, so that its age continues.
    ///
    /// - Parameter isAbsent: whether the folder or the file is missing now.
    func hadProblem(isAbsent: Bool) -> Bool {
      let problem = text("problem")
      return !problem.isEmpty && HostState.isAbsence(problem, of: path) == isAbsent
    }

    private func text(_ key: String) -> String {
      if case .string(let text)? = shown[key] { text } else { "" }
    }

    private func texts(_ key: String) -> [String] {
      guard case .list(let texts)? = shown[key] else { return [] }
      return texts.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    private func count(_ key: String) -> Int {
      if case .int(let count)? = shown[key] { Int(count) } else { 0 }
    }
  }
}
