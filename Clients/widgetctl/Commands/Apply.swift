import ArgumentParser
import Glibc
import WidgetClient
import WidgetModel

/// `apply`: applies a declared set of widgets and kinds.
struct ApplyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply", abstract: "Create and update a declared set of widgets and kinds.",
    discussion: """
      The command reads JSON, JSON lines or YAML: {set: NAME, kinds: {...}, widgets: {...}}, a \
      list of widgets, or one widget. Kinds and widgets have the same form as in bundles. \
      docs/kinds.md describes this form, and the long form with lists. A widget has id, kind, \
      family, labels, visible, enabled, parameters and data. The command ignores fields that the \
      daemon fills (revision, state, ...), so you can apply the output of `ls -o yaml`. All \
      widgets change, or none.

      The command creates missing widgets and updates widgets that differ. A widget gets exactly \
      the declared labels and parameters. The output names the labels and parameters that a \
      widget loses, also those of users. Data keys that are not declared stay, because other programs may set \
      them. With --prune, the command removes widgets and kinds that the set \
      declared at an earlier apply, and no longer declares.

      With --own, the set owns only the fields (data keys, parameters and labels) that it \
      declares. Other fields stay, and so do fields that another user or program has set later. \
      The command removes a field that the set no longer declares. `get ID --owners` shows the \
      owners. `set ID --release FIELD` gives a field back to the set.

      The command first registers the kinds in a separate change, all or none. The kinds stay even \
      if the daemon then refuses the widgets. A dry run does not register the kinds, so it does \
      not check the widgets against changed kinds. The kinds belong to the set: no other set or \
      program can change them. If a kind changes, the daemon converts its widgets.

      In the output of `ls`, applySet is the set of a widget. If you apply this output, the \
      widgets stay in this set. Apply widgets of different sets one set at a time. To move widgets \
      of another set to this set, give --set or --force. Values that you change in a widget of a \
      bundle become yours, as with `set`. The daemon refuses new widgets and changed kinds in the \
      set of a bundle: edit the bundle's file. Only --force takes a widget from its bundle; \
      widgetd-host then refuses the bundle until its file no longer declares the widget.

      Examples:
        widgetctl apply panel.yaml
        widgetctl apply panel.yaml --prune --dry-run
        widgetctl ls -l panel=top -o yaml | sed s/12:00/12:01/ | widgetctl apply -f -
        widgetctl ls -o jsonl | jq -c 'select(.applySet == "panel")' \\
          | widgetctl apply -f -
      """)

  @Option(
    name: [.customShort("f", allowingJoined: true), .customLong("file")],
    help: ArgumentHelp(
      "A file; the same as a file without -f. May be repeated.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var namedFiles: [String] = []

  @Argument(
    help: "The files; - is standard input.",
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var files: [String] = []

  @Flag(help: "Remove the widgets and kinds that the set no longer declares.")
  var prune = false

  @Flag(help: "Own only the declared fields. Fields that others have set later stay.")
  var own = false

  @Flag(help: "Print the changes without making them.")
  var dryRun = false

  @Option(
    help: ArgumentHelp(
      """
      The set's name, instead of the name in the file. Also moves widgets of other sets to this \
      set. Default: the name in the file, else default.
      """, valueName: "name"))
  var set: String?

  @Flag(help: "Also move widgets of bundles, and widgets of other sets even without --set.")
  var force = false

  @OptionGroup var transition: TransitionOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard !namedFiles.isEmpty || !files.isEmpty else {
      throw ValidationError("name a file: `widgetctl apply FILE`; - is standard input")
    }
  }

  func run() async throws {
    var file = WidgetFile()
    let mistakes = (namedFiles + files).flatMap { ApplyCommand.read($0, into: &file) }
    if let failure = CommandFailure(joining: mistakes) { throw failure }
    let target = try file.target(explicit: set)
    if !force, prune, let refusal = ApplyCommand.refusal(toPrune: target) { throw refusal }
    let session = try global.session()
    // The present state. The sets are needed to refuse unwanted moves. A dry run that prints the
    // changes needs all fields. Without --own, the output names dropped labels and parameters.
    let mask =
      dryRun && session.printer.format == .table ? ReadMask.all : own ? .setsOnly : .replacedOnly
    let before =
      file.declaresWidgets
      ? try await session.list(Selector(), mask: mask).widgets.map(\.widget) : []
    let moves = ApplyCommand.refusals(
      toMove: file.widgets, from: before, to: target, isNamed: set != nil)
    if !force, let failure = CommandFailure(joining: moves.map { file.located($0) }) {
      throw failure
    }
    // The question comes before the changes of the kinds, which can remove values.
    let unowned =
      prune && file.declaresWidgets
      ? await UnownedValues.ask(in: target, besides: Set(file.widgets.compactMap(\.id)), session)
      : UnownedValues()
    // Only the owners of fields show the values that are set aside. With --prune, other kinds may
    // be removed.
    let watchedKinds = prune ? [] : (file.kinds ?? []).map(\.name)
    let asidesBefore =
      file.kinds == nil || dryRun ? nil : await AsideValues.ask(watchedKinds, session)
    let kinds = try await applyKinds(file, target, session)
    // The kinds are registered already. If this call fails, the widgets must still be applied.
    let lacking =
      (try? await LackingWidgets.lines(
        file.kinds ?? [], kinds?.results ?? [], declared: file.widgets, session)) ?? []
    Output.warn(
      IdleButtons.warnings((file.kinds ?? []).filter { !file.shortKinds.contains($0.name) }))
    if prune {
      for note in await UnprunedParts.notes(file, of: target, session) {
        Output.writeError("widgetctl: \(note.safeForTerminal)\n")
      }
    }
    guard file.declaresWidgets else {
      if !dryRun {
        Output.warn(await FailureWarnings.ask(after: [], kinds?.results ?? [], session))
      }
      let asides = asidesBefore == nil ? nil : await AsideValues.ask(watchedKinds, session)
      return session.printer.print(document(kinds, nil, unowned, asidesBefore, asides)) {
        ApplyCommand.text(kinds, dryRun: dryRun, asides: asides)
          + (asides?.text(since: asidesBefore) ?? "") + lacking.map { "\($0)\n" }.joined().safeLines
          + (kinds == nil ? "nothing to do\n" : "")
      }
    }
    var request = ApplyWidgetsRequest(
      applySet: target, widgets: file.widgets, prune: prune,
      validateOnly: dryRun, requestID: global.requestId ?? "", transition: transition.transition,
      ownFields: own)
    let answer: ApplyWidgetsResponse
    var unchecked: [WidgetID] = []
    do {
      answer = try await apply(request, file, session)
    } catch {
      // The daemon checks with the present kinds, and may refuse values that the changed kinds
      // allow.
      let changed = Set((kinds?.results ?? []).filter { $0.action != .unchanged }.map(\.name))
      guard dryRun, file.widgets.contains(where: { changed.contains($0.kind) }) else { throw error }
      unchecked = request.widgets.filter { changed.contains($0.kind) }.compactMap(\.id)
      request.widgets.removeAll { changed.contains($0.kind) }
      request.prune = false
      answer = try await apply(request, file, session)
    }
    // A dry run does not know the kinds that it would register.
    let declared = Set((dryRun ? file.kinds ?? [] : []).map(\.name.rawValue))
    Output.warn(answer.warnings.filter { !declared.contains($0.metadata["kind"] ?? "") })
    for words in TakenWidgets.warnings(file.widgets, from: before, to: target, dryRun: dryRun) {
      Output.writeError("widgetctl: warning: \(words.safeForTerminal)\n")
    }
    if !dryRun {
      Output.warn(await FailureWarnings.ask(after: answer.results, kinds?.results ?? [], session))
    }
    let asides = asidesBefore == nil ? nil : await AsideValues.ask(watchedKinds, session)
    let dropped = await DroppedFields.of(own ? [] : request.widgets, before: before, session)
    session.printer.print(document(kinds, answer, unowned, asidesBefore, asides, dropped)) {
      ApplyCommand.text(
        kinds, dryRun: dryRun, replacedBy: own ? [] : file.widgets,
        removed: Set(answer.results.filter { $0.action == .deleted }.map(\.id)), asides: asides)
        + (asides?.text(since: asidesBefore) ?? "")
        + lacking.map { "\($0)\n" }.joined().safeLines
        + (unchecked.isEmpty || !answer.results.isEmpty
          ? ApplyCommand.text(
            answer.results, before: before, specs: dryRun && !own ? file.widgets : nil, set: target)
          : "")
        + unchecked.map { "\($0) not checked, because its kind changes (dry run)\n" }.joined()
        + ApplyCommand.text(fieldsOf: answer.results, unowned, dryRun: dryRun)
        + (dryRun ? "" : dropped.text(answer.results))
        + (dryRun && kinds?.results.contains { $0.action != .unchanged } == true
          ? "the dry run does not check the widgets against the changed kinds\n" : "")
    }
  }

  /// Adds the documents of a file. Returns all mistakes.
  private static func read(_ name: String, into file: inout WidgetFile) -> [CommandFailure] {
    let label = name == "-" ? "standard input" : name
    do throws(CommandFailure) {
      if let refusal = refusal(toRead: name) { throw refusal }
      let text = try Input.text(name)
      let documents = try DocumentReader.documents(text, name: label)
      guard !documents.isEmpty else {
        throw CommandFailure(.invalidArgument, "\(label) is empty")
      }
      return file.add(documents, of: text, name: label) { Output.writeError($0.safeLines) }
    } catch { return [error] }
  }

  /// The refusals to take widgets away from bundles, or from sets if no set was named on the command
  /// line. Empty if no widget moves from a set to another.
  static func refusals(
    toMove specs: [WidgetSpec], from before: [Widget], to target: String, isNamed: Bool
  ) -> [CommandFailure] {
    let sets = Dictionary(before.map { ($0.id, $0.applySet) }) { $1 }
    return specs.compactMap(\.id).compactMap { id in
      guard let owner = sets[id], !owner.isEmpty, owner != target else { return nil }
      if let bundle = RemoveCommand.bundle(of: owner) {
        return refusal(
          of: id,
          "widget \"\(id)\" belongs to bundle \(bundle); edit the bundle's file, change single "
            + "values with `widgetctl set`, or choose another id; --force moves the widget to set "
            + "\(JSONWriter.quoted(target)), and widgetd-host then refuses the bundle as long as its "
            + "file declares the widget")
      }
      guard !isNamed else { return nil }
      return refusal(
        of: id,
        "widget \"\(id)\" belongs to set \(JSONWriter.quoted(owner)); apply it with --set \(owner), "
          + "choose another id, or move it with --set \(target)")
    }
  }

  private static func refusal(of id: WidgetID, _ message: String) -> CommandFailure {
    var failure = CommandFailure(.refused, message)
    failure.metadata["widget_id"] = id.rawValue
    return failure
  }

  /// The refusal to prune the set of a bundle, whose widgets the host would restore. nil for other sets.
  static func refusal(toPrune set: String) -> CommandFailure? {
    RemoveCommand.bundle(of: set).map {
      CommandFailure(
        .refused,
        "set \(JSONWriter.quoted(set)) belongs to bundle \($0); edit the bundle's file, or remove "
          + "the bundle with `widgetctl bundle rm \($0)`; --force prunes the set, and widgetd-host then "
          + "restores the bundle's widgets")
    }
  }

  /// The refusal to read a folder; nil for a file.
  static func refusal(toRead path: String) -> CommandFailure? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    let bundle = ["json", "yaml", "yml"].map { "bundle.\($0)" }
      .first { access("\(path)/\($0)", F_OK) == 0 }
    return CommandFailure(
      .invalidArgument,
      bundle == nil
        ? "\(path) is a folder; name its files, each with -f"
        : "\(path) is the folder of a bundle; "
          + "install it with `widgetctl bundle install \(path.shellQuoted)`")
  }

  /// Makes a call. If the daemon refuses it, the error shows all invalid lines of the file.
  ///
  /// - Parameter all: gets the daemon's refusal, and returns it with all further ones.
  private func placing<T>(
    _ file: WidgetFile, _ call: () async throws(ClientError) -> T,
    all: (CommandFailure) async -> [CommandFailure]
  ) async throws -> T {
    do throws(ClientError) { return try await call() } catch {
      let failure = CommandFailure(error, socket: global.socket)
      switch error {
      case .requestTooLong, .wire(.budgetExceeded): throw file.located(tooLarge: failure)
      default: break
      }
      let located = await all(failure).map { file.located($0, isSetNamed: set != nil) }
      guard located != [failure], let joined = CommandFailure(joining: located) else { throw error }
      throw joined
    }
  }

  private func apply(
    _ request: ApplyWidgetsRequest, _ file: WidgetFile, _ session: Session
  ) async throws -> ApplyWidgetsResponse {
    try await placing(file) { () async throws(ClientError) in
      try await session.client.applyWidgets(request, options: session.options)
    } all: { failure in
      var mistakes = DeclaredMistakes(request.widgets)
      return await mistakes.collect(after: failure) { widgets in
        var question = request
        (question.widgets, question.prune, question.validateOnly) = (widgets, false, true)
        question.requestID = ""
        do throws(ClientError) {
          _ = try await session.client.applyWidgets(question, options: session.options)
          return nil
        } catch { return CommandFailure(error) }
      }
    }
  }

  /// The fields that a set with --own changes, those that keep another owner's value, and those of
  /// removed widgets.
  static func text(
    fieldsOf results: [ApplyResult], _ unowned: UnownedValues = UnownedValues(), dryRun: Bool
  ) -> String {
    let more =
      unowned.more > 0 ? "  more values of removed widgets, not named: \(unowned.more)\n" : ""
    return results.map { result -> String in
      if result.action == .deleted, let fields = unowned[result.id] {
        return fields.map {
          "  \(UnownedValues.text($0, of: result.id, dryRun: dryRun))".safeForTerminal + "\n"
        }.joined()
      }
      return
        (result.changedFields.map { "  \(result.id): \($0) \(dryRun ? "changes" : "changed")" }
        + result.keptFields.compactMap { field in
          guard result.action != .deleted else {
            // A value without a known owner is the one of the former file.
            return field.owner == FieldOwner.earlier
              ? nil : "  " + LostValues.text(field, of: result.id, dryRun ? .dryRun : .done)
          }
          return "  \(result.id): \(field.path) stays; it was set by "
            + "\(field.ownerName(Facts.name(ofUser:))); "
            + "`widgetctl set \(result.id) --release \(field.path)` gives it back"
        }).map { $0.safeForTerminal + "\n" }.joined()
    }.joined() + more
  }

  /// Registers the kinds, before their widgets are added. nil if none are declared.
  private func applyKinds(
    _ file: WidgetFile, _ target: String, _ session: Session
  ) async throws -> ApplyKindsResponse? {
    guard let kinds = file.kinds else { return nil }
    return try await placing(file) { () async throws(ClientError) in
      try await session.client.applyKinds(
        ApplyKindsRequest(
          provider: target, kinds: kinds, prune: prune, validateOnly: dryRun,
          requestID: global.requestId.map { "\($0)-kinds" } ?? ""), options: session.options)
    } all: { failure in
      var mistakes = DeclaredMistakes(kinds)
      return await mistakes.collect(after: failure) { kinds in
        do throws(ClientError) {
          _ = try await session.client.applyKinds(
            ApplyKindsRequest(provider: target, kinds: kinds, validateOnly: true),
            options: session.options)
          return nil
        } catch { return CommandFailure(error) }
      }
    }
  }

  private func document(
    _ kinds: ApplyKindsResponse?, _ widgets: ApplyWidgetsResponse?, _ unowned: UnownedValues,
    _ asidesBefore: AsideValues?, _ asides: AsideValues?,
    _ dropped: DroppedFields = DroppedFields([], before: [], [])
  ) -> Value {
    var map: ValueMap = [
      "results": .list(
        (widgets?.results ?? []).map {
          var result: ValueMap = [
            "id": .string($0.id.rawValue), "action": .string($0.action.name),
          ]
          let lost = $0.action == .deleted ? unowned[$0.id] ?? $0.keptFields : []
          if !lost.isEmpty { result["lostFields"] = .list(lost.map(\.document)) }
          let gone = $0.action == .updated ? dropped[$0.id] : []
          if !gone.isEmpty { result["droppedFields"] = .list(gone.map(\.document)) }
          if own, $0.action != .deleted {
            result["changedFields"] = .list($0.changedFields.map { .string($0) })
            result["keptFields"] = .list($0.keptFields.map(\.document))
          }
          return .map(result)
        }),
      "revision": .revision(widgets?.revision ?? kinds?.revision ?? 0),
    ]
    if let kinds {
      map["kinds"] = .list(
        kinds.results.map {
          .map([
            "name": .string($0.name.rawValue), "action": .string($0.action.name),
            "widgetsChanged": .int(Int64($0.widgetsChanged)),
            "lostFields": .list(
              $0.lostFields.map {
                .map([
                  "widget": .string($0.widgetID.rawValue), "field": .string($0.path),
                  "setAside": .bool($0.isSetAside), "value": $0.value ?? .null,
                ])
              }),
            "lostFieldsCount": .int(Int64($0.lostFieldsCount)),
          ])
        })
    }
    if let asidesBefore, let asides {
      map["setAside"] = .list(asides.added(since: asidesBefore).map(\.document))
      map["restored"] = .list(asides.returned(since: asidesBefore).map(\.document))
    }
    if dryRun { map["dryRun"] = .bool(true) }
    return .map(map)
  }

  /// One line for each kind, and one for each value that its widgets lose.
  ///
  /// - Parameters:
  ///   - specs: The widgets of the same command, which replace values that do not fit.
  ///   - removed: The widgets that the same command removes, with all their values.
  ///   - asides: The values that are set aside afterwards, which have other lines. Nil if they are not
  ///     known.
  static func text(
    _ kinds: ApplyKindsResponse?, dryRun: Bool, replacedBy specs: [WidgetSpec] = [],
    removed: Set<WidgetID> = [], asides: AsideValues? = nil
  ) -> String {
    let replaced = Set(
      specs.flatMap { spec in
        spec.data.keys.map { "\(spec.id?.rawValue ?? "") data.\($0)" }
          + spec.parameters.keys.map { "\(spec.id?.rawValue ?? "") parameters.\($0)" }
      })
    let withTimelines = Set(specs.filter { $0.timeline != nil }.compactMap(\.id))
    return (kinds?.results ?? []).map { result in
      let widgets =
        switch result.widgetsChanged {
        case 0: ""
        case 1: ", 1 widget converted"
        default: ", \(result.widgetsChanged) widgets converted"
        }
      return "kind \(result.name) \(result.action.name)\(widgets)\(dryRun ? " (dry run)" : "")\n"
        + text(lostBy: result, besides: asides, without: removed, dryRun: dryRun) {
          replaced.contains("\($0.widgetID) \($0.path)")
            || $0.path.hasPrefix("entry.") && withTimelines.contains($0.widgetID)
        }
    }.joined()
  }

  private static func text(
    lostBy result: KindResult, besides asides: AsideValues?, without removed: Set<WidgetID>,
    dryRun: Bool, _ isReplaced: (LostField) -> Bool
  ) -> String {
    let others = result.lostFields.filter {
      asides?.contains($0.widgetID, $0.path) != true && !removed.contains($0.widgetID)
    }
    var lines = others.map { field in
      let value = field.value.map { ", \(LostValues.short($0))" } ?? ""
      let what =
        isReplaced(field)
        ? "\(dryRun ? "would not fit" : "did not fit") the changed kind; the file's value replaces it"
        : field.isSetAside
          ? "\(dryRun ? "would be" : "is") set aside until it fits the kind again, or "
            + (field.path.hasPrefix("entry.")
              ? "the widget gets a new timeline" : "somebody sets the field")
          : "\(dryRun ? "would lose" : "has lost") its value\(value): the changed kind does not "
            + "declare the field, or only with another type or other choices"
      return "  \(field.widgetID): \(field.path) \(what)"
    }
    let more = result.lostFieldsCount - result.lostFields.count
    if more > 0 {
      lines.append("  more values that do not fit the changed kind: \(more)")
    }
    return lines.map { $0.safeForTerminal + "\n" }.joined()
  }

  /// One line per widget: the change that was made or, with the declared `specs`, would be made.
  ///
  /// - Parameter before: the state before. Without `specs`, only the sets are read.
  static func text(
    _ results: [ApplyResult], before: [Widget], specs: [WidgetSpec]?, set: String
  ) -> String {
    guard !results.isEmpty else { return "nothing to do\n" }
    let states = Dictionary(before.map { ($0.id, $0) }) { $1 }
    let declared = Dictionary((specs ?? []).map { ($0.id, $0) }) { first, _ in first }
    return results.map { result in
      let line = "\(result.id) \(result.action.name)"
      guard specs != nil else {
        guard result.action == .updated, let from = states[result.id]?.applySet, from != set else {
          return line + "\n"
        }
        let origin = from.isEmpty ? "" : " from \(JSONWriter.quoted(from))"
        return line + ", moved\(origin) to set \(JSONWriter.quoted(set))\n"
      }
      guard result.action == .updated, let state = states[result.id],
        let spec = declared[result.id]
      else { return line + " (dry run)\n" }
      // The declaration sets everything except the place in the order.
      let phrases = ChangeText.differences(state, state.applying(spec, set: set))
      return line + " (dry run)\n"
        + (phrases.isEmpty ? ["moved"] : phrases).map { "  \($0)\n" }.joined()
    }.joined()
  }
}

extension Widget {
  /// The widget after the declaration is applied, apart from its place.
  func applying(_ spec: WidgetSpec, set: String) -> Widget {
    var widget = self
    widget.applySet = set
    widget.labels = spec.labels
    widget.parameters = spec.parameters
    for entry in spec.data.entries { widget.data[entry.key] = entry.value }
    widget.family = spec.family ?? family
    widget.presence.isVisible = spec.isVisible ?? presence.isVisible
    widget.presence.isEnabled = spec.isEnabled ?? presence.isEnabled
    return widget
  }
}
