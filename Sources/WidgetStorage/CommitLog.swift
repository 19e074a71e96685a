public import WidgetCore

/// Where a store's groups of commits are made durable: the seam between the state machine and
/// whatever keeps its history.
///
/// A log is synchronous and belongs to one thread, the one that owns the store: a group is appended
/// between applying its commands and answering them, so nothing is seen that is not durable. What
/// may take long (moving data from a write-ahead log to its place) is the log's own business, on a
/// thread of its own.
///
/// The contract, which every implementation's tests check:
/// - `load` returns what the appended groups add up to, since the log was created.
/// - `append` makes a group durable as a whole, or throws and leaves the log as it was. After an
///   error the next `append` may succeed; the caller takes the failed group back in its store first.
public protocol CommitLog: AnyObject {
  /// The kind of log, as statistics show it: "sqlite", "memory".
  var name: String { get }

  /// Whether the store has to record groups, so that they can be appended and, if that fails, taken
  /// back: what `WidgetStore(image:isRevocable:)` wants to know. If false, there is nothing to
  /// append.
  var needsGroups: Bool { get }

  /// Everything a store needs to continue, without answers to retried requests that have expired.
  /// O(what is stored).
  func load() throws(StorageError) -> StoreImage

  /// Makes one group durable, all or nothing. O(size of the group).
  func append(_ group: CommitGroup) throws(StorageError)

  /// Throws if what was stored is no longer where the next process would look for it, so that
  /// nothing more may be appended. Costs little: it is called for each group and each question
  /// about health.
  func check() throws(StorageError)

  /// Ends the log. Every appended group is safe even if this throws. Further calls do nothing.
  func close() throws(StorageError)
}

extension CommitLog {
  /// For a log that cannot be taken away.
  public func check() throws(StorageError) {}
}

/// What an appended group survives.
public enum Durability: String, Hashable, Sendable, CaseIterable {
  /// The end of the process, however violent. After a power cut or a crash of the kernel, the
  /// latest groups can be missing (never a part of one); the log then starts a new epoch, so that
  /// no reader takes the shortened history for the one it knows.
  case process
  /// A power cut too. Each group waits for the disk.
  case power
}
