import Testing

@testable import WidgetExpression

/// Dates in other languages, and sorting by several keys.
struct DateLocaleTests {
  private static let languages = DateLocale.languages.split(separator: ", ").map(String.init)

  @Test(arguments: languages) func `a language has every name`(language: String) throws {
    let locale = try #require(DateLocale.named(language))
    #expect(locale.months.count == 12 && locale.shortMonths.count == 12)
    #expect(locale.weekdays.count == 7 && locale.shortWeekdays.count == 7)
    #expect(locale.halves.count == 2)
  }

  /// Names can begin alike, such as `1月` and `11月`: the longest name that fits counts.
  @Test(arguments: languages) func `parseDate reads what a style writes`(language: String) throws {
    for month in 1...12 {
      let day = "2026-\(month < 10 ? "0" : "")\(month)-21"
      for style in ["short", "medium", "long", "full", "long time-seconds"] {
        let time = style.contains("time") ? "T14:30:05Z" : "T00:00:00Z"
        let written = "formatDate(timestamp('\(day)\(time)'), '\(style)', 'UTC', '\(language)')"
        let read = "parseDate(\(written), '\(style)', 'UTC', '\(language)')"
        let value = try Sample.value(read)
        #expect(try value == Sample.value("timestamp('\(day)\(time)')"), "\(written)")
      }
    }
  }

  @Test func `a locale is a language with or without a country`() {
    for name in ["de", "DE", "de-AT", "de_DE.UTF-8", "de_DE@euro", "no"] {
      #expect(DateLocale.named(name) != nil, "\(name)")
    }
    for name in ["", "C", "POSIX", "deutsch", "-DE"] {
      #expect(DateLocale.named(name) == nil, "\(name)")
    }
  }

  @Test func `a text that only looks like a style is a pattern`() throws {
    for pattern in ["longer", "long  time", "time long", "long time x", "Long"] {
      let value = try Sample.value("formatDate(now, '\(pattern)')")
      #expect(value == .string(pattern))
    }
  }

  @Test(arguments: [
    ("[0.0 / 0.0, 1.0, 2.0].sortBy(x, desc(x)).map(x, string(x))", "['2', '1', 'NaN']"),
    ("[0.0 / 0.0, 1.0].sortBy(x, x)[0]", "1.0"),
    ("[[1, 'b'], [2, 'a'], [1, 'a']].sortBy(p, [asc(p[0]), desc(p[1])])[0][1]", "'b'"),
    ("[[1, 'b'], [1, 'a']].sortBy(p, [p[0]]).map(p, p[1])", "['b', 'a']"),
    ("[[1, 'b'], [1, 'a']].sortBy(p, desc(p[0])).map(p, p[1])", "['b', 'a']"),
  ]) func `keys sort in their direction`(source: String, result: String) throws {
    #expect(try Sample.value(source) == Sample.value(result), "\(source)")
  }

  @Test func `asc and desc are allowed only in sortBy, for keys with an order`() {
    #expect(Sample.reason("desc(1)") == "UNKNOWN_FUNCTION")
    #expect(Sample.reason("[1].sortBy(x, desc([x]))") == "TYPE_MISMATCH")
    #expect(Sample.reason("[1].sortBy(x, [desc(x, x)])") == "UNKNOWN_FUNCTION")
  }
}
