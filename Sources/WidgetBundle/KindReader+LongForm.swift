import WidgetExpression
import WidgetModel

/// A kind in the long form. The daemon compiles its expressions, and its errors name the places.
extension KindReader {
  func readLong(_ item: Item) -> Kind? {
    guard let object = reading.object(item, .kind) else { return nil }
    readHead(object)
    kind.parameters = reading.fields(object["parameters"], of: "parameters", mayBeRequired: true)
    kind.data = reading.fields(object["data"], of: "data", mayBeRequired: false)
    kind.entry = reading.fields(object["entry"], of: "entry", mayBeRequired: false)
    kind.events = events(object["events"])
    kind.schedule = object["schedule"].flatMap { longSchedule($0) }
    kind.sample = values(object["sample"])
    kind.recommendations = longRecommendations(object["recommendations"])
    kind.refreshesPerHour = reading.int(object["refreshesPerHour"], in: 1...1_000_000)
    kind.reducers = reading.list(object["reducers"], of: "reducers").compactMap {
      longReducer($0)
    }
    kind.content = reading.list(object["content"], of: "templates").compactMap { longTemplate($0) }
    return kind
  }

  private func longSchedule(_ item: Item) -> EntrySchedule? {
    guard let object = reading.object(item, .schedule) else { return nil }
    var schedule = EntrySchedule()
    schedule.every = reading.duration(object["every"])
    schedule.offset = offset(object)
    schedule.cron = reading.text(object["cron"]) ?? ""
    schedule.zone = expressionText(object["zone"])
    schedule.entries = expressionText(object["entries"])
    return schedule
  }

  private func longRecommendations(_ item: Item?) -> [Recommendation] {
    reading.list(item, of: "recommendations").compactMap { item in
      guard let object = reading.object(item, .longRecommendation),
        let name = required("name", object)
      else { return nil }
      return Recommendation(
        name: name, displayName: reading.text(object["displayName"]) ?? "",
        parameters: values(object["parameters"]))
    }
  }

  private func longReducer(_ item: Item) -> Reducer? {
    guard let object = reading.object(item, .reducer), let event = required("event", object) else {
      return nil
    }
    var reducer = Reducer(event: event, nodeID: reading.text(object["nodeId"]) ?? "")
    reducer.condition = expressionText(object["condition"])
    for entry in object["set"].flatMap({ reading.entries($0, of: "data keys and expressions") })
      ?? []
    {
      reducer.assignments[entry.name] = entry.item.node.isNull ? "null" : expressionText(entry.item)
    }
    reducer.unset = reading.oneOrMore(object["unset"]).compactMap { reading.text($0, "a data key") }
    return reducer
  }

  // MARK: - Parts

  private func values(_ item: Item?) -> ValueMap {
    BundleFileReader(reading, hasHost: false).values(item, of: "values", nil, isOpen: true)
  }

  /// The text of a required key.
  func required(_ key: String, _ object: Object) -> String? {
    guard let item = object[key] else {
      reading.reportMissing(
        key, of: object, "the \(key) is missing", hint: "add \(key): \(key.uppercased())")
      return nil
    }
    return reading.text(item)
  }

  /// An expression's text. A number or a boolean is an expression too.
  func expressionText(_ item: Item?) -> String {
    guard let item else { return "" }
    guard case .scalar(let text, _) = item.node.content else {
      reading.report(
        item, "expected an expression, not \(item.node.words)",
        hint: "write it as text: \"data.count + 1\"")
      return ""
    }
    return text
  }
}

extension ObjectShape {
  /// In the long form, recommendations are a list.
  fileprivate static let longRecommendation = ObjectShape(
    "recommendation", recommendation.summary,
    [Key("name", .text, "Name.", isRequired: true)] + recommendation.entries)
}
