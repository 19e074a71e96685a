import Testing
import WidgetModel

/// The names of owners in messages.
struct OwnerNameTests {
  @Test(arguments: [
    ("bundle/load", "bundle load"), ("panel", "the set panel"), ("bundle/", "the set bundle/"),
  ])
  func `a bundle and a set have one form each`(name: String, words: String) {
    #expect(OwnerName.words(ofSet: name) == words)
  }

  @Test(arguments: [
    ("bundle/load", "bundle load"), ("panel", "panel"), ("user 7", "user ann (7)"),
    ("events of kind gauge", "events of kind gauge"), ("earlier change", "an earlier change"),
  ])
  func `the owner of a field has the form of messages`(owner: String, words: String) {
    let field = FieldOwner(path: "data.n", owner: owner)
    #expect(field.ownerName { $0 == 7 ? "ann" : nil } == words)
  }
}
