import Logging
import NIOCore

/// Decides when the log lines that peers cause are written: at most one a second for each user and
/// subject, and `subjectsMax` in all.
///
/// A peer that connects again and again would otherwise fill the journal, and the journal would drop
/// other messages. Of the lines in a second, the last one is kept. It is written at the end of the
/// second, with the number of lines that are left out. A value: the time is an argument.
struct PeerLines {
  static let period = TimeAmount.seconds(1)
  /// The maximum number of users and subjects. Lines about further ones are only counted.
  static let subjectsMax = 64

  struct Line: Equatable {
    /// Nil if no single user is the cause.
    let uid: UInt32?
    let subject: String
    let level: Logger.Level
    let message: String
    var metadata: Logger.Metadata = [:]
  }

  private struct Subject: Hashable {
    let uid: UInt32?
    let subject: String
  }

  private struct Period {
    let end: NIODeadline
    /// The line to write at the end.
    var last: Line?
    /// The number of earlier lines that are left out.
    var unlogged = 0
  }

  private var periods: [Subject: Period] = [:]
  /// The lines about further users and subjects.
  private var others: (count: Int, end: NIODeadline)?

  /// When a waiting line is to be written; nil if none waits.
  var nextDue: NIODeadline? {
    let ends = periods.values.filter { $0.last != nil }.map(\.end)
    return (ends + (others.map { [$0.end] } ?? [])).min()
  }

  /// Notes a line. Returns whether to write it now.
  mutating func note(_ line: Line, at now: NIODeadline) -> Bool {
    let subject = Subject(uid: line.uid, subject: line.subject)
    if var period = periods[subject], period.last != nil || now < period.end {
      if period.last != nil { period.unlogged += 1 }
      period.last = line
      periods[subject] = period
      return false
    }
    if periods.count >= PeerLines.subjectsMax {
      periods = periods.filter { $0.value.last != nil || now < $0.value.end }
    }
    guard periods.count < PeerLines.subjectsMax || periods[subject] != nil else {
      others = ((others?.count ?? 0) + 1, others?.end ?? now + PeerLines.period)
      return false
    }
    periods[subject] = Period(end: now + PeerLines.period)
    return true
  }

  /// The waiting lines whose second is over. From now on they count as written.
  mutating func takeDue(at now: NIODeadline) -> [Line] {
    var lines: [Line] = []
    for (subject, period) in periods where period.end <= now {
      guard var line = period.last else {
        periods[subject] = nil
        continue
      }
      if period.unlogged > 0 { line.metadata["unlogged"] = "\(period.unlogged)" }
      lines.append(line)
      periods[subject] = Period(end: now + PeerLines.period)
    }
    lines.sort { ($0.uid ?? 0, $0.subject) < ($1.uid ?? 0, $1.subject) }
    if let others, others.end <= now {
      lines.append(
        Line(
          uid: nil, subject: "others", level: .warning,
          message: "messages about more users are left out",
          metadata: ["unlogged": "\(others.count)"]))
      self.others = nil
    }
    return lines
  }
}
