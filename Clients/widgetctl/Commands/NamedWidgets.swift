import WidgetClient
import WidgetModel

/// The widgets that a command line names, and the missing ones.
struct NamedWidgets<Found> {
  private(set) var found: [Found] = []
  /// A failure for each widget that does not exist, with a name that was probably meant.
  private(set) var failures: [CommandFailure] = []

  /// Reads the widgets one by one. If there is only one, its failure is thrown, so that it is the
  /// command's failure.
  init(
    _ ids: [WidgetID], socket: String?, _ read: (WidgetID) async throws -> Found
  ) async throws {
    for id in ids {
      do {
        found.append(try await read(id))
      } catch let failure as CommandFailure where ids.count > 1 && failure.exit == .notFound {
        failures.append(failure)
      } catch let error as ClientError where ids.count > 1 && error.reason == "WIDGET_NOT_FOUND" {
        failures.append(
          await NearestName.completed(CommandFailure(error, socket: socket), socket: socket))
      }
    }
  }

  /// Reports the failures, and ends the command if there are any.
  func end(_ format: OutputFormat) throws(ExitStatus) {
    for failure in failures {
      Main.report(failure, isJSON: format == .json || format == .jsonl)
    }
    if !failures.isEmpty { throw .notFound }
  }
}
