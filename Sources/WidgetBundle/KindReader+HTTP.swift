import WidgetExpression
import WidgetModel

/// HTTP requests, of sources and of steps, and the services that they name.
extension KindReader {
  private static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

  /// A URL, or an object.
  func http(_ item: Item, _ variables: Variables) -> HTTPRequest? {
    if case .scalar = item.node.content {
      return url(item, variables).map { HTTPRequest(url: $0) }
    }
    guard let object = reading.object(item, .http, or: " or a URL"),
      var request = base(of: object, variables)
    else { return nil }
    request.path += path(object["path"], variables)
    addShared(object, to: &request, variables)
    request.body = body(object, variables)
    request.method = request.body == nil ? "GET" : "POST"
    if let item = object["method"], let text = reading.text(item) {
      let method = text.uppercased()
      if KindReader.methods.contains(method) {
        request.method = method
      } else {
        reading.report(
          item, "\"\(text.prefix(20))\" is not a method",
          hint: reading.suggestion(method, among: KindReader.methods))
      }
      if request.body != nil, ["GET", "HEAD"].contains(method) {
        reading.report(item, "\(method) has no body", hint: "use POST, or query: for parameters")
      }
    }
    return request
  }

  /// The base of a request: its URL, or its service.
  private func base(of object: Object, _ variables: Variables) -> HTTPRequest? {
    guard let item = object["service"] else {
      guard let item = object["url"] else {
        reading.reportMissing(
          "url", of: object, "the URL is missing", hint: "add url: https://…, or service: NAME")
        return nil
      }
      return url(item, variables).map { HTTPRequest(url: $0) }
    }
    if let other = object["url"] {
      reading.report(other, "a request has a URL or a service", hint: "keep one of them")
    }
    guard context.hasHost else {
      reading.reportNeedsHost(item, "\"service\"")
      return nil
    }
    guard let name = reading.text(item, "a service's name") else { return nil }
    guard let service = context.services[name] else {
      let names = context.services.keys.sorted()
      reading.report(
        item, "the bundle has no service \"\(name.prefix(64))\"",
        hint: names.isEmpty
          ? "declare it: services: {\(name.isFieldName ? name : "NAME"): {url: https://…}}"
          : reading.suggestion(name, among: names))
      return nil
    }
    return service
  }

  /// A service of the bundle, the base of all requests to it. Its expressions cannot read data.
  func service(_ item: Item) -> HTTPRequest? {
    let nothing = Variables([], timeZones: nil)
    guard let object = reading.object(item, .service) else { return nil }
    guard let urlItem = object["url"] else {
      reading.reportMissing(
        "url", of: object, "the URL is missing", hint: "add url: https://…")
      return nil
    }
    guard let url = url(urlItem, nothing) else { return nil }
    var request = HTTPRequest(url: url)
    addShared(object, to: &request, nothing)
    return request
  }

  /// Adds the keys that both a request and its service can have. The request's values replace
  /// values of the same name.
  private func addShared(
    _ object: Object, to request: inout HTTPRequest, _ variables: Variables
  ) {
    let query = reading.templates(object["query"], of: "names and values", variables)
    request.query.removeAll { known in query.contains { $0.name == known.name } }
    request.query += query
    let headers = headers(object["headers"], variables)
    request.headers.removeAll { known in
      headers.contains { $0.name.lowercased() == known.name.lowercased() }
    }
    request.headers += headers
    let hasOwn = headers.contains { $0.name.lowercased() == "authorization" }
    if hasOwn { request.auth = nil }
    if let auth = auth(object, request.url, variables) {
      request.auth = auth
      request.headers.removeAll { $0.name.lowercased() == "authorization" }
    }
    request.timeout =
      reading.duration(object["timeout"], atLeast: .milliseconds(1)) ?? request.timeout
  }

  /// Components of a path: a list, or a text that is split.
  private func path(_ item: Item?, _ variables: Variables) -> [Template] {
    guard let item else { return [] }
    if case .list = item.node.content {
      return reading.list(item, of: "a path's components").compactMap {
        reading.template($0, variables)
      }
    }
    guard let template = reading.template(item, variables) else { return [] }
    guard let text = template.constantText else { return [template] }
    return text.split(separator: "/").map { .constant(.string(String($0))) }
  }

  private func url(_ item: Item, _ variables: Variables) -> Template? {
    guard let template = reading.template(item, variables, giving: .string, for: "a URL") else {
      return nil
    }
    guard let text = template.constantText else { return template }
    guard !URLTarget.hasUser(text) else {
      reading.report(
        item, "\(ShownURL.subject(text)) must not have a user name or a password",
        hint: "put USER:PASSWORD into a file, and add auth: {scheme: basic, file: PATH}")
      return nil
    }
    guard let target = URLTarget(text) else {
      reading.report(
        item, "\(ShownURL.subject(text)) is not a URL that the host can request",
        hint: "write http:// or https://, a host, and a path; # and blanks cannot be in it")
      return nil
    }
    if context.hasHost, !context.permissions.allowHost(target.host, port: target.port) {
      reading.report(
        item, "the bundle may not speak to \(target.permission)",
        hint: "add \(target.permission) to permissions.hosts")
    }
    return template
  }

  private func auth(
    _ request: Object, _ url: Template, _ variables: Variables
  ) -> HTTPRequest.Auth? {
    guard let item = request["auth"] else { return nil }
    if let headers = request["headers"], case .map(let entries) = headers.node.content,
      entries.contains(where: { $0.key.lowercased() == "authorization" })
    {
      reading.report(item, "a request authenticates once", hint: "leave out the header")
    }
    if let target = url.constantText.flatMap(URLTarget.init), !target.isPrivate {
      reading.report(
        item, "the file's content would cross the network unencrypted", hint: "use https://")
    }
    guard case .map = item.node.content else {
      return file(item, variables).map { HTTPRequest.Auth(file: $0) }
    }
    guard let object = reading.object(item, .auth) else { return nil }
    guard let fileItem = object["file"] else {
      reading.reportMissing(
        "file", of: object, "the file is missing", hint: "add file: PATH")
      return nil
    }
    let scheme = reading.choice(
      object["scheme"], "a scheme", HTTPRequest.Auth.Scheme.allCases.map { ($0.rawValue, $0) })
    return file(fileItem, variables).map { HTTPRequest.Auth(scheme: scheme ?? .bearer, file: $0) }
  }

  private func headers(_ item: Item?, _ variables: Variables) -> [(name: String, value: Template)] {
    guard let item, let entries = reading.entries(item, of: "headers") else { return [] }
    return entries.compactMap { entry in
      let isToken =
        !entry.name.isEmpty
        && entry.name.utf8.allSatisfy { byte in
          (0x30...0x39).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      guard isToken else {
        reading.report(entry.nameItem, "\"\(entry.name.prefix(64))\" is not a header's name")
        return nil
      }
      let value = reading.template(entry.item, variables, giving: .string, for: "a header")
      if let text = value?.constantText, text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 }) {
        reading.report(entry.item, "a header is one line of text")
      }
      return value.map { (name: entry.name, value: $0) }
    }
  }

  private func body(_ object: Object, _ variables: Variables) -> HTTPRequest.Body? {
    let kinds = ["json", "form", "multipart", "text"].filter { object.has($0) }
    if kinds.count > 1 {
      reading.report(
        object[kinds[1]] ?? object.item, "a request has one body",
        hint: "keep one of \(kinds.joined(separator: ", "))")
    }
    let contentType = reading.text(object["contentType"])
    if contentType != nil, kinds.first != "text", let item = object["contentType"] {
      reading.report(item, "\"contentType\" is for text", hint: "leave it out")
    }
    guard let kind = kinds.first else { return nil }
    // `json: null` is a body too.
    guard let item = object[kind] else { return kind == "json" ? .json(.constant(.null)) : nil }
    switch kind {
    case "json": return reading.template(item, variables).map { .json($0) }
    case "form": return .form(reading.templates(item, of: "names and values", variables))
    case "text":
      return reading.template(item, variables, giving: .string, for: "a text").map {
        .text($0, contentType: contentType ?? "text/plain; charset=utf-8")
      }
    default:
      let entries = reading.entries(item, of: "parts") ?? []
      return .multipart(
        entries.compactMap { entry in
          part(entry.item, variables).map { HTTPRequest.Part(name: entry.name, content: $0) }
        })
    }
  }

  private func part(_ item: Item, _ variables: Variables) -> HTTPRequest.Part.Content? {
    guard case .map(let entries) = item.node.content,
      entries.contains(where: { ["file", "value", "blob"].contains($0.key) })
    else { return reading.template(item, variables).map { .value($0) } }
    guard let object = reading.object(item, .part) else { return nil }
    let contents = ["file", "blob", "value"].filter { object.has($0) }
    if contents.count > 1 {
      reading.report(
        item, "a part is one thing: \(contents.joined(separator: " or "))", hint: "keep one of them"
      )
    }
    if let blob = object["blob"] {
      return reading.template(blob, variables, giving: .string).map {
        .blob($0, contentType: reading.text(object["contentType"]))
      }
    }
    if let fileItem = object["file"] {
      return file(fileItem, variables).map {
        .file($0, contentType: reading.text(object["contentType"]))
      }
    }
    if let item = object["contentType"] {
      reading.report(item, "\"contentType\" is for files", hint: "leave it out")
    }
    return reading.template(object["value"] ?? item, variables).map { .value($0) }
  }
}
