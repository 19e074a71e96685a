import NIOCore
import WidgetProto

/// Calls of `AdminService.Reload` that wait for the settings to be read, which happens off the loop.
final class Reloads {
  /// Reads the settings. Returns which settings are in force, and which need a restart.
  var onReload: @Sendable () async -> WidgetServer.ReloadOutcome = { .init() }

  private let context: ServiceContext
  private var waiting: [UInt64: (call: UInt32, responder: any CallResponder)] = [:]
  private var lastNumber: UInt64 = 0

  init(_ context: ServiceContext) { self.context = context }

  func begin(_ call: UInt32, _ responder: any CallResponder) {
    lastNumber += 1
    let number = lastNumber
    waiting[number] = (call, responder)
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    let (onReload, eventLoop) = (onReload, context.eventLoop)
    Task {
      let outcome = await onReload()
      eventLoop.execute { bound.value.finish(number, outcome) }
    }
  }

  private func finish(_ number: UInt64, _ outcome: WidgetServer.ReloadOutcome) {
    guard let (call, responder) = waiting.removeValue(forKey: number) else { return }
    responder.answerNow {
      if let error = outcome.error {
        let status = RPCStatus.invalidConfiguration(error)
        context.keep(
          status, area: "settings", uid: responder.peer.uid, at: context.clock.now)
        responder.refuse(status, to: call)
      } else {
        let response = ReloadResponse(
          applied: outcome.applied, needsRestart: outcome.settingsForRestart)
        responder.respond(response, to: call)
      }
    }
  }

  /// Refuses the waiting calls, because the process ends.
  func endAll() {
    for (call, responder) in waiting.values {
      responder.answerNow { responder.refuse(.shuttingDown, to: call) }
    }
    waiting.removeAll()
  }
}
