/// The dates of a language: the names of months and weekdays, and the usual styles.
struct DateLocale: Sendable {
  /// Lists of words with a blank between them.
  struct Names: Sendable {
    let months: String
    let shortMonths: String
    let weekdays: String
    let shortWeekdays: String
    /// AM and PM.
    let halves: String
  }

  /// The patterns of the styles, from the shortest to the longest.
  struct Styles: Sendable {
    let short: String
    let medium: String
    let long: String
    let full: String
    var time = "%H:%M"
    var timeWithSeconds = "%H:%M:%S"
    /// The text between a date and a time.
    var separator = ", "
  }

  let months: [String]
  let shortMonths: [String]
  let weekdays: [String]
  let shortWeekdays: [String]
  let halves: [String]
  let styles: Styles

  static let english = DateLocale(names["en"], styles["en"])

  /// The locales by language, and by `language-COUNTRY` for a country with other styles.
  private static let all: [String: DateLocale] = Dictionary(
    uniqueKeysWithValues: styles.map { tag, styles in
      (tag, DateLocale(names[String(tag.prefix { $0 != "-" })], styles))
    })

  /// The locale for a name such as `de`, `de-AT` or `de_AT.UTF-8`; nil if the language is not built
  /// in, or the name has more than 64 bytes. The country counts only if its styles differ.
  static func named(_ name: String) -> DateLocale? {
    guard name.utf8.count <= 64 else { return nil }
    let tag = name.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 }
    let language = String(tag.prefix { $0 != "-" }).lowercased()
    let country = String(tag.drop { $0 != "-" }).uppercased()
    return all[language + country] ?? all[language == "no" ? "nb" : language]
  }

  /// The styles that `pattern(ofStyle:)` takes.
  static let styleNames: [String] = {
    let (dates, times) = (["short", "medium", "long", "full"], ["time", "time-seconds"])
    return dates + times + dates.flatMap { date in times.map { "\(date) \($0)" } }
  }()

  /// The built-in languages, for messages.
  static var languages: String { names.keys.sorted().joined(separator: ", ") }

  private init(_ names: Names?, _ styles: Styles?) {
    months = Self.words(names?.months)
    shortMonths = Self.words(names?.shortMonths)
    weekdays = Self.words(names?.weekdays)
    shortWeekdays = Self.words(names?.shortWeekdays)
    halves = Self.words(names?.halves)
    self.styles = styles ?? Styles(short: "%F", medium: "%F", long: "%F", full: "%F")
  }

  private static func words(_ text: String?) -> [String] {
    (text ?? "").split(separator: " ").map(String.init)
  }

  /// The pattern of a style, such as `long`, `time` or `short time`. nil for other text, which is
  /// itself a pattern.
  func pattern(ofStyle text: String) -> String? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let date: [Substring: String] = [
      "short": styles.short, "medium": styles.medium, "long": styles.long, "full": styles.full,
    ]
    let time: [Substring: String] = ["time": styles.time, "time-seconds": styles.timeWithSeconds]
    switch words.count {
    case 1: return date[words[0]] ?? time[words[0]]
    case 2:
      guard let first = date[words[0]], let second = time[words[1]] else { return nil }
      return first + styles.separator + second
    default: return nil
    }
  }

  private static let styles: [String: Styles] = [
    "cs": Styles(
      short: "%d.%m.%y", medium: "%-d. %-m. %Y", long: "%-d. %B %Y", full: "%A %-d. %B %Y"),
    "da": Styles(
      short: "%d.%m.%Y", medium: "%-d. %b %Y", long: "%-d. %B %Y", full: "%A den %-d. %B %Y",
      time: "%H.%M", timeWithSeconds: "%H.%M.%S"),
    "de": Styles(
      short: "%d.%m.%y", medium: "%d.%m.%Y", long: "%-d. %B %Y", full: "%A, %-d. %B %Y"),
    "en": Styles(
      short: "%-m/%-d/%y", medium: "%b %-d, %Y", long: "%B %-d, %Y", full: "%A, %B %-d, %Y",
      time: "%-I:%M %p", timeWithSeconds: "%-I:%M:%S %p"),
    "en-GB": Styles(
      short: "%d/%m/%Y", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%A %-d %B %Y"),
    "es": Styles(
      short: "%-d/%-m/%y", medium: "%-d %b %Y", long: "%-d de %B de %Y",
      full: "%A, %-d de %B de %Y"),
    "fi": Styles(
      short: "%-d.%-m.%Y", medium: "%-d.%-m.%Y", long: "%-d. %Bta %Y", full: "%A %-d. %Bta %Y",
      time: "%H.%M", timeWithSeconds: "%H.%M.%S"),
    "fr": Styles(
      short: "%d/%m/%Y", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%A %-d %B %Y"),
    "it": Styles(
      short: "%d/%m/%y", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%A %-d %B %Y"),
    "ja": Styles(
      short: "%Y/%m/%d", medium: "%Y/%m/%d", long: "%Y年%-m月%-d日", full: "%Y年%-m月%-d日%A",
      separator: " "),
    "ko": Styles(
      short: "%y. %-m. %-d.", medium: "%Y. %-m. %-d.", long: "%Y년 %-m월 %-d일",
      full: "%Y년 %-m월 %-d일 %A", time: "%p %-I:%M", timeWithSeconds: "%p %-I:%M:%S",
      separator: " "),
    "nb": Styles(
      short: "%d.%m.%Y", medium: "%-d. %b %Y", long: "%-d. %B %Y", full: "%A %-d. %B %Y"),
    "nl": Styles(
      short: "%d-%m-%Y", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%A %-d %B %Y"),
    "pl": Styles(
      short: "%-d.%m.%Y", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%A, %-d %B %Y"),
    "pt": Styles(
      short: "%d/%m/%Y", medium: "%-d de %b de %Y", long: "%-d de %B de %Y",
      full: "%A, %-d de %B de %Y"),
    "ru": Styles(
      short: "%d.%m.%Y", medium: "%-d %b %Y г.", long: "%-d %B %Y г.", full: "%A, %-d %B %Y г."),
    "sv": Styles(
      short: "%F", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%A %-d %B %Y"),
    "tr": Styles(
      short: "%-d.%m.%Y", medium: "%-d %b %Y", long: "%-d %B %Y", full: "%-d %B %Y %A"),
    "uk": Styles(
      short: "%d.%m.%y", medium: "%-d %b %Y р.", long: "%-d %B %Y р.", full: "%A, %-d %B %Y р."),
    "zh": Styles(
      short: "%Y/%-m/%-d", medium: "%Y年%-m月%-d日", long: "%Y年%-m月%-d日", full: "%Y年%-m月%-d日%A",
      separator: " "),
  ]
}
