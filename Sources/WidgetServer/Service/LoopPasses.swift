import NIOPosix
import Synchronization

/// Counts the passes of an event loop. In each pass, the loop reads what has arrived, and then runs
/// tasks until none is left, also those that tasks add.
final class LoopPasses: NIOEventLoopMetricsDelegate {
  private let ended = Atomic<UInt64>(0)

  /// The number of passes that have ended.
  var count: UInt64 { ended.load(ordering: .relaxed) }

  func processedTick(info: NIOEventLoopTickInfo) { ended.wrappingAdd(1, ordering: .relaxed) }
}
