/// The daemon's counters, since its start. Confined to the event loop.
final class Counters {
  private(set) var calls: UInt64 = 0
  private var callsFailed: UInt64 = 0
  private var commits: UInt64 = 0
  /// The number of changes of widgets by time.
  private var advances: UInt64 = 0
  private var groups: UInt64 = 0
  private var groupsFailed: UInt64 = 0
  private var events: UInt64 = 0
  private var connectionsAccepted: UInt64 = 0
  private var connectionsRefused: UInt64 = 0
  private var protocolErrors: UInt64 = 0
  private(set) var frames: UInt64 = 0
  private var framesEncoded: UInt64 = 0
  private var readersBehind: UInt64 = 0
  private var readersCompacted: UInt64 = 0
  private var requestsReplayed: UInt64 = 0
  private(set) var providerFrames: UInt64 = 0
  private var bytes: UInt64 = 0

  // MARK: - Counting

  func countCall() { calls += 1 }
  func countFailedCall() { callsFailed += 1 }
  func countReplayedRequest() { requestsReplayed += 1 }
  func countProviderFrame() { providerFrames += 1 }

  func countCommit() { commits += 1 }
  func countAdvance() { advances += 1 }
  func countGroup() { groups += 1 }
  func countFailedGroup() { groupsFailed += 1 }
  func countEvent() { events += 1 }

  func countAcceptedConnection() { connectionsAccepted += 1 }
  func countRefusedConnection() { connectionsRefused += 1 }
  func countProtocolError() { protocolErrors += 1 }

  func countFrames(_ count: Int = 1) { frames += UInt64(count) }
  func countEncodedFrame() { framesEncoded += 1 }
  func countReaderBehind() { readersBehind += 1 }
  func countCompactedReader() { readersCompacted += 1 }

  /// Counts memory that was used or freed, for `work`.
  func countBytes(_ count: Int) { bytes += UInt64(clamping: count) }

  // MARK: - Reading

  /// The amount of work, in calls, frames, connections, and pages of memory: a few calls with large
  /// answers leave as much to malloc as many small calls.
  var work: UInt64 {
    calls + frames + providerFrames + connectionsAccepted + bytes / Counters.pageBytes
  }

  static let pageBytes: UInt64 = 4_096

  /// All counters, by the names that `GetStats` uses.
  var byName: [(name: String, value: UInt64)] {
    [
      ("calls", calls), ("calls_failed", callsFailed), ("commits", commits), ("advances", advances),
      ("groups", groups),
      ("groups_failed", groupsFailed), ("events", events),
      ("connections_accepted", connectionsAccepted), ("connections_refused", connectionsRefused),
      ("protocol_errors", protocolErrors), ("frames", frames), ("frames_encoded", framesEncoded),
      ("readers_behind", readersBehind), ("readers_compacted", readersCompacted),
      ("requests_replayed", requestsReplayed), ("provider_frames", providerFrames),
    ]
  }
}
