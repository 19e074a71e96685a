import ArgumentParser

/// Refuses a command line that gives a name several values, because only one of them would count.
func refuseRepeated(_ names: [String]...) throws {
  for names in names {
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted {
      throw ValidationError("\(name) is given twice; give it one value")
    }
  }
}

extension [Assignment] {
  var keys: [String] { map(\.key) }
}

extension [LabelAssignment] {
  var keys: [String] { map(\.key) }
}
