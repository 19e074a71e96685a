import Synchronization
import Testing
import WidgetClient
import WidgetProto

@testable import widgetctl

/// The files of one event.
struct UploadTests {
  private struct Refused: Error {}

  @Test func `the blobs of files are in the order of the files`() async throws {
    var deleted: [String] = []
    let blobs = try await Upload.all(["b", "a"], upload: { "blob of \($0)" }) { deleted += $0 }
    #expect(blobs == ["blob of b", "blob of a"])
    #expect(deleted == [])
  }

  @Test func `the files before a failed upload are deleted, and the later ones are not uploaded`()
    async throws
  {
    var tried: [String] = []
    var deleted: [String] = []
    await #expect(throws: Refused.self) {
      _ = try await Upload.all(["a", "b", "c", "d"]) { path in
        tried.append(path)
        if path == "c" { throw Refused() }
        return "blob of \(path)"
      } delete: {
        deleted += $0
      }
    }
    #expect(tried == ["a", "b", "c"])
    #expect(deleted == ["blob of a", "blob of b"])
  }

  /// The blobs that are deleted after this failure of a call.
  private func deleted(
    after failure: ClientError?, isSent: Bool = true
  ) async throws -> [String] {
    var deleted: [String] = []
    do {
      let answer = try await Upload.send(
        with: ["a", "b"], isSent: { isSent }, delete: { deleted += $0 }
      ) {
        if let failure { throw failure }
        return 7
      }
      #expect(failure == nil && answer == 7)
    } catch let error as ClientError {
      #expect(error == failure)
    }
    return deleted
  }

  private static func refusal(_ code: StatusCode, _ reason: String) -> ClientError {
    .status(
      RPCStatus(
        code: code, message: "no",
        errorInfo: ErrorInfo(reason: reason, domain: ErrorInfo.widgetdDomain)))
  }

  private static let refusals: [ClientError] = [
    UploadTests.refusal(.failedPrecondition, "REDUCER_FAILED"),
    UploadTests.refusal(.invalidArgument, "INVALID_FIELD"),
    UploadTests.refusal(.resourceExhausted, "QUOTA_EXCEEDED"),
    UploadTests.refusal(.unavailable, "STORAGE_FAILED"),
    .unavailable(.refused, socketPath: "/s"), .deadlineExceeded(.seconds(1)),
    .wire(.unrepresentable(path: "payload", description: "text with a NUL character")),
  ]

  @Test(arguments: UploadTests.refusals)
  func `the blobs of a refused event are deleted`(failure: ClientError) async throws {
    #expect(try await deleted(after: failure) == ["a", "b"])
  }

  @Test func `an event of a cancelled task is not sent, and its blobs are deleted`() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var sent = 0
      var deleted: [String] = []
      do {
        _ = try await Upload.send(
          with: ["a", "b"], isSent: { false }, delete: { deleted += $0 }
        ) {
          sent += 1
          return 7
        }
      } catch {
        #expect(error as? ClientError == .cancelled)
      }
      return (sent, deleted)
    }
    let (sent, deleted) = await task.value
    #expect(sent == 0)
    #expect(deleted == ["a", "b"])
  }

  private static let others: [ClientError?] = [
    nil, UploadTests.refusal(.resourceExhausted, "RESPONSE_TOO_LARGE"),
    UploadTests.refusal(.internalError, "INTERNAL"),
    .deadlineExceeded(.seconds(1), mayBeMade: true),
    .connectionLost(socketPath: "/s", mayBeMade: true), .cancelled,
    .wire(.malformed(.truncated, path: "sequence")),
  ]

  @Test(arguments: UploadTests.others)
  func `the blobs of an event that may be accepted stay`(failure: ClientError?) async throws {
    #expect(try await deleted(after: failure) == [])
  }

  /// A deletion that waits for the ones before would only end with the time limit here.
  @Test(.timeLimit(.minutes(1)))
  func `blobs are deleted at the same time, in one limited time`() async {
    let blobs = ["a", "b", "c"]
    let begun = Mutex<[String]>([])
    let isInTime = Mutex(true)
    await Upload.deleteAtOnce(blobs) { blob, options in
      begun.withLock { $0.append(blob) }
      isInTime.withLock { $0 = $0 && options.timeout == Upload.deletionTime }
      while begun.withLock({ $0.count }) < blobs.count, !Task.isCancelled { await Task.yield() }
    }
    #expect(begun.withLock { $0.sorted() } == blobs)
    #expect(isInTime.withLock { $0 })
    #expect(Upload.deletionTime < .seconds(1))
  }

  private static let ambiguous: [ClientError] = [.cancelled, .wire(.tooDeep(limit: 7))]

  @Test(arguments: UploadTests.ambiguous)
  func `the blobs of an event that never left the process are deleted`(
    failure: ClientError
  ) async throws {
    #expect(try await deleted(after: failure, isSent: false) == ["a", "b"])
    #expect(try await deleted(after: failure, isSent: true) == [])
  }
}
