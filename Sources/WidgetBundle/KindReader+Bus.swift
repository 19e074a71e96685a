import WidgetExpression
import WidgetModel

/// The D-Bus requests of sources and steps.
extension KindReader {
  /// - Parameter isStep: whether it is a step, which only calls methods.
  func bus(_ item: Item, _ variables: Variables, isStep: Bool) -> BusInput? {
    guard let object = reading.object(item, .dbus) else { return nil }
    let buses = BusInput.Bus.allCases.map { (name: $0.rawValue, value: $0) }
    let bus = reading.choice(object["bus"], "bus", buses) ?? .session
    for key in ["name", "interface"] where !object.has(key) {
      reading.reportMissing(
        key, of: object, "the \(key) is missing", hint: "add \(key): org.example.Name")
    }
    let name = reading.template(
      object["name"], variables, giving: .string, for: "the name of a service")
    if let text = name?.constantText, let item = object["name"] { checkService(text, item) }
    let interface = checked(object["interface"], "interface", BusName.isInterface)
    guard let work = busWork(item, object, variables, isStep: isStep) else { return nil }
    let path = reading.template(
      object["path"], variables, giving: .string, for: "the path of an object")
    if let text = path?.constantText, !BusName.isPath(text), let item = object["path"] {
      reading.report(
        item, "\"\(text.prefix(80))\" is not the path of an object",
        hint: "write /org/example/Name: a-z, A-Z, 0-9 and _ between slashes")
    }
    if case .signal = work {
    } else if !object.has("path") {
      reading.reportMissing(
        "path", of: object, "the path is missing", hint: "add path: /org/example/Name")
      return nil
    }
    if let text = name?.constantText, text.hasSuffix("*"), let item = object["name"] {
      if case .properties = work {
      } else {
        reading.report(
          item, "only properties can be read from several services",
          hint: "write the full name of one service")
      }
    }
    guard let name, let interface else { return nil }
    return BusInput(bus: bus, name: name, path: path, interface: interface, work: work)
  }

  private func checkService(_ text: String, _ item: Item) {
    guard BusName.isService(text) || BusName.isPattern(text) else {
      return reading.report(
        item, "\"\(text.prefix(80))\" is not the name of a service",
        hint: "write org.example.Name, or org.example.* for all names with this prefix")
    }
    if context.hasHost, !context.permissions.allowsBus(text) {
      reading.report(
        item, "the bundle may not use \(text)", hint: "add \(text) to permissions.dbus")
    }
  }

  private func checked(_ item: Item?, _ what: String, _ isRight: (String) -> Bool) -> String? {
    guard let item, let text = reading.text(item, "the name of \(what)") else { return nil }
    if isRight(text) { return text }
    reading.report(
      item, "\"\(text.prefix(80))\" is not the name of \(what.withArticle)",
      hint: what == "interface" ? "write org.example.Name" : "use a-z, A-Z, 0-9 and _")
    return nil
  }

  private func busWork(
    _ item: Item, _ object: Object, _ variables: Variables, isStep: Bool
  ) -> BusInput.Work? {
    let given = ["properties", "signal", "call"].filter { object.has($0) }
    guard given.count == 1, let verb = given.first, !isStep || verb == "call" else {
      reading.report(
        item,
        isStep
          ? "a step calls a method" : "dbus needs one of properties, signal and call",
        hint: isStep ? "add call: METHOD" : "add properties: [NAME], signal: NAME or call: METHOD")
      return nil
    }
    for key in ["arguments", "signature", "timeout"] where verb != "call" {
      if let item = object[key] {
        reading.report(item, "\"\(key)\" is for calls", hint: "leave it out")
      }
    }
    switch verb {
    case "properties":
      let names = reading.texts(object["properties"], of: "properties").compactMap {
        checked($0.item, "property", BusName.isMember)
      }
      return .properties(names)
    case "signal": return checked(object["signal"], "signal", BusName.isMember).map { .signal($0) }
    default:
      let items = reading.list(object["arguments"], of: "arguments")
      let arguments = items.compactMap { reading.template($0, variables) }
      let timeout = reading.duration(object["timeout"], atLeast: .milliseconds(1))
      var types: [BusType] = []
      if let signatureItem = object["signature"], let text = reading.text(signatureItem) {
        guard let read = BusType.types(of: text) else {
          reading.report(
            signatureItem, "\"\(text.prefix(80))\" is not a signature",
            hint: "write a letter for each argument: s text, i and u numbers, b true or false")
          return nil
        }
        types = read
      }
      guard types.count == arguments.count else {
        reading.report(
          object["signature"] ?? object["arguments"] ?? item,
          "the signature has \(types.count) types, but there are \(arguments.count) arguments",
          hint: "write a type for each: signature: su is a text and a number")
        return nil
      }
      if items.count == arguments.count {
        for (index, type) in types.enumerated() { check(arguments[index], type, items[index]) }
      }
      return checked(object["call"], "method", BusName.isMember).map {
        .call($0, arguments: arguments, types: types, timeout: timeout)
      }
    }
  }

  /// Reports a constant argument that does not fit its type.
  private func check(_ argument: Template, _ type: BusType, _ item: Item) {
    guard case .constant(let value) = argument, !type.takes(value) else { return }
    reading.report(
      item, "the signature asks for \"\(type)\", but the argument has type \(value.typeName)",
      hint: "correct the signature, or write a value that fits it")
  }

  /// The type of `result` of a D-Bus request.
  func resultType(_ input: BusInput) -> ExpressionType {
    switch input.work {
    case .signal, .call: .list(.dyn)
    case .properties:
      switch input.name.constantText.map(BusName.isPattern) {
      case true?: .list(.dyn)
      case false?: .map(.string, .dyn)
      case nil: .dyn
      }
    }
  }
}
