import CWidgetProto

// The messages of grpc.reflection.v1.

/// Names an extension.
public struct ReflectionExtension: Hashable, Sendable {
  /// The full name of the message type that is extended.
  public var containingType: String
  public var number: Int32

  public init(containingType: String, number: Int32) {
    self.containingType = containingType
    self.number = number
  }
}

extension ReflectionExtension: ConvertibleMessage {
  init(c: UnsafePointer<Grpc__Reflection__V1__ExtensionRequest>, _ reader: Reader) {
    containingType = reader.string(c.pointee.containing_type)
    number = c.pointee.extension_number
  }

  func fill(
    _ c: UnsafeMutablePointer<Grpc__Reflection__V1__ExtensionRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.containing_type = try writer.string("containing_type", containingType)
    c.pointee.extension_number = number
  }
}

/// A question about the services.
public struct ReflectionRequest: Hashable, Sendable {
  public enum Question: Hashable, Sendable {
    case fileByName(String)
    /// With or without a leading dot.
    case fileContainingSymbol(String)
    case fileContainingExtension(ReflectionExtension)
    case allExtensionNumbers(ofType: String)
    /// The content does not matter.
    case listServices(String)
  }

  public var host: String
  /// nil for one that this version does not know.
  public var question: Question?

  public init(host: String = "", question: Question? = nil) {
    self.host = host
    self.question = question
  }
}

extension ReflectionRequest: ConvertibleMessage {
  init(
    c: UnsafePointer<Grpc__Reflection__V1__ServerReflectionRequest>, _ reader: Reader
  ) throws(WireError) {
    host = reader.string(c.pointee.host)
    question =
      switch c.pointee.message_request_case {
      case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        .fileByName(reader.string(c.pointee.file_by_filename))
      case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        .fileContainingSymbol(reader.string(c.pointee.file_containing_symbol))
      case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
        .fileContainingExtension(
          try reader.required(
            "file_containing_extension", c.pointee.file_containing_extension))
      case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        .allExtensionNumbers(ofType: reader.string(c.pointee.all_extension_numbers_of_type))
      case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        .listServices(reader.string(c.pointee.list_services))
      default: nil
      }
  }

  func fill(
    _ c: UnsafeMutablePointer<Grpc__Reflection__V1__ServerReflectionRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.host = try writer.string("host", host)
    switch question {
    case .fileByName(let name):
      c.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME
      c.pointee.file_by_filename = try writer.string("file_by_filename", name)
    case .fileContainingSymbol(let symbol):
      c.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL
      c.pointee.file_containing_symbol = try writer.string("file_containing_symbol", symbol)
    case .fileContainingExtension(let request):
      c.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION
      c.pointee.file_containing_extension = try writer.message(
        "file_containing_extension", request)
    case .allExtensionNumbers(let type):
      c.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE
      c.pointee.all_extension_numbers_of_type = try writer.string(
        "all_extension_numbers_of_type", type)
    case .listServices(let text):
      c.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES
      c.pointee.list_services = try writer.string("list_services", text)
    case nil: break
    }
  }
}

/// An answer about the services.
public struct ReflectionResponse: Hashable, Sendable {
  public enum Answer: Hashable, Sendable {
    /// Encoded `google.protobuf.FileDescriptorProto` messages.
    case files([[UInt8]])
    case extensionNumbers(ofType: String, [Int32])
    /// Full names.
    case services([String])
    /// A canonical code, which this version may not know, and the message.
    case error(code: Int32, String)

    public static func error(_ code: StatusCode, _ message: String) -> Answer {
      .error(code: code.rawValue, message)
    }
  }

  /// The host that was asked.
  public var host: String
  /// The request.
  public var question: ReflectionRequest?
  /// nil for one that this version does not know.
  public var answer: Answer?

  /// An answer to a question.
  public init(question: ReflectionRequest, answer: Answer?) {
    host = question.host
    self.question = question
    self.answer = answer
  }
}

extension ReflectionResponse: ConvertibleMessage {
  init(
    c: UnsafePointer<Grpc__Reflection__V1__ServerReflectionResponse>, _ reader: Reader
  ) throws(WireError) {
    host = reader.string(c.pointee.valid_host)
    question = try reader.optional("original_request", c.pointee.original_request)
    answer = Answer(c.pointee, reader)
  }

  func fill(
    _ c: UnsafeMutablePointer<Grpc__Reflection__V1__ServerReflectionResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.valid_host = try writer.string("valid_host", host)
    if let question {
      c.pointee.original_request = try writer.message("original_request", question)
    }
    switch answer {
    case .files(let files):
      c.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE
      let response = try writer.make(Grpc__Reflection__V1__FileDescriptorResponse.self)
      response.pointee.n_file_descriptor_proto = files.count
      response.pointee.file_descriptor_proto = try writer.byteStrings(files)
      c.pointee.file_descriptor_response = response
    case .extensionNumbers(let type, let numbers):
      c.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE
      let response = try writer.make(Grpc__Reflection__V1__ExtensionNumberResponse.self)
      response.pointee.base_type_name = try writer.string("base_type_name", type)
      response.pointee.n_extension_number = numbers.count
      response.pointee.extension_number = try writer.numbers(numbers)
      c.pointee.all_extension_numbers_response = response
    case .services(let names):
      c.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE
      let response = try writer.make(Grpc__Reflection__V1__ListServiceResponse.self)
      response.pointee.n_service = names.count
      response.pointee.service = try writer.list(
        "service", names, of: Grpc__Reflection__V1__ServiceResponse.self
      ) { (name, c) throws(WireError) in
        c.pointee.name = try writer.string("name", name)
      }
      c.pointee.list_services_response = response
    case .error(let code, let message):
      c.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE
      let response = try writer.make(Grpc__Reflection__V1__ErrorResponse.self)
      response.pointee.error_code = code
      response.pointee.error_message = try writer.string("error_message", message)
      c.pointee.error_response = response
    case nil: break
    }
  }
}

extension ReflectionResponse.Answer {
  /// nil for an answer that this version does not know, or that lacks its content.
  fileprivate init?(_ c: Grpc__Reflection__V1__ServerReflectionResponse, _ reader: Reader) {
    switch c.message_response_case {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE:
      guard let response = c.file_descriptor_response?.pointee else { return nil }
      self = .files(
        (0..<response.n_file_descriptor_proto).map {
          reader.bytes(response.file_descriptor_proto[$0])
        })
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE:
      guard let response = c.all_extension_numbers_response?.pointee else { return nil }
      let numbers = UnsafeBufferPointer(
        start: response.extension_number, count: response.n_extension_number)
      self = .extensionNumbers(ofType: reader.string(response.base_type_name), Array(numbers))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE:
      guard let response = c.list_services_response?.pointee else { return nil }
      self = .services(
        (0..<response.n_service).compactMap { index in
          response.service[index].map { reader.string($0.pointee.name) }
        })
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE:
      guard let response = c.error_response?.pointee else { return nil }
      self = .error(code: response.error_code, reader.string(response.error_message))
    default: return nil
    }
  }
}
