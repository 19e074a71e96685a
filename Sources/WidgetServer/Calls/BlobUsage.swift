/// The open files of blobs and their bytes, for each user and for all clients. The file of a
/// forgotten blob counts until it is closed.
///
/// Running values: a call must not count all blobs.
struct BlobUsage {
  struct Amount: Equatable {
    var files = 0
    var bytes = 0
  }

  private var users: [UInt32: Amount] = [:]
  /// The blobs of all users that are not owners.
  private(set) var clients = Amount()

  func amount(of uid: UInt32) -> Amount { users[uid] ?? Amount() }

  /// Adds files and bytes, or removes them if the numbers are negative.
  mutating func add(files: Int = 0, bytes: Int, of uid: UInt32, isOwners: Bool) {
    var amount = amount(of: uid)
    amount.files += files
    amount.bytes += bytes
    users[uid] = amount == Amount() ? nil : amount
    guard !isOwners else { return }
    clients.files += files
    clients.bytes += bytes
  }
}
