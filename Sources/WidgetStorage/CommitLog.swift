public import WidgetCore

/// Makes a store's groups of commits durable: the interface between the state machine and its
/// storage.
///
/// A log is synchronous and belongs to the thread that owns the store. A group is appended after
/// its commands are applied and before they are answered, so all visible changes are durable. A log
/// does slow work on a separate thread, such as moving data from a write-ahead log.
///
/// The contract, which every implementation's tests check:
/// - `load` returns the sum of the appended groups, since the log was created.
/// - `append` makes a group durable as a whole, or throws and leaves the log as it was. After an
///   error the next `append` may succeed; the caller takes the failed group back in its store
///   first.
public protocol CommitLog: AnyObject {
  /// The kind of log, as statistics show it: "sqlite", "memory".
  var name: String { get }

  /// Whether the store must record groups, so that they can be appended or taken back: the value
  /// for `WidgetStore(image:isRevocable:)`. If false, nothing is appended.
  var needsGroups: Bool { get }

  /// Everything that a store needs to continue, without expired answers to retried requests.
  /// O(stored data).
  func load() throws(StorageError) -> StoreImage

  /// Makes one group durable, all or nothing. O(size of the group).
  func append(_ group: CommitGroup) throws(StorageError)

  /// The same with further widgets, which become images one by one while the group is written.
  func append(_ group: CommitGroup, writing widgets: PendingWidgets) throws(StorageError)

  /// Throws if the next process would not find the stored data in its place. Then nothing more may
  /// be appended. Costs little, because it is called for each group and each health check.
  func check() throws(StorageError)

  /// Whether further groups had better wait until another thread has done slow work. They can be
  /// appended nevertheless, but an append may then wait for that thread.
  var isBehind: Bool { get }

  /// Calls a closure once, on any thread, when the log is no longer behind. Call it while the log is
  /// behind.
  func whenCaughtUp(_ body: @escaping @Sendable () -> Void)

  /// Ends the log. Every appended group is safe even if this throws. Further calls do nothing.
  func close() throws(StorageError)
}

extension CommitLog {
  /// The default, for a log that keeps the group.
  public func append(
    _ group: CommitGroup, writing widgets: PendingWidgets
  ) throws(StorageError) {
    var whole = group
    whole.upserts += widgets.images
    try append(whole)
  }

  /// The default, for a log that cannot be removed.
  public func check() throws(StorageError) {}

  /// The defaults, for a log without slow work.
  public var isBehind: Bool { false }
  public func whenCaughtUp(_ body: @escaping @Sendable () -> Void) { body() }
}

/// The events that an appended group survives.
public enum Durability: String, Hashable, Sendable, CaseIterable {
  /// The end of the process, even if it is killed. After a power cut or a crash of the kernel, the
  /// latest groups can be missing (never a part of one). The log then starts a new epoch, so that
  /// no reader takes the shortened history for the known one.
  case process
  /// A power cut, too. Each group waits for the disk.
  case power
}
