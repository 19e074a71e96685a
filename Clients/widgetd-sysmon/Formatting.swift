// Numbers as text for people. Without a locale, so that the texts are the same on every machine.

/// An amount in bytes with a binary unit and about three significant digits: `512 B`, `1.5 KiB`.
func bytesText(_ bytes: Double) -> String {
  var amount = max(0, bytes)
  var unit = "B"
  for larger in ["KiB", "MiB", "GiB", "TiB", "PiB"] where amount >= 1024 {
    amount /= 1024
    unit = larger
  }
  return "\(unit == "B" || amount >= 100 ? fixed(amount, 0) : fixed(amount, 1)) \(unit)"
}

/// A rate in bits with a decimal unit, as network links are rated: `12.5 Mbit/s`.
func bitRateText(_ bitsPerSecond: Double) -> String {
  var amount = max(0, bitsPerSecond)
  var unit = "bit/s"
  for larger in ["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"] where amount >= 1000 {
    amount /= 1000
    unit = larger
  }
  return "\(unit == "bit/s" || amount >= 100 ? fixed(amount, 0) : fixed(amount, 1)) \(unit)"
}

/// A share of a whole: `12.5 %`.
func percentText(_ percent: Double) -> String { "\(fixed(percent, 1)) %" }

/// The share of a part in the whole, in percent with one decimal; 0 if the whole is 0.
func percent(_ part: Double, of whole: Double) -> Double {
  whole > 0 ? (part / whole * 1000).rounded() / 10 : 0
}

/// A finite number with 0 to 3 decimals. Other numbers count as 0.
func fixed(_ number: Double, _ decimals: Int) -> String {
  let scale = [1.0, 10, 100, 1000][min(max(decimals, 0), 3)]
  guard let scaled = Int64(exactly: (number * scale).rounded()) else { return "0" }
  guard scale > 1 else { return "\(scaled)" }
  let (whole, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: UInt64(scale))
  let digits = String(rest)
  let zeros = String(repeating: "0", count: max(0, decimals - digits.utf8.count))
  return "\(scaled < 0 ? "-" : "")\(whole).\(zeros)\(digits)"
}
