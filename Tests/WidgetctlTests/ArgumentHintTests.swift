import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct ArgumentHintTests {
  @Test func `a parameter that is given as data has a hint`() throws {
    let kind = Kind(
      name: Samples.kind("k"), parameters: [Field(name: "zone")], data: [Field(name: "text")])
    func hint(_ data: [String], _ parameters: [String] = []) throws -> String? {
      Session.hint(
        try data.map { try Assignment($0) }, try parameters.map { try Assignment($0) }, in: kind)
    }
    #expect(
      try hint(["text=a", "zone=Mars"])
        == "\"zone\" is a parameter of the kind: write --param zone=VALUE")
    #expect(
      try hint([], ["text=a"]) == "\"text\" is data of the kind: write text=VALUE without --param")
    #expect(try hint(["text=a", "other=1"], ["zone=UTC"]) == nil)
    let failure = CommandFailure(.invalidArgument, "data zone: no such field; did you mean \"z\"?")
    #expect(failure.adding("write it").message == "data zone: no such field; write it")
    #expect(CommandFailure(.invalidArgument, "no.").adding("do").message == "no; do")
  }
}
