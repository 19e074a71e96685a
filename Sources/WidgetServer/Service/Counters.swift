/// The daemon's counters, since its start.
struct Counters: Sendable {
  var calls: UInt64 = 0
  var callsFailed: UInt64 = 0
  var commits: UInt64 = 0
  /// The number of changes of widgets by time.
  var advances: UInt64 = 0
  var groups: UInt64 = 0
  var groupsFailed: UInt64 = 0
  var events: UInt64 = 0
  var connectionsAccepted: UInt64 = 0
  var connectionsRefused: UInt64 = 0
  var protocolErrors: UInt64 = 0
  var frames: UInt64 = 0
  var framesEncoded: UInt64 = 0
  var readersBehind: UInt64 = 0
  var readersCompacted: UInt64 = 0
  var requestsReplayed: UInt64 = 0
  var providerFrames: UInt64 = 0

  /// The amount of work, in calls, frames and connections.
  var work: UInt64 { calls + frames + providerFrames + connectionsAccepted }

  /// All of them, by the names that `GetStats` uses.
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
