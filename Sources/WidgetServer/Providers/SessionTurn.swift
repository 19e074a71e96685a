import WidgetModel
import WidgetProto

/// The results and effects of a session's frames in one turn. At the end of the turn they are durable.
/// Then the session sends the results, and the effects begin.
struct SessionTurn {
  private var isOpen = false
  private var outputs: [Output] = []
  private var effects: [Effect] = []
  private var answered: Set<UInt64> = []
  /// Whether a frame of the turn needs room on the disk.
  private var needsRoom = false
  /// The parts of changes that were refused, because the turn's group was not stored. nil if there
  /// was no such change.
  private(set) var refused: ChangeParts?
  /// The parts of changes that are stored with the turn's group.
  private(set) var stored = ChangeParts()

  /// Output for the end of the turn, even if the socket has no room.
  enum Output {
    case opened
    case result(ProvideResult)
  }

  /// The effect of a frame, once it is durable.
  enum Effect {
    /// The provider has handled all events up to this one.
    case acknowledged(UInt64)
    /// The requests about these widgets are answered.
    case heard([WidgetID])
    /// The provider itself has removed these kinds, so `kinds_removed` does not name them.
    case gaveUp([KindName])
  }

  /// Has the session take part in the turn. Returns false if it already does.
  mutating func join() -> Bool {
    defer { isOpen = true }
    return !isOpen
  }

  /// How the next frame of the turn uses the room on the disk. An acknowledgement after a frame that
  /// needs room needs it, too. If the daemon stored only the acknowledgement, the effect of the event
  /// would be lost.
  mutating func roomUse(of frame: ProvideRequest) -> Method.RoomUse {
    let use = frame.roomUse
    if use == .needs { needsRoom = true }
    return needsRoom && use == .frees ? .needs : use
  }

  mutating func add(_ output: Output) { outputs.append(output) }
  mutating func add(_ effect: Effect) { effects.append(effect) }

  /// Notes that a data request was answered in this turn.
  mutating func answer(_ number: UInt64, about id: WidgetID) {
    answered.insert(number)
    effects.append(.heard([id]))
  }

  func hasAnswered(_ number: UInt64) -> Bool { answered.contains(number) }

  /// Notes that a change was refused, because its group was not stored.
  mutating func noteRefused(_ parts: ChangeParts) {
    var refused = self.refused ?? ChangeParts()
    refused.formUnion(parts)
    self.refused = refused
  }

  /// Notes that a change is stored with the turn's group.
  mutating func noteStored(_ parts: ChangeParts) { stored.formUnion(parts) }

  /// The turn's group was taken back. The frames will be carried out again.
  mutating func rollBack() {
    (refused, stored) = (nil, ChangeParts())
    outputs.removeAll { if case .result = $0 { true } else { false } }
    effects.removeAll()
    answered.removeAll()
  }

  var hasEffects: Bool { !effects.isEmpty }

  /// Ends the turn. Returns the output to send, and the effects that then begin.
  mutating func end() -> (outputs: [Output], effects: [Effect]) {
    defer { self = SessionTurn() }
    return (outputs, effects)
  }
}
