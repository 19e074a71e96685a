import NIOCore

/// The average time to write a row, by its weight: its bytes, and a constant for the row itself.
///
/// A turn writes the rows of its group after the slices whose calls have changed them. The whole row
/// is written, however little has changed, so cheap calls can change large rows. A group of cheap
/// calls has very many rows. So each slice counts the time that its rows will take, at this average.
///
/// A value: times are arguments.
struct RowCosts {
  /// The average so far, in nanoseconds for a weight of 1,024. The initial value is an estimate.
  private(set) var kibibyteNanoseconds = RowCosts.estimate
  private static let estimate: Int64 = 2_000

  /// A disk that is late delays one commit for a long time. This says little about the next one.
  static let kibibyteNanosecondsMax: Int64 = 16_000
  private static let kibibyteNanosecondsMin: Int64 = 500
  /// The time of a lighter group hardly depends on its rows, and is not measured.
  static let countedWeightMin = 256 << 10
  /// The weight of a row without bytes.
  private static let rowWeight = 4 << 10

  /// The weight of rows.
  static func weight(count: Int, bytes: Int) -> Int { bytes + count * rowWeight }

  /// The expected time for rows of a weight.
  func time(of weight: Int) -> TimeAmount {
    .nanoseconds(Int64(max(0, weight)) * kibibyteNanoseconds / 1_024)
  }

  /// Notes the time to write the rows of a group.
  mutating func count(_ weight: Int, _ time: TimeAmount) {
    guard weight >= RowCosts.countedWeightMin else { return }
    let found = min(
      max(time.nanoseconds * 1_024 / Int64(weight), RowCosts.kibibyteNanosecondsMin),
      RowCosts.kibibyteNanosecondsMax)
    // A higher cost counts at once, and a lower cost gradually, because a group that is too large
    // delays everybody.
    kibibyteNanoseconds =
      found > kibibyteNanoseconds ? found : (kibibyteNanoseconds * 7 + found) / 8
  }

  /// Notes a group that is not measured. After a stall of the disk, small rows would otherwise count
  /// as slow until somebody writes a large group.
  mutating func countSmall() {
    guard kibibyteNanoseconds > RowCosts.estimate else { return }
    kibibyteNanoseconds = (kibibyteNanoseconds * 15 + RowCosts.estimate) / 16
  }
}
