import WidgetBundle
import WidgetModel

// The requests of sources and steps, with all expressions evaluated and permissions checked. Values
// are inserted as values, so their characters have no special meaning.
extension BundleInstance {
  mutating func fileRequest(
    _ template: Template, _ moment: BundleScope.Moment
  ) throws(Failure) -> FileRequest {
    let path = try permissions.path(try text(template, moment), of: template)
    guard permissions.allowsReading(path) else { throw permissions.readingRefused(path) }
    return FileRequest(path: path, bytesMax: limits.outputBytesMax, permissions: permissions)
  }

  mutating func folderRequest(
    _ template: Template, _ moment: BundleScope.Moment
  ) throws(Failure) -> FolderRequest {
    let file = try fileRequest(template, moment)
    return FolderRequest(
      path: file.path, entriesMax: limits.folderEntriesMax, permissions: permissions)
  }

  mutating func commandRequest(
    _ command: ProgramCommand, _ moment: BundleScope.Moment, isContinuous: Bool
  ) throws(Failure) -> CommandRequest {
    var arguments: [String] = []
    for template in command.arguments {
      var argument = try text(template, moment)
      // Fill only constants: the result of an expression may be a user's text.
      if case .constant = template { argument = permissions.filled(argument) }
      guard !argument.utf8.contains(0) else {
        throw Failure("INVALID_ARGUMENT", "an argument of a program holds a NUL character")
      }
      arguments.append(argument)
    }
    guard let first = arguments.first else {
      throw Failure("INVALID_ARGUMENT", "the command names no program")
    }
    guard arguments.reduce(0, { $0 + $1.utf8.count + 1 }) <= 1 << 17 else {
      throw Failure("INVALID_ARGUMENT", "the command has more than 128 KiB of arguments")
    }
    let program = try permissions.program(first)
    try permissions.check(program: program)
    var input: [UInt8] = []
    if let template = command.input {
      let value = try value(template, moment)
      if case .bytes(let bytes) = value {
        input = bytes
      } else {
        input = Array(PlainText.of(value).utf8)
      }
    }
    let timeout = command.timeout.map { min($0, limits.timeoutMax) }
    return CommandRequest(
      program: program, arguments: Array(arguments.dropFirst()),
      input: input, timeout: isContinuous ? command.timeout : timeout ?? limits.commandTimeout,
      outputBytesMax: limits.outputBytesMax, stderrBytesMax: limits.stderrBytesMax,
      isContinuous: isContinuous, permissions: permissions)
  }

  mutating func socketRequest(
    _ input: SocketInput, _ moment: BundleScope.Moment
  ) throws(Failure) -> SocketRequest {
    var greeting = ""
    if let template = input.send { greeting = try text(template, moment) }
    return SocketRequest(
      path: try permissions.socket(try text(input.path, moment), of: input.path),
      greeting: greeting.isEmpty ? [] : Array(greeting.utf8) + [UInt8(ascii: "\n")],
      lineBytesMax: limits.outputBytesMax, i3: input.i3,
      timeout: input.i3 == nil ? nil : limits.socketTimeout)
  }

  mutating func socketCommand(
    _ input: SocketInput, _ moment: BundleScope.Moment
  ) throws(Failure) -> SocketCommand {
    var command = ""
    if let template = input.send { command = try text(template, moment) }
    guard command.utf8.count <= limits.outputBytesMax else {
      throw Failure(
        "OUT_OF_RANGE", "the command has more than \(limits.outputBytesMax) bytes")
    }
    return SocketCommand(
      path: try permissions.socket(try text(input.path, moment), of: input.path), command: command,
      timeout: limits.socketTimeout, answerBytesMax: limits.outputBytesMax)
  }

  mutating func busRequest(
    _ input: BusInput, _ moment: BundleScope.Moment
  ) throws(Failure) -> BusRequest {
    let name = try permissions.service(try text(input.name, moment))
    var path = ""
    if let template = input.path {
      path = try text(template, moment)
      // The path can come from the data, which may not be set yet.
      guard !path.isEmpty else { throw Failure("NOT_FOUND", "the path of the object is empty") }
      guard BusName.isPath(path) else {
        throw Failure("INVALID_ARGUMENT", "\"\(path.prefix(100))\" is not the path of an object")
      }
    }
    var timeout = limits.busTimeout
    let work: BusRequest.Work
    switch input.work {
    case .properties(let names): work = .properties(names)
    case .signal(let name): work = .signal(name)
    case .call(let member, let templates, let types, let asked):
      timeout = min(asked ?? timeout, limits.timeoutMax)
      var arguments: [Value] = []
      for template in templates { arguments.append(try value(template, moment)) }
      work = .call(member, arguments: arguments, types: types)
    }
    let request = BusRequest(
      bus: input.bus, name: name, path: path, interface: input.interface, work: work,
      timeout: timeout, valuesMax: limits.busValuesMax, bytesMax: limits.outputBytesMax,
      namesMax: limits.busNamesMax, spacing: limits.fileSpacing)
    if request.isPattern, case .properties = work { return request }
    guard !request.isPattern else {
      throw Failure("INVALID_ARGUMENT", "only properties can be read from several services")
    }
    return request
  }

  mutating func webRequest(
    _ request: HTTPRequest, _ parse: Parse, _ moment: BundleScope.Moment
  ) throws(Failure) -> WebRequest {
    var address = try WebAddress(try text(request.url, moment))
    for template in request.path {
      try address.append(component: try text(template, moment))
    }
    for (name, template) in request.query {
      switch try value(template, moment) {
      case .null: break
      case .list(let elements):
        for element in elements where element != .null {
          address.append(query: name, PlainText.of(element))
        }
      case let value: address.append(query: name, PlainText.of(value))
      }
    }
    try permissions.check(address)
    let method = request.method.uppercased()
    guard BundleInstance.isToken(method), method != "CONNECT", method != "TRACE" else {
      throw Failure(
        "INVALID_ARGUMENT", "\"\(request.method)\" is not an HTTP method that can be used")
    }
    var headers: [WebRequest.Header] = []
    for (name, template) in request.headers {
      let value = try value(template, moment)
      guard value != .null else { continue }
      headers.append(try BundleInstance.header(name, PlainText.of(value)))
    }
    func add(_ name: String, _ value: String) {
      guard !headers.contains(where: { $0.name.lowercased() == name.lowercased() }) else { return }
      headers.append(.init(name, value))
    }
    if parse.format == .json { add("Accept", "application/json") }
    add("User-Agent", "widgetd-host")
    var body = WebRequest.Body.none
    switch request.body {
    case nil: break
    case .json(let template):
      body = .bytes(Array(JSONText.write(try value(template, moment)).utf8))
      add("Content-Type", "application/json")
    case .form(let fields):
      body = .bytes(Array(try form(fields, moment).utf8))
      add("Content-Type", "application/x-www-form-urlencoded")
    case .text(let template, let contentType):
      body = .bytes(Array(try text(template, moment).utf8))
      add("Content-Type", try BundleInstance.header("Content-Type", contentType).value)
    case .multipart(let parts):
      let boundary = "widgetd-\(numbers.next())-\(numbers.next())"
      body = .multipart(try multipart(parts, moment), boundary: boundary)
      headers.removeAll { $0.name.lowercased() == "content-type" }
      add("Content-Type", "multipart/form-data; boundary=\(boundary)")
    }
    return WebRequest(
      method: method, address: address, headers: headers, body: body,
      auth: try auth(request.auth, address, moment),
      timeout: min(request.timeout ?? limits.httpTimeout, limits.timeoutMax),
      bodyBytesMax: limits.bodyBytesMax, permissions: permissions)
  }

  /// The longest line to authenticate with, in bytes.
  private static var authBytesMax: Int { 8_192 }

  private mutating func auth(
    _ auth: HTTPRequest.Auth?, _ address: WebAddress, _ moment: BundleScope.Moment
  ) throws(Failure) -> WebRequest.Auth? {
    guard let auth else { return nil }
    guard address.isPrivate else {
      throw Failure(
        "FAILED_PRECONDITION",
        "the credentials would cross the network unencrypted; use https for"
          + " \(address.authority)")
    }
    var file = try fileRequest(auth.file, moment)
    file.bytesMax = BundleInstance.authBytesMax
    return WebRequest.Auth(scheme: auth.scheme, file: file)
  }

  private mutating func form(
    _ fields: [(name: String, value: Template)], _ moment: BundleScope.Moment
  ) throws(Failure) -> String {
    var pairs: [String] = []
    for (name, template) in fields {
      let value = try value(template, moment)
      var elements = [value]
      if case .list(let list) = value { elements = list }
      for element in elements where element != .null {
        pairs.append(
          WebAddress.formEncoded(name) + "=" + WebAddress.formEncoded(PlainText.of(element)))
      }
    }
    return pairs.joined(separator: "&")
  }

  private mutating func multipart(
    _ parts: [HTTPRequest.Part], _ moment: BundleScope.Moment
  ) throws(Failure) -> [WebRequest.Part] {
    var result: [WebRequest.Part] = []
    for part in parts {
      switch part.content {
      case .value(let template):
        let value = try value(template, moment)
        guard value != .null else { continue }
        if case .bytes(let bytes) = value {
          result.append(.init(name: part.name, content: .bytes(bytes)))
        } else {
          result.append(.init(name: part.name, content: .bytes(Array(PlainText.of(value).utf8))))
        }
      case .file(let template, let contentType):
        var file = try fileRequest(template, moment)
        file.bytesMax = limits.bodyBytesMax
        let type = try contentType.map { (text) throws(Failure) in
          try BundleInstance.header("Content-Type", text).value
        }
        result.append(.init(name: part.name, content: .file(file, contentType: type)))
      case .blob(let template, let contentType):
        let id = try text(template, moment)
        // An input that is missing in the submission gets no part.
        guard !id.isEmpty else { continue }
        let type = try contentType.map { (text) throws(Failure) in
          try BundleInstance.header("Content-Type", text).value
        }
        result.append(
          .init(
            name: part.name,
            content: .blob(
              id: id, uid: try sender(of: moment.event),
              bytesMax: limits.uploadBytesMax, contentType: type)))
      }
    }
    return result
  }

  /// The user who sent the event that names a blob. The daemon gives only that user's blobs, so
  /// nobody can make the host send another user's blob.
  private func sender(of event: Event?) throws(Failure) -> UInt32 {
    guard let uid = user(behind: event) else {
      throw Failure(
        "FAILED_PRECONDITION",
        "this step may not send the blob; send it in a step for the event that brought the blob, or"
          + " for an event that such a step emits to a widget of the same bundle")
    }
    return uid
  }

  // MARK: Headers

  /// Headers that say how a message is sent. Bundles may not set them.
  private static let reserved: Set<String> = [
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  static func header(_ name: String, _ value: String) throws(Failure) -> WebRequest.Header {
    guard isToken(name), !reserved.contains(name.lowercased()) else {
      throw Failure("INVALID_ARGUMENT", "\"\(name)\" is not a header that a bundle can set")
    }
    guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw Failure("INVALID_ARGUMENT", "the header \(name) would hold a control character")
    }
    return .init(name, value)
  }

  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
          || "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
  }
}

extension WebRequest.Body {
  /// A multipart body's bytes around each part's content (RFC 7578).
  static func partHead(name: String, fileName: String?, type: String?, boundary: String) -> String {
    var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(quotable(name))\""
    if let fileName { head += "; filename=\"\(quotable(fileName))\"" }
    head += "\r\n"
    if let type { head += "Content-Type: \(type)\r\n" }
    return head + "\r\n"
  }

  private static func quotable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "%22"
      case "\r": result += "%0D"
      case "\n": result += "%0A"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Failure {
  /// The failure for an answer other than 2xx.
  init(_ answer: WebAnswer, _ parse: Parse) {
    let told = ResultParsing.errorWords(in: answer.body, parse)
    self.init(
      Failure.code(answer.status), told ?? answer.summary,
      isTransient: answer.status >= 500 || answer.status == 408 || answer.status == 429)
    if told != nil { answered = answer.summary }
  }

  private static func code(_ status: Int) -> String {
    switch status {
    case 400: "INVALID_ARGUMENT"
    case 401: "UNAUTHENTICATED"
    case 403: "PERMISSION_DENIED"
    case 404, 410: "NOT_FOUND"
    case 408, 504: "DEADLINE_EXCEEDED"
    case 409, 412: "ABORTED"
    case 429: "RESOURCE_EXHAUSTED"
    case 501: "UNIMPLEMENTED"
    case 503: "UNAVAILABLE"
    case 500...599: "INTERNAL"
    default: "FAILED_PRECONDITION"
    }
  }

  fileprivate static func phrase(_ status: Int) -> String {
    switch status {
    case 301, 302, 303, 307, 308: " (a redirect that could not be followed)"
    case 304: " (not modified)"
    case 400: " (bad request)"
    case 401: " (unauthorized)"
    case 403: " (forbidden)"
    case 404: " (not found)"
    case 409: " (conflict)"
    case 429: " (too many requests)"
    case 500: " (internal server error)"
    case 502: " (bad gateway)"
    case 503: " (service unavailable)"
    case 504: " (gateway timeout)"
    default: ""
    }
  }
}

// Words for people. They have no path and no query, which often contain API keys.
extension WebAnswer {
  /// The server: `api.example.org`.
  var serverWords: String { server.isEmpty ? "the server" : server }

  /// The content: `the answer of api.example.org`.
  var contentWords: String { server.isEmpty ? "the answer" : "the answer of \(server)" }

  /// The server and the status: `api.example.org answered 404 (not found)`.
  var summary: String { "\(serverWords) answered \(status)\(Failure.phrase(status))" }
}
