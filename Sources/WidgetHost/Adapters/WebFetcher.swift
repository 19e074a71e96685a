import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Sends HTTP requests for bundles.
///
/// Redirects are followed here, not by the library, because each may lead only where permissions allow.
struct WebFetcher: Sendable {
  private static let redirectsMax = 5
  /// Connections to one host at once.
  private static let connectionsPerHost = 4

  private let client: HTTPClient

  init() {
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      WebFetcher.connectionsPerHost
    configuration.connectionPool.idleTimeout = .seconds(15)
    configuration.timeout.connect = .seconds(10)
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func shutdown() async { try? await client.shutdown() }

  /// Sends a request and reads the answer, within the request's time.
  func fetch(_ request: WebRequest) async throws(Failure) -> WebAnswer {
    let outcome: Result<WebAnswer, Failure> = await withTaskGroup { group in
      group.addTask { await result(of: request) }
      group.addTask {
        do {
          try await Task.sleep(for: request.timeout)
        } catch {
          return .failure(Failure("CANCELLED", "the request was ended"))
        }
        return .failure(tooLate(request))
      }
      defer { group.cancelAll() }
      return await group.next() ?? .failure(Failure("INTERNAL", "no answer"))
    }
    return try outcome.get()
  }

  private func tooLate(_ request: WebRequest) -> Failure {
    Failure(
      "DEADLINE_EXCEEDED",
      "\(request.address.authority) did not answer within \(request.timeout)", isTransient: true)
  }

  private func result(of request: WebRequest) async -> Result<WebAnswer, Failure> {
    do {
      return .success(try await follow(request))
    } catch let failure as Failure {
      return .failure(failure)
    } catch is CancellationError {
      return .failure(Failure("CANCELLED", "the request was ended"))
    } catch let error as HTTPClientError where error == .cancelled {
      return .failure(Failure("CANCELLED", "the request was ended"))
    } catch let error as HTTPClientError
      where [.deadlineExceeded, .connectTimeout, .readTimeout].contains(error)
    {
      return .failure(tooLate(request))
    } catch {
      return .failure(
        Failure(
          "UNAVAILABLE", "\(request.address.authority) cannot be asked: \(error)",
          isTransient: true))
    }
  }

  private func follow(_ request: WebRequest) async throws -> WebAnswer {
    var request = request
    for _ in 0...WebFetcher.redirectsMax {
      let response = try await client.execute(
        try message(request), timeout: TimeAmount(request.timeout))
      let status = Int(response.status.code)
      guard [301, 302, 303, 307, 308].contains(status),
        let location = response.headers.first(name: "Location")
      else { return try await answer(response, request) }
      let target = try request.address.redirected(to: location)
      try request.permissions.check(target)
      request.redirect(to: target, status: status)
    }
    throw Failure(
      "FAILED_PRECONDITION",
      "\(request.address.authority) redirects more than \(WebFetcher.redirectsMax) times")
  }

  private func message(_ request: WebRequest) throws -> HTTPClientRequest {
    var message = HTTPClientRequest(url: request.address.description)
    message.method = HTTPMethod(rawValue: request.method)
    for header in request.headers { message.headers.add(name: header.name, value: header.value) }
    switch request.body {
    case .none: break
    case .bytes(let bytes): message.body = .bytes(ByteBuffer(bytes: bytes))
    case .multipart(let parts, let boundary):
      message.body = .bytes(ByteBuffer(bytes: try WebFetcher.body(of: parts, boundary)))
    }
    return message
  }

  private static func body(of parts: [WebRequest.Part], _ boundary: String) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for part in parts {
      switch part.content {
      case .bytes(let content):
        bytes +=
          WebRequest.Body.partHead(
            name: part.name, fileName: nil, type: nil, boundary: boundary
          ).utf8
        bytes += content
      case .file(let file, let contentType):
        bytes +=
          WebRequest.Body.partHead(
            name: part.name, fileName: String(Paths.lastComponent(file.path)),
            type: contentType ?? "application/octet-stream", boundary: boundary
          ).utf8
        bytes += try FileReading.read(file)
      }
      bytes += Array("\r\n".utf8)
    }
    return bytes + Array("--\(boundary)--\r\n".utf8)
  }

  private func answer(
    _ response: HTTPClientResponse, _ request: WebRequest
  ) async throws -> WebAnswer {
    func tooLarge() -> Failure {
      Failure(
        "OUT_OF_RANGE",
        "the answer of \(request.address.authority) is larger than \(request.bodyBytesMax) bytes")
    }
    if let length = response.headers.first(name: "Content-Length").flatMap({ Int($0) }),
      length > request.bodyBytesMax, request.method != "HEAD"
    {
      throw tooLarge()
    }
    var bytes: [UInt8] = []
    for try await part in response.body {
      guard bytes.count + part.readableBytes <= request.bodyBytesMax else { throw tooLarge() }
      bytes += part.readableBytesView
    }
    return WebAnswer(
      status: Int(response.status.code),
      contentType: response.headers.first(name: "Content-Type") ?? "",
      etag: response.headers.first(name: "ETag"),
      lastModified: response.headers.first(name: "Last-Modified"), body: bytes)
  }
}

extension WebRequest {
  /// Turns the request into the one that a redirect asks for.
  fileprivate mutating func redirect(to target: WebAddress, status: Int) {
    let isSameOrigin =
      target.host == address.host && target.port == address.port
      && target.isSecure == address.isSecure
    if !isSameOrigin {
      headers.removeAll { ["authorization", "cookie"].contains($0.name.lowercased()) }
    }
    if status == 303 && method != "HEAD" || (status == 301 || status == 302) && method == "POST" {
      method = "GET"
      body = .none
      headers.removeAll { $0.name.lowercased() == "content-type" }
    }
    address = target
  }
}
