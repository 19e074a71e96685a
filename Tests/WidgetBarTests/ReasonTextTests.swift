import Testing
import WidgetLayout

@testable import WidgetBar

/// What a bar without tooltips shows of a reason.
@Suite struct ReasonTextTests {
  @Test(
    arguments: [
      ("no answer", "no answer"),
      // The next step is for the person who looks closer.
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
    ])
  func `the cause of a failure stays`(message: String, shown: String) {
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
