public import WidgetCore

/// No durability: the store begins empty in a new epoch at every start of the daemon.
public final class MemoryCommitLog: CommitLog {
  private let epoch: UInt64

  /// - Parameter epoch: Identifies the history; must differ from start to start, and not be 0.
  public init(epoch: UInt64) {
    self.epoch = epoch
  }

  public var name: String { "memory" }

  /// False, because groups are not stored, and `append` cannot fail.
  public var needsGroups: Bool { false }

  /// An empty image.
  public func load() -> StoreImage { StoreImage(epoch: epoch) }

  /// Does nothing.
  public func append(_ group: CommitGroup) {}

  /// Does nothing.
  public func close() {}
}
