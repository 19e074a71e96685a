/// A set of characters, as one step of a pattern accepts: ranges, Unicode categories, or both.
struct RegexSet: Sendable {
  private(set) var ranges: [ClosedRange<UInt32>] = []
  /// Bits of general categories. An entry with `isNegated` has all characters outside of its
  /// categories.
  private var categories: [(mask: UInt64, isNegated: Bool)] = []
  var isNegated = false
  /// Whether the set ignores upper and lower case.
  var ignoresCase = false

  init() {}

  init(_ scalar: Unicode.Scalar, ignoresCase: Bool) {
    ranges = [scalar.value...scalar.value]
    self.ignoresCase = ignoresCase
  }

  static let lastScalar: UInt32 = 0x10FFFF

  /// Any character, with or without the line feed.
  static func any(withLineFeed: Bool) -> RegexSet {
    var set = RegexSet()
    set.ranges = withLineFeed ? [0...lastScalar] : [0...9, 11...lastScalar]
    return set
  }

  mutating func insert(_ range: ClosedRange<UInt32>) { ranges.append(range) }

  /// Adds ranges, or all characters outside of them.
  mutating func insert(_ added: [ClosedRange<UInt32>], isNegated: Bool) {
    guard isNegated else {
      ranges += added
      return
    }
    var next: UInt32 = 0
    for range in added.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if range.lowerBound > next { ranges.append(next...(range.lowerBound - 1)) }
      next = max(next, range.upperBound + 1)
    }
    if next <= Self.lastScalar { ranges.append(next...Self.lastScalar) }
  }

  /// Adds a Unicode category by its name, such as `L` or `Nd`. False if there is none.
  mutating func insertCategory(_ name: String, isNegated: Bool) -> Bool {
    if name == "Any" {
      insert([0...Self.lastScalar], isNegated: isNegated)
      return true
    }
    guard name.utf8.count <= 2 else { return false }
    var mask: UInt64 = 0
    for (index, known) in Self.categoryNames.enumerated()
    where known == name || (name.utf8.count == 1 && known.hasPrefix(name)) {
      mask |= 1 << UInt64(index)
    }
    guard mask != 0 else { return false }
    categories.append((mask, isNegated))
    return true
  }

  /// The work of `contains` beyond that of a small set of ASCII characters. A set can have
  /// thousands of ranges, and other cases of a character need its properties.
  func extraWork(for scalar: Unicode.Scalar) -> Int {
    let tests = ranges.count >> 3 + categories.count
    guard ignoresCase else { return tests }
    return scalar.isASCII ? 4 * tests : 30 + 6 * tests
  }

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    var found = holds(scalar)
    if !found, ignoresCase {
      if scalar.isASCII {
        let value = scalar.value | 32
        if value >= 0x61, value <= 0x7A {
          found = holds(Unicode.Scalar(UInt8(value))) || holds(Unicode.Scalar(UInt8(value ^ 32)))
          // The two letters beyond ASCII whose lower case is an ASCII letter.
          if !found, value == 0x6B { found = holds("\u{212A}") }
          if !found, value == 0x73 { found = holds("\u{17F}") }
        }
      } else {
        let properties = scalar.properties
        for text in [
          properties.lowercaseMapping, properties.uppercaseMapping, properties.titlecaseMapping,
        ] {
          let scalars = text.unicodeScalars
          guard let only = scalars.first, scalars.count == 1 else { continue }
          let lower = only.properties.lowercaseMapping.unicodeScalars
          if holds(only) || (lower.count == 1 && lower.first.map(holds) == true) {
            found = true
            break
          }
        }
      }
    }
    return found != isNegated
  }

  private func holds(_ scalar: Unicode.Scalar) -> Bool {
    let value = scalar.value
    for range in ranges where range.contains(value) { return true }
    guard !categories.isEmpty else { return false }
    let bit = UInt64(1) << UInt64(Self.index(of: scalar.properties.generalCategory))
    return categories.contains { ($0.mask & bit != 0) != $0.isNegated }
  }

  private static let categoryNames = [
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn",
  ]

  private static func index(of category: Unicode.GeneralCategory) -> Int {
    switch category {
    case .uppercaseLetter: 0
    case .lowercaseLetter: 1
    case .titlecaseLetter: 2
    case .modifierLetter: 3
    case .otherLetter: 4
    case .nonspacingMark: 5
    case .spacingMark: 6
    case .enclosingMark: 7
    case .decimalNumber: 8
    case .letterNumber: 9
    case .otherNumber: 10
    case .connectorPunctuation: 11
    case .dashPunctuation: 12
    case .openPunctuation: 13
    case .closePunctuation: 14
    case .initialPunctuation: 15
    case .finalPunctuation: 16
    case .otherPunctuation: 17
    case .mathSymbol: 18
    case .currencySymbol: 19
    case .modifierSymbol: 20
    case .otherSymbol: 21
    case .spaceSeparator: 22
    case .lineSeparator: 23
    case .paragraphSeparator: 24
    case .control: 25
    case .format: 26
    case .surrogate: 27
    case .privateUse: 28
    case .unassigned: 29
    @unknown default: 29
    }
  }
}
