/// The uids that users may use in user namespaces, as in subuid(5).
///
/// A user with a range in `/etc/subuid` can run processes with each uid of the range. These
/// processes keep the user's supplementary groups. Without ranges, one person would count as
/// thousands of users.
///
/// Some uids never belong to a range, because they already belong to somebody: those below 1,000,
/// those of systemd's dynamic users and `nobody` (61,184 to 65,535), and those of accounts. If
/// ranges overlap, the first line has the common uids.
public struct SubordinateUIDs: Hashable, Sendable {
  /// The numbers of the lines that are not `NAME:START:COUNT`, from 1.
  public private(set) var invalidLines: [Int] = []
  /// In the order of uids. No two blocks overlap.
  private var blocks: [Block] = []

  /// Neighbouring uids.
  private struct Block: Hashable {
    let first: UInt32
    let last: UInt32
    /// nil if no range can have these uids.
    let user: UInt32?
  }

  private static let ofSystem: [ClosedRange<UInt32>] = [0...999, 61_184...65_535]
  /// The kernel's highest uid. The next number means "no user".
  private static let uidMax = UInt32.max - 1

  /// No uid is subordinate.
  public init() {}

  /// Reads the content of `/etc/subuid`. Numbers can be octal and hexadecimal, and further fields
  /// of a line have no meaning, as for newuidmap(1).
  ///
  /// The ranges of an unknown name count as one user: the first uid that they have. Such a name can
  /// belong to a directory service that the daemon does not reach.
  ///
  /// - Parameters:
  ///   - accounts: The uids that are never subordinate, because they are accounts.
  ///   - userNamed: The uid of an account; nil if it is unknown.
  public init(_ text: String, accounts: Set<UInt32> = [], userNamed: (String) -> UInt32?) {
    for uids in SubordinateUIDs.ofSystem { claim(uids, for: nil) }
    for uid in accounts.sorted() where uid <= SubordinateUIDs.uidMax { claim(uid...uid, for: nil) }
    var users: [String: UInt32] = [:]
    let lines = text.utf8.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, bytes) in lines.enumerated() {
      let line = Substring(bytes)
      guard let start = line.first(where: { !$0.isWhitespace }), start != "#" else { continue }
      guard let grant = Grant(line) else {
        invalidLines.append(index + 1)
        continue
      }
      guard let uids = grant.uids, let first = firstFree(of: uids) else { continue }
      let user = users[grant.name] ?? userNamed(grant.name) ?? UInt32(grant.name) ?? first
      users[grant.name] = user
      claim(uids, for: user)
    }
    blocks.removeAll { $0.user == nil }
  }

  /// One range, which can also have uids of the system; for tests.
  init(_ uids: ClosedRange<UInt32>, of user: UInt32) { claim(uids, for: user) }

  /// The user to whom a uid is subordinate; nil if there is none.
  public func user(of uid: UInt32) -> UInt32? {
    let index = index(reaching: uid)
    guard index < blocks.count, blocks[index].first <= uid else { return nil }
    return blocks[index].user
  }

  /// The number of the first block that ends at a uid, or after it.
  private func index(reaching uid: UInt32) -> Int {
    var (low, high) = (0, blocks.count)
    while low < high {
      let middle = (low + high) / 2
      if blocks[middle].last < uid { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The lowest uid of a range that no block has.
  private func firstFree(of uids: ClosedRange<UInt32>) -> UInt32? {
    var next = uids.lowerBound
    for block in blocks[index(reaching: next)...] {
      guard block.first <= next else { break }
      next = block.last + 1
    }
    return next <= uids.upperBound ? next : nil
  }

  /// Gives a user the uids of a range that no block has.
  private mutating func claim(_ uids: ClosedRange<UInt32>, for user: UInt32?) {
    let start = index(reaching: uids.lowerBound)
    var end = start
    var next = uids.lowerBound
    var claimed: [Block] = []
    while end < blocks.count, blocks[end].first <= uids.upperBound {
      let block = blocks[end]
      if next < block.first {
        claimed.append(Block(first: next, last: block.first - 1, user: user))
      }
      claimed.append(block)
      next = block.last + 1
      end += 1
    }
    if next <= uids.upperBound {
      claimed.append(Block(first: next, last: uids.upperBound, user: user))
    }
    blocks.replaceSubrange(start..<end, with: claimed)
  }

  /// A line of the file.
  private struct Grant {
    let name: String
    /// nil if the line gives no uids.
    let uids: ClosedRange<UInt32>?

    /// nil if the line is invalid.
    init?(_ line: Substring) {
      let fields = line.split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
      guard fields.count >= 3, !fields[0].isEmpty, let start = Grant.number(fields[1]),
        let count = Grant.number(fields[2])
      else { return nil }
      name = String(fields[0])
      let last = min(start + count - 1, Int(SubordinateUIDs.uidMax))
      uids = start <= last ? UInt32(start)...UInt32(last) : nil
    }

    /// Reads a number like `strtoul` with base 0. Returns at most 2^32; nil if the text is no
    /// number.
    private static func number(_ field: Substring) -> Int? {
      let text = field.drop { $0 == " " || $0 == "\t" }
      let number: Int?
      if text.hasPrefix("0x") || text.hasPrefix("0X") {
        number = Int(text.dropFirst(2), radix: 16)
      } else {
        number = Int(text, radix: text.hasPrefix("0") ? 8 : 10)
      }
      return number.flatMap { $0 < 0 ? nil : min($0, 1 << 32) }
    }
  }
}

extension AccessPolicy {
  /// The peer with the user for whom the daemon counts it. A subordinate uid becomes that of its
  /// user. The level never changes: the groups stay, and no peer becomes an owner, or stops being
  /// one.
  func counted(_ peer: Peer, with subordinates: SubordinateUIDs) -> Peer {
    guard !ownerUIDs.contains(peer.uid), let user = subordinates.user(of: peer.uid),
      !ownerUIDs.contains(user)
    else { return peer }
    var counted = peer
    counted.uid = user
    return counted
  }
}
