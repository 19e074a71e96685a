import Testing
import WidgetLayout

@testable import WidgetBar

/// The part of a reason that a bar without tooltips shows.
@Suite struct ReasonTextTests {
  @Test(
    arguments: [
      ("no answer", "no answer"),
      // The next step is only for the full message.
      ("permission denied; run it with sudo", "permission denied"),
      ("there is no file /home/me/very/long/name.json", "there is no file …/name.json"),
      (
        "cannot read /home/me/very/long/name.json: permission denied",
        "cannot read…: permission denied"
      ),
      ("cannot reach weather.example: Connection refused", "cannot reac…: Connection refused"),
      ("text: 1:12: index 0 is out of range", "text…: index 0 is out of range"),
      (
        "weather: the server does not answer, and has not for long",
        "the server does not answer, and…"
      ),
      ("nothing of this message stands after a colon", "nothing of this message stands …"),
      ("https://a.example/x/y/z/data.json answered 503", "…/data.json answered 503"),
      // Names after the last colon are not the cause.
      (
        "Values of the entries do not fit, and are set aside: gone, other, and 3 more. They come back.",
        "Values of the entries do not fi…"
      ),
      ("curl: (6) Could not resolve host: api.weather.example", "(6) Could not resolve host: api…"),
      ("the data has wrong fields: name, size, color", "the data has wrong fields: name…"),
      ("cannot reach weather.example on port 443: refused", "cannot reach weather.e…: refused"),
      // In values of entries, the cause is last.
      (
        "Values of the entries (platform) are set aside: they do not fit the changed kind. The "
          + "entries have the defaults until the values fit again.",
        "they do not fit the changed kind"
      ),
      // Colons in quotes and expressions separate nothing.
      (
        "text: there is no key \"a: b: c\" in the data of it",
        "there is no key \"a: b: c\" in th…"
      ),
      ("text: division by zero, in `{\"a\": 1}[\"b\"] / 0`", "division by zero, in `{\"a\": 1}[…"),
      ("text: division by zero, in `{\"a; b\": 1} / (0 …", "division by zero, in `{\"a; b\": …"),
      ("a 5\" disk: it has failed; replace the disk soon", "a 5\" disk: it has failed"),
      // Text in parentheses is less important than the cause.
      (
        "cannot open the file /x: permission denied (os error: 13) (for 5m)",
        "cannot open…: permission denied"
      ),
      (
        "failed: /b/c/x.yaml:1:1: the version is missing (add version: 1.0.0)",
        "failed…: the version is missing"
      ),
      // A sentence ends where the next one begins.
      ("The zone is not a text. Times are in UTC, which is a default.", "The zone is not a text"),
    ])
  func `a shortened reason keeps the cause of the failure`(message: String, shown: String) {
    #expect(ReasonText.shortened(message, to: 32) == shown)
  }

  @Test func `a reason is never wider than its room`() {
    for message in [
      "cannot read /home/me/name.json: permission denied; run it with sudo", "a: b: c: d: e: f: g",
      ": ", "……………: ……………", "/////////////////", "温度: 服务器没有回答", "x:", "; ; ;          ",
    ] {
      for columns in 1...40 {
        let text = ReasonText.shortened(message, to: columns)
        #expect(TextColumns.width(of: text) <= columns, "\(text)")
      }
    }
  }
}
