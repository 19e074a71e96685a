import ArgumentParser
import Testing
import WidgetModel

@testable import widgetctl

struct SelectorSyntaxTests {
  @Test(arguments: [
    ("a=b", LabelRequirement(key: "a", operator: .isIn, values: ["b"])),
    ("a==b", LabelRequirement(key: "a", operator: .isIn, values: ["b"])),
    ("a = b", LabelRequirement(key: "a", operator: .isIn, values: ["b"])),
    ("a=", LabelRequirement(key: "a", operator: .isIn, values: [""])),
    ("c!=d", LabelRequirement(key: "c", operator: .notIn, values: ["d"])),
    ("e in (x,y)", LabelRequirement(key: "e", operator: .isIn, values: ["x", "y"])),
    ("e  notin ( x , y )", LabelRequirement(key: "e", operator: .notIn, values: ["x", "y"])),
    ("f", LabelRequirement(key: "f", operator: .exists)),
    ("!g", LabelRequirement(key: "g", operator: .notExists)),
  ])
  func `a requirement is read as kubectl reads it`(_ text: String, wanted: LabelRequirement) throws
  {
    #expect(try SelectorSyntax.parse(text) == [wanted])
  }

  @Test func `commas inside parentheses do not separate requirements`() throws {
    let requirements = try SelectorSyntax.parse("a=b,c!=d,e in (x,y),f,!g")
    #expect(requirements.map(\.key) == ["a", "c", "e", "f", "g"])
    #expect(requirements[2].values == ["x", "y"])
  }

  @Test func `a selection of nothing by an empty value has a hint`() throws {
    func hint(_ text: String) throws -> String? {
      SelectorSyntax.hint(about: try SelectorSyntax.parse(text))
    }
    #expect(try hint("room=hall,panel==")?.hasPrefix("panel= selects widgets whose label") == true)
    #expect(try hint("panel!=") == nil)
    #expect(try hint("panel=top,room") == nil)
  }

  @Test(arguments: [
    "", ",", "a,", "=b", "a in x", "a in (x", "a of (x)", "a in ((x))", "a b", "x)",
  ])
  func `a text that is not a selector is refused`(_ text: String) {
    #expect(throws: SyntaxFailure.self) { try SelectorSyntax.parse(text) }
  }

  @Test(
    arguments: [
      (["-l", "a=b"], true), (["--where", "data.n > 1"], true), (["--family", "small"], true),
      (["--kind", "k"], false), ([], false),
    ] as [([String], Bool)])
  func `a selection by labels, family or expression can end`(
    arguments: [String], mayEnd: Bool
  ) async throws {
    #expect(try await SelectorOptions.parsed(arguments).mayEnd == mayEnd)
  }
}
