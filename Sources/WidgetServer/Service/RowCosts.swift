import NIOCore

/// The average time to write rows: a constant for each row, and an average for their bytes.
///
/// A turn writes the rows of its group after the slices whose calls have changed them. The whole row
/// is written, however little has changed, so cheap calls can change large rows. A group of cheap
/// calls has very many rows. So each slice counts the time that its rows will take, at this average.
///
/// A value: times are arguments.
struct RowCosts {
  /// The average so far, in nanoseconds for 1,024 bytes. The initial value is an estimate.
  private(set) var kibibyteNanoseconds = RowCosts.estimate
  private static let estimate: Int64 = 2_000

  /// A disk that is late delays one commit for a long time. This says little about the next one.
  static let kibibyteNanosecondsMax: Int64 = 16_000
  private static let kibibyteNanosecondsMin: Int64 = 500
  /// The time of a smaller group hardly depends on its bytes, and is not measured.
  static let countedBytesMin = 256 << 10
  /// The time for a row without bytes. It is not measured: the time of a group with many rows can be
  /// that of one wait for the disk.
  static let rowNanoseconds: Int64 = 8_000

  /// The expected time to write rows.
  func time(count: Int, bytes: Int) -> TimeAmount {
    .nanoseconds(
      Int64(max(0, count)) * RowCosts.rowNanoseconds
        + Int64(max(0, bytes)) * kibibyteNanoseconds / 1_024)
  }

  /// Notes the time to write the rows of a group.
  mutating func note(count: Int, bytes: Int, _ time: TimeAmount) {
    guard bytes >= RowCosts.countedBytesMin else { return }
    let ofBytes = time.nanoseconds - Int64(count) * RowCosts.rowNanoseconds
    let found = min(
      max(ofBytes * 1_024 / Int64(bytes), RowCosts.kibibyteNanosecondsMin),
      RowCosts.kibibyteNanosecondsMax)
    // A higher cost counts at once, and a lower cost gradually, because a group that is too large
    // delays everybody.
    kibibyteNanoseconds =
      found > kibibyteNanoseconds ? found : (kibibyteNanoseconds * 7 + found) / 8
  }

  /// Notes a group that is not measured. After a stall of the disk, small rows would otherwise count
  /// as slow until somebody writes a large group.
  mutating func noteSmall() {
    guard kibibyteNanoseconds > RowCosts.estimate else { return }
    kibibyteNanoseconds = (kibibyteNanoseconds * 15 + RowCosts.estimate) / 16
  }
}
