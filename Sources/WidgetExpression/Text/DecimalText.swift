/// Doubles as decimal text, exactly: a double is a sum of powers of two, so it has a finite decimal
/// expansion, which is rounded half to even where it is cut.
struct DecimalText {
  /// Decimal digits, without leading zeros; empty for zero.
  private var digits: [UInt8]
  /// The number of digits before the point; negative for 0.00…
  private var point: Int
  private let isNegative: Bool

  /// `NaN`, `Infinity` and `-Infinity` for values without digits.
  static func special(_ value: Double) -> String? {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    return nil
  }

  /// The text with `places` digits after the point.
  static func fixed(_ value: Double, _ places: Int) -> String {
    special(value) ?? quick(value, places) ?? exact(value, places)
  }

  /// The same with 128 bits, which suffice for usual values. Nil if they do not.
  static func quick(_ value: Double, _ places: Int) -> String? {
    let shift = 1_075 - Int(max(1, value.exponentBitPattern))
    guard (0...20).contains(places), shift > 0 else { return nil }
    var scaled = UInt128(value.significandBitPattern | (value.isNormal ? 1 << 52 : 0))
    for _ in 0..<places { scaled *= 10 }
    // The scaled value is below 2^120, so a larger shift gives less than a half.
    var whole = shift < 128 ? scaled >> UInt128(shift) : 0
    if shift < 128 {
      let rest = scaled - whole << UInt128(shift)
      let half = UInt128(1) << UInt128(shift - 1)
      if rest > half || (rest == half && whole & 1 == 1) { whole += 1 }
    }
    guard let digits = UInt64(exactly: whole) else { return nil }
    let text = Times.padded(digits, places + 1)
    let sign = value.sign == .minus ? "-" : ""
    if places == 0 { return sign + text }
    return "\(sign)\(text.dropLast(places)).\(text.suffix(places))"
  }

  static func exact(_ value: Double, _ places: Int) -> String {
    var decimal = DecimalText(exactly: value)
    decimal.round(toPlaces: places)
    return decimal.plain(places: places)
  }

  /// The text with one digit before the point, `places` digits after it, and an exponent of at
  /// least two digits.
  static func scientific(_ value: Double, _ places: Int) -> String {
    if let text = special(value) { return text }
    var decimal = DecimalText(exactly: value)
    if !decimal.digits.isEmpty { decimal.round(toPlaces: places + 1 - decimal.point) }
    let exponent = decimal.digits.isEmpty ? 0 : decimal.point - 1
    if !decimal.digits.isEmpty { decimal.point = 1 }
    return decimal.plain(places: places) + Self.exponent(exponent)
  }

  /// The fewest digits that read back as the same double; without an exponent if `isPlain`, else with
  /// one from 1e21 and below 1e-6.
  static func shortest(_ value: Double, isPlain: Bool = false) -> String {
    if let text = special(value) { return text }
    var decimal = DecimalText(shortest: value)
    if !isPlain, !decimal.digits.isEmpty, decimal.point > 21 || decimal.point < -5 {
      let exponent = decimal.point - 1
      decimal.point = 1
      return decimal.plain(places: decimal.digits.count - 1) + Self.exponent(exponent)
    }
    return decimal.plain(places: max(0, decimal.digits.count - decimal.point))
  }

  private static func exponent(_ value: Int) -> String {
    "e\(value < 0 ? "-" : "+")\(Times.padded(Int(value.magnitude)))"
  }

  // MARK: Digits

  private init(exactly value: Double) {
    isNegative = value.sign == .minus
    var mantissa = value.significandBitPattern
    var exponent = Int(value.exponentBitPattern)
    if exponent == 0 { exponent = 1 } else { mantissa |= 1 << 52 }
    exponent -= 1_075
    // Trailing zero bits need no digits.
    if mantissa != 0 {
      let zeros = mantissa.trailingZeroBitCount
      mantissa >>= UInt64(zeros)
      exponent += zeros
    }
    // m / 2^k = m * 5^k / 10^k.
    var limbs = Limbs(mantissa)
    limbs.multiply(by: exponent < 0 ? 5 : 2, times: abs(exponent))
    digits = limbs.digits
    point = digits.count + min(0, exponent)
  }

  private init(shortest value: Double) {
    isNegative = value.sign == .minus
    var exponent = 0
    var (digits, places, isFraction): ([UInt8], Int, Bool) = ([], 0, false)
    let text = Array(value.magnitude.description.utf8)
    for (index, byte) in text.enumerated() {
      if byte == UInt8(ascii: "e") {
        exponent = Int(String(decoding: text[(index + 1)...], as: UTF8.self)) ?? 0
        break
      }
      if byte == UInt8(ascii: ".") {
        isFraction = true
      } else {
        digits.append(byte - 48)
        if isFraction { places += 1 }
      }
    }
    point = digits.count - places + exponent
    while digits.last == 0 { digits.removeLast() }
    let zeros = digits.prefix { $0 == 0 }.count
    digits.removeFirst(zeros)
    point -= zeros
    self.digits = digits
    if digits.isEmpty { point = 0 }
  }

  /// Rounds half to even; `places` may be negative.
  private mutating func round(toPlaces places: Int) {
    let kept = point + places
    guard kept < digits.count else { return }
    guard kept >= 0 else {
      (digits, point) = ([], 0)
      return
    }
    let next = digits[kept]
    let isOdd = kept > 0 && digits[kept - 1] % 2 == 1
    let isUp = next > 5 || (next == 5 && (isOdd || digits[(kept + 1)...].contains { $0 != 0 }))
    digits.removeSubrange(kept...)
    guard isUp else {
      if digits.isEmpty { point = 0 }
      return
    }
    var index = kept - 1
    while index >= 0, digits[index] == 9 {
      digits[index] = 0
      index -= 1
    }
    if index >= 0 {
      digits[index] += 1
    } else {
      digits.insert(1, at: 0)
      point += 1
    }
  }

  private func plain(places: Int) -> String {
    var text: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
    if point <= 0 { text.append(48) }
    for index in 0..<max(0, point) { text.append(48 + (index < digits.count ? digits[index] : 0)) }
    if places > 0 {
      text.append(UInt8(ascii: "."))
      for place in 0..<places {
        let index = point + place
        text.append(48 + (index >= 0 && index < digits.count ? digits[index] : 0))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// A large whole number, base 10^9, the lowest first.
  private struct Limbs {
    private var limbs: [UInt32]

    init(_ value: UInt64) {
      limbs = []
      var rest = value
      while rest > 0 {
        limbs.append(UInt32(rest % 1_000_000_000))
        rest /= 1_000_000_000
      }
    }

    mutating func multiply(by base: UInt64, times: Int) {
      let batch = base == 5 ? 12 : 29
      var left = times
      while left > 0 {
        let count = min(left, batch)
        var factor: UInt64 = 1
        for _ in 0..<count { factor *= base }
        var carry: UInt64 = 0
        for index in limbs.indices {
          let product = UInt64(limbs[index]) * factor + carry
          limbs[index] = UInt32(product % 1_000_000_000)
          carry = product / 1_000_000_000
        }
        if carry > 0 { limbs.append(UInt32(carry)) }
        left -= count
      }
    }

    var digits: [UInt8] {
      var result: [UInt8] = []
      for limb in limbs {
        var rest = limb
        for _ in 0..<9 {
          result.append(UInt8(rest % 10))
          rest /= 10
        }
      }
      while result.last == 0 { result.removeLast() }
      return result.reversed()
    }
  }
}
