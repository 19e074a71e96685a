import Testing

@testable import widgetctl

/// The advice for options before values that need none.
struct BareValuesTests {
  @Test(
    arguments: [
      (
        ["set", "usage", "--data", "percent=1"],
        "leave --data out: `widgetctl set usage percent=1`"
      ),
      (["set", "usage", "--data=a=1", "b=2"], "leave --data out: `widgetctl set usage a=1 b=2`"),
      (
        ["send", "cpu", "alarm", "--data", "above=90"],
        "leave --data out: `widgetctl send cpu alarm above=90`"
      ),
      (
        ["bundle", "set", "feed", "--data", "n=1"],
        "leave --data out: `widgetctl bundle set feed n=1`"
      ),
      (
        ["set", "--data", "percent=1", "usage"],
        "leave --data out, and write the values last: `widgetctl set --help` has the order"
      ),
      (
        ["send", "cpu", "--data", "above=90", "alarm"],
        "leave --data out, and write the values last: `widgetctl send --help` has the order"
      ),
    ])
  func `an option before a value that needs none gets the advice to leave it out`(
    _ arguments: [String], advice: String
  ) {
    #expect(BareValues.isMeant(in: arguments))
    #expect(
      ArgumentOrder.unknownOption(arguments) == "there is no option \"--data\"; \(advice)")
  }

  @Test(arguments: [
    ["set", "usage", "--data"], ["set", "usage", "--data", "percent"],
    ["set", "usage", "--data", "--param"], ["set", "usage", "--param", "max=1"],
    ["set", "usage", "--", "--data", "n=1"], ["add", "usage", "--data", "n=1"], ["ls", "--data"],
    [],
  ])
  func `other command lines get no such advice`(_ arguments: [String]) {
    #expect(!BareValues.isMeant(in: arguments))
  }
}
