import Testing
import WidgetProto

@testable import WidgetServer

@Suite struct `The accounts of streams` {
  private let limits = ServerLimits.with {
    $0.subscriptionsMax = 80
    $0.subscriptionsPerUIDMax = 50
    $0.selectorMemoryBytesTotalMax = 8_000
    $0.selectorMemoryBytesPerUIDMax = 5_000
  }

  /// The error's details if a stream is refused; nil if it counts now.
  private func refusal(
    of uid: UInt32, _ level: AccessPolicy.Level, bytes: Int = 0, in accounts: inout StreamAccounts
  ) -> [String: String]? {
    do throws(RPCStatus) {
      try accounts.open(for: uid, level, selectorBytes: bytes, limits)
      return nil
    } catch { return error.errorInfo?.metadata }
  }

  @Test func `all users together have few streams, and owners keep some of them`() {
    var accounts = StreamAccounts()
    for uid in [1_001, 1_002] as [UInt32] {
      while refusal(of: uid, .client, in: &accounts) == nil {}
    }
    #expect(accounts.count == 70 && accounts.highestCount == 50)
    let full = ["limit": "subscriptions_max", "maximum": "80"]
    #expect(refusal(of: 1_003, .client, in: &accounts) == full)
    #expect(refusal(of: 1_003, .nothing, in: &accounts) == full)
    for _ in 0..<10 { #expect(refusal(of: 0, .owner, in: &accounts) == nil) }
    #expect(refusal(of: 0, .owner, in: &accounts) == full)
    accounts.close(of: 1_001, .client, selectorBytes: 0)
    #expect(refusal(of: 1_003, .client, in: &accounts) == full)
    #expect(refusal(of: 0, .owner, in: &accounts) == nil)
  }

  @Test func `a user at both limits for streams is told the user's`() {
    var accounts = StreamAccounts()
    for uid in [1_001, 1_002] as [UInt32] {
      while refusal(of: uid, .client, in: &accounts) == nil {}
    }
    #expect(refusal(of: 1_001, .client, in: &accounts)?["limit"] == "subscriptions_per_uid_max")
  }

  @Test func `at most 1,024 streams are kept for owners`() {
    #expect(StreamAccounts.reserved(of: ServerLimits().subscriptionsMax) == 1_024)
    #expect(StreamAccounts.reserved(of: 800) == 100)
    #expect(StreamAccounts.reserved(of: 2) == 0)
  }

  @Test func `the filters of all users together have a limit, with a part for owners`() {
    var accounts = StreamAccounts()
    for uid in [1_001, 1_002] as [UInt32] {
      #expect(refusal(of: uid, .client, bytes: 3_000, in: &accounts) == nil)
    }
    let full = ["limit": "selector_memory_bytes_total_max", "maximum": "8000"]
    #expect(refusal(of: 1_003, .client, bytes: 1_001, in: &accounts) == full)
    #expect(refusal(of: 1_003, .client, bytes: 1_000, in: &accounts) == nil)
    #expect(refusal(of: 1_003, .client, bytes: 1, in: &accounts) == full)
    // A stream without a filter takes nothing.
    #expect(refusal(of: 1_003, .client, in: &accounts) == nil)
    #expect(refusal(of: 0, .owner, bytes: 1_000, in: &accounts) == nil)
    #expect(refusal(of: 0, .owner, bytes: 1, in: &accounts) == full)
    #expect(accounts.selectorBytes == 8_000)
    accounts.close(of: 1_001, .client, selectorBytes: 3_000)
    #expect(refusal(of: 1_003, .client, bytes: 2_000, in: &accounts) == nil)
  }

  @Test func `the sums are zero after all streams have closed`() {
    var accounts = StreamAccounts()
    for uid in [0, 1, 2] as [UInt32] {
      // A former process opened these: no limit refuses them.
      for _ in 0..<60 { accounts.add(for: uid, .client, selectorBytes: 100) }
    }
    #expect(accounts.count == 180 && accounts.selectorBytes == 18_000)
    #expect(refusal(of: 4, .owner, in: &accounts)?["limit"] == "subscriptions_max")
    for uid in [0, 1, 2] as [UInt32] {
      for _ in 0..<60 { accounts.close(of: uid, .client, selectorBytes: 100) }
      #expect(accounts.count(of: uid) == 0)
    }
    #expect(accounts.count == 0 && accounts.selectorBytes == 0)
    #expect(accounts.highestCount == 0 && accounts.highestSelectorBytes == 0)
  }
}
