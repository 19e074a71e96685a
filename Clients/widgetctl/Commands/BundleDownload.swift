/// Fetches archives with curl, because this program has no HTTP client.
enum BundleDownload {
  static func bytes(
    _ url: String, bytesMax: Int, within limit: Duration
  ) throws(CommandFailure) -> [UInt8] {
    let words = [
      "curl", "--fail", "--silent", "--show-error", "--location", "--proto", "=https",
      "--proto-redir", "=https", "--max-redirs", "5", "--max-filesize", String(bytesMax), "--", url,
    ]
    switch BoundedCommand.bytes(
      words, within: limit, bytesMax: bytesMax, keeping: proxies, showsErrors: true)
    {
    case .notFound:
      throw CommandFailure(
        .otherError,
        "curl is missing, so \(url) cannot be fetched; install curl, or fetch the file yourself")
    case .timedOut:
      throw CommandFailure(.timedOut, "\(url) was not fetched in time; allow more with --timeout")
    case .tooLong:
      throw CommandFailure(
        .quotaExceeded, "\(url) has more than \(bytesMax >> 20) MiB, the limit for an archive")
    case .ended(status: 0, let bytes): return bytes
    case .ended(let status, _):
      let words = status.map { "curl ended with status \($0)" } ?? "curl was killed"
      throw CommandFailure(
        exit(ofCurl: status),
        "\(url) cannot be fetched: \(words); check the URL and the network, or fetch the file "
          + "yourself")
    }
  }

  /// The status for a failed download. It is never `unavailable`, which scripts take for a missing
  /// daemon.
  static func exit(ofCurl status: Int32?) -> ExitStatus {
    switch status {
    case 22: .notFound
    case 28: .timedOut
    case 63: .quotaExceeded
    default: .otherError
    }
  }

  private static let proxies = [
    "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
  ]
}
