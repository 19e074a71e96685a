#if GRPC
  import NIOHPACK

  /// The checks of a call's metadata.
  extension CallGuard {
    /// The size of metadata, as HTTP/2 counts a list of headers.
    static func size(of headers: HPACKHeaders) -> Int {
      headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }

    /// One to eight digits and a unit.
    static func isTimeout(_ text: String) -> Bool {
      let bytes = text.utf8
      guard (2...9).contains(bytes.count), let unit = bytes.last else { return false }
      return "HMSmun".utf8.contains(unit)
        && bytes.dropLast().allSatisfy { (zero...UInt8(ascii: "9")).contains($0) }
    }

    /// Whether a timeout is below a microsecond. Clients whose deadline has passed send `1n`.
    static func isOver(_ text: String) -> Bool {
      let digits = text.utf8.dropLast().drop { $0 == zero }
      return digits.isEmpty || text.utf8.last == UInt8(ascii: "n") && digits.count < 4
    }

    private static let zero = UInt8(ascii: "0")
  }
#endif
