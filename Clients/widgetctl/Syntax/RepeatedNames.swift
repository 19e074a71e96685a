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

/// Refuses a command line that sets a name and also unsets it, or that names it twice.
///
/// - Parameter option: the option that unsets a name.
func refuseContradiction(_ set: [String], unset: [String], _ option: String) throws {
  try refuseRepeated(set)
  if let name = unset.first(where: set.contains) {
    throw ValidationError(
      "\(name) is both set and unset; leave out its value, or \(option) \(name)")
  }
  var seen: Set<String> = []
  for name in unset where !seen.insert(name).inserted {
    throw ValidationError("\(option) \(name) is given twice; give it once")
  }
}

extension [Assignment] {
  var keys: [String] { map(\.key) }
}

extension [LabelAssignment] {
  var keys: [String] { map(\.key) }
}
