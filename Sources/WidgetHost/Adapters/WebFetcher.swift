import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import WidgetBundle
import WidgetModel

/// Sends HTTP requests for bundles.
///
/// Redirects are followed here, not by the library, because permissions must allow the target of
/// each.
struct WebFetcher: Sendable {
  private static let redirectsMax = 5
  /// The maximum number of connections to one host.
  private static let connectionsPerHost = 4

  /// The kernel's buffer for a body, in bytes. With the usual size of several megabytes, a whole
  /// body seems to be sent although only its first byte is.
  private static let sendBufferBytes = 64 << 10

  private let client: HTTPClient

  init() {
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      WebFetcher.connectionsPerHost
    configuration.connectionPool.idleTimeout = .seconds(15)
    configuration.timeout.connect = .seconds(10)
    // Otherwise the client retries until the request's timeout, and the reason is lost. A source or
    // an action has a retry policy.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.http1_1ConnectionDebugInitializer = { channel in
      channel.setOption(
        .socketOption(.so_sndbuf), value: SocketOptionValue(WebFetcher.sendBufferBytes))
    }
    // Only HTTP/1 connections report the sent size; nothing here needs another version.
    configuration.httpVersion = .http1Only
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func shutdown() async { try? await client.shutdown() }

  /// Sends a request and reads the answer, within the request's time.
  ///
  /// - Parameter tell: called with the progress, 0 to 1, of a large body of a request or an answer.
  func fetch(
    _ request: WebRequest, tell: @escaping @Sendable (Double) async -> Void = { _ in }
  ) async throws(Failure) -> WebAnswer {
    let outcome: Result<WebAnswer, Failure> = await withTaskGroup { group in
      group.addTask { await result(of: request, tell) }
      group.addTask {
        do {
          try await Task.sleep(for: request.timeout)
        } catch {
          return .failure(Failure("CANCELLED", "the request was cancelled"))
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

  private func result(
    of request: WebRequest, _ tell: @escaping @Sendable (Double) async -> Void
  ) async -> Result<WebAnswer, Failure> {
    do {
      return .success(try await follow(request, tell))
    } catch let failure as Failure {
      return .failure(failure)
    } catch is CancellationError {
      return .failure(Failure("CANCELLED", "the request was cancelled"))
    } catch let error as HTTPClientError where error == .cancelled {
      return .failure(Failure("CANCELLED", "the request was cancelled"))
    } catch let error as HTTPClientError
      where [.deadlineExceeded, .connectTimeout, .readTimeout].contains(error)
    {
      return .failure(tooLate(request))
    } catch {
      return .failure(
        Failure(
          "UNAVAILABLE", WebFetcher.words(for: error, of: request.address.authority),
          isTransient: true))
    }
  }

  /// The system's message about a connection that could not be made or was lost.
  private static func words(for error: any Error, of server: String) -> String {
    switch error {
    case let error as IOError:
      return "cannot reach \(server): \(String(cString: strerror(error.errnoCode)))"
    case let error as NIOConnectionError:
      if let single = error.connectionErrors.first { return words(for: single.error, of: server) }
      return error.dnsAError ?? error.dnsAAAAError == nil
        ? "cannot reach \(server)" : "cannot reach \(server): its name cannot be resolved"
    default: return "cannot reach \(server): \(error)"
    }
  }

  private func follow(
    _ request: WebRequest, _ tell: @escaping @Sendable (Double) async -> Void
  ) async throws -> WebAnswer {
    var request = request
    for _ in 0...WebFetcher.redirectsMax {
      do {
        let answer = try await WebExchange.carryOut(
          try head(of: request), body: try body(of: request), bodyBytesMax: request.bodyBytesMax,
          timeout: TimeAmount(request.timeout), with: client, tell)
        return WebAnswer(
          server: request.address.authority, status: Int(answer.head.status.code),
          contentType: answer.head.headers.first(name: "Content-Type") ?? "",
          etag: answer.head.headers.first(name: "ETag"),
          lastModified: answer.head.headers.first(name: "Last-Modified"), body: answer.body)
      } catch let redirect as WebExchange.Redirected {
        let target = try request.address.redirected(to: redirect.location)
        try request.permissions.check(target)
        request.redirect(to: target, status: redirect.status)
      } catch is WebExchange.TooLarge {
        throw Failure(
          "OUT_OF_RANGE",
          "the answer of \(request.address.authority) is larger than \(request.bodyBytesMax) bytes")
      }
    }
    throw Failure(
      "FAILED_PRECONDITION",
      "\(request.address.authority) redirects more than \(WebFetcher.redirectsMax) times")
  }

  private func head(of request: WebRequest) throws -> HTTPClient.Request {
    var head = try HTTPClient.Request(
      url: request.address.description, method: HTTPMethod(rawValue: request.method))
    for header in request.headers { head.headers.add(name: header.name, value: header.value) }
    if let auth = request.auth {
      head.headers.add(name: "Authorization", value: try WebFetcher.authorization(auth))
    }
    return head
  }

  private func body(of request: WebRequest) throws -> [UInt8]? {
    switch request.body {
    case .none: nil
    case .bytes(let bytes): bytes
    case .multipart(let parts, let boundary): try WebFetcher.body(of: parts, boundary)
    }
  }

  private static func authorization(_ auth: WebRequest.Auth) throws(Failure) -> String {
    let text = String(decoding: try FileReading.read(auth.file), as: UTF8.self)
    let end = text.lastIndex { !$0.isWhitespace }
    let line = end.map { text[...$0] } ?? ""
    let isPlain = line.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    switch auth.scheme {
    case .bearer where !line.isEmpty && isPlain: return "Bearer \(line)"
    case .basic where line.contains(":") && !line.contains(where: \.isNewline):
      return "Basic \(PaddedBase64.encode(Array(line.utf8)))"
    case .bearer, .basic:
      // The message does not show the file's content, because it may be a secret.
      let wanted = auth.scheme == .bearer ? "one token" : "one line, USER:PASSWORD"
      throw Failure("FAILED_PRECONDITION", "\(auth.file.path) does not hold \(wanted)")
    }
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
      case .upload(let upload):
        let type = upload.contentType.isEmpty ? "application/octet-stream" : upload.contentType
        bytes +=
          WebRequest.Body.partHead(
            name: part.name, fileName: upload.name.isEmpty ? "file" : upload.name, type: type,
            boundary: boundary
          ).utf8
        bytes += upload.bytes
      case .blob(let id, _, _, _): throw Failure("INTERNAL", "the blob \(id) was not read")
      }
      bytes += Array("\r\n".utf8)
    }
    return bytes + Array("--\(boundary)--\r\n".utf8)
  }
}

/// The progress of a body, reported at a limited rate.
struct BodyProgress: Sendable {
  /// Smaller bodies have no progress.
  private static let bytesMin = 1 << 17
  private static let interval = Duration.milliseconds(100)
  /// The number of parts of a body. Each part is reported at once, without waiting for the
  /// interval.
  private static let steps = 20

  private let total: Int
  private var last: (time: ContinuousClock.Instant, count: Int)?

  /// nil for a body that is too small.
  init?(bytes: Int) {
    guard bytes >= BodyProgress.bytesMin else { return nil }
    total = bytes
  }

  /// The progress to report after `count` bytes; nil for none.
  mutating func fraction(after count: Int) -> Double? {
    let now = ContinuousClock.now
    if let last, count < total, now - last.time < BodyProgress.interval,
      count - last.count < total / BodyProgress.steps
    {
      return nil
    }
    guard last?.count != count else { return nil }
    last = (now, count)
    return min(Double(count) / Double(total), 1)
  }
}

extension WebRequest {
  /// The headers that another server may have: they describe the wanted answer, and have no secret.
  private static let headersForAll: Set = [
    "accept", "accept-language", "content-type", "user-agent",
  ]

  /// Turns the request into the one that a redirect asks for.
  mutating func redirect(to target: WebAddress, status: Int) {
    let isSameOrigin =
      target.host == address.host && target.port == address.port
      && target.isSecure == address.isSecure
    if !isSameOrigin {
      headers.removeAll { !WebRequest.headersForAll.contains($0.name.lowercased()) }
      auth = nil
    }
    if status == 303 && method != "HEAD" || (status == 301 || status == 302) && method == "POST" {
      method = "GET"
      body = .none
      headers.removeAll { $0.name.lowercased() == "content-type" }
    }
    address = target
  }
}

extension WebRequest {
  /// The same request, with the contents of the blobs that it sends.
  func readingBlobs(from daemon: any DaemonConnection) async throws(Failure) -> WebRequest {
    guard case .multipart(let parts, let boundary) = body else { return self }
    var read: [Part] = []
    for part in parts {
      guard case .blob(let id, let uid, let bytesMax, let contentType) = part.content else {
        read.append(part)
        continue
      }
      var upload = try await daemon.blob(id, of: uid, bytesMax: bytesMax)
      if let contentType { upload.contentType = contentType }
      read.append(Part(name: part.name, content: .upload(upload)))
    }
    var request = self
    request.body = .multipart(read, boundary: boundary)
    return request
  }
}
