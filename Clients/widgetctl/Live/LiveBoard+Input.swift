import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

/// Keys and pasted text.
extension LiveBoard {
  /// Handles one input event. Returns the effects that the session carries out.
  mutating func take(_ input: TerminalInput) -> [Effect] {
    switch input {
    case .key(let key, let modifiers):
      notice = ""
      if key != .character("y") { selection = nil }
      let effects = take(key, modifiers)
      return key.moves ? effects + askForMore() : effects
    case .mouse(let event): return take(event)
    case .paste(let text): return type(text)
    case .focus(false):
      (hover, pointed) = (nil, nil)
      return []
    case .focus, .background, .attributes, .graphics, .colorScheme: return []
    }
  }

  private mutating func take(_ key: TerminalKey, _ modifiers: KeyModifiers) -> [Effect] {
    if modifiers.contains(.control) {
      switch key {
      case .character("c"):
        guard let text = selectedText else { return [.quit] }
        return copy(text)
      case .character("x"):
        if let text = selectedText { return cut(text) }
      case .character("d"): return [.quit]
      case .character("z"): return [.suspend]
      default: break
      }
    }
    if overlay != nil {
      let isPlain = modifiers.isDisjoint(with: [.control, .alt])
      return isPlain ? takeInOverlay(key, modifiers) : []
    }
    if isFiltering { return takeInFilter(key, modifiers) }
    if key == .tab {
      moveFocus(by: modifiers.contains(.shift) ? -1 : 1)
      return []
    }
    if let input = focusedInput, let effects = takeInInput(input, key, modifiers) { return effects }
    // The keys of the board are plain letters, so Ctrl-Q does not quit.
    if case .character = key, !modifiers.isDisjoint(with: [.control, .alt]) { return [] }
    switch key {
    case .enter, .character(" "): return focus.map { activate($0) } ?? []
    case .escape:
      if let focus {
        leftFocus = focus
        setFocus(nil)
      } else if filter != nil {
        setFilter(nil)
      }
    case .up, .down, .left, .right: moveFocus(key)
    case .pageUp, .pageDown:
      let step = key == .pageUp ? -1 : 1
      if !scrollAroundFocus(pages: step) { scrollPage(by: step * (pageRows - 1)) }
    case .home: scrollPage(by: -pageHeight)
    case .end: scrollPage(by: pageHeight)
    case .character("q"): return [.quit]
    case .character("?"): overlay = .help(0)
    case .character("/"):
      isFiltering = true
      if filter == nil { filter = LiveDraft("") }
    case .character("i"):
      guard let id = meantWidget ?? seen.first else {
        notice = "no widget is visible, so there are no details"
        return []
      }
      return showDetails(of: id)
    case .character("p"): look.isPrivate.toggle()
    case .character("y"): return copySelection()
    case .delete: return deleteRow()
    case .character("r"):
      guard let id = meantWidget ?? (order.count == 1 ? order[0] : nil) else {
        notice = "move the pointer over a widget, or press i; r then refreshes it"
        return []
      }
      return [.refresh(id)]
    case .character("w"):
      guard options.arrangementFile != nil else {
        notice = "$HOME is not set; name a file with --arrangement"
        return []
      }
      guard let arrangement = presentArrangement else {
        notice = "there is nothing to arrange"
        return []
      }
      return [.save(arrangement.text, replacing: nil)]
    default: break
    }
    return []
  }

  /// The widget that a key means: it has the focus, is under the pointer, or Esc left a control of it.
  private var meantWidget: WidgetID? {
    let id = focus?.widget ?? pointed ?? leftFocus?.widget
    return id.flatMap { panes[$0] == nil ? nil : $0 }
  }

  /// The widgets in the viewport, in reading order.
  private var seen: [WidgetID] {
    order.filter { id in frames[id].map { $0.y < top + pageRows && $0.endY > top } ?? false }
  }

  private mutating func showDetails(of id: WidgetID) -> [Effect] {
    overlay = .details(id, 0)
    return panes[id].map { [.describe($0.widget.kind)] } ?? []
  }

  private mutating func takeInOverlay(
    _ key: TerminalKey, _ modifiers: KeyModifiers
  ) -> [Effect] {
    if case .replacing(let text, let version)? = overlay {
      switch key {
      case .character("y"), .character("Y"):
        overlay = nil
        return [.save(text, replacing: version)]
      case .character("n"), .character("N"), .character("q"), .escape:
        overlay = nil
        notice = "the arrangement is not written"
      default: break
      }
      return []
    }
    if case .details(let id, _)? = overlay, let index = order.firstIndex(of: id) {
      switch key {
      case .tab:
        let step = modifiers.contains(.shift) ? order.count - 1 : 1
        return showDetails(of: order[(index + step) % order.count])
      case .character("r"): return [.refresh(id)]
      default: break
      }
    }
    switch key {
    case .down: scrollOverlay(by: 1)
    case .up: scrollOverlay(by: -1)
    case .pageDown: scrollOverlay(by: pageRows / 2)
    case .pageUp: scrollOverlay(by: -pageRows / 2)
    case .escape, .enter, .character("q"), .character("?"), .character("i"): overlay = nil
    default: break
    }
    return []
  }

  /// Scrolls the overlay's text, at most to its last page.
  mutating func scrollOverlay(by rows: Int) {
    switch overlay {
    case .details(let id, let line):
      overlay = .details(id, min(max(0, line + rows), lastOverlayLine))
    case .help(let line): overlay = .help(min(max(0, line + rows), lastOverlayLine))
    case .replacing, nil: break
    }
  }

  // MARK: - Filter

  private mutating func takeInFilter(_ key: TerminalKey, _ modifiers: KeyModifiers) -> [Effect] {
    switch key {
    case .enter, .tab: isFiltering = false
    case .escape: setFilter(nil)
    default:
      var draft = filter ?? LiveDraft("")
      draft.take(key, modifiers)
      setFilter(draft)
    }
    return []
  }

  private mutating func setFilter(_ draft: LiveDraft?) {
    filter = draft
    if draft == nil { isFiltering = false }
    if let draft, draft.text.isEmpty, !isFiltering { filter = nil }
    arrange()
  }

  // MARK: - Inputs

  /// Handles a key while an input has the focus. Returns nil if the board must handle the key.
  private mutating func takeInInput(
    _ focus: LiveFocus, _ key: TerminalKey, _ modifiers: KeyModifiers
  ) -> [Effect]? {
    switch key {
    case .up, .down:
      var isMoved = false
      let selects = modifiers.contains(.shift)
      let effects = edit(focus) {
        isMoved = $0.moveRow(by: key == .up ? -1 : 1, selects: selects)
      }
      guard selects, !isMoved else { return isMoved ? effects : nil }
      return edit(focus) {
        if key == .up { $0.moveToStart(selects: true) } else { $0.moveToEnd(selects: true) }
      }
    case .pageUp, .pageDown, .escape: return nil
    case .enter:
      let isMultiline = panes[focus.widget]?.node(focus.node)?.text("mode") == "multiline"
      guard isMultiline, !modifiers.contains(.alt) else { return submit(focus) }
      return edit(focus) { $0.insert("\n") }
    default: return edit(focus) { $0.take(key, modifiers) }
    }
  }

  /// The selected text of the filter or the focused input. Nil if none is selected.
  private var selectedText: String? {
    guard overlay == nil, let draft = isFiltering ? filter : focusedDraft else { return nil }
    return draft.selection.isEmpty ? nil : draft.selectedText
  }

  private var isSecret: Bool {
    guard !isFiltering, let focus = focusedInput else { return false }
    return panes[focus.widget]?.node(focus.node)?.text("mode") == "secret"
  }

  /// Copies the selected text of an input. The text of a secret stays where it is.
  private mutating func copy(_ text: String) -> [Effect] {
    guard !isSecret else {
      notice = "a secret is not copied"
      return []
    }
    return copied(text)
  }

  private mutating func cut(_ text: String) -> [Effect] {
    let effects = copy(text)
    guard !effects.isEmpty else { return [] }
    guard isFiltering || focusedInput.map({ !isReadOnly($0) }) == true else { return effects }
    return effects + takeDeletion()
  }

  private mutating func takeDeletion() -> [Effect] {
    if isFiltering { return takeInFilter(.delete, []) }
    return focusedInput.flatMap { takeInInput($0, .delete, []) } ?? []
  }

  private func isReadOnly(_ focus: LiveFocus) -> Bool {
    panes[focus.widget]?.node(focus.node)?.properties["readOnly"] == .bool(true)
  }

  /// Inserts pasted text into the filter or the focused input.
  private mutating func type(_ text: String) -> [Effect] {
    // Control characters and escape sequences are left out, because they are invisible in the
    // input.
    let text = text.withoutControls
    if isFiltering {
      var draft = filter ?? LiveDraft("")
      draft.insert(text.onOneLine)
      setFilter(draft)
      return []
    }
    guard overlay == nil, let focus = focusedInput else { return [] }
    let isMultiline = panes[focus.widget]?.node(focus.node)?.text("mode") == "multiline"
    // In pasted text, terminals send a carriage return for a newline.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return edit(focus) { $0.insert(lines.joined(separator: isMultiline ? "\n" : " ")) }
  }

  private mutating func edit(
    _ focus: LiveFocus, _ change: (inout LiveDraft) -> Void
  ) -> [Effect] {
    guard let pane = panes[focus.widget], let node = pane.node(focus.node) else { return [] }
    let didChange = panes[focus.widget]?.edit(focus.node, change) ?? false
    edited.insert(focus.widget)
    arrange()
    // An input in a form sends no `change`; the form sends all values when it is submitted.
    guard didChange, pane.form(around: focus.node) == nil, node.events.contains("change") else {
      return []
    }
    let text = panes[focus.widget]?.draft(focus.node).text ?? ""
    if case .int(let least)? = node.properties["minLength"], text.count < least, !text.isEmpty {
      return []
    }
    panes[focus.widget]?.send(focus.node, text)
    var delay: Duration?
    if case .duration(let throttle)? = node.properties["throttle"] { delay = throttle }
    return [
      .send(
        LiveEvent(
          widget: focus.widget, node: focus.node, name: "change", payload: ["value": .string(text)]),
        after: delay)
    ]
  }

  /// Handles Enter in an input: submits its form, or the input if it is in no form.
  private mutating func submit(_ focus: LiveFocus) -> [Effect] {
    guard let pane = panes[focus.widget], let node = pane.node(focus.node) else { return [] }
    if let form = pane.form(around: focus.node) { return submit(form: form, of: focus.widget) }
    guard node.events.contains("submit") else { return [] }
    let text = pane.draft(focus.node).text
    let value: Value
    do throws(InputProblem) {
      value = try InputProblem.value(of: text, in: node) ?? .null
    } catch {
      return tell(error, in: focus.widget)
    }
    panes[focus.widget]?.submit(focus.node, inputs: [focus.node])
    edited.insert(focus.widget)
    var event = LiveEvent(
      widget: focus.widget, node: focus.node, name: "submit", payload: ["value": value])
    if node.text("mode") == "file", !text.isEmpty { event.files["value"] = text }
    return [.send(event, after: nil)]
  }

  private mutating func submit(form id: String, of widget: WidgetID) -> [Effect] {
    guard let pane = panes[widget] else { return [] }
    var event = LiveEvent(widget: widget, node: id, name: "submit")
    do throws(InputProblem) {
      let (values, files) = try pane.values(ofForm: id)
      event.payload = ["values": .map(values)]
      event.files = files
    } catch {
      return tell(error, in: widget)
    }
    panes[widget]?.submit(form: id)
    edited.insert(widget)
    return [.send(event, after: nil)]
  }

  /// Moves the focus to the invalid input and shows why it was not sent.
  private mutating func tell(_ problem: InputProblem, in widget: WidgetID) -> [Effect] {
    setFocus(LiveFocus(widget: widget, node: problem.node, kind: .control))
    notice = problem.words
    return []
  }

  // MARK: - Pressing

  /// Activates a focus target: presses, switches, opens, selects or submits it.
  mutating func activate(_ focus: LiveFocus) -> [Effect] {
    guard target(focus) != nil, let node = panes[focus.widget]?.node(focus.node) else { return [] }
    let event = { (name: String, payload: ValueMap) in
      LiveEvent(widget: focus.widget, node: focus.node, name: name, payload: payload)
    }
    switch focus.kind {
    case .submit: return submit(form: focus.node, of: focus.widget)
    case .row: return select(focus)
    case .scroll: return []
    case .control: break
    }
    switch node.role {
    case .toggle:
      let value = panes[focus.widget]?.flip(focus.node)
      edited.insert(focus.widget)
      arrange()
      guard let value else { return [] }
      return [.send(event("change", ["value": .bool(value)]), after: nil)]
    case .link:
      notice = node.text("url").onOneLine
      return [.send(event("open", [:]), after: nil)]
    case .input: return []
    default: return [.send(event("press", [:]), after: nil)]
    }
  }

  /// The daemon refused an event: reverts the optimistic change, and shows the reason.
  mutating func refused(_ event: LiveEvent, _ words: String) {
    panes[event.widget]?.refused(event)
    answered(event)
    if event.name == "more" {
      asked[LiveFocus(widget: event.widget, node: event.node, kind: .control)] = nil
    }
    notice = words
    arrange()
  }
}

extension String {
  /// The text without escape sequences (CSI of ECMA-48), and without control characters except
  /// newlines and tabs.
  fileprivate var withoutControls: String {
    var kept = String.UnicodeScalarView()
    var rest = unicodeScalars[...]
    while let scalar = rest.popFirst() {
      if scalar == "\u{1B}", rest.first == "[" {
        rest.removeFirst()
        rest = rest.drop { ("\u{20}"..."\u{3F}").contains($0) }.dropFirst()
      } else if scalar.properties.generalCategory != .control
        || "\n\r\t\u{85}".unicodeScalars.contains(scalar)
      {
        kept.append(scalar)
      }
    }
    return String(kept)
  }
}

extension LiveDraft {
  /// Applies a key with the usual bindings of a text field.
  mutating func take(_ key: TerminalKey, _ modifiers: KeyModifiers) {
    let selects = modifiers.contains(.shift)
    switch key {
    case .character(let character) where modifiers.contains(.control):
      switch character {
      case "a": selectAll()
      case "e": moveToEnd()
      case "u": deleteToStart()
      case "k": deleteToEnd()
      case "w": deleteWord()
      default: break
      }
    case .character(let character): insert(String(character))
    case .backspace: deleteBackward()
    case .delete: deleteForward()
    case .left: move(by: -1, selects: selects)
    case .right: move(by: 1, selects: selects)
    case .home: moveToStart(selects: selects)
    case .end: moveToEnd(selects: selects)
    default: break
    }
  }
}

extension TerminalKey {
  /// Whether the key can scroll the page or move the focus.
  fileprivate var moves: Bool {
    switch self {
    case .tab, .up, .down, .pageUp, .pageDown, .home, .end: true
    default: false
    }
  }
}
